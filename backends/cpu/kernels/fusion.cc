// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/fusion.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "backends/codegen/regions.h"
#include "backends/cpu/kernels/block_product.h"
#include "backends/cpu/kernels/emitted_kernel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/kernels/reduction_region.h"
#include "backends/cpu/kernels/resize_kernel.h"
#include "backends/cpu/kernels/row_product.h"
#include "backends/cpu/loops/pointwise_program.h"
#include "backends/cpu/plan/epilogue.h"
#include "backends/cpu/regions/attention_group.h"

namespace egret::backends::cpu {
namespace {

constexpr std::size_t kMaxChain = 16;  // oneDNN takes at most 32 post-operations
constexpr std::size_t kMaxRegion = 64;

struct Readers {
  std::vector<std::vector<ir::NodeId>> of;  // by node, each reader once
  std::vector<bool> is_output;

  explicit Readers(const ir::Graph& graph) : of(graph.size()), is_output(graph.size(), false) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
      for (const ir::NodeId input : graph.node(ir::NodeId(i)).inputs) {
        auto& readers = of[input.index()];
        if (readers.empty() || readers.back() != ir::NodeId(i)) readers.emplace_back(i);
      }
    }
    for (const auto& output : graph.outputs()) is_output[output.node.index()] = true;
  }
  // The only reader of a value that is not an output; invalid if there are several.
  ir::NodeId only(ir::NodeId id) const {
    const auto& readers = of[id.index()];
    return readers.size() == 1 && !is_output[id.index()] ? readers[0] : ir::NodeId();
  }
};

bool takes_epilogue(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (node.kind != ir::NodeKind::kOperator) return false;
  const KernelRow* row = find_kernel(node.op->name());
  return row != nullptr && row->epilogue == Epilogue::kPointwise && has_kernel(graph, id);
}

// Whether its own kernel fuses any pointwise operators behind it.
bool is_own_product(const ir::Graph& graph, ir::NodeId id, Precision precision, OperandForm form) {
  const ir::Node& node = graph.node(id);
  if (node.attrs.find("activation") != nullptr || form == OperandForm::kI8) return false;
  if (form == OperandForm::kF32 && is_block_product(graph, id, precision)) return true;
  return graph.node(node.inputs[1]).kind == ir::NodeKind::kConstant && is_row_product(graph, id);
}

// Divides the graph into groups, each computed by one kernel. The order of the passes is the order
// of preference; a node that one pass takes is not available to the later ones.
class Grouping {
 public:
  Grouping(const ir::Graph& graph, Precision precision, std::span<const Lowering> lowerings)
      : graph_(graph),
        precision_(precision),
        lowerings_(lowerings),
        readers_(graph),
        pointwise_(graph.size()),
        taken_(graph.size(), false) {
    for (std::size_t i = 0; i < graph.size(); ++i)
      pointwise_[i] = is_pointwise(graph, ir::NodeId(i));
  }

