// SPDX-License-Identifier: Apache-2.0
// Every CPU kernel in guarded memory, with each element type behind it and odd numbers of channels.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/plan/guarded_buffers.h"
#include "backends/timing/measure.h"
#include "base/random.h"
#include "ir/graph/builder.h"

namespace egret::backends {
namespace {

using ir::Attrs;
using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Shape;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

constexpr std::int64_t kRows = 5, kColumns = 7;

// A feature map [2, channels, kRows, kColumns] and a kernel that takes it.
struct Maker {
  GraphBuilder b;
  base::Random random{1};
  std::int64_t channels;
  Value x{};

  explicit Maker(std::int64_t count) : channels(count) {}
  Value constant(const Shape& shape) {
    return b.constant(Tensor::random(TensorType(DType::kF32, shape), random));
  }
  static Attrs windows(std::int64_t pad) {
    return {{"strides", Integers{1, 1}},
            {"dilations", Integers{1, 1}},
            {"pads", Integers{pad, pad, pad, pad}}};
  }
  // 1 x 1, into as many channels: kernels before and behind it agree on blocks of channels.
  Value mixed(Value value) {
    return b.add("conv", {value, constant({channels, channels, 1, 1})}, windows(0));
  }
  Value pooled(const char* op) {
    Attrs attrs = windows(1);
    attrs.set("kernel", Integers{3, 3});
    return b.add(op, {x}, attrs);
  }
  Value reduced(const char* op) {
    return b.add(op, {x}, {{"axes", Integers{2, 3}}, {"keepdims", std::int64_t{1}}});
  }
};

Attrs with(Attrs attrs, const std::string& name, const ir::AttrValue& value) {
  attrs.set(name, value);
  return attrs;
}

// By operator: one of each row of kernels.def. Those that the table calls kAny take any type.
const std::map<std::string, std::function<Value(Maker&)>>& makers() {
  static const std::map<std::string, std::function<Value(Maker&)>> table = {
      {"identity", [](Maker& m) { return m.b.add("identity", {m.x}); }},
      {"reshape",
       [](Maker& m) {
         return m.b.add("reshape", {m.x}, {{"shape", Integers{2, m.channels, kRows * kColumns}}});
       }},
      {"transpose",
       [](Maker& m) {
         return m.b.add("transpose", {m.x}, {{"perm", Integers{0, 2, 3, 1}}});
       }},
      {"slice",
       [](Maker& m) {
         return m.b.add("slice", {m.x},
                        {{"axis", std::int64_t{1}},
                         {"start", m.channels / 2},
                         {"size", m.channels - m.channels / 2}});
       }},
      {"broadcast",
       [](Maker& m) {
         return m.b.add("broadcast", {m.x},
                        {{"shape", Integers{3, 2, m.channels, kRows, kColumns}}});
       }},
      {"concat",
       [](Maker& m) {
         return m.b.add("concat", {m.x, m.b.add("identity", {m.x})}, {{"axis", std::int64_t{1}}});
       }},
      {"pad",
       [](Maker& m) {
         return m.b.add(
             "pad", {m.x},
             {{"before", Integers{0, 1, 0, 2}}, {"after", Integers{0, 1, 1, 0}}, {"value", 0.0}});
       }},
      {"patch",
       [](Maker& m) {
         const Value box = m.b.input("box", TensorType(m.b.type(m.x).dtype, Shape{1, 1, 3, 3}));
         return m.b.add("patch", {m.x, box}, {{"start", Integers{1, m.channels - 1, 1, 2}}});
       }},
      {"gather",
       [](Maker& m) {
         const Value rows = m.b.input("rows", TensorType(DType::kI64, Shape{3}));
         return m.b.add("gather", {m.x, rows}, {{"axis", std::int64_t{1}}});
       }},
      {"conv",
       [](Maker& m) {
         return m.b.add("conv", {m.x, m.constant({m.channels, m.channels, 3, 3})}, m.windows(1));
       }},
      {"fused_conv",
       [](Maker& m) {
         return m.b.add("fused_conv",
                        {m.x, m.constant({m.channels, m.channels, 3, 3}), m.constant({m.channels})},
                        with(m.windows(1), "activation", std::string("relu")));
       }},
      {"conv_transpose",
       [](Maker& m) {
         return m.b.add("conv_transpose", {m.x, m.constant({m.channels, m.channels, 3, 3})},
                        with(m.windows(1), "output_padding", Integers{0, 0}));
       }},
      {"matmul",
       [](Maker& m) {
         return m.b.add("matmul", {m.x, m.constant({kColumns, m.channels})});
       }},
      {"fused_matmul",
       [](Maker& m) {
         return m.b.add("fused_matmul",
                        {m.x, m.constant({kColumns, m.channels}), m.constant({m.channels})},
                        {{"activation", std::string("relu")}});
       }},
      {"max_pool", [](Maker& m) { return m.pooled("max_pool"); }},
      {"avg_pool", [](Maker& m) { return m.pooled("avg_pool"); }},
      {"lrn",
       [](Maker& m) {
         return m.b.add("lrn", {m.x},
                        {{"size", std::int64_t{3}}, {"alpha", 0.3}, {"beta", 0.7}, {"bias", 1.5}});
       }},
      {"resize",
       [](Maker& m) {
         const Value rows =
             m.b.add("resize", {m.x},
                     {{"axis", 2}, {"size", 7}, {"scale", 0.0}, {"mode", std::string("linear")}});
         return m.b.add("resize", {rows}, {{"axis", 3}, {"size", 2 * kColumns}, {"scale", 2.0}});
       }},
      {"reduce_sum", [](Maker& m) { return m.reduced("reduce_sum"); }},
      {"reduce_mean", [](Maker& m) { return m.reduced("reduce_mean"); }},
      {"reduce_max", [](Maker& m) { return m.reduced("reduce_max"); }},
      {"reduce_min", [](Maker& m) { return m.reduced("reduce_min"); }},
      {"softmax",
       [](Maker& m) {
         return m.b.add("softmax", {m.x}, {{"axis", std::int64_t{1}}});
       }},
      {"log_softmax",
       [](Maker& m) {
         return m.b.add("log_softmax", {m.x}, {{"axis", std::int64_t{3}}});
       }},
      {"layer_norm",
       [](Maker& m) {
         return m.b.add("layer_norm", {m.x, m.constant({kColumns}), m.constant({kColumns})},
                        {{"axis", std::int64_t{3}}});
       }},
      {"rms_norm",
       [](Maker& m) {
         return m.b.add("rms_norm", {m.x, m.constant({kColumns})}, {{"axis", std::int64_t{3}}});
       }},
      {"topk_indices",
       [](Maker& m) {
         return m.b.add("topk_indices", {m.x},
                        {{"axis", std::int64_t{1}},
                         {"k", (m.channels + 1) / 2},
                         {"largest", std::int64_t{1}}});
       }},
      {"relu", [](Maker& m) { return m.b.add("relu", {m.x}); }},  // pointwise: no row
  };
  return table;
}

struct Row {
  std::string op;
  bool any_type;
};

std::vector<Row> rows() {
  constexpr bool kAny = true, kF32 = false;
  std::vector<Row> rows = {
#define EGRET_CPU_KERNEL(op, family, epilogue, types) {#op, types},
#include "backends/cpu/kernels/kernels.def"
#undef EGRET_CPU_KERNEL
  };
  rows.push_back({"relu", false});
  return rows;
}

constexpr DType kTypes[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,
                            DType::kI16, DType::kI32, DType::kI64, DType::kU8,   DType::kU16,
                            DType::kU32, DType::kU64, DType::kBool};

// Runs the graph in an arena and in guarded memory, and expects the same bits.
void expect_same_in_guarded_memory(const ir::Graph& graph, const CompileOptions& options) {
  const Backend& backend = *find_backend("cpu");
  CompileOptions guarded = options;
  guarded.guarded_memory = true;
  const auto plan = backend.compile(graph, options), apart = backend.compile(graph, guarded);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_TRUE(apart.ok()) << apart.status().message();
  const auto inputs = random_inputs(**plan, base::Random(1));
  const auto expected = (*plan)->run(inputs), actual = (*apart)->run(inputs);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  ASSERT_TRUE(actual.ok()) << actual.status().message();
  for (std::size_t k = 0; k < expected->size(); ++k)
    EXPECT_TRUE(std::ranges::equal((*actual)[k].data(), (*expected)[k].data())) << "output " << k;
}

// The kernel's value, and that value in `type`, which an epilogue or a region may compute.
void expect_memory_kept(const Row& row, DType type, std::int64_t channels, bool behind_conv) {
  Maker m(channels);
  const bool typed = row.any_type && !behind_conv;
  m.x = m.b.input("x", TensorType(typed ? type : DType::kF32, Shape{2, channels, kRows, kColumns}));
  if (behind_conv) m.x = m.mixed(m.x);
  const Value y = makers().at(row.op)(m);
  Value last = y;
  if (!typed && type == DType::kBool) {
    const DType computed = m.b.type(y).dtype;
    last = m.b.add("less", {y, m.b.scalar(computed, computed == DType::kF32 ? 0.1 : 1)});
  } else if (!typed) {
    last = m.b.add("cast", {m.b.add("abs", {y})}, {{"to", std::string(ir::to_string(type))}});
  }
  m.b.output("y", last);
  // With a second reader in the layout of convolutions, the kernel's value stays in blocks.
  if (behind_conv && m.b.type(y) == m.b.type(m.x)) m.b.output("z", m.mixed(y));
  const auto graph = m.b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  for (const bool fuse : {true, false}) {
    SCOPED_TRACE(std::string(ir::to_string(type)) + ", " + std::to_string(channels) + " channels" +
                 (behind_conv ? ", behind a convolution" : "") + (fuse ? "" : ", not fused"));
    expect_same_in_guarded_memory(*graph,
                                  {.threads = 2, .fuse = fuse, .emission = Emission::kNone});
  }
}

class CpuMemory : public ::testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(Kernels, CpuMemory, ::testing::ValuesIn(rows()),
                         [](const auto& instance) { return instance.param.op; });

TEST_P(CpuMemory, IsTheKernelsOwn) {
  ASSERT_TRUE(makers().contains(GetParam().op)) << "a row of kernels.def that no test makes";
  for (const DType type : kTypes) {
    for (const std::int64_t channels : {1, 3, 7, 9, 15, 17, 33}) {
      for (const bool behind_conv : {false, true}) {
        expect_memory_kept(GetParam(), type, channels, behind_conv);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(GuardedMemory, NoticesWritesAroundABuffer) {
  cpu::GuardedBuffers buffers;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{100},
                                  std::size_t{4000}, std::size_t{8200}}) {
    SCOPED_TRACE(bytes);
    std::byte* const data = buffers.allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0U);
    std::fill_n(data, bytes, std::byte{1});
    EXPECT_TRUE(buffers.check().ok());
#if !defined(__SANITIZE_ADDRESS__)
    // Not through std::byte*, which the compiler may judge.
    volatile std::byte* const end = data + bytes;
    const std::byte before = *end;
    *end = std::byte{1};
    const base::Status status = buffers.check();
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.message().find("byte " + std::to_string(bytes) + " of a buffer of " +
                                    std::to_string(bytes) + " bytes was written"),
              std::string::npos)
        << status.message();
    *end = before;
#else
    EXPECT_DEATH(*static_cast<volatile std::byte*>(data + bytes) = std::byte{1},
                 "AddressSanitizer");
#endif
  }
}

TEST(GuardedMemoryDeathTest, EndsAProgramThatReadsFarBeyondABuffer) {
  cpu::GuardedBuffers buffers;
  volatile std::byte* const data = buffers.allocate(100);
  EXPECT_DEATH((void)data[128], "");
  EXPECT_DEATH((void)data[-4096], "");
}

}  // namespace
}  // namespace egret::backends
