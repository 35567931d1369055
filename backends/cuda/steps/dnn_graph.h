// SPDX-License-Identifier: Apache-2.0
// cuDNN's graph interface (its "backend" functions): operations are described, its heuristics name
// engines that can compute them together, and each engine becomes a plan that can be run.
//
// Neither descriptions nor heuristics need a GPU: a description of a device will do in place of a
// handle. tests/backends/dnn_graph_test.cc asks the real library so, where it is installed.
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

// Owns descriptors. After the first call that cuDNN refuses nothing more is asked of it.
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
  // How many there are; with room for none only asks.
  std::int64_t get(DnnBackend descriptor, int attribute, int type, std::int64_t room, void* values);
  bool ok() const { return status_ == 0; }
  int status() const { return status_; }
  // All that was made and set, as bytes: equal where the same was described.
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

// Where plans are to run: a library's handle, or a device that is only described.
struct DnnTarget {
  DnnHandle handle = nullptr;
  DnnBackend device = nullptr;
};

// Bytes that engines read at once. Every value of a plan begins at a multiple of it.
inline constexpr std::int64_t kDnnAlignment = 16;

struct DnnTensorInfo {
  std::int64_t id = 0;
  std::vector<std::int64_t> sizes, strides;
  ir::DType type = ir::DType::kF32;
  bool is_virtual = false;   // between two operations, never in memory
  bool is_by_value = false;  // a number, which a run is given where it lies on the host
  std::int64_t alignment = kDnnAlignment;  // of its first element, in bytes
};

// What engines have to keep to.
struct DnnWish {
  ir::DType type = ir::DType::kF32;  // of what is multiplied
  Precision precision = Precision::kF32;
  std::size_t workspace = 0;  // the most bytes
};

// Operations one after the other.
class DnnOperations {
 public:
  explicit DnnOperations(const DnnFunctions& dnn) : dnn_(dnn), descriptors_(dnn) {}

  DnnBackend tensor(const DnnTensorInfo& info);
  struct Window {
    std::vector<std::int64_t> strides, dilations, pads_before, pads_after;
  };
  void convolution(DnnBackend image, DnnBackend filter, DnnBackend output, const Window& window,
                   double scale, ir::DType compute);
  // Pointwise; of `a` alone where `b` is nullptr.
  void pointwise(int mode, DnnBackend a, DnnBackend b, DnnBackend output, ir::DType compute);
  // min(max(x, 0), most); no bound where that is infinite.
  void relu(DnnBackend x, DnnBackend output, double most, ir::DType compute);

  // Of the last two axes, for each of those before.
  void product(DnnBackend a, DnnBackend b, DnnBackend output, ir::DType compute);
  // Over the axes that the output has of size 1.
  void reduce(int with, DnnBackend x, DnnBackend output, ir::DType compute);

  // softmax(scale * q k') v over the last two axes of [B, H, rows, width], as one operation; there
  // since 9.15 or so. `scale` is by value.
  void attention(DnnBackend q, DnnBackend k, DnnBackend v, DnnBackend scale, DnnBackend output);

  // One that computes all operations, ready to run.
  struct Plan {
    DnnBackend plan = nullptr;
    std::size_t workspace = 0;
  };
  // Whether the heuristics know any engine, of which plans() may still make none. Left out are
  // engines that compute with fewer digits than the precision allows, and those whose results
  // differ from run to run. Time: milliseconds.
  bool has_engines(const DnnTarget& target, const DnnWish& wish);
  // The fastest first, as far as the heuristics know; at most `most`, of which at most
  // kMostCompiled are of engines that cuDNN compiles for the operations: those take up to seconds
  // each. Asked again, for the same target and wish, it goes on where it was; for another after
  // restart(), which keeps the plans that are made, as they may be run still. Empty where there are
  // none.
  static constexpr std::size_t kMostCompiled = 4;
  std::span<const Plan> plans(const DnnTarget& target, const DnnWish& wish, std::size_t most);
  void restart();
  int status() const { return descriptors_.status(); }
  // Equal for those that describe the same.
  const std::string& description() const { return descriptors_.said(); }

 private:
  // Of what an operation is; nullptr: it does without.
  struct Part {
    int attribute;
    DnnBackend descriptor;
  };
  DnnBackend begin(int kind, std::initializer_list<Part> parts);
  void end(DnnBackend operation);
  void add_pointwise(DnnBackend how, DnnBackend x, DnnBackend b, DnnBackend output);
  DnnBackend pointwise_mode(int mode, ir::DType compute);
  void finish_graph(const DnnTarget& target);
  // The heuristics for configurations; whether there was anything left to ask.
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
