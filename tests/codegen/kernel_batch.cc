// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/kernel_batch.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <regex>
#include <span>
#include <utility>

#include "backends/codegen/composition.h"
#include "backends/codegen/host_compiler.h"
#include "backends/codegen/text/prelude.h"
#include "backends/codegen/text/writer.h"
#include "ir/evaluate/interpreter.h"
#include "tests/codegen/cuda_on_cpu_include.h"

namespace egret::backends::codegen {
namespace {

// As the functions of the batch's library are called, whatever the target.
using Call = int (*)(const void* const* in, void* out, int* failure, int backward);

// A sanitized test sanitizes the kernels too.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
constexpr const char* kFlags = "-O1 -fsanitize=address,undefined -fno-sanitize-recover=all";
#else
constexpr bool kSanitized = false;
constexpr const char* kFlags = "-O0";
#endif

// Memory of as many bytes and no more, which holds what nobody wrote. A GPU's begins at a multiple
// of 256 bytes; the host's begins behind, or ends before, a page that nobody may read. (Sanitizers
// watch memory of operator new.)
class Exact {
 public:
  Exact(std::size_t bytes, Target target, bool at_end) : bytes_(bytes) {
    if (target == Target::kHost && !kSanitized) {
      const std::size_t pages = (bytes + kPage - 1) / kPage * kPage;
      void* mapped = ::mmap(nullptr, pages + 2 * kPage, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (mapped == MAP_FAILED) throw std::bad_alloc();
      mapped_ = {static_cast<std::byte*>(mapped), pages + 2 * kPage};
      ::mprotect(mapped_.data(), kPage, PROT_NONE);
      ::mprotect(mapped_.data() + kPage + pages, kPage, PROT_NONE);
      begin_ = mapped_.data() + kPage + (at_end ? pages - bytes : 0);
    }
    if (mapped_.empty()) {
      memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
      begin_ = memory_.get();
    }
    std::memset(begin_, 0xa5, bytes);
  }
  Exact(std::span<const std::byte> from, Target target, bool at_end)
      : Exact(from.size(), target, at_end) {
    std::ranges::copy(from, begin_);
  }
  Exact(Exact&& other) noexcept
      : bytes_(other.bytes_),
        begin_(other.begin_),
        mapped_(std::exchange(other.mapped_, {})),
        memory_(std::move(other.memory_)) {}
  Exact& operator=(Exact&&) = delete;
  ~Exact() {
    if (!mapped_.empty()) ::munmap(mapped_.data(), mapped_.size());
  }

  std::byte* begin() const { return begin_; }
  std::span<const std::byte> data() const { return {begin_, bytes_}; }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::align_val_t kAlignment{256};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };

  std::size_t bytes_;
  std::byte* begin_ = nullptr;
  std::span<std::byte> mapped_{};
  std::unique_ptr<std::byte, Free> memory_{};
};

std::string caller(std::size_t number, const KernelSource& kernel, Target target) {
  std::string text = "extern \"C\" int call" + std::to_string(number) +
                     "(const void* const* in, void* out, int* failure, int backward) {\n";
  if (target == Target::kHost) {  // in two parts, as two threads would
    std::int64_t first = 0;
    for (const std::int64_t end :
         {kernel.packing_steps, kernel.packing_steps + kernel.partial_steps, kernel.steps}) {
      const std::int64_t half = first + (end - first) / 2;
      for (const auto& [low, high] : {std::pair{half, end}, {first, half}}) {
        text += "  " + kernel.name + "(in, out, failure, " + std::to_string(low) + ", " +
                std::to_string(high) + ");\n";
      }
      first = end;
    }
    return text + "  return 1;\n}\n";
  }
  text += "  return launch(" + std::to_string(kernel.blocks) + ", " +
          std::to_string(kernel.threads) + ", [&] {\n    " + kernel.name + "(";
  for (std::size_t i = 0; i < kernel.inputs.size(); ++i)
    text += "(const " + element_type(kernel.inputs[i]) + "*)in[" + std::to_string(i) + "], ";
  return text + "(" + element_type(kernel.output) +
         "*)out, failure);\n  }, backward ? WarpOrder::kLastToFirst : "
         "WarpOrder::kFirstToLast);\n}\n";
}

}  // namespace

std::string difference(const ir::Tensor& actual, const ir::Tensor& expected, double tolerance) {
  double scale = 1;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    if (std::isfinite(expected.f64_at(i))) scale = std::max(scale, std::abs(expected.f64_at(i)));
  }
  if (!is_float(expected.dtype())) tolerance = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double a = actual.f64_at(i);
    // The interpreter's f32 results are wide.
    const double e = actual.dtype() == ir::DType::kF32
                         ? static_cast<double>(static_cast<float>(expected.f64_at(i)))
                         : expected.f64_at(i);
    const bool close = std::isfinite(e) ? std::abs(a - e) <= tolerance * scale
                                        : (std::isnan(e) ? std::isnan(a) : a == e);
    if (!close)
      return "element " + std::to_string(i) + " is " + std::to_string(a) + ", expected " +
             std::to_string(e);
  }
  return {};
}