  // Attention comes first: its products would otherwise take their own epilogues and end the
  // pattern.
  void take_attention() {
    const auto only_reader = [&](ir::NodeId id) { return readers_.only(id); };
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      Group group = attention_group(graph_, ir::NodeId(i), only_reader);
      const auto is_lowered = [&](ir::NodeId id) { return form(id) != OperandForm::kF32; };
      if (group.nodes.empty() || std::ranges::any_of(group.nodes, is_lowered)) continue;
      for (const ir::NodeId id : group.nodes) taken_[id.index()] = true;
      groups_.push_back(std::move(group));
    }
  }

  // Images are resampled along two axes.
  void take_resamplings() {
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const ir::NodeId first(i), second = readers_.only(first);
      if (taken_[i] || !second.valid() || taken_[second.index()]) continue;
      Group group{{first, second}};
      if (!is_resampling_of_two_axes(graph_, group)) continue;
      for (const ir::NodeId id : group.nodes) taken_[id.index()] = true;
      groups_.push_back(std::move(group));
    }
  }

  // The later of two kernels that end in the same addition takes it: the other's result exists by
  // then and can be accumulated into.
  void take_epilogues() {
    for (std::size_t i = graph_.size(); i-- > 0;) {
      const ir::NodeId anchor(i);
      if (taken_[i] || !takes_epilogue(graph_, anchor)) continue;
      Group group = is_own_product(graph_, anchor, precision_, form(anchor))
                        ? with_operators_behind(anchor)
                        : with_chain_behind(anchor);
      for (const ir::NodeId id : group.nodes) taken_[id.index()] = true;
      groups_.push_back(std::move(group));
    }
  }

  void take_reductions() {
    for (std::size_t i = graph_.size(); i-- > 0;) {
      const ir::NodeId reduction(i);
      if (taken_[i] || !may_reduce_region(graph_, reduction)) continue;
      const ir::NodeId value = graph_.node(reduction).inputs[0];
      if (taken_[value.index()] || !pointwise_[value.index()] || readers_.only(value) != reduction)
        continue;
      Group group = take_region(value);
      group.nodes.push_back(reduction);
      taken_[i] = true;
      groups_.push_back(std::move(group));
    }
  }

  void take_regions() {
    for (std::size_t i = graph_.size(); i-- > 0;) {
      if (!taken_[i] && pointwise_[i]) groups_.push_back(take_region(ir::NodeId(i)));
    }
  }

  // Operators without a kernel, in the regions that the emitter expects to pay.
  // Nodes that have a kernel, are already taken, or are cheaper to interpret are marked as regions
  // of their own ("apart"). The region finder then covers only the remaining nodes.
  void take_emitted(bool fuse, Emission emission) {
    codegen::RegionOptions options{.target = codegen::Target::kHost, .fuse = fuse};
    const auto stays = [&](ir::NodeId id) {
      return emission != Emission::kAll && interprets_faster(graph_, id);
    };
    std::vector<bool> apart(graph_.size(), false);
    bool any = false;
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const ir::Node& node = graph_.node(ir::NodeId(i));
      if (node.kind != ir::NodeKind::kOperator) continue;
      apart[i] = taken_[i] || has_kernel(graph_, ir::NodeId(i)) || stays(ir::NodeId(i));
      any = any || !apart[i];
      if (apart[i]) options.apart.push_back({{ir::NodeId(i)}, node.inputs});
    }
    if (!any) return;
    for (codegen::Region& region : codegen::find_regions(graph_, options)) {
      if (apart[region.root().index()]) continue;
      for (const ir::NodeId id : region.nodes) taken_[id.index()] = true;
      groups_.push_back({.nodes = std::move(region.nodes), .emitted = true});
    }
  }

  void take_single_nodes() {
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (!taken_[i] && graph_.node(ir::NodeId(i)).kind == ir::NodeKind::kOperator)
        groups_.push_back({{ir::NodeId(i)}});
    }
  }

  std::vector<Group> in_order() && {
    std::ranges::sort(groups_, {}, &Group::root);
    return std::move(groups_);
  }

 private:
  OperandForm form(ir::NodeId id) const {
    return lowerings_.empty() ? OperandForm::kF32 : lowerings_[id.index()].form;
  }
  bool is_free(ir::NodeId id, const ir::TensorType& type) const {
    return !taken_[id.index()] && graph_.node(id).type == type;
  }

  // The longest chain that oneDNN's post-operations express.
  Group with_chain_behind(ir::NodeId anchor) const {
    Group group{{anchor}};
    for (ir::NodeId next = readers_.only(anchor); next.valid() && group.nodes.size() < kMaxChain;
         next = readers_.only(next)) {
      if (!is_free(next, graph_.node(anchor).type) || !epilogue_takes(graph_, group, next)) break;
      group.nodes.push_back(next);
    }
    return group;
  }

  // Adds readers, earliest first. The group ends at the last point where all other values have
  // their readers inside, so that only one value leaves it.
  // `outside` holds readers of the group that are not in it. Ids are topological, so the earliest
  // of them depends on no other one.
  Group with_operators_behind(ir::NodeId anchor) const {
    std::set<ir::NodeId> inside{anchor}, outside;
    std::size_t end = 1;
    ir::NodeId next = anchor;
    while (inside.size() < kMaxChain) {
      const auto& readers = readers_.of[next.index()];
      outside.insert(readers.begin(), readers.end());
      if (outside.empty()) break;
      next = *outside.begin();
      outside.erase(outside.begin());
      if (!is_free(next, graph_.node(anchor).type) || !pointwise_[next.index()]) break;
      inside.insert(next);
      // Checked after each addition: every value but the newest must be read only inside.
      const bool closed = std::ranges::all_of(
          inside, [&](ir::NodeId id) { return id == next || !is_read_outside(id, inside); });
      if (closed) end = inside.size();
    }
    return Group{{inside.begin(), std::next(inside.begin(), static_cast<std::ptrdiff_t>(end))}};
  }
  bool is_read_outside(ir::NodeId id, const std::set<ir::NodeId>& inside) const {
    return readers_.is_output[id.index()] ||
           std::ranges::any_of(readers_.of[id.index()],
                               [&](ir::NodeId reader) { return !inside.contains(reader); });
  }

  // Grows upwards from the root. A producer joins when all its readers are inside: nothing is then
  // computed twice.
  Group take_region(ir::NodeId root) {
    Group group{{root}};
    taken_[root.index()] = true;
    const ir::Shape shape = graph_.node(root).type.shape();
    std::vector<ir::NodeId> candidates = graph_.node(root).inputs;
    while (!candidates.empty() && group.nodes.size() < kMaxRegion) {
      // Latest first: all its readers have been tried before it.
      const auto latest = std::ranges::max_element(candidates);
      const ir::NodeId id = *latest;
      std::erase(candidates, id);
      if (taken_[id.index()] || !pointwise_[id.index()] || readers_.is_output[id.index()] ||
          graph_.node(id).type.shape() != shape)
        continue;
      const bool inside = std::ranges::all_of(readers_.of[id.index()], [&](ir::NodeId reader) {
        return std::ranges::find(group.nodes, reader) != group.nodes.end();
      });
      if (!inside) continue;
      taken_[id.index()] = true;
      group.nodes.push_back(id);
      const auto& inputs = graph_.node(id).inputs;
      candidates.insert(candidates.end(), inputs.begin(), inputs.end());
    }
    std::ranges::sort(group.nodes);
    return group;
  }

  const ir::Graph& graph_;
  Precision precision_;
  std::span<const Lowering> lowerings_;
  Readers readers_;
  std::vector<bool> pointwise_;
  std::vector<bool> taken_;
  std::vector<Group> groups_;
};

}  // namespace

std::vector<Group> find_groups(const ir::Graph& graph, Fusion fusion, Emission emission,
                               Precision precision, std::span<const Lowering> lowerings) {
  Grouping grouping(graph, precision, lowerings);
  if (fusion != Fusion::kNone) {
    grouping.take_attention();
    grouping.take_resamplings();
    grouping.take_epilogues();
  }
  if (fusion == Fusion::kAll) {
    grouping.take_reductions();
    grouping.take_regions();
  }
  if (emission != Emission::kNone) grouping.take_emitted(fusion == Fusion::kAll, emission);
  grouping.take_single_nodes();
  return std::move(grouping).in_order();
}

// The anchor alone, and the operators behind it as a region of their own.
std::vector<Group> split_epilogue(const Group& group) {
  return {{{group.nodes.front()}}, {{group.nodes.begin() + 1, group.nodes.end()}}};
}

std::vector<Group> split_reduction(const Group& group) {
  return {{{group.nodes.begin(), group.nodes.end() - 1}}, {{group.root()}}};
}

std::vector<Group> single_nodes(const Group& group) {
  std::vector<Group> groups;
  for (const ir::NodeId id : group.nodes) groups.push_back({{id}});
  return groups;
}

}  // namespace egret::backends::cpu
