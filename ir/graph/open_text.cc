// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/open_text.h"

#include <utility>

#include "ir/core/symbolic_scope.h"
#include "ir/graph/graph_text.h"

namespace egret::ir {

std::string interface_text(const Graph& graph) {
  std::string text = "(";
  for (const NodeId input : graph.inputs()) {
    const Node& node = graph.node(input);
    text += (text.size() > 1 ? ", " : "") + node.name + ": " + to_string(node.type);
  }
  text += ") -> (";
  bool is_first = true;
  for (const Graph::Output& output : graph.outputs())
    text += (std::exchange(is_first, false) ? "" : ", ") + output.name;
  return text + ")";
}

namespace {

// Numbers that stand for expressions (ir/core/symbolic_scope.h) must not come out of a file.
base::Status check_number(std::int64_t number) {
  return is_symbolic(number) ? base::bad_input(std::to_string(number) + " is no size") : base::ok();
}

base::Status check_numbers(const AttrValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return check_number(*number);
  if (const auto* numbers = std::get_if<Integers>(&value)) {
    for (const std::int64_t number : *numbers) EGRET_RETURN_IF_ERROR(check_number(number));
  }
  return base::ok();
}

base::Result<std::int64_t> parse_open_integer(std::string_view text) {
  auto number = parse_attr_value(text);
  if (number.ok() && std::holds_alternative<std::int64_t>(*number)) {
    EGRET_RETURN_IF_ERROR(check_numbers(*number));
    return std::get<std::int64_t>(*number);
  }
  const std::string typed = "i64[" + std::string(text) + "]";
  const auto type = ir::parse_type(typed);
  if (!type.ok()) return type.status();
  const auto integer = type->rank() == 1 ? open_integer(type->dims[0]) : std::nullopt;
  if (!integer) return base::bad_input("'" + std::string(text) + "' is no size that is known");
  return *integer;
}

}  // namespace

base::Result<AttrValue> parse_open_attr(std::string_view text) {
  auto plain = parse_attr_value(text);
  if (plain.ok()) EGRET_RETURN_IF_ERROR(check_numbers(*plain));
  if (plain.ok() || SymbolicScope::current() == nullptr || text.empty()) return plain;
  if (text.front() != '[') {
    EGRET_ASSIGN_OR_RETURN(const std::int64_t integer, parse_open_integer(text));
    return AttrValue(integer);
  }
  Integers integers;
  int depth = 0;
  bool quoted = false;
  for (std::size_t begin = 1, i = 1; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && text[i - 1] != '\\') quoted = !quoted;
    if (!quoted) depth += (c == '(' ? 1 : 0) - (c == ')' ? 1 : 0);
    const bool ends = !quoted && depth == 0 && (c == ',' || (c == ']' && i + 1 == text.size()));
    if (!ends) continue;
    EGRET_ASSIGN_OR_RETURN(integers.emplace_back(),
                           parse_open_integer(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return AttrValue(std::move(integers));
}

}  // namespace egret::ir
