// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/emitted_kernel.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "backends/codegen/host_compiler.h"
#include "backends/codegen/host_region.h"
#include "backends/codegen/kernel_source.h"
#include "backends/codegen/regions.h"
#include "backends/codegen/tile_search.h"
#include "ir/graph/body.h"

namespace egret::backends::cpu {
namespace {

using codegen::KernelSource;
using codegen::Target;

// The compiler takes 0.25 s for a kernel, what is compiled already none: a call pays after 250 runs
// of a plan where each saves a millisecond, and there are seldom so many where it saves less. Costs
// are measured one operator a plan, where small ones would each wait for a compiler of their own.
constexpr double kWorthCompiling = 1e-3;  // seconds of the interpreter a run
// About 1 ns an operation (integers 1.5, comparisons of a scatter 1); emitted loops take a tenth.
constexpr double kInterpretedOperations = 1e9;  // a second

constexpr const char* kInterpretedProduct =
    "a sum of products, for which the interpreter is faster";

class RegionStep : public Step {
 public:
  RegionStep(codegen::HostRegion region, std::vector<Operand> inputs, const Operand& output,
             int threads)
      : region_(std::move(region)),
        inputs_(std::move(inputs)),
        output_(output),
        addresses_(inputs_.size()),
        threads_(threads) {}

  codegen::HostRegion& region() { return region_; }

  base::Status run(const Addresses& addresses) override {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      addresses_[i] = addresses.at<std::byte>(inputs_[i]);
    return region_.run(addresses_, addresses.at<std::byte>(output_), threads_);
  }

