// SPDX-License-Identifier: Apache-2.0
// The instructions of the tensor cores, by the names that the text calls them. NVIDIA, "Parallel
// Thread Execution ISA", sections on cp.async, ldmatrix and mma.
#include <string>

#include "backends/codegen/contractions/tensor_core_writer.h"

namespace egret::backends::codegen {
namespace {

constexpr const char* kCopies = R"(
struct alignas(16) Chunk { unsigned words[4]; };
#ifdef __CUDACC__
EGRET_INLINE unsigned shared_address(const void* at) {
  return (unsigned)__cvta_generic_to_shared(at);
}
// 16 bytes, or as many zeros: where `in` is false, nothing is read.
EGRET_INLINE void copy_chunk(void* to, const void* from, bool in) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(in ? 16 : 0)
               : "memory");
}
EGRET_INLINE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until at most kNewest of the thread's last groups are on their way.
template <int kNewest>
EGRET_INLINE void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kNewest) : "memory");
}
// Four matrices of 8 rows of 16 bytes. Thread 8 * i + r has the address of row r of matrix i.
EGRET_INLINE void load_matrices(unsigned (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
EGRET_INLINE void load_transposed(unsigned (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
EGRET_INLINE void round_to_tf32(unsigned (&bits)[4]) {
  EGRET_UNROLL for (int i = 0; i < 4; ++i)
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits[i]) : "f"(__uint_as_float(bits[i])));
}
)";

// The function multiply_NAME(): mma.sync of this shape, with the types of left, right and sums.
std::string instruction(const std::string& name, const std::string& shape, const std::string& left,
                        const std::string& right, const std::string& sums) {
  const bool real = sums == "f32";
  const std::string sum = real ? "\"+f\"" : "\"+r\"";
  std::string text = "EGRET_INLINE void multiply_" + name + "(" + (real ? "float" : "int") +
                     " (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {\n";
  text += "  asm volatile(\"mma.sync.aligned." + shape + ".row.col." + sums + "." + left + "." +
          right + "." + sums +
          " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n               : ";
  for (int i = 0; i < 4; ++i) text += (i > 0 ? ", " : "") + sum + "(c[" + std::to_string(i) + "])";
  text += "\n               : ";
  for (int i = 0; i < 4; ++i) text += "\"r\"(a[" + std::to_string(i) + "]), ";
  return text + "\"r\"(b0), \"r\"(b1));\n}\n";
}

std::string made() {
  std::string text = kCopies;
  text += instruction("f16", "m16n8k16", "f16", "f16", "f32");
  text += instruction("bf16", "m16n8k16", "bf16", "bf16", "f32");
  text += instruction("tf32", "m16n8k8", "tf32", "tf32", "f32");
  for (const std::string left : {"s8", "u8"}) {
    for (const std::string right : {"s8", "u8"})
      text += instruction(left + "_" + right, "m16n8k32", left, right, "s32");
  }
  return text + "#endif\n";
}

}  // namespace

const std::string& tensor_core_prelude() {
  static const std::string text = made();
  return text;
}

}  // namespace egret::backends::codegen
