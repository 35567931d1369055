// SPDX-License-Identifier: Apache-2.0
// cuDNN's graph interface (its "backend" functions). Operations are described, heuristics name
// engines that compute them together, and each engine becomes an executable plan.
//
// Descriptions and heuristics need no GPU: a description of a device can replace a handle.
// tests/backends/dnn_graph_test.cc uses the real library this way where it is installed.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/cuda/api/abi.h"
#include "base/status.h"
#include "ir/core/dtype.h"

namespace egret::backends::cuda {

// Owns descriptors. After the first call that cuDNN refuses, later calls do nothing.
class DnnDescriptors {
 public:
  explicit DnnDescriptors(const DnnFunctions& dnn) : dnn_(dnn) {}
  ~DnnDescriptors();
  DnnDescriptors(const DnnDescriptors&) = delete;
  DnnDescriptors& operator=(const DnnDescriptors&) = delete;

  DnnBackend make(int kind);
  void set(DnnBackend descriptor, int attribute, int type, std::int64_t count, const void* values);
  template <typename T>
  void set(DnnBackend descriptor, int attribute, int type, const T& value) {
    set(descriptor, attribute, type, 1, &value);
  }
  void set(DnnBackend descriptor, int attribute, std::span<const std::int64_t> values);
  void finish(DnnBackend descriptor);
  // Returns the number of values; with room 0 it only asks.
  std::int64_t get(DnnBackend descriptor, int attribute, int type, std::int64_t room, void* values);
  bool ok() const { return status_ == 0; }
  int status() const { return status_; }
  // A byte string of everything made and set: equal for equal descriptions.
  const std::string& said() const { return said_; }

 private:
  template <typename T>
  void say(const T& value) {
    said_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  const DnnFunctions& dnn_;
  std::vector<DnnBackend> all_;
  std::string said_;
  int status_ = 0;
};

// The target of plans: a library's handle, or a described device.
struct DnnTarget {
  DnnHandle handle = nullptr;
  DnnBackend device = nullptr;
};

// Alignment in bytes that engines rely on. Every value of a plan begins at a multiple of it.
inline constexpr std::int64_t kDnnAlignment = 16;

struct DnnTensorInfo {
  std::int64_t id = 0;
  std::vector<std::int64_t> sizes, strides;
  ir::DType type = ir::DType::kF32;
  bool is_virtual = false;   // between two operations, never in memory
  bool is_by_value = false;  // a number, which a run is given where it lies on the host
  std::int64_t alignment = kDnnAlignment;  // of its first element, in bytes
};

// Requirements on engines.
struct DnnWish {
  ir::DType type = ir::DType::kF32;  // of what is multiplied
  Precision precision = Precision::kF32;
  std::size_t workspace = 0;  // the most bytes
};

// A sequence of operations.
class DnnOperations {
 public:
  explicit DnnOperations(const DnnFunctions& dnn) : dnn_(dnn), descriptors_(dnn) {}

  DnnBackend tensor(const DnnTensorInfo& info);
  struct Window {
    std::vector<std::int64_t> strides, dilations, pads_before, pads_after;
  };
  void convolution(DnnBackend image, DnnBackend filter, DnnBackend output, const Window& window,
                   double scale, ir::DType compute);
  // A pointwise operation; unary if `b` is nullptr.
  void pointwise(int mode, DnnBackend a, DnnBackend b, DnnBackend output, ir::DType compute);
  // min(max(x, 0), most); no bound where that is infinite.
  void relu(DnnBackend x, DnnBackend output, double most, ir::DType compute);

  // A batched matrix product over the last two axes.
  void product(DnnBackend a, DnnBackend b, DnnBackend output, ir::DType compute);
  // A reduction over the axes of size 1 in the output.
  void reduce(int with, DnnBackend x, DnnBackend output, ir::DType compute);

  // softmax(scale * q k') v over the last two axes of [B, H, rows, width], as one operation;
  // available since about 9.15. `scale` is passed by value.
  void attention(DnnBackend q, DnnBackend k, DnnBackend v, DnnBackend scale, DnnBackend output);

  // One that computes all operations, ready to run.
  struct Plan {
    DnnBackend plan = nullptr;
    std::size_t workspace = 0;
  };
  // Whether the heuristics know any engine; plans() may still make none of them. Engines with fewer
  // digits than the precision allows, and nondeterministic ones, are excluded. Time: milliseconds.
  bool has_engines(const DnnTarget& target, const DnnWish& wish);
  // Plans in the heuristics' order of speed: at most `most`, of which at most kMostCompiled from
  // engines that cuDNN compiles at run time (up to seconds each). A further call for the same
  // target and wish continues; for another one call restart() first, which keeps the plans made so
  // far. Empty where there are none.
  static constexpr std::size_t kMostCompiled = 4;
  std::span<const Plan> plans(const DnnTarget& target, const DnnWish& wish, std::size_t most);
  void restart();
  int status() const { return descriptors_.status(); }
  // Equal for equal operations.
  const std::string& description() const { return descriptors_.said(); }

 private:
  // An attribute of an operation; nullptr: omitted.
  struct Part {
    int attribute;
    DnnBackend descriptor;
  };
  DnnBackend begin(int kind, std::initializer_list<Part> parts);
  void end(DnnBackend operation);
  void add_pointwise(DnnBackend how, DnnBackend x, DnnBackend b, DnnBackend output);
  DnnBackend pointwise_mode(int mode, ir::DType compute);
  void finish_graph(const DnnTarget& target);
  // Asks the heuristics for more configurations; false when none are left.
  bool ask(const DnnTarget& target, const DnnWish& wish);
  bool keeps_digits(DnnBackend config, const DnnWish& wish) const;
  bool is_compiled(DnnBackend config) const;
  void add_plan(DnnBackend config, const DnnTarget& target, std::size_t workspace);

  const DnnFunctions& dnn_;
  DnnDescriptors descriptors_;
  std::vector<DnnBackend> operations_;
  DnnBackend graph_ = nullptr;
  std::size_t asked_ = 0;           // modes of the heuristics
  std::deque<DnnBackend> configs_;  // not tried yet
  std::size_t compiled_ = 0;        // plans of engines that are
  std::vector<Plan> found_;
  std::vector<std::unique_ptr<DnnDescriptors>> made_;  // what plans are made of
};

// Runs a plan: `ids` and `pointers` of its tensors that are not virtual.
base::Status run_dnn_plan(const DnnFunctions& dnn, DnnHandle handle, DnnBackend plan,
                          std::span<const std::int64_t> ids, std::span<void* const> pointers,
                          void* workspace);

int dnn_type(ir::DType type);

}  // namespace egret::backends::cuda
