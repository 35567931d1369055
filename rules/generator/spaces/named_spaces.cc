// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/spaces/named_spaces.h"

#include <algorithm>

#include "rules/generator/spaces/space_builder.h"

namespace egret::rules::generator {

using ir::Attrs;
using ir::Integers;

namespace {

// Sizes a, b, c, ... of three worlds: of two, some number computed from sizes fits most others by
// chance. All differ within a world, so that no law holds because two of them happen to agree;
// halves() needs even ones.
const std::vector<SpaceBuilder::Sizes> kSizes{{2, 4, 5, 3}, {4, 6, 3, 5}, {6, 4, 2, 5}};
// Of images: a batch, b channels, c and d height and width, e other channels.
const std::vector<SpaceBuilder::Sizes> kImageSizes{
    {2, 4, 5, 6, 3}, {4, 2, 6, 7, 5}, {6, 4, 5, 7, 2}};

// Sums, products, quotients and what is made of them, of tensors of one type and a number.
Space arithmetic() {
  SpaceBuilder space("arithmetic", kSizes);
  space.start("m", 3, "a,c").start("s", 1, "");
  for (const char* op : {"add", "sub", "mul", "div"}) space.alike(op);
  space.with_broadcast("mul", 0);
  for (const char* op : {"neg", "reciprocal", "sqrt", "rsqrt", "sigmoid", "silu"}) space.apply(op);
  return space.take();
}

// Activations and other functions of one element: they pass whatever moves elements.
Space functions() {
  SpaceBuilder space("functions", kSizes);
  space.start("x", 2, "a,b,c");
  for (const char* op : {"sigmoid", "tanh", "gelu", "exp", "silu", "neg", "relu"}) space.apply(op);
  space.apply("transpose", {{"perm", Integers{0, 2, 1}}}, 3);
  space.apply("transpose", {{"perm", Integers{1, 0, 2}}}, 3);
  space.join("concat", {{"axis", std::int64_t{0}}}).join("concat", {{"axis", std::int64_t{2}}});
  space.halves(0).reshape("a*b,c").reshape("a,b*c");
  return space.take();
}

// Sums, means and maxima over axes, of what is added, scaled, moved and joined.
Space reductions() {
  SpaceBuilder space("reductions", kSizes);
  space.start("x", 2, "a,b,c").start("s", 1, "");
  for (const char* op : {"reduce_sum", "reduce_mean", "reduce_max"}) {
    for (const std::int64_t axis : {1, 2}) {
      for (const std::int64_t keep : {0, 1})
        space.apply(op, {{"axes", Integers{axis}}, {"keepdims", keep}}, 3);
    }
    space.apply(op, {{"axes", Integers{1, 2}}, {"keepdims", std::int64_t{1}}}, 3);
  }
  space.alike("add").alike("sub").with_broadcast("mul", 0).apply("neg");
  space.apply("transpose", {{"perm", Integers{0, 2, 1}}}, 3);
  space.join("concat", {{"axis", std::int64_t{0}}}).halves(0);
  return space.take();
}

// Regrouping of axes.
Space reshapes() {
  SpaceBuilder space("reshapes", kSizes);
  space.start("x", 2, "a,b,c").start("w", 2, "c,d").start("s", 1, "");
  space.reshape("a*b,c").reshape("a,b,c").reshape("a,b*c").reshape("1,a,b,c").reshape("a*b,d");
  space.reshape("a,b,d").reshape("a,1,b,c");
  space.alike("add").alike("mul").with_broadcast("mul", 0).with_broadcast("add", 0);
  space.join("matmul").join("concat", {{"axis", std::int64_t{0}}}).halves(0).apply("relu");
  for (const std::int64_t keep : {0, 1}) {
    space.apply("reduce_mean", {{"axes", Integers{2}}, {"keepdims", keep}}, 3);
    space.apply("reduce_sum", {{"axes", Integers{2}}, {"keepdims", keep}}, 3);
  }
  space.reshape("a,b").apply("transpose", {{"perm", Integers{1, 0, 2}}}, 3);
  return space.take();
}

// Softmax and its logarithm.
Space softmaxes() {
  SpaceBuilder space("softmaxes", kSizes);
  space.start("x", 2, "a,b,c");
  for (const std::int64_t axis : {1, 2}) {
    space.apply("softmax", {{"axis", axis}}, 3).apply("log_softmax", {{"axis", axis}}, 3);
    space.join("concat", {{"axis", axis}});
  }
  space.apply("softmax", {{"axis", std::int64_t{1}}}, 2).apply("log");
  space.apply("transpose", {{"perm", Integers{0, 2, 1}}}, 3);
  space.join("concat", {{"axis", std::int64_t{0}}}).halves(0).halves(1);
  space.reshape("a*b,c").reshape("a,b,c").reshape("1,a,b,c");
  return space.take();
}

const Attrs kLastAxis{{"axes", Integers{2}}, {"keepdims", std::int64_t{1}}};

// Softmax from its parts.
Space softmax_parts() {
  SpaceBuilder space("softmax_parts", kSizes);
  space.start("x", 1, "a,b,c").apply("exp").apply("log").apply("reduce_sum", kLastAxis, 3);
  space.by_reduced("div").by_reduced("sub");
  space.body("shifted", {{"reduce_max", {0}, kLastAxis}, {"sub", {0, -1}}}, 3);
  space.body("log-sum-exp", {{"exp", {0}}, {"reduce_sum", {-1}, kLastAxis}, {"log", {-2}}}, 3);
  space.apply("softmax", {{"axis", std::int64_t{2}}}, 3);
  space.apply("log_softmax", {{"axis", std::int64_t{2}}}, 3);
  Space made = space.take();
  made.by_value = true;
  return made;
}

constexpr double kEpsilon = 1e-3;
const Attrs kNorm{{"axis", std::int64_t{2}}, {"epsilon", kEpsilon}};

// Normalizations over trailing axes, of what is moved, cut and joined.
Space normalizations() {
  SpaceBuilder space("normalizations", kSizes);
  space.start("x", 2, "a,b,c").start("g", 2, "c");
  space.of_ranks("rms_norm", kNorm, {3, 1}).with_broadcast("mul", 1).fill("c", 1);
  space.join("concat", {{"axis", std::int64_t{0}}}).halves(0);
  space.apply("transpose", {{"perm", Integers{1, 0, 2}}}, 3);
  return space.take();
}

// Layer norms from their parts. None with a scale or a bias that is open: those take minutes each
// to prove.
Space norm_parts() {
  SpaceBuilder space("norm_parts", kSizes);
  space.start("x", 1, "a,b,c").fill("c", 1);
  space.body("centred", {{"reduce_mean", {0}, kLastAxis}, {"sub", {0, -1}}}, 3);
  const Attrs epsilon{{"shape", Integers{}}, {"value", kEpsilon}, {"dtype", std::string("f32")}};
  space.body("deviation",
             {{"mul", {0, 0}},
              {"reduce_mean", {-1}, kLastAxis},
              {"fill", {}, epsilon},
              {"add", {-2, -3}},
              {"sqrt", {-4}}},
             3);
  space.by_reduced("div").of_ranks("layer_norm", kNorm, {3, 1});
  Space made = space.of_ranks("rms_norm", kNorm, {3, 1}).take();
  made.by_value = true;
  return made;
}

// Attention from its parts, over batches of heads.
Space attention() {
  SpaceBuilder space("attention", {{2, 1, 4, 3, 5, 6}, {1, 2, 2, 5, 3, 4}});
  space.start("q", 1, "a,b,c,d").start("k", 1, "a,b,e,d").start("v", 1, "a,b,e,f");
  space.join("matmul").apply("transpose", {{"perm", Integers{0, 1, 3, 2}}}, 4);
  space.apply("softmax", {{"axis", std::int64_t{3}}}, 4);
  // Its parts have no scale; what holds for one holds for others.
  space.join("attention", {{"scale", 0.5}}, 3);
  return space.join("attention", {{"scale", 1.0}}, 3).take();
}

// Attention of what is cut and joined: queries are independent of each other, heads too.
Space heads() {
  SpaceBuilder space("heads", {{2, 4, 5, 3, 6}, {4, 6, 3, 5, 2}});
  space.start("q", 2, "a,b,c").start("k", 1, "a,d,c").start("v", 1, "a,d,e").start("w", 1, "e,c");
  space.join("attention", {{"scale", 0.5}}, 3).join("matmul");
  space.apply("transpose", {{"perm", Integers{1, 0, 2}}}, 3);
  space.join("concat", {{"axis", std::int64_t{0}}}).join("concat", {{"axis", std::int64_t{1}}});
  return space.halves(0).halves(1).halves(2).take();
}

Attrs window(Integers strides, Integers pads) {
  return {
      {"strides", std::move(strides)}, {"pads", std::move(pads)}, {"dilations", Integers{1, 1}}};
}

// Convolutions with strides and groups, of what is moved, cut, padded and joined.
Space convolutions() {
  SpaceBuilder space("convolutions", kImageSizes);
  space.start("x", 2, "a,b,c,d").start("k", 2, "e,b,3,3");
  space.join("conv", window({2, 2}, {1, 1, 1, 1})).apply("relu");
  space.join("concat", {{"axis", std::int64_t{0}}}).join("concat", {{"axis", std::int64_t{1}}});
  space.halves(0).alike("add").apply("transpose", {{"perm", Integers{0, 1, 3, 2}}}, 4);
  space.apply("pad", {{"before", Integers{0, 0, 1, 1}}, {"after", Integers{0, 0, 1, 1}}}, 4);
  return space.take();
}

// Pools over windows of any stride.
Space pools() {
  SpaceBuilder space("pools", kImageSizes);
  space.start("x", 2, "a,b,c,d").start("s", 1, "");
  for (const char* op : {"max_pool", "avg_pool"}) {
    Attrs attrs = window({2, 2}, {0, 0, 0, 0});
    attrs.set("kernel", Integers{2, 2});
    space.apply(op, attrs, 4);
    attrs = window({2, 1}, {1, 1, 1, 1});
    attrs.set("kernel", Integers{3, 3});
    if (op == std::string_view("avg_pool")) attrs.set("count_include_pad", std::int64_t{1});
    space.apply(op, attrs, 4);
  }
  space.join("concat", {{"axis", std::int64_t{0}}}).join("concat", {{"axis", std::int64_t{1}}});
  space.halves(0).halves(1).alike("add").with_broadcast("mul", 0);
  space.apply("transpose", {{"perm", Integers{0, 1, 3, 2}}}, 4);
  space.apply("reduce_mean", {{"axes", Integers{2, 3}}, {"keepdims", std::int64_t{1}}}, 4);
  return space.take();
}

// Zeros around a tensor. Amounts differ from axis to axis and from world to world, so that a rule
// says which of them it means: f..i, j..m, and n..q, their sums.
Space padding() {
  SpaceBuilder space("padding", {{2, 4, 5, 6, 3, 1, 2, 0, 1, 1, 0, 2, 1, 2, 2, 2, 2},
                                 {4, 2, 6, 7, 5, 2, 1, 1, 0, 0, 2, 1, 1, 2, 3, 2, 1},
                                 {6, 4, 5, 7, 2, 1, 2, 2, 1, 0, 1, 1, 2, 1, 3, 3, 3}});
  space.start("x", 2, "a,b,c,d").start("k", 1, "e,b,3,3").start("s", 1, "");
  space.pad("0,0,f,g", "0,0,h,i").pad("0,0,j,k", "0,0,l,m").pad("0,0,n,o", "0,0,p,q");
  space.apply("relu").apply("tanh").alike("add").alike("mul").with_broadcast("mul", 0);
  space.join("concat", {{"axis", std::int64_t{0}}}).join("concat", {{"axis", std::int64_t{1}}});
  space.halves(0).halves(1);
  const Attrs conv{{"strides", Integers{1, 1}}, {"dilations", Integers{1, 1}}};
  Attrs pool = conv;
  pool.set("kernel", Integers{3, 3});
  pool.set("count_include_pad", std::int64_t{1});
  for (const char* pads : {"0,0,0,0", "f,g,h,i", "j,k,l,m", "n,o,p,q"})
    space.window("conv", conv, pads).window("avg_pool", pool, pads);
  return space.take();
}

// Kernels that add a bias and apply an activation in one go.
Space fusion() {
  SpaceBuilder space("fusion", kImageSizes);
  space.start("x", 1, "a,b,c,d").start("k", 1, "e,b,3,3").start("b", 2, "e");
  space.start("m", 1, "a,c").start("w", 1, "c,e");
  const Attrs conv = window({1, 1}, {1, 1, 1, 1});
  space.join("conv", conv).join("matmul").with_broadcast("add", 1).with_broadcast("mul", 1);
  space.fill("e", 0);
  for (const char* activation : {"none", "relu", "sigmoid", "tanh", "silu", "gelu", "hard_swish"}) {
    const Attrs with{{"activation", std::string(activation)}};
    Attrs of_conv = conv;
    of_conv.set("activation", std::string(activation));
    space.join("fused_conv", of_conv, 3).join("fused_matmul", with, 3);
    if (activation != std::string_view("none")) space.apply(activation);
  }
  space.apply("clip", {{"min", 0.0}, {"max", 6.0}});
  Attrs of_conv = conv;
  of_conv.set("activation", std::string("relu6"));
  space.join("fused_conv", of_conv, 3);
  space.join("fused_matmul", {{"activation", std::string("relu6")}}, 3);
  return space.take();
}

// What functions and the order of numbers are like, and not only where they stand.
Space values() {
  SpaceBuilder space("values", kSizes);
  space.start("m", 2, "a,c");
  for (const char* op : {"add", "sub", "mul", "div", "max"}) space.alike(op);
  for (const char* op : {"exp", "log", "sqrt", "abs", "relu", "neg"}) space.apply(op);
  Space made = space.take();
  made.by_value = true;
  return made;
}

constexpr NamedSpace kSpaces[] = {
    {"taso", "the operators of TASO's generator", 3, taso_space},
    {"arithmetic", "sums, products, quotients, roots", 2, arithmetic},
    {"functions", "functions of one element and what moves elements", 2, functions},
    {"reductions", "sums, means and maxima over axes", 2, reductions},
    {"reshapes", "regrouping of axes", 2, reshapes},
    {"softmaxes", "softmax and its logarithm", 2, softmaxes},
    {"attention", "attention from its parts", 4, attention},
    {"heads", "attention of what is cut and joined", 2, heads},
    {"pools", "pools over windows of any stride", 2, pools},
    {"padding", "zeros around a tensor", 2, padding},
    {"fusion", "bias and activation within a kernel", 2, fusion},
    {"values", "what exp, log, sqrt, abs and relu are like", 2, values},
    {"softmax_parts", "softmax from its parts", 3, softmax_parts},
    {"normalizations", "root-mean-square normalization", 2, normalizations},
    {"convolutions", "convolutions with strides and groups", 2, convolutions},
    {"norm_parts", "layer norms from their parts", 3, norm_parts},
};

}  // namespace

std::span<const NamedSpace> named_spaces() { return kSpaces; }
const NamedSpace* find_named_space(std::string_view name) {
  const auto found = std::ranges::find(kSpaces, name, &NamedSpace::name);
  return found != std::end(kSpaces) ? &*found : nullptr;
}

}  // namespace egret::rules::generator
