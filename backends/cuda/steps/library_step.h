// SPDX-License-Identifier: Apache-2.0
// Steps that an NVIDIA library computes instead of an emitted kernel, and their search in a graph.
// Steps are recognized from definitions, not from operator names.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/codegen/kernel_source.h"
#include "backends/cuda/api/device.h"
#include "ir/graph/definition.h"
#include "ir/graph/graph.h"

namespace egret::backends::cuda {

inline constexpr std::size_t kWorkspace = 64 << 20;  // the most bytes that a step may ask for

// Contested kinds of steps: emitted kernels may be faster, so plans without them are tried too.
struct Contested {
  bool tails = false;      // products or convolutions with a general fused epilogue (tail.h)
  bool depthwise = false;  // depthwise convolutions
  bool joins = false;      // parts written directly into a concatenation (join.h)

  Contested& operator|=(const Contested& other) {
    tails |= other.tails;
    depthwise |= other.depthwise;
    joins |= other.joins;
    return *this;
  }
};

// The memory of a trial run; undefined contents, except `fixed` inputs.
struct TrialMemory {
  std::vector<DevicePointer> inputs{};
  std::vector<char> fixed{};  // by input
  DevicePointer output = 0, workspace = 0;
};

// A step with its descriptors and a chosen algorithm.
class LibraryStep {
 public:
  virtual ~LibraryStep() = default;
  virtual const char* library() const = 0;
  virtual const char* name() const = 0;  // of the kind of step, for reports
  // Equal for steps with the same algorithms in the same order. descriptions() lists those of all
  // alternatives that this step chooses between.
  virtual std::string description() const = 0;
  virtual std::vector<std::string> descriptions() const { return {description()}; }
  // Whether it prefers its tensors with channels last.
  virtual bool prefers_channels_last() const { return false; }
  virtual Contested contested() const { return {}; }  // which of these it is
  // Its own emitted kernels. The plan compiles them and passes them to take_kernels(), in the same
  // order, before any other call; nullptr for one that could not be compiled or loaded. A candidate
  // that needs it must fail in enqueue().
  virtual std::vector<const codegen::KernelSource*> kernels() const { return {}; }
  virtual void take_kernels(std::span<const Function> /*kernels*/) {}
  // The slow part: prepares one algorithm, or several to choose from, before the calls below. May
  // run concurrently for several steps, each on a thread within the GPU's context. False where the
  // library turns out to have no algorithm.
  virtual bool prepare(bool /*several*/) { return true; }
  // The library's proposed algorithms, in its expected order of speed. The first one runs unless
  // another is chosen.
  virtual int candidates() const = 0;
  virtual void choose(int candidate) = 0;
  virtual std::size_t workspace() const = 0;  // bytes that any candidate needs at a run
  // `inputs` as the region numbers them.
  virtual base::Status enqueue(std::span<const DevicePointer> inputs, DevicePointer output,
                               DevicePointer workspace, Stream stream) const = 0;
  // Whether the chosen algorithm is correct, by a trial run: for steps that a library has been seen
  // to compute wrongly. Errors: those of the device.
  virtual base::Result<bool> is_right(const Device& /*device*/,
                                      const TrialMemory& /*memory*/) const {
    return true;
  }
};

// The placement of a result inside a larger value: rows of `length`, `pitch` apart, starting at
// `offset`.
struct OutputPart {
  std::int64_t length = 0, pitch = 0, offset = 0;

  // Changes strides of the result's axes to strides within the larger value. False, without change,
  // where that is impossible.
  bool put(std::span<const std::int64_t> sizes, std::span<std::int64_t* const> strides) const;
};

// The nodes of one step, which computes the last one's value from the inputs.
struct LibraryRegion {
  std::vector<ir::NodeId> nodes, inputs;
  std::unique_ptr<LibraryStep> step;
  std::optional<OutputPart> part{};  // its placement in a larger value
  // Whether it reads and writes values in storage form (storage.h).
  bool reads_stored = false, writes_stored = false;
};

// A region's definition with the types of its inputs, and their data where known (else nullptr).
struct StepDefinition {
  const ir::Denotation& denotation;
  std::span<const ir::TensorType> inputs;
  std::span<const ir::Tensor* const> constants = {};  // as many as inputs, or none
  const OutputPart* part = nullptr;                   // placement of the result
};

// Makes a step of a definition; nullptr where the library does not support it or has no algorithm.
using MakeStep = std::function<std::unique_ptr<LibraryStep>(const StepDefinition& definition)>;

// These nodes, ascending, as one step with the candidates of all `makers`; no step where none of
// them makes one.
LibraryRegion make_step(const ir::Graph& graph, std::vector<ir::NodeId> nodes,
                        std::span<const MakeStep> makers, const OutputPart* part = nullptr);

// All library steps of the graph. Each absorbs the operators before it (transposes, reshapes) that
// its form allows, and fuses the operators behind it that the library supports (a bias, a relu).
using MakeRegion = std::function<LibraryRegion(std::vector<ir::NodeId> nodes)>;
std::vector<LibraryRegion> find_library_steps(const ir::Graph& graph, const MakeRegion& make);

// The libraries' states, shared by all plans on a device, of which one is made or run at a time;
// nullptr for missing libraries. Steps refer to them.
class Dnn;
struct LibraryHandles {
  Owned<LtHandle> lt;
  std::shared_ptr<Dnn> dnn;
  // By description: the fastest measured candidate, and the steps without any working candidate.
  std::map<std::string, int> fastest{};
  std::set<std::string> refused{};
};
// The device's handles, made on first use: cuDNN is slow to open, and its compiled engines serve
// later plans.
std::shared_ptr<LibraryHandles> open_libraries(Device& device, Precision precision);
// `taken`: the contested kinds to use.
std::vector<MakeStep> step_makers(const Libraries& libraries, const LibraryHandles& handles,
                                  Precision precision, const Contested& taken);

}  // namespace egret::backends::cuda
