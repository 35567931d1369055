// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/stored_program.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "backends/cuda/steps/stored_constant.h"

namespace egret::backends::cuda {
namespace {

using codegen::Region;
using ir::NodeId;

// Copies the graph into one in which values lie in their stored forms. A value gets a second form,
// by a conversion kernel, only when a reader needs it.
class Storer {
 public:
  Storer(const PreparedGraph& prepared, const Storage& storage, std::span<const Region> regions,
         std::vector<LibraryRegion> steps, const codegen::TensorCores& cores)
      : contractions_{.tensor_cores = cores},
        from_(prepared.graph),
        origin_(prepared.origin),
        storage_(storage),
        regions_(regions),
        steps_(std::move(steps)),
        forms_(prepared.graph.size()),
        wanted_plain_(prepared.graph.size(), false),
        wanted_stored_(prepared.graph.size(), false) {
    for (LibraryRegion& step : steps_) {
      step_of_[step.nodes.back()] = &step;
      for (const NodeId input : step.inputs)
        (is_read_stored(input, step) ? wanted_stored_ : wanted_plain_)[input.index()] = true;
    }
    result_.prepared.folded_nodes = prepared.folded_nodes;
  }

  // Regions come in order of their roots. The values that a region reads have a form by then.
  StoredProgram run() {
    graph().name = from_.name;
    for (const NodeId input : from_.inputs())
      forms_[input.index()].plain = with_origin(graph().append(from_.node(input)), input);
    for (const Region& region : regions_) {
      const auto step = step_of_.find(region.root());
      if (step != step_of_.end()) {
        append_step(region, *step->second);
      } else {
        region.joined.empty() ? append_kernel(region) : append_joined(region);
      }
    }
    for (const auto& output : from_.outputs())
      graph().add_output(output.name, form(output.node, false));
    result_.prepared.origin.resize(graph().size());
    return std::move(result_);
  }

 private:
  // In the new graph; invalid where it is not there.
  struct Forms {
    NodeId plain, stored;
  };

  ir::Graph& graph() { return result_.prepared.graph; }

  bool is_read_stored(NodeId value, const LibraryRegion& step) const {
    return storage_.is_read_stored(value, step.reads_stored, step.writes_stored);
  }

  NodeId with_origin(NodeId id, NodeId old) {
    result_.prepared.origin.resize(id.index() + 1);
    result_.prepared.origin[id.index()] = origin_[old.index()];
    return id;
  }

  // A value as the new graph has it, or is given it here.
  NodeId form(NodeId value, bool stored) {
    Forms& forms = forms_[value.index()];
    NodeId& wanted = stored ? forms.stored : forms.plain;
    if (wanted.valid()) return wanted;
    if (from_.node(value).kind == ir::NodeKind::kConstant) {
      ir::Node node = from_.node(value);
      if (stored) {
        node.data = storage_.stored(value);
        node.type = node.data.type();
      }
      return wanted = with_origin(graph().append(std::move(node)), value);
    }
    std::vector<NodeId> nodes;
    // The other form exists, as the value's region was appended before. One conversion serves all
    // later readers.
    wanted = stored ? storage_.encode(graph(), forms.plain, value,
                                      overflow_of(std::span(&value, 1)), nodes)
                    : storage_.decode(graph(), forms.stored, value, nodes);
    append_region(
        codegen::region_of(graph(), std::move(nodes), codegen::Target::kCuda, contractions_), value,
        stored);
    return wanted;
  }

  // As it lies anyway; constants as stored.
  Storage::Leaf any_form(NodeId value) {
    const Forms& forms = forms_[value.index()];
    const bool stored =
        forms.stored.valid() || (!forms.plain.valid() && storage_.has_stored(value));
    return {form(value, stored), stored};
  }

  // The root's form is known from then on.
  std::vector<NodeId> append_nodes(std::span<const NodeId> region, const Storage::Leaves& leaves,
                                   bool root_stored, Overflow overflow = Overflow::kInfinite) {
    std::vector<NodeId> copies;
    std::vector<NodeId> nodes =
        storage_.append(graph(), region, leaves, root_stored, overflow, &copies);
    for (std::size_t i = 0; i < region.size(); ++i) with_origin(copies[i], region[i]);
    result_.prepared.origin.resize(graph().size());
    Forms& forms = forms_[region.back().index()];
    (root_stored ? forms.stored : forms.plain) = nodes.back();
    return nodes;
  }

