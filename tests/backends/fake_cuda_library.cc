// SPDX-License-Identifier: Apache-2.0
// The functions of fake_cuda.h under the names that CUDA's libraries give them, as a library that
// the program can load in their place: EGRET_CUDA_LIBRARIES=build/release/fake_cuda. So whole
// commands run on the backend where there is no GPU.
#include <cstdlib>
#include <string_view>

#include "tests/backends/fake_cuda.h"

namespace {

using namespace egret::backends;
using namespace egret::backends::cuda;

const Libraries& fake() {
  static const Libraries libraries = fake_libraries();
  return libraries;
}

}  // namespace

// Each symbol jumps to where its slot points. The slots are filled when the library is loaded.
#define EGRET_CUDA_FUNCTION(name, symbol, arguments)                      \
  extern "C" {                                                            \
  [[gnu::visibility("hidden")]] void* slot_of_##symbol;                   \
  }                                                                       \
  asm(".text\n.globl " #symbol "\n.type " #symbol ", @function\n" #symbol \
      ":\n  jmp *slot_of_" #symbol "(%rip)\n");
#include "backends/cuda/api/cublaslt_functions.def"
#include "backends/cuda/api/cudnn_functions.def"
#include "backends/cuda/api/driver_functions.def"
#include "backends/cuda/api/nvrtc_functions.def"
#undef EGRET_CUDA_FUNCTION

namespace {

[[gnu::constructor]] void fill_slots() {
  const char* how = std::getenv("FAKE_CUDA");
  if (how != nullptr && std::string_view(how) == "simulates") {
    fake_cuda().simulates = true;
    fake_cuda().memory_bytes = std::size_t{1} << 37;
  }
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) \
  slot_of_##symbol = reinterpret_cast<void*>(fake().lt.name);
#include "backends/cuda/api/cublaslt_functions.def"
#undef EGRET_CUDA_FUNCTION
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) \
  slot_of_##symbol = reinterpret_cast<void*>(fake().dnn.name);
#include "backends/cuda/api/cudnn_functions.def"
#undef EGRET_CUDA_FUNCTION
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) \
  slot_of_##symbol = reinterpret_cast<void*>(fake().driver.name);
#include "backends/cuda/api/driver_functions.def"
#undef EGRET_CUDA_FUNCTION
#define EGRET_CUDA_FUNCTION(name, symbol, arguments) \
  slot_of_##symbol = reinterpret_cast<void*>(fake().nvrtc.name);
#include "backends/cuda/api/nvrtc_functions.def"
#undef EGRET_CUDA_FUNCTION
}

}  // namespace
