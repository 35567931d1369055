// SPDX-License-Identifier: Apache-2.0
// A backend compiles a graph into a plan: kernels chosen, memory planned, weights prepacked. A plan
// then runs many times.
//
//   EGRET_ASSIGN_OR_RETURN(auto plan, find_backend("cpu")->compile(graph, {}));
//   EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> outputs, plan->run(inputs));
//
// The graph's types are concrete (see ir::bind_symbols). An operator without a kernel, own or
// emitted, runs by the reference interpreter, and the report names it as a fallback with the
// reason. To add a backend: a folder that defines `std::unique_ptr<Backend> make_NAME_backend()`
// and one row in backends.def.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/layouts.h"
#include "backends/precision.h"
#include "base/status.h"
#include "ir/core/tensor.h"
#include "ir/evaluate/input_draws.h"
#include "ir/graph/graph.h"

namespace egret::backends {

// Whether operators without a kernel of the backend get kernels that are emitted from their
// definitions and compiled by the host's C++ compiler. The interpreter computes the rest.
enum class Emission : std::uint8_t {
  kNone,
  kWhereWorth,  // unless interpreting all of it is faster than compiling
  kAll,
};

// The nodes of each kernel of a plan, ascending. Others read the value of its last node, or several
// (joint_kernels.h). A node may be in several kernels: each of them then computes it.
using Division = std::vector<std::vector<ir::NodeId>>;

struct CompileOptions {
  int threads = 0;       // 0: as many as the process may use
  bool profile = false;  // time each kernel of each run (PlanReport::Kernel::seconds)
  // Limit of the arena in bytes. A plan beyond it is replaced by a slower one: kernels in another
  // order, and kernels with less scratch space. Where none keeps the limit, the smallest is taken.
  // 0: no limit.
  std::int64_t limit_arena = 0;
  Precision precision = Precision::kF32;  // others only where the backend supports them
  // The graph computes one of `slices` equal parts of its inputs and outputs, cut along their first
  // axes. The plan takes and returns the whole tensors and runs the graph once for each slice.
  // Above 1 only where Backend::runs_slices().
  std::int64_t slices = 1;
  int streams = 4;  // streams of a device, for independent kernels
  // Measure the algorithms that a device's libraries propose, and take the fastest.
  bool search = true;
  // The caller wants the report only: a device's plan then has no kernels and no memory.
  bool report_only = false;
  // On the CPU, a run fails where an index of a gather lies outside of its axis. Otherwise it
  // counts modulo the size of the axis, as in the operator's definition, which random indices need.
  bool checked_indices = false;
  // The division into kernels, in the place of the backend's own; empty: its own.
  Division division{};
  // The layouts between the kernels of the division, where the backend has layout_forms_of().
  DivisionLayouts layouts{};
  // For tests of kernels, on the CPU: each value has memory of its own between inaccessible pages.
  // A run that writes beyond a value fails, a run that reads far beyond one ends the program.
  bool guarded_memory = false;
  // Ablations; all on by default.
  bool fuse = true;                           // epilogues and pointwise regions
  bool blocked = true;                        // layouts other than row-major, Winograd
  bool fold = true;                           // constant subgraphs are computed by compile()
  bool thrift = true;                         // no kernels that multiply the weights' memory
  bool slice = true;                          // batches in slices (driver/measure/batch_plan.h)
  Emission emission = Emission::kWhereWorth;  // emitted kernels beside the backend's own
};

// The kernels of a plan in order of execution, and its memory.
struct PlanReport {
  struct Kernel {
    std::string name;                // family: "conv", "pointwise", "reorder", "reference", ...
    std::string implementation;      // "jit:avx512_core", "own", ...
    std::string layout;              // of its output: "row-major", "nChw16c", ...
    std::vector<std::string> nodes;  // labels of the nodes that it computes; empty for reorders
    std::vector<ir::NodeId> ids;     // the same nodes, where they exist in the given graph
    // Only with CompileOptions::profile: operators, implementation, types and layouts. Kernels of
    // equal signatures do equal work. Empty where a backend does not report it.
    std::string signature{};
    int part = -1;       // of CompileOptions::division and ::layouts, that it belongs to; -1: none
    double seconds = 0;  // mean of a run, over all slices
    double last_start_s = 0;  // start in the last run's last slice, from the first kernel
    double last_s = 0;        // its duration there
  };
  struct Fallback {
    std::string node;
    std::string op;
    std::string reason;
  };
  std::vector<Kernel> kernels;
  // By part of CompileOptions::division: the layouts in which it read and stored values. Empty
  // where a backend does not tell.
  std::vector<KernelLayouts> layouts{};
  std::int64_t slices = 1;  // each run repeats all kernels: CompileOptions::slices
  std::vector<Fallback> fallbacks;
  // What the machine lacks for a plan with fewer fallbacks, and the remedy; may be empty.
  std::string missing;
  // Median device time of the runs so far, from the first kernel to the last, without transfers. 0:
  // no device, or no run.
  double device_s = 0;
  std::int64_t arena_bytes = 0;  // activations and scratch space, shared by liveness
  // Nodes of the graph given to compile() at the moment of peak memory: those being computed, and
  // those whose values are still needed. Empty where a backend cannot tell.
  std::vector<ir::NodeId> peak_nodes;
  std::int64_t weights_bytes = 0;  // constants, prepacked
  std::int64_t folded_nodes = 0;   // operators computed by compile()
};

// Not safe for concurrent runs: a plan owns one arena. Different plans are independent.
class ExecutablePlan {
 public:
  virtual ~ExecutablePlan() = default;