 private:
  codegen::HostRegion region_;
  std::vector<Operand> inputs_;
  Operand output_;
  std::vector<const void*> addresses_;
  int threads_;
};

// A region, and the graph that its nodes are of.
struct Source {
  codegen::Region region{};
  std::shared_ptr<const ir::Graph> body{};  // of a composite; nullptr: the builder's graph
};

bool is_operator(const ir::Graph& graph, ir::NodeId id) {
  return graph.node(id).kind == ir::NodeKind::kOperator;
}

// The body of a composite as one region. Errors: those of ir::body_graph() and of region_of().
base::Result<Source> body_of(const ir::Graph& graph, const ir::Node& node, Emission emission) {
  std::vector<ir::TensorType> types;
  for (const ir::NodeId input : node.inputs) types.push_back(graph.node(input).type);
  EGRET_ASSIGN_OR_RETURN(const ir::Graph body, ir::body_graph(*node.op, node.attrs, types));
  EGRET_ASSIGN_OR_RETURN(ir::Graph expanded, ir::expand_composites(body));
  std::vector<ir::NodeId> nodes;
  for (const ir::NodeId id : ir::live_nodes(expanded)) {
    if (!is_operator(expanded, id)) continue;
    nodes.push_back(id);
    if (emission != Emission::kAll && interprets_faster(expanded, id))
      return base::unsupported(kInterpretedProduct);
  }
  if (nodes.empty() || nodes.back() != expanded.outputs()[0].node)
    return base::unsupported("a body that computes nothing");
  Source source{codegen::region_of(expanded, std::move(nodes), Target::kHost),
                std::make_shared<const ir::Graph>(std::move(expanded))};
  EGRET_RETURN_IF_ERROR(source.region.kernel.status());
  return source;
}

Source source_of(const PlanBuilder& builder, const Group& group) {
  const Emission emission = builder.options().emission;
  const ir::Node& node = builder.node(group.root());
  Source source;
  codegen::Region& region = source.region;
  region.nodes = group.nodes;
  region.inputs = node.inputs;
  if (emission == Emission::kNone) return source;
  if (node.op->is_composite()) {
    auto body = body_of(builder.graph(), node, emission);
    if (body.ok()) return *std::move(body);
    region.kernel = body.status();
    return source;
  }
  region = codegen::region_of(builder.graph(), group.nodes, Target::kHost);
  if (emission != Emission::kAll && region.kernel.ok() && region.kernel->is_product)
    region.kernel = base::unsupported(kInterpretedProduct);
  return source;
}

// What the region reads, row-major.
std::vector<Operand> inputs_of(PlanBuilder& builder, const Group& group, const Source& source) {
  std::vector<Operand> inputs;
  for (const ir::NodeId id : source.region.inputs) {
    if (source.body == nullptr) {
      inputs.push_back(builder.in_row_major(id));
    } else if (source.body->node(id).kind == ir::NodeKind::kConstant) {
      inputs.push_back(builder.weights(source.body->node(id).data));
    } else {
      const auto position =
          std::ranges::find(source.body->inputs(), id) - source.body->inputs().begin();
      inputs.push_back(builder.in_row_major(
          builder.node(group.root()).inputs[static_cast<std::size_t>(position)]));
    }
  }
  return inputs;
}

// Whether the interpreter takes so long that a compiler's time is well spent.
bool is_worth_compiling(const std::vector<const KernelSource*>& kernels) {
  double seconds = 0;
  for (const KernelSource* kernel : kernels)
    seconds += kernel->work.operations / kInterpretedOperations;
  return seconds >= kWorthCompiling;
}

// Compiles where that pays, or where an earlier process has already compiled the same source.
base::Result<std::shared_ptr<const codegen::HostLibrary>> compiled(
    const std::vector<const KernelSource*>& kernels, Emission emission) {
  if (kernels.empty()) return base::unsupported("an empty kernel");
  const std::string source = codegen::source_of(kernels, Target::kHost);
  if (emission == Emission::kAll || is_worth_compiling(kernels) ||
      codegen::is_compiled_for_host(source))
    return codegen::compile_for_host(source);
  return base::unsupported("too little work to compile a kernel for");
}

}  // namespace

// An emitted sum of products is a plain loop nest. The interpreter has a blocked kernel for it.
bool interprets_faster(const ir::Graph& graph, ir::NodeId id) {
  const codegen::Region region = codegen::region_of(graph, {id}, Target::kHost);
  return region.kernel.ok() && region.kernel->is_product;
}

bool is_emitted_as_one(const PlanBuilder& builder, const Group& group) {
  const ir::DType root = builder.node(group.root()).type.dtype;
  // A kernel with an f32 root would compute f64 values in f32.
  const auto stays_alone = [&](ir::NodeId id) {
    const ir::Node& node = builder.node(id);
    return node.op->is_composite() ||
           (node.type.dtype == ir::DType::kF64 && root != ir::DType::kF64);
  };
  return builder.options().emission != Emission::kNone &&
         std::ranges::none_of(group.nodes, stays_alone) &&
         source_of(builder, group).region.kernel.ok();
}

void make_emitted_kernel(PlanBuilder& builder, const Group& group, std::string reason) {
  const ir::NodeId root = group.root();
  const ir::TensorType& type = builder.node(root).type;
  const Layout layout = row_major(type.shape());
  if (type.elements() == 0 && builder.options().emission != Emission::kNone) {
    (void)builder.output(root, layout);  // nothing to compute
    return;
  }
  Source source = source_of(builder, group);
  codegen::Region& region = source.region;
  EGRET_CHECK(region.kernel.ok() || group.nodes.size() == 1, "a region is emitted or one node");
  const std::vector<Operand> inputs = inputs_of(builder, group, source);
  if (region.kernel.ok() && region.kernel->is_view) {
    Operand view = inputs[0];
    view.type = type;
    view.layout = layout;
    builder.set_home(root, view);
    return;
  }
  const ir::Graph& graph = source.body == nullptr ? builder.graph() : *source.body;
  codegen::choose_tiles(graph, {&region, 1}, codegen::wanted_tiles(), builder.threads());
  const Operand output = builder.output(root, layout);
  std::vector<Operand> touched = inputs;
  touched.push_back(output);
  auto step = std::make_unique<RegionStep>(
      codegen::HostRegion(graph, region, node_label(builder.graph(), root)), inputs, output,
      builder.threads());
  builder.emitted_steps.push_back({.step = static_cast<std::size_t>(builder.steps_added()),
                                   .root = root,
                                   .region = &step->region(),
                                   .kernel = std::move(region.kernel),
                                   .reason = std::move(reason)});
  builder.add(std::move(step), touched, "emitted", "c++");
}

void compile_emitted(PlanBuilder& builder) {
  const Emission emission = builder.options().emission;
  std::vector<const KernelSource*> kernels;
  for (const auto& each : builder.emitted_steps) {
    if (each.kernel.ok()) kernels.push_back(&*each.kernel);
  }
  // One call of the compiler for all kernels of the plan: its start-up dominates small kernels.
  const auto library = compiled(kernels, emission);
  if (library.status().code() == base::StatusCode::kUnavailable)
    builder.missing = library.status().message();
  for (const auto& each : builder.emitted_steps) {
    if (library.ok() && each.region->load(*library)) continue;
    const base::Status& why = each.kernel.ok() ? library.status() : each.kernel.status();
    builder.fall_back(
        each.step, each.root,
        emission == Emission::kNone ? each.reason : each.reason + "; " + why.message());
  }
  builder.emitted_steps.clear();
}

}  // namespace egret::backends::cpu
