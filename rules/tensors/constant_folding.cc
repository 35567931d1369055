// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/constant_folding.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/evaluate/interpreter.h"
#include "ir/graph/constant_nodes.h"
#include "rules/tensors/jumps.h"

namespace egret::rules {

using base::Result;
using base::Status;

namespace {

class Folder {
 public:
  Folder(const ir::Graph& graph, const FoldOptions& options) : graph_(graph), options_(options) {}

  Result<ir::Graph> run(FoldReport* report) {
    constant_ =
        ir::constant_nodes(graph_, [](const ir::Node& node) { return node.type.is_concrete(); });
    choose();
    std::map<ir::NodeId, ir::Tensor> values;
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (!folded_[i]) continue;
      EGRET_ASSIGN_OR_RETURN(values[ir::NodeId(i)], known_value_of(i));
    }
    ir::Graph result = ir::without_dead_nodes(ir::with_constants(graph_, values));
    if (report != nullptr) fill(*report, result);
    return result;
  }

 private:
  bool is_operator(std::size_t i) const {
    return graph_.node(ir::NodeId(i)).kind == ir::NodeKind::kOperator;
  }

  // Works backwards from the outputs. A needed value that may be folded is folded and needs
  // nothing. Any other needed value stays and needs its inputs.
  void choose() {
    kept_.assign(graph_.size(), false);
    folded_.assign(graph_.size(), false);
    std::vector<bool> needed(graph_.size(), false);
    for (const ir::NodeId input : graph_.inputs()) needed[input.index()] = true;
    for (const auto& output : graph_.outputs()) needed[output.node.index()] = true;
    for (std::size_t i = graph_.size(); i-- > 0;) {
      if (!needed[i]) continue;
      if (constant_[i] && is_operator(i) && may_fold(i)) {
        folded_[i] = true;
        continue;
      }
      kept_[i] = true;
      for (const ir::NodeId input : graph_.node(ir::NodeId(i)).inputs) needed[input.index()] = true;
    }
  }

  bool may_fold(std::size_t i) const {
    const std::int64_t bytes = graph_.node(ir::NodeId(i)).type.bytes();
    if (bytes <= options_.small_bytes) return true;
    if (graph_.node(ir::NodeId(i)).inputs.empty()) return false;  // a large fill stays one
    return static_cast<double>(bytes) <= options_.growth * static_cast<double>(source_bytes(i));
  }

  // The bytes of the constants on which a value depends. Values that an operator makes without
  // inputs count too: they are weights in a short notation.
  std::int64_t source_bytes(std::size_t i) const {
    std::int64_t bytes = 0;
    std::set<std::size_t> seen{i};
    std::vector<std::size_t> stack{i};
    while (!stack.empty()) {
      const ir::Node& node = graph_.node(ir::NodeId(stack.back()));
      stack.pop_back();
      if (node.inputs.empty()) bytes += node.type.bytes();
      for (const ir::NodeId input : node.inputs) {
        if (seen.insert(input.index()).second) stack.push_back(input.index());
      }
    }
    return bytes;
  }

  // The cache key of an operator: its name, attributes, type, and the keys of its inputs.
  const base::ContentHash& key_of(std::size_t i) {
    const auto [at, is_new] = keys_.try_emplace(i);
    if (!is_new) return at->second;
    const ir::Node& node = graph_.node(ir::NodeId(i));
    if (node.kind == ir::NodeKind::kConstant) return at->second = node.data.content_hash();
    std::string text = node.op->name() + to_string(node.attrs) + to_string(node.type);
    for (const ir::NodeId input : node.inputs) text += " " + key_of(input.index()).to_hex();
    return keys_[i] = base::content_hash(text);
  }

  Result<ir::Tensor> known_value_of(std::size_t i) {
    if (options_.known == nullptr) return value_of(i);
    const base::ContentHash key = key_of(i);
    if (const ir::Tensor* value = options_.known->find(key)) return *value;
    EGRET_ASSIGN_OR_RETURN(ir::Tensor value, value_of(i));
    options_.known->keep(key, value);
    return value;
  }

