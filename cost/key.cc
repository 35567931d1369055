// SPDX-License-Identifier: Apache-2.0
#include "cost/key.h"

#include <string>
#include <utility>

#include "ir/graph/graph_text.h"
#include "ir/graph/text_cursor.h"

namespace egret::cost {
namespace {

constexpr std::string_view kConstant = " const";

base::Status malformed(std::string_view key) {
  return base::bad_input("'" + std::string(key) + "' is not a valid cost key");
}

// "{axis=1, perm=[0, 2, 1]}", if there is one.
base::Result<ir::Attrs> parse_attrs(ir::TextCursor& cursor) {
  ir::Attrs attrs;
  if (!cursor.take("{")) return attrs;
  do {
    const std::string_view name = cursor.identifier("an attribute");
    cursor.expect("=");
    const std::string_view raw = cursor.raw_value();
    if (!cursor.ok()) return cursor.status();
    EGRET_ASSIGN_OR_RETURN(ir::AttrValue value, ir::parse_attr_value(raw));
    attrs.set(name, std::move(value));
  } while (cursor.take(","));
  if (!cursor.expect("}")) return cursor.status();
  return attrs;
}

// The parts of "f32[1,8], f32[8,8] const": split at commas outside of brackets.
std::vector<std::string_view> split_types(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (text[i] != ',' || depth != 0) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  if (begin < text.size()) parts.push_back(text.substr(begin));
  return parts;
}

}  // namespace

// The inverse of key_of(). The attributes become canonical, so keys of versions with fewer
// attributes still mean the same.
base::Result<ParsedKey> ParsedKey::parse(std::string_view key) {
  ParsedKey parsed;
  ir::TextCursor cursor(key);
  parsed.op_ = ir::find_operator(cursor.identifier("an operator"));
  if (!cursor.ok() || parsed.op_ == nullptr) return malformed(key);
  EGRET_ASSIGN_OR_RETURN(parsed.attrs_, parse_attrs(cursor));
  if (!cursor.expect("(") || !key.ends_with(')')) return malformed(key);
  const std::size_t begin = cursor.offset();
  const std::vector<std::string_view> parts =
      split_types(key.substr(begin, key.size() - 1 - begin));
  parsed.constant_ = std::make_unique<bool[]>(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string_view part = parts[i];
    parsed.constant_[i] = part.ends_with(kConstant);
    if (parsed.constant_[i]) part.remove_suffix(kConstant.size());
    EGRET_ASSIGN_OR_RETURN(ir::TensorType type, ir::parse_type(part));
    if (!type.is_concrete()) return malformed(key);
    parsed.inputs_.push_back(std::move(type));
  }
  EGRET_ASSIGN_OR_RETURN(parsed.attrs_, ir::canonical_attrs(parsed.op_->attrs(), parsed.attrs_));
  EGRET_RETURN_IF_ERROR(ir::check_arity(*parsed.op_, parsed.inputs_.size()));
  return parsed;
}

Query ParsedKey::query() const {
  return {.op = op_,
          .attrs = &attrs_,
          .inputs = inputs_,
          .constant = {constant_.get(), inputs_.size()},
          .output = nullptr};
}

}  // namespace egret::cost
