// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/input_draws.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"

namespace egret::ir {
namespace {

constexpr std::int64_t kCount = 200;

// The graph of one output, on inputs of these types.
Graph graph_of(const std::vector<DType>& types,
               const std::function<Value(GraphBuilder&, const std::vector<Value>&)>& make) {
  GraphBuilder b;
  std::vector<Value> inputs;
  for (const DType type : types)
    inputs.push_back(b.input("x" + std::to_string(inputs.size()), {type, {1, kCount}}));
  b.output("y", make(b, inputs));
  return *b.finish();
}

// No integer is divided by zero, and no element is no number.
bool is_defined_on_random_inputs(const Graph& graph) {
  base::Random random(3);
  const auto outputs = interpret(graph, random_inputs(graph, random));
  if (!outputs.ok()) return false;
  for (std::int64_t i = 0; i < outputs->front().elements(); ++i) {
    if (std::isnan(outputs->front().f64_at(i))) return false;
  }
  return true;
}

TEST(InputDraws, AreTheUsualOnesWhereNothingIsDemanded) {
  const Graph graph = graph_of({DType::kF32, DType::kI64, DType::kBool},
                               [](GraphBuilder& b, const std::vector<Value>& in) {
                                 return b.add("where", {in[2], in[0], b.add("relu", {in[0]})});
                               });
  base::Random one(7);
  base::Random other(7);
  const std::vector<Tensor> drawn = random_inputs(graph, one);
  for (std::size_t i = 0; i < drawn.size(); ++i)
    EXPECT_EQ(drawn[i].content_hash(), Tensor::random(drawn[i].type(), other).content_hash());
}

TEST(InputDraws, DivisorsOfIntegersAreNotZero) {
  for (const char* op : {"div", "mod"}) {
    const Graph direct = graph_of({DType::kI64, DType::kI32, DType::kI64},
                                  [&](GraphBuilder& b, const std::vector<Value>& in) {
                                    return b.add(op, {in[0], in[2]});
                                  });
    EXPECT_TRUE(is_defined_on_random_inputs(direct)) << op;
    EXPECT_TRUE(input_draws(direct)[0].zero);  // what is divided may be
    const Graph moved =
        graph_of({DType::kI64, DType::kI32}, [&](GraphBuilder& b, const std::vector<Value>& in) {
          const Value wide = b.add("cast", {in[1]}, {{"to", std::string("i64")}});
          const Value product = b.add("mul", {wide, b.scalar(DType::kI64, 3)});
          const Value turned = b.add("transpose", {product}, {{"perm", Integers{1, 0}}});
          return b.add(op, {b.add("transpose", {in[0]}, {{"perm", Integers{1, 0}}}), turned});
        });
    EXPECT_TRUE(is_defined_on_random_inputs(moved)) << op;
  }
}

TEST(InputDraws, ArgumentsOfFunctionsAreInTheirDomain) {
  for (const char* op : {"sqrt", "rsqrt", "log", "acos", "asin", "acosh", "atanh"}) {
    EXPECT_TRUE(is_defined_on_random_inputs(graph_of(
        {DType::kF32},
        [&](GraphBuilder& b, const std::vector<Value>& in) { return b.add(op, {in[0]}); })))
        << op;
    EXPECT_TRUE(is_defined_on_random_inputs(
        graph_of({DType::kF32},
                 [&](GraphBuilder& b, const std::vector<Value>& in) {
                   const Value less = b.add("sub", {b.scalar(DType::kF32, 0.5), in[0]});
                   return b.add(op, {b.add("mul", {less, b.scalar(DType::kF32, 2)})});
                 })))
        << op;
  }
}

TEST(InputDraws, VariancesAreNotNegative) {
  GraphBuilder b;
  std::vector<Value> inputs{b.input("x", {DType::kF32, {1, kCount, 2}})};
  for (const char* name : {"scale", "bias", "mean", "var"})
    inputs.push_back(b.input(name, {DType::kF32, {kCount}}));
  b.output("y", b.add("batch_norm", inputs));
  const Graph graph = *b.finish();
  EXPECT_TRUE(is_defined_on_random_inputs(graph));
  EXPECT_EQ(input_draws(graph)[3].low, -1);  // a mean may be
}

TEST(InputDraws, BothBranchesThatValuesChooseAreTaken) {
  const Graph graph = graph_of({DType::kF32}, [](GraphBuilder& b, const std::vector<Value>& in) {
    const Value positive = b.add("greater", {in[0], b.scalar(DType::kF32, 0)});
    return b.add("where", {positive, b.add("sqrt", {in[0]}), in[0]});
  });
  EXPECT_EQ(input_draws(graph)[0].low, -1);
  EXPECT_TRUE(is_defined_on_random_inputs(graph));
}

TEST(InputDraws, ContradictionsAreLeftAlone) {
  const Graph graph = graph_of({DType::kF32}, [](GraphBuilder& b, const std::vector<Value>& in) {
    const Value large = b.add("acosh", {in[0]});
    return b.add("add", {large, b.add("acosh", {b.add("neg", {in[0]})})});
  });
  EXPECT_EQ(input_draws(graph)[0].low, -1);
  EXPECT_EQ(input_draws(graph)[0].high, 1);
}

TEST(InputDraws, MetadataSayMore) {
  Graph graph =
      graph_of({DType::kF32, DType::kI64}, [](GraphBuilder& b, const std::vector<Value>& in) {
        return b.add("gather", {in[0], in[1]}, {{"axis", std::int64_t{1}}});
      });
  graph.metadata["egret.inputs"] = draws_text({{"x0", {0.25, 0.5}}, {"x1", {100, 150}}});
  base::Random random(3);
  const std::vector<Tensor> drawn = random_inputs(graph, random);
  for (std::int64_t i = 0; i < kCount; ++i) {
    EXPECT_GE(drawn[0].f64_at(i), 0.25);
    EXPECT_LE(drawn[0].f64_at(i), 0.5);
    EXPECT_GE(drawn[1].i64_at(i), 100);
    EXPECT_LE(drawn[1].i64_at(i), 150);
  }
  for (const char* text : {"", "[]", "{\"x0\": [1, 0]}", "{\"x0\": [null, 1]}", "{\"x0\": 3}",
                           "{\"x1\": [0.2, 0.8]}", "{\"x1\": [0, 1e300]}"}) {
    graph.metadata["egret.inputs"] = text;
    EXPECT_EQ(input_draws(graph)[0].low, -1) << text;
    EXPECT_EQ(input_draws(graph)[1].high, 10) << text;
  }
}

}  // namespace
}  // namespace egret::ir
