// SPDX-License-Identifier: Apache-2.0
// A library step whose operations cuDNN computes as one (dnn_graph.h).
#pragma once

#include <optional>
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
  std::optional<Scalar> scalar;
};

class DnnStep : public LibraryStep {
 public:
  struct Kind {
    const char* name;
    bool prefers_channels_last;
  };

  DnnStep(const DnnFunctions& dnn, DnnHandle handle, Kind kind)
      : dnn_(dnn), handle_(handle), kind_(kind), operations_(dnn) {}

  // To be described before plans are asked for.
  DnnOperations& operations() { return operations_; }
  // False where cuDNN has no engine that keeps to kWorkspace and the precision.
  bool prepare(DnnArguments arguments, ir::DType type, Precision precision);

  const char* library() const override { return "cuDNN"; }
  const char* name() const override { return kind_.name; }
  bool prefers_channels_last() const override { return kind_.prefers_channels_last; }
  int candidates() const override { return static_cast<int>(plans_.size()); }
  void choose(int candidate) override { chosen_ = static_cast<std::size_t>(candidate); }
  std::size_t workspace() const override;
  base::Status enqueue(std::span<const DevicePointer> inputs, DevicePointer output,
                       DevicePointer workspace, Stream stream) const override;

 private:
  const DnnFunctions& dnn_;
  DnnHandle handle_;
  Kind kind_;
  DnnOperations operations_;
  DnnArguments arguments_;
  std::vector<DnnOperations::Plan> plans_;
  std::size_t chosen_ = 0;
};

}  // namespace egret::backends::cuda
