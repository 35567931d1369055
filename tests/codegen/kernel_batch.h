// SPDX-License-Identifier: Apache-2.0
// Many emitted kernels, compiled together and compared with the interpreter.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "backends/codegen/kernel_source.h"
#include "base/status.h"
#include "ir/core/tensor.h"
#include "ir/graph/graph.h"

namespace egret::backends::codegen {

// Where `actual` differs by more than `tolerance`, relative to the larger of 1 and the largest
// value expected (integers: at all); empty where nowhere.
std::string difference(const ir::Tensor& actual, const ir::Tensor& expected, double tolerance);

class KernelBatch {
 public:
  explicit KernelBatch(Target target, const LeastPacks& least = {},
                       const ContractionOptions& contractions = {})
      : target_(target), least_(least), contractions_(contractions) {}

  // The graph's only output as one kernel, and its expected value on these inputs: a tensor, or the
  // failure that the kernel must report too. Left out when it is unsupported.
  void add(const ir::Graph& graph, std::vector<ir::Tensor> inputs, std::string label);
  // Compiles and runs all on the CPU. Fails the test for every kernel that differs by more than
  // `tolerance`, relative to the larger of 1 and the largest value of its output.
  void check(double tolerance = 1e-5) const;
  // The same with `run`, which fills the output and the failure word.
  using Run = std::function<base::Status(const KernelSource&, const std::vector<ir::Tensor>& inputs,
                                         ir::Tensor& output, int* failure)>;
  void check_with(const Run& run, double tolerance) const;
  std::size_t size() const { return cases_.size(); }
  std::vector<const KernelSource*> kernels() const;

  // The prelude and all kernels, as a compiler for the target is given them.
  std::string emitted() const;
  std::set<std::string> kernel_names() const;

 private:
  struct Case {
    std::string label;
    KernelSource kernel;
    std::vector<ir::Tensor> inputs;  // of the kernel
    base::Result<ir::Tensor> expected;
  };

  std::string runnable_source() const;

  Target target_;
  LeastPacks least_;
  ContractionOptions contractions_;
  std::vector<Case> cases_;
};

}  // namespace egret::backends::codegen
