// SPDX-License-Identifier: Apache-2.0
// Divisions that ask for kernels that the backend does not have: a model file may say anything. The
// backend divides such kernels itself, and the values are those of the graph.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/division.h"
#include "base/random.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Shape;
using ir::Value;

const Backend& cpu() { return *find_backend("cpu"); }

std::vector<ir::NodeId> operators_of(const ir::Graph& graph) {
  std::vector<ir::NodeId> nodes;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.node(ir::NodeId(i)).kind == ir::NodeKind::kOperator) nodes.emplace_back(i);
  }
  return nodes;
}

// Asks for one kernel of all operators of the graph that `build` makes, by the options and by the
// metadata. Returns into how many kernels it was divided, views and reorders aside.
std::size_t kernels_of(const std::function<Value(GraphBuilder&)>& build) {
  GraphBuilder b;
  b.output("y", build(b));
  ir::Graph graph = *b.finish();
  CompileOptions options;
  options.division = {operators_of(graph)};
  PlanReport report;
  EXPECT_LT(relative_error(graph, options, cpu(), &report), 1e-5);
  store_division(graph, options.division, "cpu");
  EXPECT_EQ(stored_division(graph, "cpu"), options.division);
  EXPECT_LT(relative_error(graph, {}, cpu()), 1e-5);
  return report.kernels.size() - static_cast<std::size_t>(std::ranges::count(
                                     report.kernels, "reorder", &PlanReport::Kernel::name));
}

Value input(GraphBuilder& b, const std::string& name, const Shape& shape) {
  return b.input(name, {DType::kF32, shape});
}
Value weights(GraphBuilder& b, const Shape& shape) {
  base::Random random(7);
  return b.constant(ir::Tensor::random({DType::kF32, shape}, random));
}
Value swapped(GraphBuilder& b, Value x) {
  return b.add("transpose", {x}, {{"perm", Integers{1, 0}}});
}
Value sliced(GraphBuilder& b, Value x, std::int64_t axis, std::int64_t start, std::int64_t size) {
  return b.add("slice", {x}, {{"axis", axis}, {"start", start}, {"size", size}});
}
Value soft(GraphBuilder& b, Value x, std::int64_t axis = 1) {
  return b.add("softmax", {x}, {{"axis", axis}});
}

// Operators that read other elements than those at the result's own indices.
TEST(UnfitDivision, OfMovesBeforePointwiseOperatorsIsSplit) {
  for (const std::int64_t start : {0, 3}) {
    for (const std::int64_t size : {1, 3}) {
      kernels_of([&](GraphBuilder& b) {
        return b.add("neg", {sliced(b, input(b, "x", {4, 6}), 1, start, size)});
      });
      kernels_of([&](GraphBuilder& b) {
        const Value x = b.add("tanh", {input(b, "x", {4, 6})});
        return b.add("add", {x, b.add("neg", {sliced(b, x, 1, start, 1)})});
      });
    }
  }
  EXPECT_EQ(kernels_of([](GraphBuilder& b) {
              return b.add("neg", {swapped(b, input(b, "x", {4, 6}))});
            }),
            1U);
  EXPECT_EQ(kernels_of([](GraphBuilder& b) {
              const Value x = b.add("exp", {input(b, "x", {5, 5})});
              return b.add("add", {x, swapped(b, x)});
            }),
            2U);
}

// Kernels of attention are known by all of their operators.
TEST(UnfitDivision, ThatEndsLikeAttentionIsSplit) {
  EXPECT_EQ(kernels_of([](GraphBuilder& b) {
              const Value values = swapped(b, input(b, "v", {17, 33}));
              return b.add("matmul", {soft(b, input(b, "x", {40, 33})), values});
            }),
            2U);
  EXPECT_EQ(kernels_of([](GraphBuilder& b) {
              const Value x = b.add("neg", {input(b, "x", {40, 33})});
              return b.add("matmul", {soft(b, x), input(b, "v", {33, 17})});
            }),
            3U);
  // Scores that something else reads as well, and a softmax of something else.
  EXPECT_EQ(
      kernels_of([](GraphBuilder& b) {
        const Value scores = b.add("matmul", {input(b, "q", {40, 16}), input(b, "k", {16, 40})});
        return b.add("matmul", {soft(b, scores), scores});
      }),
      3U);
  EXPECT_EQ(kernels_of([](GraphBuilder& b) {
              const Value x = input(b, "x", {40, 40});
              const Value values = b.add("matmul", {x, x});
              return b.add("matmul", {soft(b, x), values});
            }),
            3U);
  EXPECT_EQ(
      kernels_of([](GraphBuilder& b) {
        const Value scores = b.add("matmul", {input(b, "q", {40, 16}), input(b, "k", {16, 40})});
        return b.add("matmul", {soft(b, scores, 0), input(b, "v", {40, 16})});
      }),
      3U);
}

// What is behind a product has the product's shape in its kernels.
TEST(UnfitDivision, OfAProductAndALargerSumIsSplit) {
  for (const bool constant : {false, true}) {
    for (const Shape& larger : {Shape{4, 6}, Shape{3, 4, 6}, Shape{64, 4, 1}}) {
      EXPECT_EQ(kernels_of([&](GraphBuilder& b) {
                  const Value w = constant ? weights(b, {8, 1}) : input(b, "w", {8, 1});
                  const Value column = b.add("matmul", {input(b, "x", {4, 8}), w});
                  return b.add("add", {b.add("tanh", {column}), input(b, "y", larger)});
                }),
                2U);
    }
  }
  EXPECT_EQ(kernels_of([](GraphBuilder& b) {
              const Value conv =
                  b.add("conv", {input(b, "x", {1, 8, 1, 5}), weights(b, {8, 8, 1, 1})},
                        {{"strides", Integers{1, 1}},
                         {"dilations", Integers{1, 1}},
                         {"pads", Integers{0, 0, 0, 0}}});
              return b.add("mul", {conv, input(b, "y", {2, 8, 7, 5})});
            }),
            2U);
}