void KernelBatch::add(const ir::Graph& graph, std::vector<ir::Tensor> inputs, std::string label) {
  auto parts = ir::expand_composites(graph);
  ASSERT_TRUE(parts.ok()) << label << ": " << parts.status().message();
  const ir::NodeId root = parts->outputs()[0].node;
  if (parts->node(root).kind != ir::NodeKind::kOperator) return;  // nothing to compute
  std::vector<ir::NodeId> region;
  for (const ir::NodeId id : live_nodes(*parts)) {
    if (parts->node(id).kind == ir::NodeKind::kOperator) region.push_back(id);
  }
  const auto composition = compose(*parts, region);
  ASSERT_TRUE(composition.ok()) << label << ": " << composition.status().message();
  std::vector<ir::TensorType> types;
  std::vector<ir::Tensor> values;
  ContractionOptions contractions = contractions_;
  for (const ir::NodeId id : composition->inputs) {
    const ir::Node& node = parts->node(id);
    const auto position = std::ranges::find(parts->inputs(), id) - parts->inputs().begin();
    types.push_back(node.type);
    contractions.constants.push_back(node.kind == ir::NodeKind::kConstant ? 1 : 0);
    values.push_back(node.kind == ir::NodeKind::kConstant
                         ? node.data
                         : inputs[static_cast<std::size_t>(position)]);
  }
  auto kernel = emit_kernel(composition->denotation, types, target_, least_, contractions);
  if (kernel.status().code() == base::StatusCode::kUnsupported) return;
  ASSERT_TRUE(kernel.ok()) << label << ": " << kernel.status().message();
  auto expected = ir::interpret(graph, inputs);
  cases_.push_back({std::move(label), *std::move(kernel), std::move(values),
                    expected.ok() ? base::Result<ir::Tensor>((*expected)[0]) : expected.status()});
}

std::vector<const KernelSource*> KernelBatch::kernels() const {
  std::vector<const KernelSource*> kernels;
  for (const Case& each : cases_) kernels.push_back(&each.kernel);
  return kernels;
}

std::string KernelBatch::emitted() const { return source_of(kernels(), target_); }

std::set<std::string> KernelBatch::kernel_names() const {
  std::set<std::string> names;
  for (const Case& each : cases_) names.insert(each.kernel.name);
  return names;
}

std::string KernelBatch::runnable_source() const {
  std::string text = emitted();
  // The same text, but that a CPU's compiler knows no __global__ beside extern "C".
  if (target_ == Target::kCuda) {
    text = include_cuda_on_cpu() +
           std::regex_replace(text, std::regex("extern \"C\" __global__"), "__global__");
  }
  for (std::size_t i = 0; i < cases_.size(); ++i) text += caller(i, cases_[i].kernel, target_);
  return text;
}

void KernelBatch::check(double tolerance) const {
  const auto library = compile_for_host(runnable_source(), kFlags);
  ASSERT_TRUE(library.ok()) << library.status().message();
  // Warps that share memory without meeting compute something else in one of the orders.
  for (const int backward : {0, 1}) {
    if (backward != 0 && target_ == Target::kHost) break;
    std::size_t next = 0;
    check_with(
        [&](const KernelSource& kernel, const std::vector<ir::Tensor>& inputs, ir::Tensor& output,
            int* failure) -> base::Status {
          const auto call = reinterpret_cast<Call>((*library)->find("call" + std::to_string(next)));
          const bool at_end = next++ % 2 == 0;
          std::vector<Exact> memory;
          for (const ir::Tensor& input : inputs) memory.emplace_back(input.data(), target_, at_end);
          std::vector<const void*> in;
          for (const Exact& each : memory) in.push_back(each.begin());
          const Exact shared(static_cast<std::size_t>(kernel.shared_memory), target_, at_end);
          if (kernel.shared_memory > 0) in.push_back(shared.begin());
          const Exact out(output.data().size(), target_, at_end);
          if (call(in.data(), out.begin(), failure, backward) != 1)
            return base::internal_error("threads of a block do not meet");
          std::ranges::copy(out.data(), output.mutable_data().data());
          return base::ok();
        },
        tolerance);
  }
}

void KernelBatch::check_with(const Run& run, double tolerance) const {
  for (const Case& each : cases_) {
    // Room enough where only a failure is expected.
    const ir::Shape shape = each.expected.ok() ? each.expected->shape() : ir::Shape{4096};
    ir::Tensor actual(each.kernel.output, shape);
    int failure = 0;
    const base::Status status = run(each.kernel, each.inputs, actual, &failure);
    EXPECT_TRUE(status.ok()) << each.label << ": " << status.message() << "\n" << each.kernel.text;
    EXPECT_EQ(failure != 0, !each.expected.ok()) << each.label << "\n" << each.kernel.text;
    if (!status.ok() || !each.expected.ok() || failure != 0) continue;
    const std::string wrong = difference(actual, *each.expected, tolerance);
    EXPECT_TRUE(wrong.empty()) << each.label << ": " << wrong << "\n" << each.kernel.text;
  }
}

}  // namespace egret::backends::codegen