  // Types of the graph's inputs and outputs, in their order.
  const std::vector<ir::TensorType>& input_types() const { return input_types_; }
  const std::vector<ir::TensorType>& output_types() const { return output_types_; }
  // The distributions of random inputs.
  const std::vector<ir::Draw>& input_draws() const { return input_draws_; }

  // Errors: bad_input when the inputs are not of the plan's types.
  base::Result<std::vector<ir::Tensor>> run(std::span<const ir::Tensor> inputs);
  // As run(), into tensors of output_types(), which the caller may reuse in the next run.
  base::Status run_into(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs);
  // Fresh outputs for run_into().
  std::vector<ir::Tensor> make_outputs() const;

  virtual PlanReport report() const = 0;
  // Device time of the last run, as PlanReport::device_s. 0: no device, or that run was not timed.
  virtual double last_device_s() const { return 0; }
  // Later runs behave as if compiled without CompileOptions::profile.
  virtual void stop_profiling() {}

 protected:
  explicit ExecutablePlan(const ir::Graph& graph, std::int64_t slices = 1);
  // Types are checked; no output shares its buffer with another tensor.
  virtual base::Status execute(std::span<const ir::Tensor> inputs,
                               std::span<ir::Tensor> outputs) = 0;

 private:
  std::vector<ir::TensorType> input_types_;
  std::vector<ir::TensorType> output_types_;
  std::vector<ir::Draw> input_draws_;
};

// Upper bounds on the speed of a device's kernels, from its own description.
struct PeakRates {
  double flops_per_second = 0;
  double bytes_per_second = 0;
  double seconds_per_kernel = 0;  // a lower bound, among other kernels
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;
  virtual std::string_view doc() const = 0;
  // The library that its kernels come from, with the loaded version: "oneDNN 2.6.3". Part of the
  // fingerprint of measured times: times of one version do not hold for another.
  virtual std::string version() const = 0;
  // ok, or why it cannot be used here and how to change that.
  virtual base::Status availability() const = 0;
  // Errors: unsupported for symbolic sizes (bind them first); limit_hit for sizes that no memory
  // holds. The plan keeps what it needs of the graph.
  virtual base::Result<std::unique_ptr<ExecutablePlan>> compile(
      const ir::Graph& graph, const CompileOptions& options) const = 0;
  // compile() for a graph that the caller gives up. As the plan makes packed forms of constants, it
  // may free the originals one by one, where no other graph holds them. compile() keeps both in
  // memory until it ends.
  virtual base::Result<std::unique_ptr<ExecutablePlan>> compile_consuming(
      ir::Graph graph, const CompileOptions& options) const {
    return compile(graph, options);
  }
  // The kernels into which compile() would divide the operators of a graph, without making them.
  // Kernels that compute one node together are one, which compile() divides again; a node that
  // depends on constants alone is in none. Nodes are those of the given graph. O(nodes). Errors:
  // those of compile(); unsupported where the backend takes no division.
  virtual base::Result<Division> divide(const ir::Graph& graph,
                                        const CompileOptions& options) const;
  // A hint: the caller will compile these graphs one after the other. The slow parts are prepared
  // now, on all processors. Nothing else changes; errors show in compile().
  virtual void make_ready(std::span<const ir::Graph> /*graphs*/,
                          const CompileOptions& /*options*/) const {}
  // Checks CompileOptions::precision. Errors: usage_error where the backend never supports it;
  // unavailable where this machine cannot, with the remedy.
  virtual base::Status takes_precision(Precision precision) const;
  // Whether this machine has a kernel for a product or convolution whose operands the graph rounds
  // to this form (backends/low_precision.h).
  virtual bool takes_form(const ir::Graph& /*graph*/, ir::NodeId /*contraction*/,
                          OperandForm form) const {
    return form == OperandForm::kF32;
  }
  // The peak rates of the device that runs kernels; nullopt for the host's processor, or without a
  // device.
  virtual std::optional<PeakRates> peak_rates(Precision /*precision*/) const {
    return std::nullopt;
  }
  // Whether CompileOptions::slices may be more than one.
  virtual bool runs_slices() const { return false; }
  // Whether every plan computes this operator by a kernel of its own: it neither fuses the
  // operators that make its first two inputs, nor writes its value (or that of a fused pointwise
  // operator of the same type) over one of them.
  virtual bool computes_apart(const ir::Operator& /*op*/) const { return false; }
};

// Backends are immortal and immutable; nullptr when there is none of that name.
const Backend* find_backend(std::string_view name);
std::span<const Backend* const> all_backends();

// The processors this process may run on.
int available_threads();
// "conv1_1" or, for nodes without a name, "relu#12".
std::string node_label(const ir::Graph& graph, ir::NodeId id);

}  // namespace egret::backends
