// SPDX-License-Identifier: Apache-2.0
// A library step whose operations cuDNN computes as one (dnn_graph.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/dnn_graph.h"
#include "backends/cuda/library_step.h"

namespace egret::backends::cuda {

// What stands for the tensors of a description at a run.
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

// Operations, and what cuDNN has made of them: one plan, until others are asked for.
struct DnnPlans {
  std::unique_ptr<DnnOperations> operations;
  DnnWish wish;
  std::span<const DnnOperations::Plan> plans{};
};

// cuDNN for the steps of a program. What is described alike is asked for once, and steps that are
// not run ask for one plan: engines that are compiled for it take cuDNN up to a second each.
class Dnn {
 public:
  Dnn(const DnnFunctions& functions, Owned<DnnHandle> handle, Precision precision)
      : functions_(functions), handle_(std::move(handle)), precision_(precision) {}

  const DnnFunctions& functions() const { return functions_; }
  DnnHandle handle() const { return handle_.get(); }
  // Of engines that keep to kWorkspace and the precision, maybe none. `type`: of what is
  // multiplied.
  std::shared_ptr<DnnPlans> plans(std::unique_ptr<DnnOperations> operations, ir::DType type);
  void find_more(DnnPlans& plans) const;

 private:
  const DnnFunctions& functions_;
  Owned<DnnHandle> handle_;
  Precision precision_;
  std::map<std::string, std::shared_ptr<DnnPlans>> known_;  // by description
};

class DnnStep : public LibraryStep {
 public:
  struct Kind {
    const char* name;
    bool prefers_channels_last = false;
    Contested contested{};
  };

  // nullptr where there are no plans for what `describe` puts into the operations. `type`: of what
  // is multiplied.
  using Describe = std::function<DnnArguments(DnnOperations&)>;
  static std::unique_ptr<LibraryStep> make(Dnn& dnn, Kind kind, ir::DType type,
                                           const Describe& describe);

  const char* library() const override { return "cuDNN"; }
  const char* name() const override { return kind_.name; }
  bool prefers_channels_last() const override { return kind_.prefers_channels_last; }
  Contested contested() const override { return kind_.contested; }
  void find_candidates() override { dnn_.find_more(*made_); }
  int candidates() const override { return static_cast<int>(made_->plans.size()); }
  void choose(int candidate) override { chosen_ = static_cast<std::size_t>(candidate); }
  std::size_t workspace() const override;
  base::Status enqueue(std::span<const DevicePointer> inputs, DevicePointer output,
                       DevicePointer workspace, Stream stream) const override;

 private:
  DnnStep(const Dnn& dnn, Kind kind, std::shared_ptr<DnnPlans> made, DnnArguments arguments)
      : dnn_(dnn), kind_(kind), made_(std::move(made)), arguments_(std::move(arguments)) {}

  const Dnn& dnn_;
  Kind kind_;
  std::shared_ptr<DnnPlans> made_;
  DnnArguments arguments_;
  std::size_t chosen_ = 0;
};

}  // namespace egret::backends::cuda
