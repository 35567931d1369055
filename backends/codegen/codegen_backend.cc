// SPDX-License-Identifier: Apache-2.0
// The backend of emitted kernels on the host: regions compiled by the host's C++ compiler. The
// interpreter computes regions without a kernel, and everything where there is no compiler.
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "backends/backend.h"
#include "backends/codegen/host_compiler.h"
#include "backends/codegen/host_region.h"
#include "backends/codegen/program.h"
#include "backends/codegen/tile_search.h"
#include "backends/division.h"
#include "backends/memory_planner.h"
#include "backends/thread_team.h"
#include "base/timer.h"

namespace egret::backends {
namespace codegen {
namespace {

class HostPlan : public ExecutablePlan {
 public:
  HostPlan(const ir::Graph& original, Program program, const CompileOptions& options, int threads)
      : ExecutablePlan(original),
        program_(std::move(program)),
        report_(report_of(program_, original, "host compiler")),
        threads_(threads),
        profile_(options.profile) {
    number_parts(report_, options.division);
    for (const ir::Node& node : program_.graph.nodes()) {
      if (node.kind == ir::NodeKind::kConstant) report_.weights_bytes += node.type.bytes();
    }
    for (const Region& step : program_.steps) {
      regions_.emplace_back(program_.graph, step, node_label(program_.graph, step.root()));
    }
    totals_.resize(program_.steps.size(), 0);
  }

  // Compiles all kernels into one object. Without it, the interpreter computes every step.
  base::Status build() {
    EGRET_RETURN_IF_ERROR(check_memory(program_.arena_bytes));
    try {
      arena_ = ir::Tensor(ir::TensorType(ir::DType::kU8, {program_.arena_bytes}));
    } catch (const std::bad_alloc&) {
      return no_memory(program_.arena_bytes);
    }
    const auto compiled = compile_for_host(source_of(program_, Target::kHost));
    if (!compiled.ok() && compiled.status().code() == base::StatusCode::kInternal)
      return compiled.status();
    if (!compiled.ok()) report_.missing = compiled.status().message();
    for (std::size_t s = 0; s < program_.steps.size(); ++s) {
      const Region& step = program_.steps[s];
      if (!compiled.ok() || !regions_[s].load(*compiled))
        fall_back(s, step.kernel.ok() ? compiled.status() : step.kernel.status());
    }
    return base::ok();
  }

  PlanReport report() const override {
    PlanReport report = report_;
    for (std::size_t s = 0; runs_ > 0 && s < totals_.size(); ++s)
      report.kernels[s].seconds = totals_[s] / runs_;
    return report;
  }
  void stop_profiling() override { profile_ = false; }

 protected:
  base::Status execute(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs) override {
    ensure_team(threads_);
    const base::Stopwatch watch;
    for (std::size_t s = 0; s < program_.steps.size(); ++s) {
      PlanReport::Kernel& timing = report_.kernels[s];
      timing.last_start_s = profile_ ? watch.seconds() : 0;
      EGRET_RETURN_IF_ERROR(run_step(s, inputs, outputs));
      if (!profile_) continue;
      timing.last_s = watch.seconds() - timing.last_start_s;
      totals_[s] += timing.last_s;
    }
    runs_ += profile_ ? 1 : 0;
    for (const Program::Copy& copy : program_.copies) {
      ir::Tensor& output = outputs[copy.output];
      std::memcpy(output.mutable_data().data(), address(copy.value, inputs, outputs),
                  static_cast<std::size_t>(output.bytes()));
    }
    return base::ok();
  }

 private:
  // Reports that the interpreter computes the step. HostRegion::run() does so without a loaded
  // function.
  void fall_back(std::size_t s, const base::Status& reason) {
    const Region& step = program_.steps[s];
    report_.kernels[s].name = "reference";
    report_.kernels[s].implementation = "interpreter";
    const ir::Node& node = program_.graph.node(step.root());
    report_.fallbacks.push_back(
        {node_label(program_.graph, step.root()), node.op->name(), reason.message()});
  }

