// SPDX-License-Identifier: Apache-2.0
// The one emitter: from a definition to the text of a kernel, for the host or for a GPU.
//
// A definition is lowered to a loop nest (ir/nest/loop_nest.h). A schedule divides the loops into
// rows and lanes. The writer (writer.h) puts each value at the outermost loop that it depends on.
// The two targets differ only in how rows, lanes and shared reductions loop. The text relies on the
// helpers of prelude.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backends/codegen/contractions/contraction_tiles.h"
#include "backends/codegen/contractions/tensor_core_tiles.h"
#include "backends/codegen/contractions/term_groups.h"
#include "backends/codegen/text/kernel_failure.h"
#include "backends/codegen/text/packing.h"
#include "backends/codegen/text/schedule.h"
#include "base/status.h"
#include "ir/analysis/large_constants.h"
#include "ir/core/tensor_type.h"
#include "ir/graph/definition.h"

namespace egret::backends::codegen {

// bad_input that names the failure and `label`; ok for kNone.
base::Status failure_status(int failure, const std::string& label);

// The work of a kernel, counted as its text is written: a statement in a loop counts as often as
// the loop runs.
struct KernelWork {
  double operations = 0;  // arithmetic, on elements and on indices
  double bytes = 0;       // each input at most once, and the output
};

struct KernelSource {
  std::string name;  // a hash of its content: equal kernels have one name
  std::string text;
  std::vector<ir::DType> inputs;  // of the pointers, in order; then output and failure word
  ir::DType output = ir::DType::kF32;
  // Host: the iterations of the outer loop, which callers may split. CUDA: 1.
  std::int64_t steps = 1;
  // CUDA: the launch. Threads are a multiple of 32.
  std::int64_t blocks = 1;
  int threads = 1;
  int width = 1;  // CUDA: elements that a thread computes at a time
  // Host: bytes of scratch memory of each thread, which source_of() provides.
  std::int64_t memory = 0;
  // Host: bytes that all threads share and that stay between runs, passed behind the inputs, from a
  // multiple of 64 on.
  std::int64_t shared_memory = 0;
  // Host: the first steps pack constants into it, once for all runs. Those behind them compute sums
  // of parts, all of them before the rest.
  std::int64_t packing_steps = 0, partial_steps = 0;
  KernelWork work;
  // Data can make it fail; otherwise it does not write the failure word.
  bool may_fail = false;
  // The output equals the only input element by element (a reshape), and may share its memory.
  bool is_view = false;
  // A sum of products as plain loops. The interpreter's packed products
  // (ir/evaluate/contraction.h) are several times faster than loops: f64 on one thread, 64x64 3.3,
  // 512x512 50 times.
  bool is_product = false;
  bool is_tiled = false;  // a contraction in tiles (contractions/)
  int other_tiles = 0;    // that could be chosen for it (ContractionOptions::tiles)
  TermGroups groups;      // host: of terms that one instruction multiplies
  Fragments fragments = Fragments::kNone;  // CUDA: of the tensor cores (tensor_core_writer.h)
  bool slides = false;  // in tiles over a sliding factor (contractions/window_writer.h)

  // CUDA:  extern "C" __global__ void __launch_bounds__(THREADS)
  //            NAME(const T* in0, .., T* out, int* failure)
  // host:  extern "C" void NAME(const void* const* in, void* out, int* failure, i64 low, i64 high)
};

// How contractions are emitted.
struct ContractionOptions {
  bool tiled = true;             // else as loops
  double least_products = 4096;  // fewer are not tiled, and thin ones are not
  HostProcessor processor = HostProcessor::this_one();
  TensorCores tensor_cores = {};  // of a GPU; without them contractions are loops there
  // By input: whether all runs read the same values. Others are not constant.
  std::vector<char> constants = {};
  // By input. A sum of three with a large constant is computed in the order that it is written in.
  std::vector<ir::ConstantSize> sizes = {};
  int tiles = 0;  // those of the model, or the number of other ones, best first by the model
};

// `inputs` are the types of the denotation's inputs; all sizes are known, and the output has
// elements. Errors: unsupported for more than 60 loops. Time: linear in the size of the definition.
base::Result<KernelSource> emit_kernel(const ir::Denotation& denotation,
                                       std::span<const ir::TensorType> inputs, Target target,
                                       const LeastPacks& least = {},
                                       const ContractionOptions& contractions = {});

// One file: the prelude and each kernel once, in the order of their names. Plans with the same
// kernels then share the compiled file.
std::string source_of(std::span<const KernelSource* const> kernels, Target target);

}  // namespace egret::backends::codegen
