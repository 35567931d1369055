// SPDX-License-Identifier: Apache-2.0
#include "parallel/ring/ring_search.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace egret::parallel {
namespace {

using egraph::ClassId;
using egraph::NodeId;

constexpr std::size_t kMostNodes = 12;  // of a ring

// Searches one ring, from its result backward to its inputs.
class RingFinder {
 public:
  RingFinder(const rules::TensorEGraph& tensors, const Mesh& mesh, Implementations& ways, int axis,
             bool computes)
      : tensors_(tensors), mesh_(mesh), ways_(ways), computes_(computes) {
    ring_.axis = axis;
  }

  std::optional<FoundRing> find(NodeId node, const Implementation& way, const Placement& output,
                                const Law& in_time) {
    const auto root = add_node(node, way, output, in_time);
    // Without a circulating block there is nothing to gain over the plain implementation.
    if (!root || passing() == 0) return std::nullopt;
    for (std::size_t i = 0; i < whole_.size(); ++i) {
      if (ring_.nodes.size() > kMostNodes) return std::nullopt;
      // A copy: reduced_here() may append to whole_.
      const Whole one = whole_[i];
      auto reference = reduced_here(one.value, one.placement);
      if (!reference) reference = input(one.value, one.placement, {});
      whole_[i].reference = reference;
    }
    return in_order(static_cast<std::size_t>(*root));
  }

 private:
  // A value that a step reads whole: known before the ring, or reduced in it.
  struct Whole {
    ClassId value;
    Placement placement;
    std::optional<int> reference{};
  };
  static constexpr int kFirstWhole = 1 << 20;  // references to them begin here

  std::int64_t steps() const { return mesh_.size(ring_.axis); }
  std::ptrdiff_t passing() const {
    return std::ranges::count(ring_.inputs, true, &RingInput::passes);
  }

  // A reference to the value as a step reads it; nullopt where that cannot be. If the mesh's axis
  // holds copies of the value, its blocks can circulate. If it cuts the value, the part that a
  // device holds is the whole for time: a step computes its block or cuts it out.
  std::optional<int> want(ClassId value, const Placement& placement, AxisPlacement step) {
    value = tensors_.egraph().find(value);
    if (step.is_copy()) return whole(value, placement);
    if (!step.is_split() || step.has_halo()) return std::nullopt;
    const auto known = blocks_.find({value, placement, step});
    if (known != blocks_.end()) return known->second;
    const AxisPlacement along = placement.along(ring_.axis);
    if (along.is_copy()) {
      const Placement cut = placement.with(ring_.axis, step);
      if (!cuts_in_order(cut) || !local_type(tensors_.type(value), cut, mesh_).ok())
        return std::nullopt;
      return blocks_[{value, placement, step}] = input(value, cut, {true, step});
    }
    if (along.is_partial() || along.has_halo()) return std::nullopt;
    std::optional<int> made;
    if (computes_) made = computed(value, placement, step);
    if (!made) made = input(value, placement, {false, step});
    return blocks_[{value, placement, step}] = *made;
  }

  int whole(ClassId value, const Placement& placement) {
    std::size_t at = 0;
    while (at < whole_.size() && (whole_[at].value != value || whole_[at].placement != placement))
      ++at;
    if (at == whole_.size()) whole_.push_back({value, placement});
    return kFirstWhole + static_cast<int>(at);
  }

