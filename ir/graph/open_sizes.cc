// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/open_sizes.h"

namespace egret::ir {
namespace {

void collect_symbols(const ExprNode* node, std::set<std::string>& names) {
  if (node->op == ExprOp::kSymbol) names.emplace(node->name);
  for (const ExprNode* kid : node->kids) collect_symbols(kid, names);
}

// Names as they are in the model, without the quotes of the text form.
std::string size_text(const Index& size) {
  const bool is_name = !size.is_constant() && size.node()->op == ExprOp::kSymbol;
  return is_name ? std::string(size.node()->name) : to_string(size);
}

}  // namespace

std::set<std::string> open_sizes(const Graph& graph) {
  std::set<std::string> names;
  for (const NodeId id : graph.inputs()) {
    for (const Index& size : graph.node(id).type.dims) {
      if (!size.is_constant()) collect_symbols(size.node(), names);
    }
  }
  return names;
}

std::string open_inputs(const Graph& graph) {
  constexpr std::size_t kMost = 10;
  std::string text;
  std::size_t count = 0;
  for (const NodeId id : graph.inputs()) {
    const Node& input = graph.node(id);
    if (input.type.is_concrete() || ++count > kMost) continue;
    std::string sizes;
    for (const Index& size : input.type.dims) sizes += (sizes.empty() ? "" : ",") + size_text(size);
    text += (text.empty() ? "'" : ", '") + input.name + "' " +
            std::string(to_string(input.type.dtype)) + "[" + sizes + "]";
  }
  return count > kMost ? text + ", and more" : text;
}

}  // namespace egret::ir
