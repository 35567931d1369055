// SPDX-License-Identifier: Apache-2.0
// Laws that tie the directions, lengths and outputs of the recurrent composites together; single
// steps are compared with ONNX's own tests.
#include <gtest/gtest.h>

#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "ir/ops/families/recurrent_body.h"

namespace egret::ir {
namespace {

constexpr std::int64_t kSteps = 3;
constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kInput = 3;
constexpr std::int64_t kHidden = 4;

struct Cell {
  const char* op;
  std::int64_t gates;
  const char* activations;
};
constexpr Cell kCells[] = {
    {"rnn", 1, "tanh"}, {"gru", 3, "sigmoid tanh"}, {"lstm", 4, "sigmoid tanh tanh"}};

Tensor random_tensor(std::uint64_t seed, std::initializer_list<std::int64_t> shape) {
  base::Random random(seed);
  return Tensor::random(TensorType(DType::kF32, shape), random);
}

class RecurrentTest : public testing::TestWithParam<Cell> {
 protected:
  // x, w, r, bias, then `extra` inputs; weights of `directions` rows from `first` on of two.
  Tensor run(const char* output, const std::string& direction, std::int64_t first,
             const std::string& extras = "bias", std::vector<Tensor> extra = {},
             std::int64_t steps = kSteps) {
    const auto [op, gates, activations] = GetParam();
    const bool both = direction == "bidirectional";
    GraphBuilder b;
    const auto rows = [&](Value all) {
      return both ? all : b.add("slice", {all}, {{"axis", 0}, {"start", first}, {"size", 1}});
    };
    Value x = b.constant(random_tensor(1, {kSteps, kBatch, kInput}));
    if (steps < kSteps) x = b.add("slice", {x}, {{"axis", 0}, {"start", 0}, {"size", steps}});
    std::vector<Value> inputs{x, rows(b.constant(random_tensor(2, {2, gates * kHidden, kInput}))),
                              rows(b.constant(random_tensor(3, {2, gates * kHidden, kHidden}))),
                              rows(b.constant(random_tensor(4, {2, 2 * gates * kHidden})))};
    for (const Tensor& tensor : extra) inputs.push_back(b.constant(tensor));
    std::string functions = activations;
    if (both) functions += " " + functions;
    b.output("out", b.add(op, inputs,
                          {{"direction", direction},
                           {"activations", functions},
                           {"extras", extras},
                           {"output", std::string(output)}}));
    const auto graph = b.finish();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    if (!graph.ok()) return {};
    auto outputs = interpret(*graph, {});
    EXPECT_TRUE(outputs.ok()) << outputs.status().message();
    return outputs.ok() ? outputs->front() : Tensor();
  }

