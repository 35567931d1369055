// SPDX-License-Identifier: Apache-2.0
// A backend compiles a graph into a plan: kernels chosen, memory planned, weights prepacked. A plan
// then runs many times.
//
//   EGRET_ASSIGN_OR_RETURN(auto plan, find_backend("cpu")->compile(graph, {}));
//   EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> outputs, plan->run(inputs));
//
// The graph's types are concrete (see ir::bind_symbols). What a backend neither has nor emits a
// kernel for is run by the reference interpreter and reported as a fallback with the reason. To add
// a backend: a folder that defines `std::unique_ptr<Backend> make_NAME_backend()` and one row in
// backends.def.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/precision.h"
#include "base/status.h"
#include "ir/core/tensor.h"
#include "ir/evaluate/input_draws.h"
#include "ir/graph/graph.h"

namespace egret::backends {

// Kernels emitted from operators' definitions and compiled by this machine's C++ compiler, for what
// a backend has no kernel of its own for; the interpreter computes the rest.
enum class Emission : std::uint8_t {
  kNone,
  kWhereWorth,  // unless the interpreter is through with all of it sooner than it takes to compile
  kAll,
};

struct PlanOptions {
  int threads = 0;       // 0: as many as the process may use
  bool profile = false;  // time each kernel of each run (PlanReport::Kernel::seconds)
  // Where the fastest plan's arena takes more bytes, slower ones are tried: kernels in another
  // order and those with less scratch space. The smallest where none keeps to it. 0: no limit.
  std::int64_t limit_arena = 0;
  Precision precision = Precision::kF32;  // others where the backend takes them
  // The graph computes one of so many equal slices of inputs and outputs, cut along their first
  // axes; the plan takes and gives the wholes and runs the graph for one slice after the other.
  // More than one where the backend runs slices.
  std::int64_t slices = 1;
  int streams = 4;  // of a device, on which kernels that do not need each other run
  // Of a device's libraries: run the algorithms that they propose, and take the fastest.
  bool search = true;
  // The plan is asked for its report and not run: a device's plan then has no kernels and memory.
  bool report_only = false;
  // Ablations; all on by default.
  bool fuse = true;                           // epilogues and pointwise regions
  bool blocked = true;                        // layouts other than row-major, Winograd
  bool fold = true;                           // constant subgraphs are computed by compile()
  bool thrift = true;                         // no kernels that multiply what weights take
  bool slice = true;                          // batches in slices (driver/measure/batch_plan.h)
  Emission emission = Emission::kWhereWorth;  // of a backend that has other kernels too
};

// What a plan will do, in order of execution.
struct PlanReport {
  struct Kernel {
    std::string name;                // family: "conv", "pointwise", "reorder", "reference", ...
    std::string implementation;      // "jit:avx512_core", "own", ...
    std::string layout;              // of its output: "row-major", "nChw16c", ...
    std::vector<std::string> nodes;  // labels of the graph's nodes it computes; none for reorders
    std::vector<ir::NodeId> ids;     // the same, in the graph given to compile() where they exist
    // Only with PlanOptions::profile:
    // What it computes, by which implementation, on which types in which layouts: kernels of equal
    // signatures do equal work. Empty where a backend does not tell.
    std::string signature{};
    double seconds = 0;       // mean of a run, over all slices
    double last_start_s = 0;  // in the last run, for its last slice: since the first kernel began,
    double last_s = 0;        // and how long it took there
  };
  struct Fallback {
    std::string node;
    std::string op;
    std::string reason;
  };
  std::vector<Kernel> kernels;
  std::int64_t slices = 1;  // a run runs all kernels so many times: PlanOptions::slices
  std::vector<Fallback> fallbacks;
  // What this machine lacks for a plan with fewer of them, with the remedy; empty: nothing.
  std::string missing;
  // Where a device computes: median seconds of the runs so far, there alone, from the first kernel
  // to the last; without what comes and goes. 0: it has none, or none has run.
  double device_s = 0;
  std::int64_t arena_bytes = 0;  // activations and scratch space, shared by liveness
  // Of the graph given to compile(): the nodes that are computed, and those whose values wait to be
  // used, when these values and scratch space take the most. Empty where a backend cannot tell.
  std::vector<ir::NodeId> peak_nodes;
  std::int64_t weights_bytes = 0;  // constants, prepacked
  std::int64_t folded_nodes = 0;   // operators computed by compile()
};

// Not safe for concurrent runs: a plan owns one arena. Different plans are independent.
class Plan {
 public:
  virtual ~Plan() = default;

