// SPDX-License-Identifier: Apache-2.0
// The CPU backend: prepare the graph, group its nodes, make a kernel for each group, plan the
// memory.
#include <algorithm>
#include <map>
#include <utility>

#include "backends/backend.h"
#include "backends/cpu/kernels/attention_kernel.h"
#include "backends/cpu/kernels/block_product.h"
#include "backends/cpu/kernels/emitted_kernel.h"
#include "backends/cpu/kernels/fusion.h"
#include "backends/cpu/kernels/joint_kernel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/kernels/key_product.h"
#include "backends/cpu/kernels/reduction_region.h"
#include "backends/cpu/kernels/resize_kernel.h"
#include "backends/cpu/kernels/rounding.h"
#include "backends/cpu/kernels/row_product.h"
#include "backends/cpu/loops/pointwise_program.h"
#include "backends/cpu/plan/group_order.h"
#include "backends/cpu/plan/kernel_layouts.h"
#include "backends/cpu/plan/layout_forms.h"
#include "backends/cpu/plan/onednn.h"
#include "backends/cpu/plan/plan_builder.h"
#include "backends/cpu/plan/stored_values.h"
#include "backends/cpu/regions/attention_group.h"
#include "backends/division.h"
#include "backends/joint_kernels.h"
#include "backends/layout_forms.h"
#include "backends/moves.h"
#include "backends/prepare.h"
#include "backends/value_storage.h"

