// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/sample_kernels.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "ir/graph/builder.h"
#include "ir/graph/graph_text.h"

namespace egret::backends::codegen {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Value;

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

ir::Graph random_region(base::Random& random) {
  GraphBuilder b;
  // A multiple of 8 may be taken in packs.
  const std::int64_t width = random.chance(0.5) ? 8 * random.between(1, 5) : random.between(1, 40);
  const ir::Shape shape{random.between(1, 4), random.between(1, 5), width};
  static constexpr DType kStored[] = {DType::kF32, DType::kF32, DType::kBF16, DType::kF16,
                                      DType::kI8};
  int inputs = 0;
  const auto input = [&](ir::Shape of) {
    for (auto& size : of) {
      if (random.chance(0.2)) size = 1;
    }
    const DType stored = kStored[random.below(std::size(kStored))];
    const Value x = b.input("x" + std::to_string(inputs++), ir::TensorType(stored, of));
    return stored == DType::kF32 ? x : b.add("cast", {x}, {{"to", "f32"}});
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
    switch (random.below(10)) {
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
      case 7: {  // beside another, and a part of both
        const bool first = random.chance(0.5);
        const Value y = b.input("x" + std::to_string(inputs++),
                                ir::TensorType(DType::kF32, {shape[0], shape[1], 8}));
        const auto& joined = first ? std::vector<Value>{x, y} : std::vector<Value>{y, x};
        const Value wide = b.add("concat", joined, {{"axis", 2}});
        const std::int64_t room = b.type(wide).shape()[2] - width;
        const std::int64_t start = random.chance(0.5) ? room / 8 * 8 : random.between(0, room);
        values.push_back(b.add("slice", {wide}, {{"axis", 2}, {"start", start}, {"size", width}}));
        break;
      }
      case 8: {  // what lies before it, and behind
        const std::int64_t pad = random.chance(0.5) ? 8 : random.between(1, 9);
        const Value wide = b.add(
            "pad", {x}, {{"before", ir::Integers{1, 0, pad}}, {"after", ir::Integers{0, 0, 8}}});
        const Value rows = b.add("slice", {wide}, {{"axis", 0}, {"start", 0}, {"size", shape[0]}});
        values.push_back(b.add("slice", {rows}, {{"axis", 2}, {"start", 8}, {"size", width}}));
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

}  // namespace

void for_every_operator(int times, const Visit& visit) {
  std::set<const ir::Operator*> seen;
  const auto add = [&](const parallel::Application& call, base::Random& random) {
    const auto type = ir::infer_type(*call.op, call.attrs, call.types);
    ASSERT_TRUE(type.ok()) << to_string(call) << ": " << type.status().message();
    if (type->elements() == 0) return;
    std::vector<ir::Tensor> inputs;
    for (const ir::TensorType& input : call.types)
      inputs.push_back(ir::Tensor::random(input, random));
    visit(call, inputs);
    seen.insert(call.op);
  };
  parallel::for_all_operators(times, add);
  base::Random random(1);
  for (const ir::Operator* op : ir::all_operators()) {
    if (const auto call = shown_application(*op); call && !seen.contains(op)) add(*call, random);
    EXPECT_TRUE(seen.contains(op)) << op->name();
  }
}

void add_every_operator(KernelBatch& batch, int times) {
  for_every_operator(
      times, [&](const parallel::Application& call, const std::vector<ir::Tensor>& inputs) {
        GraphBuilder b;
        std::vector<Value> values;
        for (const ir::TensorType& type : call.types)
          values.push_back(b.input("x" + std::to_string(values.size()), type));
        b.output("y", b.add(call.op->name(), values, call.attrs));
        const auto graph = std::move(b).finish();
        ASSERT_TRUE(graph.ok()) << to_string(call) << ": " << graph.status().message();
        batch.add(*graph, inputs, to_string(call));
      });
}

void add_random_regions(KernelBatch& batch, std::uint64_t count, std::uint64_t first) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    base::Random random(seed);
    const ir::Graph graph = random_region(random);
    std::vector<ir::Tensor> inputs;
    for (const ir::NodeId id : graph.inputs())
      inputs.push_back(ir::Tensor::random(graph.node(id).type, random));
    batch.add(graph, std::move(inputs), "region of seed " + std::to_string(seed));
  }
}

}  // namespace egret::backends::codegen
