// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/fusion.h"

#include <algorithm>
#include <map>

#include "ir/analysis/elementwise.h"
#include "ir/nest/work.h"

namespace egret::parallel {
namespace {

using Kind = PlacedEGraph::Kind;

double elements(const ir::TensorType& type) {
  double count = 1;
  for (const std::int64_t size : type.shape()) count *= static_cast<double>(size);
  return count;
}

}  // namespace

Fusion::Fusion(const PlacedEGraph& placed, const egraph::EGraphView& view, const Cluster& machine)
    : placed_(placed),
      view_(view),
      machine_(machine),
      elementwise_(view.node_count(), false),
      read_elementwise_(view.class_count(), false) {
  if (!machine.fuses) return;
  const rules::TensorLanguage& language = placed.tensors().language();
  std::map<std::pair<egraph::OpId, std::vector<ir::DType>>, bool> known;
  std::map<egraph::ClassId, std::set<egraph::ClassId>> readers;  // of a value
  for (Index node = 0; node < view.node_count(); ++node) {
    const PlacedEGraph::Meaning& meaning = placed.meaning(view.node_op[node]);
    if (meaning.kind != Kind::kOperator && meaning.kind != Kind::kRing) continue;
    const egraph::ClassId result = value_of(node).value;
    std::vector<ir::DType> dtypes;
    for (const Index child : view.children_of(node)) {
      const PlacedEGraph::Placed& operand = placed.placed(view.class_id[child]);
      readers[operand.value].insert(result);
      dtypes.push_back(operand.type.dtype);
    }
    if (meaning.kind == Kind::kRing) continue;
    const auto [found, is_new] = known.try_emplace({meaning.sequential, dtypes}, false);
    if (is_new) {
      found->second = ir::is_elementwise(language.op(meaning.sequential),
                                         language.attrs(meaning.sequential), dtypes);
    }
    elementwise_[node] = found->second;
    if (!found->second) continue;
    if (const auto joined = joined_operand(node))
      read_elementwise_[view.children_of(node)[*joined]] = true;
  }
  for (const auto& [value, results] : readers) {
    if (results.size() > 1) shared_.insert(value);
  }
}

bool Fusion::is_computed(const PlacedEGraph::Placed& value) const {
  return !placed_.leaf_of(value.value).valid() && !placed_.tensors().is_constant(value.value);
}

std::optional<std::size_t> Fusion::joined_operand(Index node) const {
  if (!elementwise_[node]) return std::nullopt;
  const auto operands = view_.children_of(node);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const PlacedEGraph::Placed& operand = placed_.placed(view_.class_id[operands[i]]);
    // A broadcast operand is computed by a kernel with fewer elements.
    if (is_computed(operand) && elements(operand.type) == elements(value_of(node).type)) return i;
  }
  return std::nullopt;
}

std::optional<double> Fusion::seconds_if_fused(Index node) const {
  const auto joined = joined_operand(node);
  if (!joined) return std::nullopt;
  const auto operands = view_.children_of(node);
  std::vector<ir::TensorType> types;
  for (const Index child : operands) types.push_back(placed_.placed(view_.class_id[child]).type);
  const PlacedEGraph::Meaning& meaning = placed_.meaning(view_.node_op[node]);
  auto work =
      ir::work_of(placed_.tensors().language().op(meaning.sequential), meaning.part_attrs, types);
  if (!work.ok()) return std::nullopt;
  const auto bytes = static_cast<double>(types[*joined].bytes());
  work->bytes_read = std::max(0.0, work->bytes_read - bytes);
  const egraph::ClassId value = placed_.placed(view_.class_id[operands[*joined]]).value;
  if (!shared_.contains(value)) work->bytes_written = std::max(0.0, work->bytes_written - bytes);
  return cost::roofline_seconds(*work, machine_.rates);
}

double Fusion::seconds_of_interruption(Index collective) const {
  if (!read_elementwise_[view_.node_class[collective]]) return 0;
  // The operator's price leaves out that its operand is read, and where nothing else reads it, that
  // as much is written.
  const PlacedEGraph::Placed& value = value_of(collective);
  const double moved = shared_.contains(value.value) ? 1 : 2;
  return machine_.rates.seconds_per_kernel +
         moved * static_cast<double>(value.type.bytes()) / machine_.rates.bytes_per_second;
}

}  // namespace egret::parallel