  // Equal inputs are shared; inputs are numbered -1, -2, ...
  int input(ClassId value, const Placement& placement, const RingInput& how) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] == std::pair(value, placement) && ring_.inputs[i] == how)
        return -1 - static_cast<int>(i);
    }
    inputs_.emplace_back(value, placement);
    ring_.inputs.push_back(how);
    return -static_cast<int>(inputs_.size());
  }

  std::optional<int> add_node(NodeId node, const Implementation& way, const Placement& placement,
                              const Law& in_time) {
    // A class may contain itself, as relu(x) = relu(relu(x)): skip classes in progress.
    const ClassId value = tensors_.egraph().class_of(node);
    if (begun_.size() + ring_.nodes.size() > kMostNodes ||
        std::ranges::find(begun_, value) != begun_.end())
      return std::nullopt;
    begun_.push_back(value);
    const auto made = add_node_and_inputs(node, way, placement, in_time);
    begun_.pop_back();
    return made;
  }

  std::optional<int> add_node_and_inputs(NodeId node, const Implementation& way,
                                         const Placement& placement, const Law& in_time) {
    const egraph::OpId op = tensors_.egraph().op(node);
    RingNode made{
        &tensors_.language().op(op), tensors_.language().attrs(op), {}, placement, in_time.output};
    const auto children = tensors_.egraph().children(node);
    for (std::size_t i = 0; i < children.size(); ++i) {
      const auto read = want(children[i], way.inputs[i], in_time.inputs[i]);
      if (!read) return std::nullopt;
      made.inputs.push_back(*read);
    }
    ring_.nodes.push_back(std::move(made));
    return static_cast<int>(ring_.nodes.size()) - 1;
  }

  // Primitive nodes: those of a composite's body are in its class, too.
  std::vector<NodeId> primitives(ClassId value) const {
    std::vector<NodeId> found;
    for (const NodeId node : tensors_.egraph().nodes(value)) {
      const egraph::OpId op = tensors_.egraph().op(node);
      if (tensors_.language().kind(op) == ir::NodeKind::kOperator &&
          !tensors_.language().op(op).is_composite())
        found.push_back(node);
    }
    return found;
  }

  // Computes the block of a value in each step from circulating blocks; undone if nothing new
  // circulates. The search is depth-first over nodes, implementations and laws. It takes the first
  // success and bounds the depth by kMostNodes.
  std::optional<int> computed(ClassId value, const Placement& placement, AxisPlacement step) {
    if (ring_.nodes.size() > kMostNodes || tensors_.is_constant(value)) return std::nullopt;
    for (const NodeId node : primitives(value)) {
      for (const Implementation& way : ways_.of(node, placement)) {
        for (const Law& law : ways_.laws(operator_of(node), way.attrs, way.parts, steps())) {
          if (law.output != step) continue;
          const RingFinder before = *this;
          const auto made = add_node(node, way, placement, law);
          if (made && passing() > before.passing()) return made;
          restore(before);
        }
      }
    }
    return std::nullopt;
  }

  // Computes a value in the ring by reducing blocks that the ring computes.
  std::optional<int> reduced_here(ClassId value, const Placement& placement) {
    for (const NodeId node : primitives(value)) {
      for (const Implementation& way : ways_.of(node, placement)) {
        for (const Law& law : ways_.laws(operator_of(node), way.attrs, way.parts, steps())) {
          if (!law.output.is_partial() || !reads_blocks(node, way, law)) continue;
          const RingFinder before = *this;
          if (const auto made = add_node(node, way, placement, law)) return made;
          restore(before);
        }
      }
    }
    return std::nullopt;
  }

  // A reduction in the ring pays only where it reads blocks that earlier nodes of the ring compute.
  bool reads_blocks(NodeId node, const Implementation& way, const Law& law) const {
    const auto children = tensors_.egraph().children(node);
    bool any = false;
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (law.inputs[i].is_copy()) continue;
      const ClassId child = tensors_.egraph().find(children[i]);
      const auto known = blocks_.find({child, way.inputs[i], law.inputs[i]});
      if (known == blocks_.end() || known->second < 0) return false;
      any = true;
    }
    return any;
  }

  const ir::Operator& operator_of(NodeId node) const {
    return tensors_.language().op(tensors_.egraph().op(node));
  }

  // Undoes a failed attempt. begun_ needs no restoring: add_node() leaves it as it was.
  void restore(const RingFinder& before) {
    ring_ = before.ring_;
    inputs_ = before.inputs_;
    blocks_ = before.blocks_;
    whole_ = before.whole_;
  }

  // With nodes after those that they read. Nullopt where there is a cycle. Values that a step reads
  // whole are resolved after the search, so the nodes are not in topological order. A depth-first
  // traversal sorts them.
  std::optional<FoundRing> in_order(std::size_t root) {
    std::vector<int> place(ring_.nodes.size(), -1);
    FoundRing found{{ring_.axis, ring_.inputs, {}}, inputs_};
    if (!append(root, place, found.ring) ||
        !std::ranges::all_of(place, [](int i) { return i >= 0; }))
      return std::nullopt;
    return found;
  }

  // Appends the nodes that it reads, then itself; false in a cycle.
  bool append(std::size_t at, std::vector<int>& place, Ring& ring) {
    if (place[at] >= 0) return true;
    constexpr int kOnTheWay = -2;
    if (place[at] == kOnTheWay) return false;
    place[at] = kOnTheWay;
    RingNode node = ring_.nodes[at];
    for (int& reference : node.inputs) {
      if (reference >= kFirstWhole)
        reference = *whole_[static_cast<std::size_t>(reference - kFirstWhole)].reference;
      if (reference < 0) continue;
      const auto read = static_cast<std::size_t>(reference);
      if (!append(read, place, ring)) return false;
      reference = place[read];
    }
    place[at] = static_cast<int>(ring.nodes.size());
    ring.nodes.push_back(std::move(node));
    return true;
  }

  const rules::TensorEGraph& tensors_;
  const Mesh& mesh_;
  Implementations& ways_;
  const bool computes_;
  Ring ring_;
  std::vector<std::pair<ClassId, Placement>> inputs_;
  std::map<std::tuple<ClassId, Placement, AxisPlacement>, int> blocks_;
  std::vector<Whole> whole_;
  std::vector<ClassId> begun_;  // of the nodes whose inputs are being looked for
};

}  // namespace

// For each axis that cuts the result and each law along time, two rings are tried: one whose steps
// only cut their operands, and one whose steps also compute them from circulating blocks, as ring
// attention does.
std::vector<FoundRing> find_rings(const rules::TensorEGraph& tensors, const Mesh& mesh,
                                  Implementations& ways, NodeId node, const Implementation& way,
                                  const Placement& output) {
  std::vector<FoundRing> found;
  const ir::Operator& op = tensors.language().op(tensors.egraph().op(node));
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    if (mesh.size(axis) == 1 || !output.along(axis).is_split() || output.has_halo()) continue;
    const std::vector<Law> laws = ways.laws(op, way.attrs, way.parts, mesh.size(axis));
    for (const Law& law : laws) {
      if (law.output.is_copy()) continue;
      for (const bool computes : {false, true}) {
        auto ring = RingFinder(tensors, mesh, ways, axis, computes).find(node, way, output, law);
        const auto is_same = [&](const FoundRing& other) {
          return other.ring == ring->ring && other.inputs == ring->inputs;
        };
        if (ring && std::ranges::none_of(found, is_same)) found.push_back(*std::move(ring));
      }
    }
  }
  return found;
}

}  // namespace egret::parallel
