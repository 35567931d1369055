// SPDX-License-Identifier: Apache-2.0
// Emitted kernels of both targets against the f64 interpreter. Those for CUDA run on the CPU as the
// text that a GPU would be given.
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <set>

#include "backends/codegen/host_compiler.h"
#include "ir/builder.h"
#include "ir/graph_text.h"
#include "tests/codegen/kernel_batch.h"
#include "tests/parallel/some_application.h"

namespace egret::backends::codegen {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Value;

class EmittedKernels : public ::testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    const auto version = host_compiler_version();
    if (!version.ok()) GTEST_SKIP() << version.status().message();
  }
};

// The application that the operator's page shows, with every size 4; nullopt where it shows none.
std::optional<parallel::Application> shown_application(const ir::Operator& op) {
  if (!op.example()) return std::nullopt;
  parallel::Application call{&op, *ir::canonical_attrs(op.attrs(), op.example()->attrs), {}};
  const ir::Index size = 4;
  for (const std::string& text : op.example()->input_types) {
    ir::TensorType type = *ir::parse_type(text);
    for (ir::Index& dim : type.dims) dim = substitute(dim, [&](std::string_view) { return &size; });
    call.types.push_back(std::move(type));
  }
  return call;
}

TEST_P(EmittedKernels, ComputeWhatEachOperatorIsDefinedToBe) {
  KernelBatch batch(GetParam());
  std::set<const ir::Operator*> seen;
  const auto add = [&](const parallel::Application& call, base::Random& random) {
    GraphBuilder b;
    std::vector<Value> values;
    std::vector<ir::Tensor> inputs;
    for (const ir::TensorType& type : call.types) {
      values.push_back(b.input("x" + std::to_string(values.size()), type));
      inputs.push_back(ir::Tensor::random(type, random));
    }
    b.output("y", b.add(call.op->name(), values, call.attrs));
    const auto graph = std::move(b).finish();
    ASSERT_TRUE(graph.ok()) << to_string(call) << ": " << graph.status().message();
    if (graph->node(graph->outputs()[0].node).type.elements() == 0) return;
    batch.add(*graph, std::move(inputs), to_string(call));
    seen.insert(call.op);
  };
  parallel::for_all_operators(3, add);
  base::Random random(1);
  for (const ir::Operator* op : ir::all_operators()) {
    if (const auto call = shown_application(*op); call && !seen.contains(op)) add(*call, random);
    EXPECT_TRUE(seen.contains(op)) << op->name();
  }
  EXPECT_GT(batch.size(), 350u);
  batch.check();
}

TEST_P(EmittedKernels, ConvertBetweenAllTypes) {
  KernelBatch batch(GetParam());
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  // Rounding ties, the ends of each range, what does not fit, and what is no number.
  const double kValues[] = {0,       -0.0,   1,    -1,       2.5,   -2.5,     0.1,
                            255,     256,    -129, 32768,    65519, 65520,    6e-8,
                            5.97e-8, 3.1e-5, 2049, 2051,     1e30,  -1e30,    4e9,
                            kInf,    -kInf,  kNan, 3.390625, 257.5, 16777217, 1e-40};
  for (int from = 0; from < ir::kDTypeCount; ++from) {
    for (int to = 0; to < ir::kDTypeCount; ++to) {
      const auto source = static_cast<DType>(from);
      const auto target = static_cast<DType>(to);
      const std::string name(to_string(target));
      GraphBuilder b;
      const std::int64_t count = std::size(kValues);
      const Value x = b.input("x", ir::TensorType(source, {count}));
      b.output("y", b.add("cast", {x}, {{"to", name}}));
      const auto graph = std::move(b).finish();
      ASSERT_TRUE(graph.ok()) << graph.status().message();
      batch.add(*graph, {ir::Tensor::of(source, ir::Shape{count}, kValues)},
                std::string(to_string(source)) + " to " + name);
    }
  }
  EXPECT_EQ(batch.size(), 169u);
  batch.check(0);
}

