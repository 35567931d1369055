// SPDX-License-Identifier: Apache-2.0
// Rules about grouped convolutions, chains of convolutions and products, and grouped-query
// attention: each fires on its pattern and keeps the values, and does not fire on a near miss.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "rules/tensors/compile.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/saturate.h"
#include "tests/rules/program.h"
#include "tests/rules/smallest_selection.h"

namespace egret::rules {
namespace {

using ir::Attrs;
using ir::Integers;
using ir::Value;

// What one rule alone makes of a graph if the operators that the graph came with are avoided.
struct Rewritten {
  bool fired = false;
  ir::Graph graph;

  const ir::Node& first(std::string_view op) const {
    const auto found = std::ranges::find_if(graph.nodes(), [&](const ir::Node& node) {
      return node.op != nullptr && node.op->name() == op;
    });
    EXPECT_NE(found, graph.nodes().end()) << "no " << op;
    return *found;
  }
};

Rewritten rewritten(const ir::Graph& graph, std::string_view rule) {
  auto tensors = TensorEGraph::from_graph(graph);
  EXPECT_TRUE(tensors.ok()) << tensors.status().message();
  const auto set = select_rules(rule);
  EXPECT_TRUE(set.ok()) << set.status().message();
  const auto compiled = compile(*set, **tensors);
  std::set<egraph::NodeId> original;
  for (const egraph::ClassId id : (*tensors)->egraph().classes()) {
    for (const egraph::NodeId node : (*tensors)->egraph().nodes(id)) original.insert(node);
  }
  (void)saturate(**tensors, compiled);
  const Selection selected = cheapest(**tensors, [&](egraph::NodeId node) {
    const bool op =
        (*tensors)->language().kind((*tensors)->egraph().op(node)) == ir::NodeKind::kOperator;
    return op && original.contains(node) ? 1e3 : 1.0;
  });
  auto chosen = (*tensors)->to_graph(selected);
  EXPECT_TRUE(chosen.ok()) << chosen.status().message();
  expect_equal(graph, *chosen);
  return {!rules_used(**tensors, compiled, selected).empty(), *std::move(chosen)};
}

bool fires(const ir::Graph& graph, std::string_view rule) { return rewritten(graph, rule).fired; }

Attrs window(std::int64_t group, Integers strides = {1, 1}, Integers pads = {0, 0, 0, 0}) {
  return {{"strides", std::move(strides)},
          {"pads", std::move(pads)},
          {"dilations", Integers{1, 1}},
          {"group", group}};
}

Attrs pool(Integers kernel, Integers strides, Integers pads = {0, 0, 0, 0}) {
  return {{"kernel", std::move(kernel)},
          {"strides", std::move(strides)},
          {"pads", std::move(pads)},
          {"dilations", Integers{1, 1}}};
}

Attrs over(Integers axes) { return {{"axes", std::move(axes)}, {"keepdims", std::int64_t{1}}}; }

Attrs slice(std::int64_t start, std::int64_t size) {
  return {{"axis", std::int64_t{1}}, {"start", start}, {"size", size}, {"step", std::int64_t{1}}};
}

Attrs along(std::int64_t axis) { return {{"axis", axis}}; }

ir::Graph grouped_conv(std::int64_t groups, std::int64_t channels, std::int64_t filters) {
  Program p;
  const Value x = p.input({1, groups * channels, 5, 5});
  return p.finish({p(
      "fused_conv", {x, p.weight({groups * filters, channels, 3, 3}), p.weight({groups * filters})},
      window(groups))});
}

TEST(GroupedConvs, MergeInPairs) {
  const Rewritten result = rewritten(grouped_conv(4, 2, 3), "merge-group-pairs");
  ASSERT_TRUE(result.fired);
  EXPECT_LT(result.first("fused_conv").attrs.integer("group"), 4);
  EXPECT_FALSE(fires(grouped_conv(3, 2, 3), "merge-group-pairs"));   // an odd number of groups
  EXPECT_FALSE(fires(grouped_conv(4, 1, 1), "merge-group-pairs"));   // depthwise
  EXPECT_FALSE(fires(grouped_conv(2, 17, 3), "merge-group-pairs"));  // wide enough
}

TEST(GroupedConvs, MergeInTriples) {
  const Rewritten result = rewritten(grouped_conv(9, 2, 2), "merge-group-triples");
  ASSERT_TRUE(result.fired);
  EXPECT_LT(result.first("fused_conv").attrs.integer("group"), 9);
  EXPECT_FALSE(fires(grouped_conv(5, 2, 3), "merge-group-triples"));
}

TEST(GroupedConvs, AreConvolutionsOfSlices) {
  const auto of = [](std::int64_t start, std::int64_t filters) {
    Program p;
    const Value x = p.input({1, 8, 5, 5});
    const Value a =
        p("fused_conv", {p("slice", {x}, slice(0, 4)), p.weight({6, 2, 3, 3}), p.weight({6})},
          window(2));
    const Value b =
        p("fused_conv",
          {p("slice", {x}, slice(start, 2)), p.weight({filters, 2, 3, 3}), p.weight({filters})},
          window(1));
    return p.finish({p("concat", {a, b}, along(1))});
  };
  const Rewritten result = rewritten(of(4, 3), "convs-of-slices");
  ASSERT_TRUE(result.fired);
  EXPECT_EQ(result.first("fused_conv").attrs.integer("group"), 3);
  EXPECT_FALSE(fires(of(5, 3), "convs-of-slices"));  // a channel lies between the slices
  EXPECT_FALSE(fires(of(4, 4), "convs-of-slices"));  // groups of other sizes
}

TEST(ConvChains, OneByOneAfterAConvolution) {
  const auto of = [](std::int64_t middle, std::int64_t pad) {
    Program p;
    const Value x = p.input({1, 3, 6, 6});
    const Value y = p("fused_conv", {x, p.weight({middle, 3, 3, 3}), p.weight({middle})},
                      window(1, {2, 1}, {1, 1, 1, 1}));
    return p.finish({p.fused_conv(y, p.weight({2, middle, 1, 1}), p.weight({2}), pad)});
  };
  EXPECT_TRUE(fires(of(8, 0), "one-by-one-after-conv"));
  EXPECT_FALSE(fires(of(8, 1), "one-by-one-after-conv"));  // the rim is the bias alone
  EXPECT_FALSE(fires(of(1, 0), "one-by-one-after-conv"));  // one channel between is less work
}

TEST(ConvChains, AConvolutionAfterOneByOne) {
  const auto of = [](std::int64_t stride) {
    Program p;
    const Value y = p.conv(p.input({1, 2, 6, 6}), p.weight({8, 2, 1, 1}), 0, stride);
    return p.finish({p.fused_conv(y, p.weight({3, 8, 3, 3}), p.weight({3}), 1)});
  };
  EXPECT_TRUE(fires(of(1), "conv-after-one-by-one"));
  EXPECT_FALSE(fires(of(2), "conv-after-one-by-one"));
}

TEST(ConvChains, OneByOneAfterADepthwiseConvolution) {
  const auto of = [](std::int64_t multiplier, std::int64_t filters) {
    Program p;
    const std::int64_t channels = 4 * multiplier;
    const Value y = p("fused_conv",
                      {p.input({1, 4, 6, 6}), p.weight({channels, 1, 3, 3}), p.weight({channels})},
                      window(4, {2, 2}, {1, 1, 1, 1}));
    return p.finish({p.fused_conv(y, p.weight({filters, channels, 1, 1}), p.weight({filters}))});
  };
  EXPECT_TRUE(fires(of(1, 2), "one-by-one-after-depthwise"));
  EXPECT_FALSE(fires(of(2, 2), "one-by-one-after-depthwise"));  // two filters a channel
  EXPECT_FALSE(fires(of(1, 5), "one-by-one-after-depthwise"));  // more work
}

TEST(ConvChains, MeansPassOneByOne) {
  const auto of = [](std::int64_t size, std::int64_t stride) {
    Program p;
    const Value y = p.conv(p.input({1, 4, 6, 6}), p.weight({3, 4, size, size}));
    return p.finish({p("avg_pool", {y}, pool({3, 3}, {stride, stride}, {1, 1, 1, 1}))});
  };
  EXPECT_TRUE(fires(of(1, 2), "avg-pool-before-one-by-one"));
  EXPECT_FALSE(fires(of(3, 2), "avg-pool-before-one-by-one"));
  EXPECT_FALSE(fires(of(1, 1), "avg-pool-before-one-by-one"));  // a mean of more channels

  const auto planes = [](Integers axes) {
    Program p;
    const Value y = p.fused_conv(p.input({1, 4, 6, 5}), p.weight({7, 4, 1, 1}), p.weight({7}));
    return p.finish({p("reduce_mean", {y}, over(std::move(axes)))});
  };
  EXPECT_TRUE(fires(planes({2, 3}), "mean-before-one-by-one"));
  EXPECT_FALSE(fires(planes({1, 2}), "mean-before-one-by-one"));
}

TEST(ConvChains, MeansFollowOneByOne) {
  const auto of = [](std::int64_t filters) {
    Program p;
    const Value y = p("avg_pool", {p.input({1, 4, 6, 6})}, pool({3, 3}, {1, 1}, {1, 1, 1, 1}));
    return p.finish({p.fused_conv(y, p.weight({filters, 4, 1, 1}), p.weight({filters}))});
  };
  EXPECT_TRUE(fires(of(2), "avg-pool-after-one-by-one"));
  EXPECT_FALSE(fires(of(5), "avg-pool-after-one-by-one"));
}

TEST(ConvChains, AMeanOfAConvolutionIsAConvolution) {
  const auto of = [](Integers kernel, Integers strides, Integers pads) {
    Program p;
    const Value y = p.fused_conv(p.input({1, 2, 8, 9}), p.weight({3, 2, 3, 3}), p.weight({3}), 1);
    return p.finish(
        {p("avg_pool", {y}, pool(std::move(kernel), std::move(strides), std::move(pads)))});
  };
  const Rewritten result = rewritten(of({2, 3}, {2, 3}, {0, 0, 0, 0}), "avg-pool-of-conv");
  ASSERT_TRUE(result.fired);
  EXPECT_EQ(result.first("fused_conv").attrs.integers("strides"), (Integers{2, 3}));
  EXPECT_FALSE(fires(of({2, 2}, {2, 2}, {1, 1, 1, 1}), "avg-pool-of-conv"));  // padded
  EXPECT_FALSE(fires(of({2, 2}, {1, 1}, {0, 0, 0, 0}), "avg-pool-of-conv"));  // more work
}

TEST(ProductChains, FactorsOfRowsPassAProduct) {
  const auto of = [](std::string_view op, std::initializer_list<std::int64_t> factor) {
    Program p;
    const Value c = p("exp", {p.input(factor)});
    return p.finish({p("matmul", {p(op, {p.input({3, 6}), c}), p.weight({6, 4})})});
  };
  EXPECT_TRUE(fires(of("div", {3, 1}), "row-divisor-after-matmul"));
  EXPECT_FALSE(fires(of("div", {1, 6}), "row-divisor-after-matmul"));
  EXPECT_TRUE(fires(of("mul", {3, 1}), "row-factor-after-matmul"));
  EXPECT_FALSE(fires(of("mul", {3, 6}), "row-factor-after-matmul"));
}

TEST(ProductChains, NormsPassAProductOfFewRows) {
  const auto of = [](std::string_view norm, std::int64_t rows, std::int64_t axis, bool bias) {
    Program p;
    const Value x = p.input({2, rows, 6});
    const auto like = [&] { return axis == 2 ? p.weight({6}) : p.weight({rows, 6}); };
    const Attrs attrs{{"axis", axis}, {"epsilon", 0x1p-10}};
    const Value y = bias ? p(norm, {x, like(), like()}, attrs) : p(norm, {x, like()}, attrs);
    return p.finish({p("matmul", {y, p.weight({6, 4})})});
  };
  EXPECT_TRUE(fires(of("rms_norm", 3, 2, false), "rms-norm-after-matmul"));
  EXPECT_FALSE(fires(of("rms_norm", 3, 1, false), "rms-norm-after-matmul"));
  EXPECT_FALSE(fires(of("rms_norm", 33, 2, false), "rms-norm-after-matmul"));  // 66 rows
  EXPECT_TRUE(fires(of("layer_norm", 3, 2, false), "layer-norm-after-matmul"));
  EXPECT_FALSE(fires(of("layer_norm", 3, 1, false), "layer-norm-after-matmul"));
  EXPECT_TRUE(fires(of("layer_norm", 3, 2, true), "biased-layer-norm-after-matmul"));
  EXPECT_FALSE(fires(of("layer_norm", 3, 1, true), "biased-layer-norm-after-matmul"));
}

TEST(ProductChains, NormsOfKeysDivideScores) {
  const auto of = [](std::int64_t queries) {
    Program p;
    const Value k = p("rms_norm", {p.input({2, 9, 4}), p.weight({4})},
                      {{"axis", std::int64_t{2}}, {"epsilon", 0x1p-10}});
    const Value keys = p("transpose", {k}, {{"perm", Integers{0, 2, 1}}});
    return p.finish({p("matmul", {p.input({2, queries, 4}), keys})});
  };
  EXPECT_TRUE(fires(of(1), "rms-norm-of-keys"));
  EXPECT_FALSE(fires(of(4), "rms-norm-of-keys"));  // as many divisions of scores as of keys
}

TEST(ProductChains, ASoftmaxDividesAfterTheProduct) {
  const auto of = [](std::int64_t axis, std::int64_t width) {
    Program p;
    const Value s = p("softmax", {p.input({2, 6, 6})}, along(axis));
    return p.finish({p("matmul", {s, p.input({2, 6, width})})});
  };
  const Rewritten result = rewritten(of(2, 3), "softmax-after-matmul");
  ASSERT_TRUE(result.fired);
  EXPECT_EQ(result.first("reduce_max").attrs.integers("axes"), Integers{2});  // exp() stays bounded
  EXPECT_FALSE(fires(of(1, 3), "softmax-after-matmul"));
  EXPECT_FALSE(fires(of(2, 6), "softmax-after-matmul"));
}

TEST(ProductChains, AMeanOfRowsPassesAProduct) {
  const auto of = [](std::int64_t axis) {
    Program p;
    const Value y = p("matmul", {p.input({2, 5, 6}), p.weight({6, 4})});
    return p.finish({p("reduce_mean", {y}, over({axis}))});
  };
  EXPECT_TRUE(fires(of(1), "mean-before-matmul"));
  EXPECT_FALSE(fires(of(2), "mean-before-matmul"));
}

TEST(ProductChains, ProductsOfComputedMatricesTakeTheCheaperOrder) {
  const auto of = [](bool left_first, std::int64_t rows, std::int64_t width) {
    Program p;
    const Value q = p.input({2, rows, width});
    const Value k = p.input({2, width, rows});
    const Value v = p.input({2, rows, width});
    return p.finish({left_first ? p("matmul", {p("matmul", {q, k}), v})
                                : p("matmul", {q, p("matmul", {k, v})})});
  };
  EXPECT_TRUE(fires(of(true, 9, 2), "associate-products-right"));
  EXPECT_FALSE(fires(of(true, 2, 9), "associate-products-right"));
  EXPECT_TRUE(fires(of(false, 2, 9), "associate-products-left"));
  EXPECT_FALSE(fires(of(false, 9, 2), "associate-products-left"));
}

TEST(ProductChains, ALossNeedsOneLogit) {
  const auto of = [](std::int64_t axis) {
    Program p;
    const Value x = p.input({3, 5});
    const Value label = p("arg_max", {p.input({3, 5})}, {{"axis", std::int64_t{1}}});
    return p.finish({p("gather_elements", {p("log_softmax", {x}, along(axis)), label}, along(1))});
  };
  EXPECT_TRUE(fires(of(1), "log-softmax-at-label"));
  EXPECT_FALSE(fires(of(0), "log-softmax-at-label"));
}

// Keys [1, 2, 1, 7, 4] repeated for groups of three heads along the axis, and joined.
Value repeated(Program& p, std::int64_t axis) {
  Integers apart = axis == 2 ? Integers{1, 2, 1, 7, 4} : Integers{1, 1, 2, 7, 4};
  const Value x = p("reshape", {p.input({1, 2, 7, 4})}, {{"shape", apart}});
  apart[static_cast<std::size_t>(axis)] = 3;
  return p("reshape", {p("broadcast", {x}, {{"shape", apart}})}, {{"shape", Integers{1, 6, 7, 4}}});
}

TEST(Attention, IsFoundWithTransposedKeys) {
  const auto of = [](std::int64_t queries, std::int64_t axis) {
    Program p;
    const Value scores = p("matmul", {p.input({2, queries, 4}), p.input({2, 4, 6})});
    return p.finish({p("matmul", {p("softmax", {scores}, along(axis)), p.input({2, 6, 4})})});
  };
  EXPECT_TRUE(fires(of(5, 2), "attention-from-transposed-keys"));
  EXPECT_FALSE(fires(of(5, 1), "attention-from-transposed-keys"));
  EXPECT_FALSE(fires(of(4, 2), "attention-from-transposed-keys"));  // keys as large as the scores
}

TEST(GroupedHeads, AreRowsOfOneProduct) {
  const auto scores = [](std::int64_t axis) {
    Program p;
    const Value k = p("transpose", {repeated(p, axis)}, {{"perm", Integers{0, 1, 3, 2}}});
    return p.finish({p("matmul", {p.input({1, 6, 2, 4}), k})});
  };
  EXPECT_TRUE(fires(scores(2), "scores-of-grouped-queries"));
  EXPECT_FALSE(fires(scores(1), "scores-of-grouped-queries"));  // heads 0, 1, 0, 1, ...
  const auto values = [](std::int64_t axis) {
    Program p;
    return p.finish({p("matmul", {p.input({1, 6, 2, 7}), repeated(p, axis)})});
  };
  EXPECT_TRUE(fires(values(2), "product-with-repeated-heads"));
  EXPECT_FALSE(fires(values(1), "product-with-repeated-heads"));
}

TEST(GroupedHeads, ASoftmaxPassesAReshapeOfLeadingAxes) {
  const auto of = [](Integers shape) {
    Program p;
    const Value s = p("softmax", {p.input({1, 2, 6, 4})}, along(3));
    return p.finish({p("reshape", {s}, {{"shape", std::move(shape)}})});
  };
  EXPECT_TRUE(fires(of({1, 6, 2, 4}), "softmax-of-reshape"));
  EXPECT_FALSE(fires(of({1, 2, 3, 8}), "softmax-of-reshape"));
}

}  // namespace
}  // namespace egret::rules
