// SPDX-License-Identifier: Apache-2.0
// interpreter_bench: the interpreter on typical operators, with all threads of the shared pool
// (EGRET_THREADS). FLOPS is what work_of() counts, items are output elements; both are per second
// of processor time, that is, per core.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "ir/nest/work.h"

namespace egret::ir {
namespace {

void run(benchmark::State& state, std::string_view name, const Attrs& given,
         const std::vector<TensorType>& types, Precision precision = Precision::kF64) {
  const Operator& op = get_operator(name);
  const auto attrs = canonical_attrs(op.attrs(), given);
  if (!attrs.ok()) return state.SkipWithError(attrs.status().message().c_str());
  base::Random random(1);
  std::vector<Tensor> inputs;
  inputs.reserve(types.size());
  for (const TensorType& type : types) inputs.push_back(Tensor::random(type, random));
  std::int64_t elements = 0;
  for ([[maybe_unused]] auto _ : state) {
    auto result = evaluate(op, *attrs, inputs, {.precision = precision});
    if (!result.ok()) return state.SkipWithError(result.status().message().c_str());
    elements = result->elements();
  }
  const auto runs = static_cast<double>(state.iterations());
  state.SetItemsProcessed(static_cast<std::int64_t>(runs) * elements);
  std::vector<TensorType> wide = types;
  for (TensorType& type : wide) type.dtype = is_float(type.dtype) ? DType::kF64 : type.dtype;
  const auto work = work_of(op, *attrs, wide);
  if (work.ok() && work->flops > 0) {
    state.counters["FLOPS"] = benchmark::Counter(runs * work->flops, benchmark::Counter::kIsRate,
                                                 benchmark::Counter::kIs1000);
  }
}

constexpr DType kF32 = DType::kF32;
constexpr DType kF64 = DType::kF64;

Attrs windows(std::int64_t stride, std::int64_t pad, std::int64_t group = 1) {
  Attrs attrs{{"strides", Integers{stride, stride}},
              {"pads", Integers{pad, pad, pad, pad}},
              {"dilations", Integers{1, 1}}};
  if (group > 0) attrs.set("group", group);
  return attrs;
}

Attrs pooling(std::int64_t stride, std::int64_t pad, std::int64_t kernel) {
  Attrs attrs = windows(stride, pad, 0);
  attrs.set("kernel", Integers{kernel, kernel});
  return attrs;
}

#define EGRET_BENCH(name, ...)                                    \
  void name(benchmark::State& state) { run(state, __VA_ARGS__); } \
  BENCHMARK(name)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->MinTime(0.2)

using Types = std::vector<TensorType>;

EGRET_BENCH(matmul_256, "matmul", {}, Types{{kF32, {256, 256}}, {kF32, {256, 256}}});
EGRET_BENCH(matmul_512, "matmul", {}, Types{{kF32, {512, 512}}, {kF32, {512, 512}}});
EGRET_BENCH(matmul_512_stored_f32, "matmul", {}, Types{{kF32, {512, 512}}, {kF32, {512, 512}}},
            Precision::kF32);
EGRET_BENCH(matvec_4096, "matmul", {}, Types{{kF32, {1, 4096}}, {kF32, {4096, 4096}}});
EGRET_BENCH(matmul_heads, "matmul", {}, Types{{kF64, {12, 128, 64}}, {kF64, {12, 64, 128}}});
EGRET_BENCH(conv_3x3_64, "conv", windows(1, 1),
            Types{{kF64, {1, 64, 56, 56}}, {kF32, {64, 64, 3, 3}}});
EGRET_BENCH(conv_1x1_256, "conv", windows(1, 0),
            Types{{kF64, {1, 256, 56, 56}}, {kF32, {64, 256, 1, 1}}});
EGRET_BENCH(conv_7x7_stride_2, "conv", windows(2, 3),
            Types{{kF32, {1, 3, 224, 224}}, {kF32, {64, 3, 7, 7}}});
EGRET_BENCH(conv_grouped_32, "conv", windows(1, 1, 32),
            Types{{kF64, {1, 128, 56, 56}}, {kF32, {128, 4, 3, 3}}});
EGRET_BENCH(conv_depthwise_96, "conv", windows(1, 1, 96),
            Types{{kF64, {1, 96, 56, 56}}, {kF32, {96, 1, 3, 3}}});
EGRET_BENCH(conv_depthwise_960_7x7, "conv", windows(1, 1, 960),
            Types{{kF64, {1, 960, 7, 7}}, {kF32, {960, 1, 3, 3}}});
EGRET_BENCH(max_pool_3x3, "max_pool", pooling(2, 1, 3), Types{{kF64, {1, 64, 112, 112}}});
EGRET_BENCH(avg_pool_3x3, "avg_pool", pooling(1, 1, 3), Types{{kF64, {1, 64, 56, 56}}});
EGRET_BENCH(global_mean, "reduce_mean", Attrs({{"axes", Integers{2, 3}}}),
            Types{{kF64, {1, 2048, 7, 7}}});
EGRET_BENCH(sum_last_axis, "reduce_sum", Attrs({{"axes", Integers{1}}}),
            Types{{kF64, {1024, 1024}}});
EGRET_BENCH(sum_first_axis, "reduce_sum", Attrs({{"axes", Integers{0}}}),
            Types{{kF64, {1024, 1024}}});
EGRET_BENCH(softmax_rows, "softmax", Attrs({{"axis", std::int64_t{1}}}),
            Types{{kF64, {1536, 128}}});
EGRET_BENCH(add_same, "add", {}, Types{{kF64, {1024, 1024}}, {kF64, {1024, 1024}}});
EGRET_BENCH(add_channels, "add", {}, Types{{kF64, {1, 64, 112, 112}}, {kF32, {64, 1, 1}}});
EGRET_BENCH(relu_f32, "relu", {}, Types{{kF32, {1024, 1024}}}, Precision::kF32);
EGRET_BENCH(exp_f64, "exp", {}, Types{{kF64, {1024, 1024}}});
EGRET_BENCH(transpose_1024, "transpose", Attrs({{"perm", Integers{1, 0}}}),
            Types{{kF64, {1024, 1024}}});
EGRET_BENCH(transpose_heads, "transpose", Attrs({{"perm", Integers{0, 2, 1, 3}}}),
            Types{{kF64, {8, 128, 12, 64}}});
EGRET_BENCH(transpose_to_channels_last, "transpose", Attrs({{"perm", Integers{0, 2, 3, 1}}}),
            Types{{kF64, {8, 3, 224, 224}}});
EGRET_BENCH(reshape, "reshape", Attrs({{"shape", Integers{64, 16384}}}),
            Types{{kF64, {1024, 1024}}});
EGRET_BENCH(concat_channels, "concat", Attrs({{"axis", std::int64_t{1}}}),
            Types{{kF64, {1, 64, 56, 56}}, {kF64, {1, 192, 56, 56}}});
EGRET_BENCH(slice_step, "slice",
            Attrs({{"axis", std::int64_t{1}},
                   {"start", std::int64_t{1}},
                   {"size", std::int64_t{1024}},
                   {"step", std::int64_t{2}}}),
            Types{{kF64, {1024, 2049}}});
EGRET_BENCH(pad_3, "pad",
            Attrs({{"before", Integers{0, 0, 3, 3}}, {"after", Integers{0, 0, 3, 3}}}),
            Types{{kF64, {1, 16, 224, 224}}});
EGRET_BENCH(gather_rows, "gather", Attrs({{"axis", std::int64_t{0}}}),
            Types{{kF32, {1000, 768}}, {DType::kI64, {512}}});
EGRET_BENCH(small_add, "add", {}, Types{{kF64, {2, 3}}, {kF64, {2, 3}}});

}  // namespace
}  // namespace egret::ir

BENCHMARK_MAIN();