  void append_region(Region region, NodeId value, bool stored) {
    if (stored && storage_.is_channels_last(value)) region.layout = "channels-last";
    result_.regions.push_back(std::move(region));
  }

  // How a kernel that reads these values must treat numbers beyond bf16's range. Such numbers can
  // come from an input, or from a constant that is stored unchanged.
  Overflow overflow_of(std::span<const NodeId> values) const {
    const bool may_be = std::ranges::any_of(values, [&](NodeId value) {
      const ir::Node& node = from_.node(value);
      if (node.kind == ir::NodeKind::kInput) return true;
      return node.kind == ir::NodeKind::kConstant && ir::is_float(node.type.dtype) &&
             node.type.elements() == 1 && std::abs(node.data.f64_at(0)) > kMostBF16;
    });
    return may_be ? Overflow::kLargest : Overflow::kInfinite;
  }

  void append_kernel(const Region& region) {
    const NodeId root = region.root();
    const std::vector<NodeId> values = storage_.taken_by(region.nodes);
    Storage::Leaves leaves;
    for (const NodeId value : values) leaves[value] = any_form(value);
    // A kernel's value is written plain if an output needs it so, or if library steps read only the
    // plain form. Kernels read either form.
    const bool plain =
        storage_.is_output(root) || (wanted_plain_[root.index()] && !wanted_stored_[root.index()]);
    const bool stored = storage_.has_stored(root) && !plain;
    std::vector<NodeId> nodes = append_nodes(region.nodes, leaves, stored, overflow_of(values));
    append_region(
        codegen::region_of(graph(), std::move(nodes), codegen::Target::kCuda, contractions_), root,
        stored);
  }

  void append_step(const Region& old, LibraryRegion& step) {
    Storage::Leaves leaves;
    for (const NodeId value : storage_.taken_by(old.nodes)) {
      const bool stored = is_read_stored(value, step);
      leaves[value] = {form(value, stored), stored};
    }
    Region region;
    region.nodes = append_nodes(old.nodes, leaves, step.writes_stored);
    region.empty = old.empty;
    for (const NodeId input : step.inputs) region.inputs.push_back(leaves.at(input).id);
    LibraryRegion placed = std::move(step);
    placed.nodes = region.nodes;
    placed.inputs = region.inputs;
    const bool stored = placed.writes_stored;
    result_.library_steps.push_back(std::move(placed));
    append_region(std::move(region), old.root(), stored);
  }

  // Its parts lie as the steps leave them, and so does it.
  void append_joined(const Region& region) {
    const bool stored = storage_.has_stored(region.root());
    Storage::Leaves leaves;
    for (const NodeId part : region.inputs) leaves[part] = {form(part, stored), stored};
    Region made;
    made.nodes = append_nodes(region.nodes, leaves, stored);
    made.joined = region.joined;
    for (const NodeId part : region.inputs) made.inputs.push_back(leaves.at(part).id);
    append_region(std::move(made), region.root(), stored);
  }

  const codegen::ContractionOptions contractions_;
  const ir::Graph& from_;
  const std::vector<NodeId>& origin_;
  const Storage& storage_;
  std::span<const Region> regions_;
  std::vector<LibraryRegion> steps_;
  std::map<NodeId, LibraryRegion*> step_of_;        // by root
  std::vector<Forms> forms_;                        // by node
  std::vector<bool> wanted_plain_, wanted_stored_;  // by library steps
  StoredProgram result_;
};

}  // namespace

StoredProgram store(const PreparedGraph& prepared, const Storage& storage,
                    std::span<const Region> regions, std::vector<LibraryRegion> steps,
                    const codegen::TensorCores& cores) {
  return Storer(prepared, storage, regions, std::move(steps), cores).run();
}

}  // namespace egret::backends::cuda