  // Types of the graph's inputs and outputs, in their order.
  const std::vector<ir::TensorType>& input_types() const { return input_types_; }
  const std::vector<ir::TensorType>& output_types() const { return output_types_; }
  // What random inputs are drawn from.
  const std::vector<ir::Draw>& input_draws() const { return input_draws_; }

  // Errors: bad_input when the inputs are not of the plan's types.
  base::Result<std::vector<ir::Tensor>> run(std::span<const ir::Tensor> inputs);
  // The same into tensors of output_types(), which the caller may use again for the next run.
  base::Status run_into(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs);
  // Fresh outputs for run_into().
  std::vector<ir::Tensor> make_outputs() const;

  virtual PlanReport report() const = 0;
  // Seconds that a device computed in the last run, as PlanReport::device_s. 0: it has none, or has
  // not timed that run.
  virtual double last_device_s() const { return 0; }
  // Runs from here on as if compiled without PlanOptions::profile.
  virtual void stop_profiling() {}

 protected:
  explicit Plan(const ir::Graph& graph, std::int64_t slices = 1);
  // Types are checked; no output shares its buffer with another tensor.
  virtual base::Status execute(std::span<const ir::Tensor> inputs,
                               std::span<ir::Tensor> outputs) = 0;

 private:
  std::vector<ir::TensorType> input_types_;
  std::vector<ir::TensorType> output_types_;
  std::vector<ir::Draw> input_draws_;
};

// What no kernel of a device exceeds: by what the device says of itself.
struct PeakRates {
  double flops_per_second = 0;
  double bytes_per_second = 0;
  double seconds_per_kernel = 0;  // the least that one takes among others
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;
  virtual std::string_view doc() const = 0;
  // Where its kernels come from, with the version that is loaded: "oneDNN 2.6.3". Part of the
  // fingerprint under which times are kept: those of one version are not those of another.
  virtual std::string version() const = 0;
  // ok, or why it cannot be used here and how to change that.
  virtual base::Status availability() const = 0;
  // Errors: unsupported for symbolic sizes (bind them first); limit_hit for sizes that no memory
  // holds. The plan keeps what it needs of the graph.
  virtual base::Result<std::unique_ptr<Plan>> compile(const ir::Graph& graph,
                                                      const PlanOptions& options) const = 0;
  // The same of a graph that nobody needs afterwards: constants of which the plan keeps another
  // form may be freed one by one as these forms are made, where no other graph holds them. Else
  // both are in memory when compile() ends.
  virtual base::Result<std::unique_ptr<Plan>> compile_consuming(ir::Graph graph,
                                                                const PlanOptions& options) const {
    return compile(graph, options);
  }
  // To whoever compiles these graphs one after the other afterwards: what takes long to make for
  // them is made now, by all processors. Nothing else changes, and errors show then.
  virtual void make_ready(std::span<const ir::Graph> /*graphs*/,
                          const PlanOptions& /*options*/) const {}
  // Whether plans may compute in this precision (PlanOptions::precision). Errors: usage_error where
  // the backend never does; unavailable where this machine cannot, with what to do.
  virtual base::Status takes_precision(Precision precision) const;
  // Of the device that kernels run on; nullopt where that is this machine's processor, or where
  // there is none.
  virtual std::optional<PeakRates> peak_rates(Precision /*precision*/) const {
    return std::nullopt;
  }
  // Whether PlanOptions::slices may be more than one.
  virtual bool runs_slices() const { return false; }
  // Whether every plan computes this operator by a kernel that neither takes the operators along
  // that make its first two inputs, nor writes its value, or that of a pointwise operator of the
  // same type behind it, where one of them lies.
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
