// SPDX-License-Identifier: Apache-2.0
// Steps that a library of NVIDIA's computes instead of an emitted kernel, and how a graph is
// searched for them. What a step is, is found by what definitions say and not by names.
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

// Kinds of steps that emitted kernels may do faster: plans without them are tried too.
struct Contested {
  bool tails = false;      // any pointwise operations behind a product or convolution (tail.h)
  bool depthwise = false;  // convolutions of each channel for itself
  bool joins = false;      // values written where they belong in a larger one (join.h)

  Contested& operator|=(const Contested& other) {
    tails |= other.tails;
    depthwise |= other.depthwise;
    joins |= other.joins;
    return *this;
  }
};

// Where a step reads and writes, for a trial: memory that holds nothing yet, but for `fixed`
// inputs.
struct TrialMemory {
  std::vector<DevicePointer> inputs{};
  std::vector<char> fixed{};  // by input
  DevicePointer output = 0, workspace = 0;
};

// Ready to run: descriptors made and an algorithm chosen.
class LibraryStep {
 public:
  virtual ~LibraryStep() = default;
  virtual const char* library() const = 0;
  virtual const char* name() const = 0;  // of the kind of step, for reports
  // Equal for steps that the same algorithms are proposed for, in the same order; and those of the
  // steps that this one chooses between.
  virtual std::string description() const = 0;
  virtual std::vector<std::string> descriptions() const { return {description()}; }
  // Whether what it reads and writes had better lie with channels last.
  virtual bool prefers_channels_last() const { return false; }
  virtual Contested contested() const { return {}; }  // which of these it is
  // Emitted kernels of its own: whoever runs it compiles them, and hands them over before all else,
  // as many.
  virtual std::vector<const codegen::KernelSource*> kernels() const { return {}; }
  virtual void take_kernels(std::span<const Function> /*kernels*/) {}
  // What takes long to make of it, one algorithm or several to choose from, before all that
  // follows: several steps at a time, each by a thread within the GPU's context. False where it
  // turns out that the library has none.
  virtual bool prepare(bool /*several*/) { return true; }
  // Algorithms that the library proposes, the one that it expects to be the fastest first. That one
  // is run unless another is chosen.
  virtual int candidates() const = 0;
  virtual void choose(int candidate) = 0;
  virtual std::size_t workspace() const = 0;  // bytes that any candidate needs at a run
  // `inputs` as the region numbers them.
  virtual base::Status enqueue(std::span<const DevicePointer> inputs, DevicePointer output,
                               DevicePointer workspace, Stream stream) const = 0;
  // Whether the chosen algorithm computes what the step is, as a trial shows: of steps that a
  // library has been seen to get wrong. Errors: what the device reports.
  virtual base::Result<bool> is_right(const Device& /*device*/,
                                      const TrialMemory& /*memory*/) const {
    return true;
  }
};

// Where the elements of a result lie in a larger value: in rows of `length`, each `pitch` behind
// the one before it, the first from `offset` on.
struct OutputPart {
  std::int64_t length = 0, pitch = 0, offset = 0;

  // Of axes of the result, how far elements are apart in memory: as a part of the larger value
  // afterwards. False, and nothing done, where that cannot be said so.
  bool put(std::span<const std::int64_t> sizes, std::span<std::int64_t* const> strides) const;
};

// Nodes that one step computes: the last one's value, from the inputs.
struct LibraryRegion {
  std::vector<ir::NodeId> nodes, inputs;
  std::unique_ptr<LibraryStep> step;
  std::optional<OutputPart> part{};  // as which it is written
  // Whether it does so over values as they are stored (storage.h).
  bool reads_stored = false, writes_stored = false;
};

// A region's definition, and what its reads number: types, and data where it is known (else
// nullptr).
struct StepDefinition {
  const ir::Denotation& denotation;
  std::span<const ir::TensorType> inputs;
  std::span<const ir::Tensor* const> constants = {};  // as many as inputs, or none
  const OutputPart* part = nullptr;                   // as which the result is to be written
};

// What is made of a definition; nullptr where it is nothing for the library, or the library has no
// algorithm.
using MakeStep = std::function<std::unique_ptr<LibraryStep>(const StepDefinition& definition)>;

// These nodes, ascending, as one step, of all `makers` that make one; without a step where none
// does.
LibraryRegion make_step(const ir::Graph& graph, std::vector<ir::NodeId> nodes,
                        std::span<const MakeStep> makers, const OutputPart* part = nullptr);

// All steps of the graph, each with the operators on its way (transposes, reshapes) that it takes
// in without becoming anything else, and those behind it that the library computes along (a bias,
// a relu).
using MakeRegion = std::function<LibraryRegion(std::vector<ir::NodeId> nodes)>;
std::vector<LibraryRegion> find_library_steps(const ir::Graph& graph, const MakeRegion& make);

// The libraries' own states, for all plans on a device, of which one is made or run at a time;
// nullptr for libraries that are not there. Steps refer to them.
class Dnn;
struct LibraryHandles {
  Owned<LtHandle> lt;
  std::shared_ptr<Dnn> dnn;
  // By description: the fastest of the candidates, as measured, and steps of which none can be run.
  std::map<std::string, int> fastest{};
  std::set<std::string> refused{};
};
// Those of the device, made when they are first asked for: cuDNN takes long to open, and what it
// has compiled for one plan serves the next.
std::shared_ptr<LibraryHandles> open_libraries(Device& device, Precision precision);
// `taken`: the contested ones that shall be steps.
std::vector<MakeStep> step_makers(const Libraries& libraries, const LibraryHandles& handles,
                                  Precision precision, const Contested& taken);

}  // namespace egret::backends::cuda
