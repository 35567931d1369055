// SPDX-License-Identifier: Apache-2.0
#include "driver/proofs/folded_constants.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/stop.h"
#include "driver/measure/near_values.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/graph.h"

namespace egret::driver {
namespace {

using egraph::ClassId;
using ir::NodeId;

constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

// One term for each class that has a term without inputs.
class ConstantTerms {
 public:
  explicit ConstantTerms(const rules::TensorEGraph& tensors) : tensors_(tensors) {}

  base::Status build() {
    std::vector<ClassId> left;
    for (const ClassId id : tensors_.egraph().classes()) {
      if (tensors_.is_constant(id)) left.push_back(id);
    }
    // Each round places the classes whose operands are placed.
    for (std::size_t before = left.size() + 1; left.size() < before;) {
      before = left.size();
      std::vector<ClassId> rest;
      for (const ClassId id : left) {
        EGRET_ASSIGN_OR_RETURN(const bool is_placed, place(id));
        if (!is_placed) rest.push_back(id);
      }
      left = std::move(rest);
    }
    return base::ok();
  }

  const ir::Graph& graph() const { return graph_; }
  const std::map<ClassId, NodeId>& places() const { return places_; }
  bool is_stored(ClassId id) const {
    return graph_.node(places_.at(id)).kind == ir::NodeKind::kConstant;
  }

 private:
  base::Result<bool> place(ClassId id) {
    const egraph::EGraph& egraph = tensors_.egraph();
    std::optional<ir::Node> best;
    for (const egraph::NodeId one : egraph.nodes(id)) {
      std::vector<NodeId> operands;
      for (const ClassId child : egraph.children(one)) {
        const auto found = places_.find(egraph.find(child));
        if (found != places_.end()) operands.push_back(found->second);
      }
      if (operands.size() < egraph.children(one).size()) continue;
      EGRET_ASSIGN_OR_RETURN(ir::Node node, tensors_.to_node(one));
      if (node.kind == ir::NodeKind::kInput) continue;
      node.inputs = std::move(operands);
      const bool is_stored = node.kind == ir::NodeKind::kConstant;
      if (!best || is_stored) best = std::move(node);
      if (is_stored) break;
    }
    if (best) places_[id] = graph_.append(*std::move(best));
    return best.has_value();
  }

  const rules::TensorEGraph& tensors_;
  ir::Graph graph_;
  std::map<ClassId, NodeId> places_;
};

}  // namespace

base::Result<std::int64_t> merge_folded_constants(rules::TensorEGraph& tensors, double relative) {
  ConstantTerms terms(tensors);
  EGRET_RETURN_IF_ERROR(terms.build());
  std::set<std::string> stored_types;
  for (const auto& [id, place] : terms.places()) {
    if (terms.is_stored(id)) stored_types.insert(ir::to_string(tensors.type(id)));
  }
  ir::Graph graph = terms.graph();
  std::vector<ClassId> classes;
  std::int64_t bytes = 0;
  for (const auto& [id, place] : terms.places()) {
    const ir::TensorType& type = tensors.type(id);
    if (!stored_types.contains(ir::to_string(type))) continue;
    bytes += type.elements() * static_cast<std::int64_t>(sizeof(double));
    if (bytes > kMostBytes) break;
    graph.add_output("c" + std::to_string(classes.size()), place);
    classes.push_back(id);
  }
  if (classes.size() < 2) return 0;
  EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Tensor> values,
                         ir::interpret(graph, {}, {.should_stop = base::stop_requested}));
  std::map<NearKey, std::vector<std::size_t>> computed;
  for (std::size_t i = 0; i < classes.size(); ++i) computed[near_key(values[i])].push_back(i);
  std::int64_t merged = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (!terms.is_stored(classes[i])) continue;
    for (const int shift : {0, -1, 1}) {
      const auto group = computed.find(near_key(values[i], shift));
      if (group == computed.end()) continue;
      for (const std::size_t other : group->second) {
        const bool is_same_type = tensors.type(classes[i]) == tensors.type(classes[other]);
        if (other == i || !is_same_type || !are_near(values[i], values[other], relative)) continue;
        EGRET_ASSIGN_OR_RETURN(const bool is_new,
                               tensors.egraph().merge(classes[i], classes[other]));
        merged += is_new ? 1 : 0;
      }
    }
  }
  if (merged > 0) EGRET_RETURN_IF_ERROR(tensors.egraph().rebuild());
  return merged;
}

}  // namespace egret::driver