// No kernel can be emitted for all of them.
TEST(UnfitDivision, OfOperatorsWithoutKernelsIsSplit) {
  EXPECT_GT(kernels_of([](GraphBuilder& b) {
              const Value x = b.input("x", {DType::kF64, {4, 6}});
              const Value product = b.add("matmul", {x, b.input("w", {DType::kF64, {6, 5}})});
              return b.add("cast", {b.add("tanh", {product})}, {{"to", std::string("f32")}});
            }),
            1U);
  EXPECT_GT(kernels_of([](GraphBuilder& b) {
              const Value x = b.input("x", {DType::kF64, {4, 6}});
              return soft(b, soft(b, x, 0));
            }),
            1U);
}

// A graph of operators of any kind, and one kernel asked for a part of it whose last value alone is
// read outside.
struct Asked {
  ir::Graph graph;
  std::vector<ir::NodeId> kernel;
};

class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) {
      const Shape shape{size(), size()};
      values_.push_back(input(b_, "x" + std::to_string(i), shape));
    }
  }

  Asked make() && {
    for (int i = 0; i < 9; ++i) add();
    std::vector<bool> read(values_.back().id.index() + 1, false);
    for (const auto& [id, inputs] : operators_) {
      for (const ir::NodeId from : inputs) read[from.index()] = true;
    }
    for (const auto& [id, inputs] : operators_) {
      if (!read[id.index()]) b_.output("y" + std::to_string(id.index()), Value{id});
    }
    std::vector<ir::NodeId> kernel{operators_[random_.below(operators_.size())].first};
    const auto is_inside = [&](ir::NodeId id) { return std::ranges::count(kernel, id) > 0; };
    for (std::size_t k = operators_.size(); k-- > 0;) {
      const ir::NodeId id = operators_[k].first;
      if (!read[id.index()] || is_inside(id) || id > kernel.front()) continue;
      const bool leaves = std::ranges::any_of(operators_, [&](const auto& reader) {
        return std::ranges::count(reader.second, id) > 0 && !is_inside(reader.first);
      });
      if (!leaves && random_.chance(0.8)) kernel.push_back(id);
    }
    std::ranges::sort(kernel);
    return {*b_.finish(), kernel};
  }

 private:
  std::int64_t size() {
    constexpr std::int64_t kSizes[] = {1, 4, 33, 65};
    return kSizes[random_.below(4)];
  }
  Value any() { return values_[random_.below(values_.size())]; }
  Shape shape(Value v) { return b_.type(v).shape(); }

  void keep(std::string_view op, std::vector<Value> inputs, const ir::Attrs& attrs = {}) {
    const Value made = b_.add(op, inputs, attrs);
    std::vector<ir::NodeId> ids;
    for (const Value v : inputs) ids.push_back(v.id);
    operators_.emplace_back(made.id, ids);
    values_.push_back(made);
  }
  // A recent value as likely as any other, so that long chains arise.
  Value recent() { return random_.chance(0.6) ? values_.back() : any(); }

  void add() {
    const Value x = recent();
    const Shape of = shape(x);
    const auto axis = static_cast<std::int64_t>(random_.below(2));
    const std::int64_t length = of[static_cast<std::size_t>(axis)];
    const Value y = any();
    const Shape other = shape(y);
    switch (random_.below(10)) {
      case 0: return keep("transpose", {x}, {{"perm", Integers{1, 0}}});
      case 1: {
        const std::int64_t start = random_.between(0, length - 1) * (random_.chance(0.5) ? 1 : 0);
        const std::int64_t count = random_.chance(0.4) ? 1 : random_.between(1, length - start);
        return keep("slice", {x}, {{"axis", axis}, {"start", start}, {"size", count}});
      }
      case 2: return keep("softmax", {x}, {{"axis", axis}});
      case 3:
        return keep("reduce_sum", {x}, {{"axes", Integers{axis}}, {"keepdims", std::int64_t{1}}});
      case 4:
        if (of[1] == other[0]) return keep("matmul", {x, y});
        return keep("matmul", {x, weights(b_, {of[1], size()})});
      case 5: return keep("sigmoid", {x});
      case 6: return keep("neg", {x});
      default:
        for (std::size_t i = 0; i < 2; ++i) {
          if (of[i] != other[i] && of[i] != 1 && other[i] != 1)
            return keep("mul", {x, b_.scalar(DType::kF32, 0.5)});
        }
        keep(random_.chance(0.5) ? "add" : "sub", {x, y});
    }
  }

  base::Random random_;
  GraphBuilder b_;
  std::vector<Value> values_;
  std::vector<std::pair<ir::NodeId, std::vector<ir::NodeId>>> operators_;
};

TEST(UnfitDivision, OfAnyOperatorsGivesTheValuesOfTheGraph) {
  int several = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Asked asked = RandomGraph(seed).make();
    if (asked.kernel.size() < 2) continue;
    store_division(asked.graph, {asked.kernel}, "cpu");
    CompileOptions options;
    options.threads = 1 + static_cast<int>(seed % 2);
    options.guarded_memory = seed % 4 < 2;
    ASSERT_LT(relative_error(asked.graph, options, cpu()), 1e-4) << seed;
    ++several;
  }
  EXPECT_GT(several, 80);
}

}  // namespace
}  // namespace egret::backends