  // Element [t, 0 or d, b, h] of y.
  static double at(const Tensor& y, std::int64_t t, std::int64_t d, std::int64_t b,
                   std::int64_t h) {
    return y.f64_at(((t * y.shape()[1] + d) * kBatch + b) * kHidden + h);
  }
};

TEST_P(RecurrentTest, BothDirectionsAreOneOfEach) {
  const Tensor both = run("y", "bidirectional", 0);
  const Tensor forward = run("y", "forward", 0);
  const Tensor reverse = run("y", "reverse", 1);
  ASSERT_EQ(to_string(both.type()).substr(3), "[3,2,2,4]");
  for (std::int64_t i = 0; i < kSteps * kBatch * kHidden; ++i) {
    const std::int64_t t = i / (kBatch * kHidden);
    const std::int64_t b = i / kHidden % kBatch;
    const std::int64_t h = i % kHidden;
    EXPECT_NEAR(at(both, t, 0, b, h), at(forward, t, 0, b, h), 1e-12);
    EXPECT_NEAR(at(both, t, 1, b, h), at(reverse, t, 0, b, h), 1e-12);
  }
}

TEST_P(RecurrentTest, LastStateIsTheLastOutput) {
  const Tensor y = run("y", "forward", 0);
  const Tensor y_h = run("y_h", "forward", 0);
  for (std::int64_t i = 0; i < kBatch * kHidden; ++i) {
    EXPECT_NEAR(y_h.f64_at(i), y.f64_at((kSteps - 1) * kBatch * kHidden + i), 1e-12);
  }
}

TEST_P(RecurrentTest, ShorterSequencesEndEarlier) {
  const std::int64_t shape[] = {kBatch};
  const double lengths[] = {3, 2};
  const Tensor given = Tensor::of(DType::kI32, shape, lengths);
  for (const char* direction : {"forward", "reverse"}) {
    const Tensor y = run("y", direction, 0, "bias lengths", {given});
    const Tensor y_h = run("y_h", direction, 0, "bias lengths", {given});
    const Tensor full = run("y", direction, 0);
    const Tensor two = run("y", direction, 0, "bias", {}, 2);
    const bool reverse = std::string(direction) == "reverse";
    for (std::int64_t h = 0; h < kHidden; ++h) {
      for (std::int64_t t = 0; t < kSteps; ++t) {
        EXPECT_NEAR(at(y, t, 0, 0, h), at(full, t, 0, 0, h), 1e-12);
        EXPECT_NEAR(at(y, t, 0, 1, h), t < 2 ? at(two, t, 0, 1, h) : 0.0, 1e-12);
      }
      EXPECT_NEAR(y_h.f64_at(kHidden + h), at(two, reverse ? 0 : 1, 0, 1, h), 1e-12);
    }
  }
}

TEST_P(RecurrentTest, ZeroInitialStateIsTheDefault) {
  const Tensor zero(TensorType(DType::kF32, {1, kBatch, kHidden}));
  const Tensor plain = run("y", "forward", 0);
  const Tensor given = run("y", "forward", 0, "bias initial_h", {zero});
  for (std::int64_t i = 0; i < plain.elements(); ++i) {
    EXPECT_NEAR(plain.f64_at(i), given.f64_at(i), 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, RecurrentTest, testing::ValuesIn(kCells),
                         [](const auto& cell) { return std::string(cell.param.op); });

TEST(Recurrent, KeepsASymbolicBatch) {
  const TensorType types[] = {{DType::kF32, Dims{2, symbolic_dim("B"), 3}},
                              {DType::kF32, {1, 4, 3}},
                              {DType::kF32, {1, 4, 4}}};
  const auto attrs = canonical_attrs(get_operator("rnn").attrs(),
                                     {{"activations", std::string("leaky_relu:0.5")}});
  const auto type = infer_type(get_operator("rnn"), *attrs, types);
  ASSERT_TRUE(type.ok()) << type.status().message();
  EXPECT_EQ(to_string(*type), "f32[2,1,B,4]");
}

TEST(Recurrent, RefusesWhatItDoesNotKnow) {
  const auto error = [](const Attrs& given) {
    const TensorType types[] = {
        {DType::kF32, {2, 2, 3}}, {DType::kF32, {1, 4, 3}}, {DType::kF32, {1, 4, 4}}};
    const auto attrs = canonical_attrs(get_operator("rnn").attrs(), given);
    const auto type = infer_type(get_operator("rnn"), *attrs, types);
    return type.ok() ? "fine" : type.status().message();
  };
  const Attrs::Entry tanh{"activations", std::string("tanh")};
  EXPECT_EQ(error({tanh}), "fine");
  EXPECT_EQ(error({{"activations", std::string("bogus")}}), "rnn: there is no activation 'bogus'");
  EXPECT_EQ(error({tanh, {"output", std::string("y_c")}}), "rnn: there is no output 'y_c'");
  EXPECT_EQ(error({tanh, {"extras", std::string("bias")}}), "rnn: extras name 1 inputs of 0");
  EXPECT_EQ(error({tanh, {"direction", std::string("up")}}),
            "rnn: direction must be forward, reverse or bidirectional, not up");
}

}  // namespace
}  // namespace egret::ir