// A random tree of what fuses: pointwise operators, broadcasts, reductions and what is made of
// them, and moves.
ir::Graph random_region(base::Random& random) {
  GraphBuilder b;
  const ir::Shape shape{random.between(1, 4), random.between(1, 5), random.between(1, 40)};
  int inputs = 0;
  const auto input = [&](ir::Shape of) {
    for (auto& size : of) {
      if (random.chance(0.2)) size = 1;
    }
    return b.input("x" + std::to_string(inputs++), ir::TensorType(DType::kF32, of));
  };
  std::vector<Value> values{
      b.input("x" + std::to_string(inputs++), ir::TensorType(DType::kF32, shape))};
  const auto any = [&] { return values[random.below(values.size())]; };
  static constexpr const char* kUnary[] = {"relu", "tanh", "sigmoid", "exp", "neg",
                                           "abs",  "erf",  "sin",     "gelu"};
  static constexpr const char* kBinary[] = {"add", "sub", "mul", "max", "min"};
  static constexpr const char* kReduce[] = {"reduce_sum", "reduce_max", "reduce_min",
                                            "reduce_mean"};
  const auto steps = random.between(2, 8);
  for (std::int64_t i = 0; i < steps; ++i) {
    const Value x = values.back();
    const std::int64_t axis = random.between(0, 2);
    switch (random.below(8)) {
      case 0:
      case 1: values.push_back(b.add(kUnary[random.below(std::size(kUnary))], {x})); break;
      case 2: values.push_back(b.add(kBinary[random.below(std::size(kBinary))], {x, any()})); break;
      case 3: values.push_back(b.add("add", {x, input(shape)})); break;
      case 4: values.push_back(b.add("softmax", {x}, {{"axis", axis}})); break;
      case 5: {
        const Value reduced = b.add(kReduce[random.below(std::size(kReduce))], {x},
                                    {{"axes", ir::Integers{axis}}, {"keepdims", 1}});
        values.push_back(b.add(kBinary[random.below(std::size(kBinary))], {any(), reduced}));
        break;
      }
      case 6: {
        const Value there = b.add("transpose", {x}, {{"perm", ir::Integers{2, 0, 1}}});
        const Value moved = b.add(kUnary[random.below(std::size(kUnary))], {there});
        values.push_back(b.add("transpose", {moved}, {{"perm", ir::Integers{1, 2, 0}}}));
        break;
      }
      default: {
        const Value mean = b.add("reduce_mean", {x}, {{"axes", ir::Integers{2}}, {"keepdims", 1}});
        const Value centred = b.add("sub", {x, mean});
        const Value square = b.add("mul", {centred, centred});
        const Value variance =
            b.add("reduce_mean", {square}, {{"axes", ir::Integers{2}}, {"keepdims", 1}});
        const Value spread = b.add("sqrt", {b.add("add", {variance, b.scalar(DType::kF32, 0.1)})});
        values.push_back(b.add("div", {centred, spread}));
        break;
      }
    }
    // Keep values where f32 rounding cannot grow without bound.
    if (random.chance(0.5)) values.back() = b.add("tanh", {values.back()});
  }
  b.output("y", b.add("tanh", {values.back()}));
  auto graph = std::move(b).finish();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *std::move(graph);
}

TEST_P(EmittedKernels, ComputeRandomRegionsAsOneKernel) {
  KernelBatch batch(GetParam());
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    base::Random random(seed);
    const ir::Graph graph = random_region(random);
    std::vector<ir::Tensor> inputs;
    for (const ir::NodeId id : graph.inputs())
      inputs.push_back(ir::Tensor::random(graph.node(id).type, random));
    batch.add(graph, std::move(inputs), "region of seed " + std::to_string(seed));
  }
  EXPECT_GT(batch.size(), 145u);  // a region may have more loops than nests may
  batch.check(2e-5);
}

INSTANTIATE_TEST_SUITE_P(Targets, EmittedKernels, ::testing::Values(Target::kHost, Target::kCuda),
                         [](const auto& target) {
                           return target.param == Target::kHost ? "Host" : "Cuda";
                         });

}  // namespace
}  // namespace egret::backends::codegen
