// SPDX-License-Identifier: Apache-2.0
// A library step whose operations cuDNN fuses into one (dnn_graph.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/steps/dnn_graph.h"
#include "backends/cuda/steps/library_step.h"

namespace egret::backends::cuda {

// The runtime arguments of a description's tensors.
struct DnnArguments {
  struct Input {
    std::int64_t id = 0;      // of the tensor
    int input = -1;           // of the definition; one may be read as several tensors
    std::int64_t offset = 0;  // of the first element, in bytes
  };
  struct Scalar {
    std::int64_t id = 0;
    float value = 0;
  };

  std::vector<Input> inputs;
  std::int64_t output = 0;
  std::vector<Scalar> scalars;
};

// cuDNN state shared by the steps of all plans. Equal descriptions share their plans, and only
// steps that run are made into plans: engines compiled at run time take up to a second each.
class Dnn {
 public:
  // Plans and the handle that they were made with and run with. A handle serves one thread at a
  // time.
  struct Made {
    DnnHandle handle = nullptr;
    std::vector<DnnOperations::Plan> plans{};
  };
  // Operations and the plans made of them.
  struct Plans {
    std::unique_ptr<DnnOperations> operations;
    DnnWish wish;
    bool possible = true;  // as far as is known: engines are, and none is known to fail
    std::mutex making;
    std::size_t wanted = 0;  // the most that was asked for
    Made made{};
  };

  Dnn(const DnnFunctions& functions, Owned<DnnHandle> handle, Precision precision)
      : functions_(functions), precision_(precision) {
    handles_.push_back(std::move(handle));
    free_.push_back(handles_.back().get());
  }

  const DnnFunctions& functions() const { return functions_; }
  // Of engines that keep to kWorkspace and the precision. `type`: of what is multiplied.
  std::shared_ptr<Plans> plans(std::unique_ptr<DnnOperations> operations, ir::DType type);
  // Makes one plan, or several to choose from; none if impossible. Existing plans are reused.
  // Thread-safe; each thread must be within the GPU's context.
  Made make(Plans& plans, bool several);

 private:
  DnnHandle take_handle();  // nullptr where cuDNN makes none
  void give_back(DnnHandle handle);

  const DnnFunctions& functions_;
  Precision precision_;
  std::mutex mutex_;  // of the handles
  std::vector<Owned<DnnHandle>> handles_;
  std::vector<DnnHandle> free_;
  std::map<std::string, std::shared_ptr<Plans>> known_;  // by description
};

class DnnStep : public LibraryStep {
 public:
  struct Kind {
    const char* name;
    bool prefers_channels_last = false;
    Contested contested{};
    // LibraryStep::is_right(), where the result is compared.
    std::function<base::Result<bool>(const Device&, const LibraryStep&, const TrialMemory&)>
        trial{};
  };

  // nullptr where no engine computes the operations that `describe` adds. `type`: of the multiplied
  // tensors.
  using Describe = std::function<DnnArguments(DnnOperations&)>;
  static std::unique_ptr<LibraryStep> make(Dnn& dnn, Kind kind, ir::DType type,
                                           const Describe& describe);

  const char* library() const override { return "cuDNN"; }
  const char* name() const override { return kind_.name; }
  std::string description() const override {
    return std::string("cuDNN ") + kind_.name + plans_->operations->description();
  }
  bool prefers_channels_last() const override { return kind_.prefers_channels_last; }
  Contested contested() const override { return kind_.contested; }
  bool prepare(bool several) override {
    made_ = dnn_.make(*plans_, several);
    return !made_.plans.empty();
  }
  int candidates() const override { return static_cast<int>(made_.plans.size()); }
  void choose(int candidate) override { chosen_ = static_cast<std::size_t>(candidate); }
  std::size_t workspace() const override;
  base::Status enqueue(std::span<const DevicePointer> inputs, DevicePointer output,
                       DevicePointer workspace, Stream stream) const override;
  base::Result<bool> is_right(const Device& device, const TrialMemory& memory) const override {
    return kind_.trial ? kind_.trial(device, *this, memory) : LibraryStep::is_right(device, memory);
  }

 private:
  DnnStep(Dnn& dnn, Kind kind, std::shared_ptr<Dnn::Plans> plans, DnnArguments arguments)
      : dnn_(dnn),
        kind_(std::move(kind)),
        plans_(std::move(plans)),
        arguments_(std::move(arguments)) {}

  Dnn& dnn_;
  Kind kind_;
  std::shared_ptr<Dnn::Plans> plans_;
  DnnArguments arguments_;
  Dnn::Made made_;
  std::size_t chosen_ = 0;
};

}  // namespace egret::backends::cuda