  // Kernels only read what lies in inputs and constants.
  std::byte* address(ir::NodeId id, std::span<const ir::Tensor> inputs,
                     std::span<ir::Tensor> outputs) {
    const Place& place = program_.places[id.index()];
    const auto index = static_cast<std::size_t>(place.index);
    switch (place.kind) {
      case Place::Kind::kInput: return const_cast<std::byte*>(inputs[index].data().data());
      case Place::Kind::kOutput: return outputs[index].mutable_data().data();
      case Place::Kind::kConstant:
        return const_cast<std::byte*>(program_.graph.node(ir::NodeId(index)).data.data().data());
      case Place::Kind::kArena: return arena_.mutable_data().data() + place.offset;
      case Place::Kind::kNone: break;
    }
    return nullptr;  // a value without elements
  }

  base::Status run_step(std::size_t s, std::span<const ir::Tensor> inputs,
                        std::span<ir::Tensor> outputs) {
    const Region& step = program_.steps[s];
    std::vector<const void*> in;
    for (const ir::NodeId input : step.inputs) in.push_back(address(input, inputs, outputs));
    return regions_[s].run(in, address(step.root(), inputs, outputs), threads_);
  }

  Program program_;
  ir::Tensor arena_;
  std::vector<HostRegion> regions_;  // by step
  PlanReport report_;
  int threads_;
  bool profile_;
  std::vector<double> totals_;
  int runs_ = 0;
};

bool takes_none(const ir::Graph& /*graph*/, ir::NodeId /*id*/) { return false; }

std::vector<Region> own_regions(const ir::Graph& graph, const CompileOptions& options) {
  return find_regions(graph, {.target = Target::kHost, .fuse = options.fuse});
}

Division own_kernels(const ir::Graph& graph, const CompileOptions& options) {
  Division kernels;
  for (Region& region : own_regions(graph, options)) kernels.push_back(std::move(region.nodes));
  return kernels;
}

// Those that were asked for, or the backend's own.
base::Result<std::vector<Region>> regions_for(const ir::Graph& original,
                                              const PreparedGraph& prepared,
                                              const CompileOptions& options) {
  EGRET_ASSIGN_OR_RETURN(const auto parts,
                         parts_for(original, prepared, options, "codegen", [&](PreparedGraph part) {
                           return own_kernels(part.graph, options);
                         }));
  if (parts.empty()) return own_regions(prepared.graph, options);
  EGRET_ASSIGN_OR_RETURN(const Division division, parts_apart(parts));
  std::vector<Region> regions;
  for (const std::vector<ir::NodeId>& nodes : division) {
    for (Region& region : regions_of(prepared.graph, nodes, Target::kHost))
      regions.push_back(std::move(region));
  }
  return regions;
}

class CodegenBackend : public Backend {
 public:
  std::string_view name() const override { return "codegen"; }
  std::string_view doc() const override {
    return "kernels emitted from the operators' definitions, compiled by the C++ compiler found";
  }
  std::string version() const override {
    const auto version = host_compiler_version();
    return version.ok() ? *version : "interpreter";
  }
  base::Status availability() const override { return base::ok(); }

  base::Result<Division> divide(const ir::Graph& graph,
                                const CompileOptions& options) const override {
    CompileOptions unfolded = options;
    unfolded.fold = false;
    EGRET_ASSIGN_OR_RETURN(const PreparedGraph prepared,
                           prepare(*this, graph, unfolded, takes_none));
    return given_division(prepared, own_kernels(prepared.graph, options));
  }
  base::Result<std::unique_ptr<ExecutablePlan>> compile(
      const ir::Graph& graph, const CompileOptions& options) const override {
    EGRET_ASSIGN_OR_RETURN(PreparedGraph prepared, prepare(*this, graph, options, takes_none));
    EGRET_ASSIGN_OR_RETURN(std::vector<Region> regions, regions_for(graph, prepared, options));
    const int threads = options.threads > 0 ? options.threads : available_threads();
    choose_tiles(prepared.graph, regions, wanted_tiles(), threads);
    Program program = make_program(std::move(prepared), std::move(regions));
    auto plan = std::make_unique<HostPlan>(graph, std::move(program), options, threads);
    EGRET_RETURN_IF_ERROR(plan->build());
    return std::unique_ptr<ExecutablePlan>(std::move(plan));
  }
};

}  // namespace
}  // namespace codegen

std::unique_ptr<Backend> make_codegen_backend() {
  return std::make_unique<codegen::CodegenBackend>();
}

}  // namespace egret::backends
