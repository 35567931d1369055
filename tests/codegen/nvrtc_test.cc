// SPDX-License-Identifier: Apache-2.0
// Emitted kernels compile with the compiler that a GPU's driver comes with. NVRTC needs no GPU;
// where it is not installed (scripts/setup.sh --cuda installs it) the test says so.
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "backends/cuda/api/device.h"
#include "ir/graph/builder.h"
#include "tests/codegen/kernel_batch.h"
#include "tests/codegen/sample_kernels.h"

namespace egret::backends::codegen {
namespace {

TEST(Nvrtc, CompilesEmittedKernelsToMachineCode) {
  const cuda::Libraries& libraries = cuda::system_libraries();
  if (!libraries.has_nvrtc.ok()) GTEST_SKIP() << libraries.has_nvrtc.message();
  KernelBatch batch(Target::kCuda);
  add_every_operator(batch, 2);
  add_random_regions(batch, 50);
  const auto image =
      cuda::compile_for_device(libraries.nvrtc, libraries.nvrtc_version, batch.emitted(), 90);
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_TRUE(
      image->starts_with("\x7f"
                         "ELF"));
  for (const std::string& name : batch.kernel_names())
    EXPECT_NE(image->find(name), std::string::npos) << name;
}

// The most that a thread of one of the machine code's functions has, as its section .nv.info says:
// format, attribute and length of each entry, then, for this attribute, the function and a number.
int most_registers(const std::string& image) {
  const auto at = [&](std::size_t offset, auto& into) {
    std::memcpy(&into, image.data() + offset, sizeof into);
  };
  Elf64_Ehdr header;
  at(0, header);
  const auto section = [&](std::size_t i) {
    Elf64_Shdr made;
    at(header.e_shoff + i * header.e_shentsize, made);
    return made;
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  constexpr std::uint8_t kWithBytes = 4, kRegisterCount = 0x2f;
  int most = 0;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr info = section(i);
    if (image.c_str() + names.sh_offset + info.sh_name != std::string(".nv.info")) continue;
    for (std::size_t entry = info.sh_offset; entry < info.sh_offset + info.sh_size;) {
      std::uint16_t length = 0;
      at(entry + 2, length);
      const auto format = static_cast<std::uint8_t>(image[entry]);
      if (format == kWithBytes && static_cast<std::uint8_t>(image[entry + 1]) == kRegisterCount) {
        std::int32_t count = 0;
        at(entry + 8, count);
        most = std::max(most, static_cast<int>(count));
      }
      entry += 4 + (format == kWithBytes ? length : 0u);
    }
  }
  return most;
}

// Rows that stay in registers, of as many threads as a block may have: a launch that needs more
// registers than a multiprocessor has would fail.
TEST(Nvrtc, LargeBlocksFitTheRegisters) {
  const cuda::Libraries& libraries = cuda::system_libraries();
  if (!libraries.has_nvrtc.ok()) GTEST_SKIP() << libraries.has_nvrtc.message();
  constexpr int kRegisters = 65536;
  const ir::TensorType rows(ir::DType::kF32, {600, 16384});
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", rows), r = b.input("r", rows), s = b.input("s", rows);
  const ir::Value inside = b.add("add", {b.add("mul", {x, r}), s});
  const ir::Value y = b.add("softmax", {inside}, {{"axis", std::int64_t{1}}});
  b.output("y", b.add("add", {b.add("mul", {b.add("mul", {y, r}), s}), b.add("mul", {x, s})}));
  const auto graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const ir::Tensor zeros(rows);
  KernelBatch batch(Target::kCuda);
  batch.add(*graph, {zeros, zeros, zeros}, "softmax");
  const auto image =
      cuda::compile_for_device(libraries.nvrtc, libraries.nvrtc_version, batch.emitted(), 90);
  ASSERT_TRUE(image.ok()) << image.status().message();
  ASSERT_EQ(batch.kernels().size(), 1u);
  EXPECT_EQ(batch.kernels()[0]->threads, 1024);
  const int registers = most_registers(*image);
  EXPECT_GT(registers, 0);
  EXPECT_LE(registers * batch.kernels()[0]->threads, kRegisters);
}

TEST(Nvrtc, SaysWhatItRefuses) {
  const cuda::Libraries& libraries = cuda::system_libraries();
  if (!libraries.has_nvrtc.ok()) GTEST_SKIP() << libraries.has_nvrtc.message();
  const auto image = cuda::compile_for_device(libraries.nvrtc, libraries.nvrtc_version,
                                              "__global__ void f() { undeclared(); }", 90);
  EXPECT_NE(image.status().message().find("undeclared"), std::string::npos);
}

TEST(Nvrtc, ServesAGpuThatItDoesNotKnowWithPtx) {
  const cuda::Libraries& libraries = cuda::system_libraries();
  if (!libraries.has_nvrtc.ok()) GTEST_SKIP() << libraries.has_nvrtc.message();
  const auto image = cuda::compile_for_device(libraries.nvrtc, libraries.nvrtc_version,
                                              "extern \"C\" __global__ void f() {}", 999);
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_NE(image->find(".entry f"), std::string::npos);
}

}  // namespace
}  // namespace egret::backends::codegen
