// SPDX-License-Identifier: Apache-2.0
#include "frontends/wire/onnx_attributes.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/did_you_mean.h"
#include "frontends/onnx.pb.h"
#include "frontends/program/onnx_program.h"

namespace egret::frontends {
namespace {

constexpr std::int64_t kNever = 1 << 30;

struct Attribute {
  std::string name;
  std::int64_t needed_from = kNever;  // opset
};
using Attributes = std::vector<Attribute>;

// "axis!4 keepdims"
Attributes parse(std::string_view row) {
  Attributes attributes;
  while (!row.empty()) {
    const std::string_view word = row.substr(0, row.find(' '));
    row.remove_prefix(std::min(row.size(), word.size() + 1));
    const std::size_t mark = std::min(word.find('!'), word.size());
    Attribute& made = attributes.emplace_back(Attribute{std::string(word.substr(0, mark))});
    if (mark < word.size())
      std::from_chars(word.data() + mark + 1, word.data() + word.size(), made.needed_from);
  }
  return attributes;
}

using Table = std::unordered_map<std::string_view, Attributes>;

const Table& onnx_table() {
  static const auto* const table = new Table{
#define EGRET_ONNX_ATTRIBUTES(op, attributes) {#op, parse(attributes)},
#define EGRET_MICROSOFT_ATTRIBUTES(op, attributes)
#include "frontends/wire/onnx_attributes.def"
#undef EGRET_ONNX_ATTRIBUTES
#undef EGRET_MICROSOFT_ATTRIBUTES
  };
  return *table;
}

const Table& microsoft_table() {
  static const auto* const table = new Table{
#define EGRET_ONNX_ATTRIBUTES(op, attributes)
#define EGRET_MICROSOFT_ATTRIBUTES(op, attributes) {#op, parse(attributes)},
#include "frontends/wire/onnx_attributes.def"
#undef EGRET_ONNX_ATTRIBUTES
#undef EGRET_MICROSOFT_ATTRIBUTES
  };
  return *table;
}

const Attributes* attributes_of(const onnx::NodeProto& node) {
  const std::string domain = canonical_domain(node.domain());
  if (!domain.empty() && domain != "com.microsoft") return nullptr;
  const Table& table = domain.empty() ? onnx_table() : microsoft_table();
  const auto found = table.find(node.op_type());
  return found == table.end() ? nullptr : &found->second;
}

// It may belong to a later version of the operator.
base::Status unknown(const std::string& name, const Attributes& known) {
  std::vector<std::string> names;
  for (const Attribute& attribute : known) names.push_back(attribute.name);
  return base::unsupported("has no attribute " + in_quotes(name) +
                           base::did_you_mean(name.substr(0, 80), names));
}

}  // namespace

base::Status check_attributes(const onnx::NodeProto& node, std::int64_t opset) {
  const Attributes* const known = attributes_of(node);
  std::set<std::string_view> given;
  for (const auto& attribute : node.attribute()) {
    const std::string& name = attribute.name();
    if (!given.insert(name).second)
      return base::bad_input("attribute " + in_quotes(name) + " is given twice");
    if (known != nullptr && std::ranges::find(*known, name, &Attribute::name) == known->end())
      return unknown(name, *known);
  }
  if (known == nullptr) return base::ok();
  for (const Attribute& attribute : *known) {
    if (opset >= attribute.needed_from && !given.contains(attribute.name))
      return base::bad_input("attribute " + in_quotes(attribute.name) + " is missing");
  }
  return base::ok();
}

}  // namespace egret::frontends