namespace egret::backends {
namespace cpu {
namespace {

// Whether bias and residual of a fused_matmul have the output's shape or vary along its last axis
// only: post-operations express no other broadcast, so the body computes those.
bool fits_matmul(const ir::Graph& graph, const ir::Node& node) {
  const ir::Shape shape = node.type.shape();
  for (std::size_t i = 2; i < node.inputs.size(); ++i) {
    const ir::Shape operand = graph.node(node.inputs[i]).type.shape();
    const bool row = operand.empty() || std::all_of(operand.begin(), operand.end() - 1,
                                                    [](std::int64_t size) { return size == 1; });
    const bool whole = graph.node(node.inputs[i]).type.elements() == node.type.elements() &&
                       operand.size() == shape.size();
    if (!row && !whole) return false;
  }
  return true;
}

// Whether the bias of a fused_conv is one number for each filter; the body computes other forms.
bool fits_conv(const ir::Graph& graph, const ir::Node& node) {
  const ir::Shape weights = graph.node(node.inputs[1]).type.shape();
  return node.inputs.size() < 3 || graph.node(node.inputs[2]).type.elements() == weights[0];
}

bool takes_composite(const ir::Graph& graph, ir::NodeId id, Emission emission,
                     Precision precision) {
  const ir::Node& node = graph.node(id);
  // Without emission the interpreter takes the composite whole; otherwise its primitives are
  // emitted.
  if (emission != Emission::kNone && !has_kernel(graph, id)) return false;
  if (node.op->name() == "resize") return is_resampling(graph, id);
  // The parts of the epilogue are fused into the own product kernels as pointwise operators.
  const bool product = node.op->name() == "fused_matmul" || node.op->name() == "fused_conv";
  if (product && (is_row_product(graph, id) || is_block_product(graph, id, precision)))
    return false;
  if (node.op->name() == "fused_matmul" && node.type.is_concrete()) return fits_matmul(graph, node);
  if (node.op->name() == "fused_conv" && node.type.is_concrete() && !fits_conv(graph, node))
    return false;
  return find_kernel(node.op->name()) != nullptr || is_pointwise(graph, id);
}

TakesComposite taken_with(Emission emission, Precision precision) {
  return [emission, precision](const ir::Graph& graph, ir::NodeId id) {
    return takes_composite(graph, id, emission, precision);
  };
}

// Whether an own kernel of products takes all of this. Operands of the chain may still refuse it.
bool is_joint_product(const ir::Graph& graph, std::span<const ir::NodeId> nodes,
                      std::span<const ir::NodeId> stored, Precision precision) {
  const auto group = product_group(graph, nodes, stored);
  if (!group) return false;
  const auto all = [&](const auto& is) { return std::ranges::all_of(group->products, is); };
  const auto is_constant = [&](ir::NodeId id) {
    return graph.node(graph.node(id).inputs[1]).kind == ir::NodeKind::kConstant;
  };
  return all(is_constant) &&
         (all([&](ir::NodeId id) { return is_row_product(graph, id); }) ||
          all([&](ir::NodeId id) { return may_be_block_product(graph, id, precision); }));
}

base::Status make_joint_product(PlanBuilder& builder, const Group& group,
                                std::span<const ir::NodeId> stored) {
  const auto products = product_group(builder.graph(), group.nodes, stored);
  if (!products) return make_joint_key_product(builder, group, stored);
  if (make_row_product(builder, *products).ok()) return base::ok();
  return make_block_product(builder, *products);
}

// Whether one kernel computes all operators of the graph and stores its outputs.
bool is_joint(const ir::Graph& graph, Precision precision) {
  std::vector<ir::NodeId> nodes, stored;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.node(ir::NodeId(i)).kind == ir::NodeKind::kOperator) nodes.emplace_back(i);
  }
  if (nodes.empty() || graph.outputs().empty()) return false;
  for (const auto& output : graph.outputs()) {
    if (graph.node(output.node).kind != ir::NodeKind::kOperator) return false;
    if (output.node != nodes.back()) stored.push_back(output.node);
  }
  return is_joint_region(graph, nodes, stored) || is_joint_reduction(graph, nodes, stored) ||
         is_joint_product(graph, nodes, stored, precision) ||
         is_joint_key_product(graph, nodes, stored, precision);
}

base::Status make_joint(PlanBuilder& builder, const Group& group,
                        std::span<const ir::NodeId> stored) {
  const ir::Graph& graph = builder.graph();
  if (is_joint_region(graph, group.nodes, stored)) return make_joint_kernel(builder, group, stored);
  return is_joint_reduction(graph, group.nodes, stored)
             ? make_joint_reduction(builder, group, stored)
             : make_joint_product(builder, group, stored);
}

// Of several products, or of one behind other operators.
bool is_joint_product_of_one_value(const PlanBuilder& builder, const Group& group) {
  const ir::Graph& graph = builder.graph();
  const auto is_product = [&](ir::NodeId id) {
    return graph.node(id).op->name() == "matmul" || graph.node(id).op->name() == "conv";
  };
  const auto products = std::ranges::count_if(group.nodes, is_product);
  const Precision precision = builder.options().precision;
  return (products > 1 || (products == 1 && !is_product(group.anchor()))) &&
         (is_joint_product(graph, group.nodes, {}, precision) ||
          is_joint_key_product(graph, group.nodes, {}, precision));
}

base::Status try_group(PlanBuilder& builder, const Group& group, const StoredByRoot& stored) {
  if (const auto found = stored.find(group.root()); found != stored.end())
    return guarded([&] { return make_joint(builder, group, found->second); });
  if (is_joint_product_of_one_value(builder, group))
    return guarded([&] { return make_joint_product(builder, group, {}); });
  if (is_attention(builder.graph(), group))
    return guarded([&] { return make_attention_kernel(builder, group); });
  if (is_reduced_region(builder.graph(), group.nodes))
    return guarded([&] { return make_reduce_kernel(builder, group); });
  if (is_resampling_of_two_axes(builder.graph(), group))
    return guarded([&] { return make_resize_kernel(builder, group); });
  const KernelRow* row = find_kernel(builder.node(group.anchor()).op->name());
  // A group without a kernel of its own is a region of pointwise operators. So is a group of
  // several nodes whose anchor's kernel takes no epilogue.
  const bool region =
      row == nullptr || (row->epilogue == Epilogue::kNone && group.nodes.size() > 1);
  if (region && !is_pointwise(builder.graph(), group.root()))
    return base::unsupported("no kernel for " + builder.node(group.anchor()).op->name());
  return guarded(
      [&] { return region ? make_pointwise_kernel(builder, group) : row->make(builder, group); });
}

// Never fails. A group that no kernel takes is split; a single node gets an emitted kernel or the
// interpreter. A division may ask for any group: each kernel checks all nodes of what it takes.
void build_group(PlanBuilder& builder, const Group& group, const StoredByRoot& stored) {
  builder.begin(group);
  if (group.emitted && (group.nodes.size() == 1 || is_emitted_as_one(builder, group))) {
    make_emitted_kernel(builder, group, "no kernel for " + builder.node(group.root()).op->name());
    return builder.end(group);
  }
  const base::Status made = try_group(builder, group, stored);
  if (made.ok()) return builder.end(group);
  builder.abandon(group);
  if (group.nodes.size() == 1) {
    builder.begin(group);
    make_emitted_kernel(builder, group, made.message());
    return builder.end(group);
  }
  // Splitting ends: each part has fewer nodes, and a single node always gets some kernel.
  const bool anchored = find_kernel(builder.node(group.anchor()).op->name()) != nullptr;
  std::vector<Group> parts = stored.contains(group.root())          ? single_nodes(group)
                             : is_attention(builder.graph(), group) ? split_attention(group)
                             : is_reduced_region(builder.graph(), group.nodes)
                                 ? split_reduction(group)
                             : anchored ? split_epilogue(group)
                                        : single_nodes(group);
  builder.recount(group, parts);
  for (Group& part : parts) {
    part.part = group.part;
    build_group(builder, part, {});
  }
}

// In the layouts that are asked for, if there are any. `layouts`: gets those of the group's part.
void build_part(PlanBuilder& builder, const Group& group, const StoredByRoot& stored,
                std::span<const ir::NodeId> origin, std::vector<KernelLayouts>& layouts) {
  LaidOut laid_out;
  if (group.layouts) laid_out.lay_out_inputs(builder, group, origin);
  build_group(builder, group, stored);
  const auto part = static_cast<std::size_t>(group.part);
  if (group.part >= 0 && part < layouts.size()) layouts[part] = observed_layouts(builder, group);
  if (!group.layouts) return;
  const auto found = stored.find(group.root());
  laid_out.lay_out_values(builder, group,
                          found != stored.end() ? found->second : std::vector<ir::NodeId>());
}

// The preferred layout of the graph. Blocked channels suit Winograd kernels. Channels-last suits
// groups narrower than a block and, where its kernels are fast, dilated windows. The layout with
// more arithmetic wins, which keeps reorders few.
bool prefers_channels_last(const ir::Graph& graph) {
  double winograd = 0, others = 0;
  const bool dilated_by_phases = !has_two_product_units();
  for (const ir::Node& node : graph.nodes()) {
    if (node.op == nullptr || (node.op->name() != "conv" && node.op->name() != "fused_conv"))
      continue;
    const ir::Shape weights = graph.node(node.inputs[1]).type.shape();
    const std::int64_t group = node.attrs.integer("group");
    // Multiplications: outputs times the size of one filter.
    double work = static_cast<double>(node.type.elements());
    for (std::size_t i = 1; i < weights.size(); ++i) work *= static_cast<double>(weights[i]);
    const bool depthwise = weights[1] == 1 && group == weights[0];
    if (group > 1 && !depthwise && weights[1] % 16 != 0) others += work;
    if (group > 1 || weights.size() != 4 || weights[2] != 3 || weights[3] != 3) continue;
    const bool dilated = std::ranges::any_of(node.attrs.integers("dilations"),
                                             [](std::int64_t dilation) { return dilation > 1; });
    (dilated && !dilated_by_phases ? others : winograd) += work;
  }
  return others > winograd;
}

// The version of plan making. It is raised when the time of some operator changes: times measured
// before are then invalid. 2: channel scales in weights, dilated convolutions by phases. 3:
// products of one row, chains of concatenations in one buffer. 4: attention, products of up to
// eight rows. 5: emitted kernels instead of the interpreter. 6: weights on large pages. 7: erf
// without division, quotients by powers of two as products, dilated convolutions by processor. 8:
// products of many rows by tiles. 9: tiles of 9 by 48, quotients by constants as products. 10:
// emitted contractions in tiles. 11: resampling by tables, along two axes at once. 12: pointwise
// operators in the pass of a reduction. 13: products of one row with transposed computed
// matrices, transposes that meet behind pointwise operators, no casts to the same type. 14:
// products written as transposes read them, values in blocks transposed by one copy, pools of
// blocks; no exp, max and min in oneDNN's kernels.
constexpr int kPlans = 14;

// Increasing sacrifices of time for less memory.
enum class Thrift : std::uint8_t { kNone, kOrder, kOrderAndScratch, kAndRegions };

// The backend's own division.
std::vector<Group> own_groups(const PreparedGraph& prepared, const CompileOptions& options,
                              Thrift thrift) {
  // A region needs all of its inputs in memory at once.
  const Fusion fusion = !options.fuse                   ? Fusion::kNone
                        : thrift == Thrift::kAndRegions ? Fusion::kEpilogues
                                                        : Fusion::kAll;
  return find_groups(prepared.graph, fusion, options.emission, options.precision,
                     prepared.lowerings);
}

Division nodes_of(std::vector<Group> groups) {
  Division kernels;
  for (Group& group : groups) kernels.push_back(std::move(group.nodes));
  return kernels;
}

// The division that was asked for, or that was kept with the graph, or the backend's own. With the
// least memory it is always the latter.
base::Result<std::vector<Group>> groups_of(const ir::Graph& original, const PreparedGraph& prepared,
                                           const CompileOptions& options, Thrift thrift,
                                           StoredByRoot& stored) {
  if (thrift == Thrift::kAndRegions) return own_groups(prepared, options, thrift);
  EGRET_ASSIGN_OR_RETURN(
      std::vector<PreparedPart> parts,
      parts_for(
          original, prepared, options, "cpu",
          [&](PreparedGraph part) { return nodes_of(own_groups(part, options, thrift)); },
          [&](const ir::Graph& part) { return is_joint(part, options.precision); }));
  if (parts.empty()) return own_groups(prepared, options, thrift);
  // Kernels with operands in less precision have layouts of their own.
  const bool in_f32 =
      options.blocked && options.precision == Precision::kF32 && prepared.lowerings.empty();
  std::vector<Group> groups;
  for (PreparedPart& part : parts) {
    const bool emitted =
        part.nodes.size() > 1 && !std::ranges::all_of(part.nodes, [&](ir::NodeId id) {
          return has_kernel(prepared.graph, id);
        });
    groups.push_back({.nodes = std::move(part.nodes),
                      .emitted = emitted,
                      .part = part.part,
                      .layouts = in_f32 ? part.layouts : std::nullopt});
    if (!part.stored.empty()) stored[groups.back().root()] = std::move(part.stored);
  }
  return groups;
}

// `constants` are the prepared graph's; constants with another owner stay alive.
base::Result<std::unique_ptr<ExecutablePlan>> make_plan(
    const ir::Graph& original, const PreparedGraph& prepared, std::vector<ir::Tensor> constants,
    const CompileOptions& options, int threads, Thrift thrift, const ValueStorage& storage = {}) {
  PlanBuilder builder(prepared.graph, std::move(constants), options, threads);
  StoredByRoot stored;
  EGRET_ASSIGN_OR_RETURN(std::vector<Group> groups,
                         groups_of(original, prepared, options, thrift, stored));
  EGRET_ASSIGN_OR_RETURN(StoredValues values, StoredValues::of(prepared, storage));
  if (thrift != Thrift::kNone) groups = in_frugal_order(prepared.graph, std::move(groups), stored);
  std::unique_ptr<ExecutablePlan> plan;
  std::vector<KernelLayouts> layouts(options.division.size());
  EGRET_RETURN_IF_ERROR(guarded([&] {
    builder.prefers_channels_last = prefers_channels_last(prepared.graph);
    builder.least_scratch = thrift >= Thrift::kOrderAndScratch;
    builder.lowerings = prepared.lowerings;
    if (options.precision == Precision::kBF16 || !prepared.lowerings.empty())
      builder.written_as = written_forms(builder, groups);
    builder.count_reads(groups);
    for (const Group& group : groups) {
      if (values.comes_back(group.root())) {
        builder.begin(group);
        values.bring_back(builder, group.root());
        builder.end(group);
      } else {
        build_part(builder, group, stored, prepared.origin, layouts);
      }
      values.store(builder, group.root());
    }
    if (base::Status reserved = values.reserve(); !reserved.ok()) return reserved;
    if (!options.layouts.empty()) lay_out_outputs(builder, prepared.origin);
    compile_emitted(builder);
    builder.layouts = std::move(layouts);
    auto finished = builder.finish(original, prepared.origin, prepared.folded_nodes);
    if (!finished.ok()) return finished.status();
    plan = *std::move(finished);
    return base::ok();
  }));
  return plan;
}

// What only moves values may vanish where nobody has said which nodes make a kernel.
base::Result<PreparedGraph> prepared_freely(const Backend& backend, const ir::Graph& graph,
                                            const CompileOptions& options,
                                            const TakesComposite& takes) {
  const bool divided = !options.division.empty() || !stored_division(graph, "cpu").empty();
  const bool concrete =
      std::ranges::all_of(graph.nodes(), [](const ir::Node& n) { return n.type.is_concrete(); });
  const auto moved = options.fuse && options.fold && !divided && concrete
                         ? without_moves(graph, is_pointwise)
                         : std::nullopt;
  if (!moved) return prepare(backend, graph, options, takes);
  EGRET_ASSIGN_OR_RETURN(PreparedGraph prepared, prepare(backend, moved->graph, options, takes));
  for (ir::NodeId& origin : prepared.origin) {
    if (origin.valid()) origin = moved->origin[origin.index()];
  }
  return prepared;
}

// Roundings in front of contractions are parts of their kernels, where those take such operands.
base::Result<PreparedGraph> prepared_graph(const Backend& backend, const ir::Graph& graph,
                                           const CompileOptions& options) {
  const TakesComposite takes = taken_with(options.emission, options.precision);
  const auto plain = without_roundings(graph, takes_lowering);
  if (!plain) return prepared_freely(backend, graph, options, takes);
  EGRET_ASSIGN_OR_RETURN(PreparedGraph prepared, prepare(backend, plain->graph, options, takes));
  prepared.lowerings.resize(prepared.graph.size());
  for (std::size_t i = 0; i < prepared.graph.size(); ++i) {
    const ir::NodeId origin = prepared.origin[i];
    if (origin.valid() && is_contraction(prepared.graph, ir::NodeId(i)))
      prepared.lowerings[i] = plain->lowerings[origin.index()];
  }
  return prepared;
}

class CpuBackend final : public Backend,
                         public JointKernels,
                         public LayoutForms,
                         public StoringBackend {
 public:
  std::string_view name() const override { return "cpu"; }
  std::string_view doc() const override {
    return "oneDNN kernels with fused epilogues, own and emitted kernels for the rest";
  }
  std::string version() const override {
    return onednn_version() + ", plans " + std::to_string(kPlans);
  }
  base::Status availability() const override { return base::ok(); }
  base::Status takes_precision(Precision precision) const override {
    if (precision == Precision::kF32) return base::ok();
    if (precision == Precision::kBF16) return bf16_availability();
    return base::usage_error("--precision " + std::string(to_string(precision)) +
                             ": the backend 'cpu' supports f32 and bf16");
  }
  bool takes_form(const ir::Graph& graph, ir::NodeId contraction, OperandForm form) const override {
    return form == OperandForm::kF32 || takes_lowering(graph, contraction, form);
  }
  bool runs_slices() const override { return true; }
  bool computes_apart(const ir::Operator& op) const override {
    const KernelRow* row = find_kernel(op.name());
    return row != nullptr && row->epilogue == Epilogue::kPointwise;
  }

  bool stores_together(const ir::Graph& graph, const CompileOptions& options) const override {
    return options.fuse && is_joint(graph, options.precision);
  }
  std::vector<KernelLayouts> layouts_of(const ir::Graph& piece,
                                        const CompileOptions& options) const override {
    const bool in_f32 = options.blocked && options.precision == Precision::kF32;
    return in_f32 ? kernel_layouts(piece) : std::vector<KernelLayouts>(1);
  }
  base::Result<Division> divide(const ir::Graph& graph,
                                const CompileOptions& options) const override {
    CompileOptions unfolded = options;
    unfolded.fold = false;
    EGRET_ASSIGN_OR_RETURN(const PreparedGraph prepared, prepared_graph(*this, graph, unfolded));
    return given_division(prepared, nodes_of(own_groups(prepared, options, Thrift::kNone)));
  }
  base::Result<std::unique_ptr<ExecutablePlan>> compile(
      const ir::Graph& graph, const CompileOptions& options) const override {
    EGRET_RETURN_IF_ERROR(takes_precision(options.precision));
    const int threads = options.threads > 0 ? options.threads : available_threads();
    const ThreadScope scope(threads);
    EGRET_ASSIGN_OR_RETURN(const PreparedGraph prepared, prepared_graph(*this, graph, options));
    EGRET_ASSIGN_OR_RETURN(auto plan, make_plan(graph, prepared, constants_of(prepared.graph),
                                                options, threads, Thrift::kNone));
    // Each level is tried only while the arena exceeds the limit, and kept only if it is smaller.
    // The result may still exceed the limit.
    for (const Thrift thrift : {Thrift::kOrder, Thrift::kOrderAndScratch, Thrift::kAndRegions}) {
      const std::int64_t bytes = plan->report().arena_bytes;
      if (options.limit_arena == 0 || bytes <= options.limit_arena) break;
      EGRET_ASSIGN_OR_RETURN(auto other, make_plan(graph, prepared, constants_of(prepared.graph),
                                                   options, threads, thrift));
      if (other->report().arena_bytes < bytes) plan = std::move(other);
    }
    return plan;
  }

  base::Result<std::unique_ptr<ExecutablePlan>> compile_storing(
      const ir::Graph& graph, const CompileOptions& options,
      const ValueStorage& storage) const override {
    EGRET_RETURN_IF_ERROR(takes_precision(options.precision));
    const int threads = options.threads > 0 ? options.threads : available_threads();
    const ThreadScope scope(threads);
    EGRET_ASSIGN_OR_RETURN(const PreparedGraph prepared, prepared_graph(*this, graph, options));
    return make_plan(graph, prepared, constants_of(prepared.graph), options, threads, Thrift::kNone,
                     storage);
  }

  base::Result<std::unique_ptr<ExecutablePlan>> compile_consuming(
      ir::Graph graph, const CompileOptions& options) const override {
    EGRET_RETURN_IF_ERROR(takes_precision(options.precision));
    // Under a limit, several plans may be made of the graph.
    if (options.limit_arena != 0) return compile(graph, options);
    const int threads = options.threads > 0 ? options.threads : available_threads();
    const ThreadScope scope(threads);
    EGRET_ASSIGN_OR_RETURN(PreparedGraph prepared, prepared_graph(*this, graph, options));
    // Drops this graph's references to the constants, so that packing a weight frees the original.
    (void)take_constants(graph);
    std::vector<ir::Tensor> constants = take_constants(prepared.graph);
    return make_plan(graph, prepared, std::move(constants), options, threads, Thrift::kNone);
  }
};

}  // namespace
}  // namespace cpu

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<cpu::CpuBackend>(); }

}  // namespace egret::backends
