// SPDX-License-Identifier: Apache-2.0
// Included only by files of this folder that create primitives.
#pragma once

#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/plan/layout.h"
#include "backends/cpu/plan/step.h"
#include "backends/low_precision.h"
#include "base/status.h"

namespace egret::backends::cpu {

class PlanBuilder;

// The process's CPU engine and its in-order stream. oneDNN recommends sharing them; one for each
// plan would only cost memory. Immutable; executing through the stream is thread-safe.
const dnnl::engine& onednn_engine();
const dnnl::stream& onednn_stream();

// "oneDNN 2.6.3": of the library loaded now, which need not be that of the headers.
std::string onednn_version();

// Sets the number of OpenMP threads for a scope; primitives created or run in it use so many.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

// Runs `body` and turns exceptions of oneDNN and the allocator into a Status.
base::Status guarded(const std::function<base::Status()>& body);

using Element = dnnl::memory::data_type;
// bf16, i8 and u8 as such, others as f32.
Element element_of(ir::DType type);
// f32 (or another type) of this shape in this layout. Rank 0 becomes [1]. Needs at most 12 axes.
dnnl::memory::desc descriptor(const ir::Shape& shape, const Layout& layout,
                              Element element = Element::f32);
dnnl::memory::desc any_layout(const ir::Shape& shape, Element element = Element::f32);
// Of an operand of f32, bf16, i8 or u8.
dnnl::memory::desc descriptor_of(const Operand& operand);
// The layout a descriptor means; unsupported for those with other blocks than the channels'.
base::Result<Layout> layout_of(const dnnl::memory::desc& descriptor);

// The scales of a sum of products of integers.
std::vector<float> scales_of(const Lowering& lowering);
// The post-operations of a kernel that writes its result in this form.
dnnl::post_ops with_rounding(dnnl::post_ops ops, const Lowering& target);

// unsupported for the library's reference kernels, which are hundreds of times slower.
base::Status reject_reference(const std::string& implementation);

// Executes a primitive on operands.
class PrimitiveStep : public Step {
 public:
  struct Argument {
    int key;  // DNNL_ARG_*
    dnnl::memory::desc descriptor;
    Operand operand;
  };
  PrimitiveStep(dnnl::primitive primitive, std::vector<Argument> arguments);

  base::Status run(const Addresses& addresses) override;
  std::vector<Operand> operands() const;

 private:
  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> packed_;
};

// Lays out weights as a primitive wants them: a constant's data now, other values by a step in
// every run. The result is an operand of raw bytes, described by `wanted`.
base::Result<Operand> weights_operand(PlanBuilder& builder, const dnnl::memory::desc& from,
                                      const Operand& source, const dnnl::memory::desc& wanted);

}  // namespace egret::backends::cpu