  // The value, rounded to its type. Evaluates the region of its dependencies in order, each value
  // once per precision.
  Result<ir::Tensor> value_of(std::size_t i) {
    std::set<std::size_t> region{i};
    std::vector<std::size_t> stack{i};
    while (!stack.empty()) {
      const ir::Node& node = graph_.node(ir::NodeId(stack.back()));
      stack.pop_back();
      for (const ir::NodeId input : node.inputs) {
        if (region.insert(input.index()).second) stack.push_back(input.index());
      }
    }
    ir::InterpretOptions interpret;
    const bool decides = any_in(region, decides_, has_jumps);
    const bool as_run = decides || !any_in(region, rounds_, rounds);
    if (as_run) interpret.precision = ir::Precision::kF32;
    interpret.should_stop = options_.should_stop;
    std::vector<ir::Tensor>& values = as_run ? as_run_ : wide_;
    if (values.empty()) values.resize(graph_.size());
    // The set is ordered by id, which is a topological order.
    for (const std::size_t j : region) {
      const ir::Node& node = graph_.node(ir::NodeId(j));
      if (node.kind == ir::NodeKind::kConstant || values[j].elements() > 0) continue;
      std::vector<ir::Tensor> inputs;
      for (const ir::NodeId input : node.inputs) {
        const ir::Node& source = graph_.node(input);
        inputs.push_back(source.kind == ir::NodeKind::kConstant ? source.data
                                                                : values[input.index()]);
      }
      auto value = ir::evaluate(*node.op, node.attrs, inputs, interpret);
      if (!value.ok()) return value.status().at("folding value '" + node.name + "'");
      values[j] = *std::move(value);
    }
    return rounded(values[i], graph_.node(ir::NodeId(i)).type);
  }

  // Whether some operator of the region has the property; evaluated once per operator.
  using Kinds = std::map<std::size_t, bool>;
  using Ask = bool (*)(const ir::Operator&, const ir::Attrs&, std::span<const ir::TensorType>);
  bool any_in(const std::set<std::size_t>& region, Kinds& kinds, Ask ask) const {
    return std::ranges::any_of(region, [&](std::size_t i) {
      const ir::Node& node = graph_.node(ir::NodeId(i));
      if (node.kind != ir::NodeKind::kOperator) return false;
      const auto known = kinds.find(i);
      if (known != kinds.end()) return known->second;
      std::vector<ir::TensorType> types;
      for (const ir::NodeId input : node.inputs) types.push_back(graph_.node(input).type);
      return kinds[i] = ask(*node.op, node.attrs, types);
    });
  }

  static ir::Tensor rounded(const ir::Tensor& wide, const ir::TensorType& type) {
    if (wide.dtype() == type.dtype) return wide;
    ir::Tensor result(type);
    for (std::int64_t k = 0; k < result.elements(); ++k) result.set_f64(k, wide.f64_at(k));
    return result;
  }

  void fill(FoldReport& report, const ir::Graph& result) const {
    report = {};
    for (const ir::NodeId id : ir::live_nodes(graph_)) {
      const ir::Node& node = graph_.node(id);
      if (node.kind == ir::NodeKind::kConstant) report.bytes_before += node.data.bytes();
      if (node.kind == ir::NodeKind::kOperator && !kept_[id.index()]) ++report.folded;
    }
    for (const bool folded : folded_) report.constants += folded ? 1 : 0;
    for (const ir::Node& node : result.nodes()) {
      if (node.kind == ir::NodeKind::kConstant) report.bytes_after += node.data.bytes();
    }
  }

  const ir::Graph& graph_;
  const FoldOptions& options_;
  std::vector<bool> constant_;
  std::vector<bool> kept_;
  std::vector<bool> folded_;
  std::vector<ir::Tensor> wide_;    // values of constant-only operators, in f64
  std::vector<ir::Tensor> as_run_;  // and rounded to their types
  Kinds decides_;
  Kinds rounds_;
  std::map<std::size_t, base::ContentHash> keys_;
};

}  // namespace

const ir::Tensor* FoldedValues::find(const base::ContentHash& key) const {
  const auto found = values_.find(key);
  return found != values_.end() ? &found->second : nullptr;
}

void FoldedValues::keep(const base::ContentHash& key, ir::Tensor value) {
  values_.insert_or_assign(key, std::move(value));
}

Result<ir::Graph> fold_constants(const ir::Graph& graph, const FoldOptions& options,
                                 FoldReport* report) {
  return Folder(graph, options).run(report);
}

}  // namespace egret::rules
