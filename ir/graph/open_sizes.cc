// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/open_sizes.h"

#include <unordered_set>
#include <utility>

namespace egret::ir {
namespace {

// Names as they are in the model, without the quotes of the text form.
std::string size_text(const Index& size) {
  const bool is_name = !size.is_constant() && size.node()->op == ExprOp::kSymbol;
  return is_name ? std::string(size.node()->name) : to_string(size);
}

}  // namespace

// Visits each shared part once: linear in the expressions as graphs.
SymbolNames symbols_of(std::vector<const ExprNode*> roots) {
  SymbolNames names;
  std::unordered_set<const ExprNode*> seen(roots.begin(), roots.end());
  while (!roots.empty()) {
    const ExprNode* const node = roots.back();
    roots.pop_back();
    if (node->op == ExprOp::kSymbol) names.emplace(node->name);
    for (const ExprNode* kid : node->kids) {
      if (seen.insert(kid).second) roots.push_back(kid);
    }
  }
  return names;
}

SymbolNames symbols_of(std::span<const Index> sizes) {
  std::vector<const ExprNode*> roots;
  for (const Index& size : sizes) {
    if (!size.is_constant()) roots.push_back(size.node());
  }
  return symbols_of(std::move(roots));
}

SymbolNames open_sizes(const Graph& graph) {
  std::vector<Index> sizes;
  for (const NodeId id : graph.inputs()) {
    const Dims& dims = graph.node(id).type.dims;
    sizes.insert(sizes.end(), dims.begin(), dims.end());
  }
  return symbols_of(sizes);
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
