// SPDX-License-Identifier: Apache-2.0
// Gradients of every operator against central differences of the reference interpreter in f64, on
// random types and attributes that the operator takes.
#include "ir/autodiff/gradient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/graph_text.h"
#include "rules/testing/attribute_sampler.h"
#include "rules/testing/known_operators.h"

namespace egret::rules {
namespace {

using ir::Tensor;
using ir::TensorType;
using ir::Value;

struct Case {
  const ir::Operator* op;
  ir::Attrs attrs;
  std::vector<TensorType> types;

  std::string text() const {
    std::string result = op->name() + " " + to_string(attrs);
    for (const TensorType& type : types) result += " " + to_string(type);
    return result;
  }
};

constexpr std::int64_t kMostElements = 700;

bool is_acceptable(const Case& c) {
  const auto type = ir::infer_type(*c.op, c.attrs, c.types);
  if (!type.ok() || !type->is_concrete() || type->elements() > kMostElements) return false;
  return std::ranges::all_of(c.types,
                             [](const TensorType& t) { return t.elements() <= kMostElements; });
}

// Of an accepted signature with sizes of its own.
std::vector<TensorType> types_like(const Signature& signature, base::Random& random) {
  std::vector<TensorType> types;
  for (const auto& [rank, dtype] : signature.inputs) {
    TensorType type{dtype, {}};
    for (int axis = 0; axis < rank; ++axis) type.dims.emplace_back(random.between(1, 4));
    types.push_back(std::move(type));
  }
  for (const Signature::Equal& pair : signature.equal) {
    types[pair.second.input].dims[pair.second.axis] =
        pair.first ? types[pair.first->input].dims[pair.first->axis] : ir::Index(1);
  }
  return types;
}

// What the operator's page shows, with numbers for its symbols.
std::optional<Case> example_of(const ir::Operator& op, base::Random& random) {
  if (!op.example()) return std::nullopt;
  Case made{&op, {}, {}};
  std::map<std::string, ir::Index> sizes;
  for (const std::string& text : op.example()->input_types) {
    const auto type = ir::parse_type(text);
    if (!type.ok()) return std::nullopt;
    TensorType concrete{type->dtype, {}};
    for (const ir::Index& size : type->dims) {
      concrete.dims.push_back(ir::substitute(size, [&](std::string_view name) -> const ir::Index* {
        return &sizes.emplace(name, random.between(1, 3)).first->second;
      }));
    }
    made.types.push_back(std::move(concrete));
  }
  const auto attrs = canonical_attrs(op.attrs(), op.example()->attrs);
  if (!attrs.ok()) return std::nullopt;
  made.attrs = *attrs;
  return made;
}

std::vector<Case> cases_of(const ir::Operator& op, KnownOperators& known, std::size_t wanted) {
  std::vector<Case> cases;
  base::Random random(base::Random(7).split(op.name().size() * 131 + op.name()[0]));
  const auto add = [&](Case c) {
    if (is_acceptable(c)) cases.push_back(std::move(c));
  };
  for (int i = 0; i < 4; ++i) {
    if (auto example = example_of(op, random)) add(*std::move(example));
  }
  const std::size_t most = std::min<std::size_t>(op.max_inputs(), op.min_inputs() + 2);
  for (std::size_t operands = op.min_inputs(); operands <= most; ++operands) {
    const std::size_t goal = cases.size() + wanted;
    const auto& signatures = known.signatures.of(op, operands);
    for (int attempt = 0; attempt < 800 && !signatures.empty() && cases.size() < goal; ++attempt) {
      Case c{&op, {}, types_like(signatures[random.below(signatures.size())], random)};
      for (const ir::AttrSpec* spec : sampling_order(op)) {
        c.attrs.set(spec->name, sample_attr(*spec, c.attrs, c.types, random));
      }
      add(std::move(c));
    }
  }
  return cases;
}

// Intervals that reals are drawn from: functions have their domains.
constexpr std::pair<double, double> kIntervals[] = {{-1, 1}, {0.1, 0.9}, {1.2, 3}, {-3, 3}};

// Integers are at most `largest`: they may be indices or lengths.
Tensor drawn(const TensorType& type, std::pair<double, double> interval, std::int64_t largest,
             base::Random& random) {
  if (!is_float(type.dtype)) {
    Tensor made(type);
    for (std::int64_t i = 0; i < made.elements(); ++i) {
      made.set_i64(i, random.between(0, type.dtype == ir::DType::kBool ? 1 : largest));
    }
    return made;
  }
  TensorType wide = type;
  wide.dtype = ir::DType::kF64;
  Tensor result(wide);
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    result.set_f64(i, random.uniform(interval.first, interval.second));
  }
  return result;
}

// loss = sum of output * weights, and its gradient with respect to each input.
struct Joint {
  ir::Graph graph;                // outputs: loss, gradients
  std::vector<std::size_t> real;  // inputs that have one
};

base::Result<Joint> joint_graph(const Case& c, base::Random& random, double spoil = 0) {
  ir::GraphBuilder forward;
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < c.types.size(); ++i) {
    inputs.push_back(forward.input("x" + std::to_string(i), c.types[i]));
  }
  const Value out = forward.add(*c.op, inputs, c.attrs);
  const TensorType type = forward.type(out);
  const Value weights = forward.constant(Tensor::random(type, random));
  ir::Integers axes;
  for (int axis = 0; axis < type.rank(); ++axis) axes.push_back(axis);
  const Value loss = forward.add("reduce_sum", {forward.add("mul", {out, weights})},
                                 {{"axes", axes}, {"keepdims", std::int64_t{0}}});
  forward.output("loss", loss);
  EGRET_ASSIGN_OR_RETURN(ir::Graph graph, forward.finish());
  EGRET_ASSIGN_OR_RETURN(graph, ir::expanded_for_gradients(graph));

  ir::GraphBuilder b;
  std::vector<Value> values(graph.size());
  std::vector<Value> wanted;
  Joint joint;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::Node& node = graph.nodes()[i];
    std::vector<Value> operands;
    for (const ir::NodeId id : node.inputs) operands.push_back(values[id.index()]);
    if (node.kind == ir::NodeKind::kInput) values[i] = b.input(node.name, node.type);
    if (node.kind == ir::NodeKind::kConstant) values[i] = b.constant(node.data);
    if (node.kind == ir::NodeKind::kOperator) values[i] = b.add(*node.op, operands, node.attrs);
  }
  for (std::size_t i = 0; i < c.types.size(); ++i) {
    if (!is_float(c.types[i].dtype)) continue;
    joint.real.push_back(i);
    wanted.push_back(values[graph.inputs()[i].index()]);
  }
  const Value total = values[graph.outputs()[0].node.index()];
  EGRET_ASSIGN_OR_RETURN(const std::vector<Value> found, ir::gradients(b, total, wanted));
  b.output("loss", total);
  for (std::size_t i = 0; i < found.size(); ++i) {
    Value value = found[i];
    if (spoil != 0) value = b.add("mul", {value, b.scalar(b.type(value).dtype, 1 + spoil)});
    b.output("g" + std::to_string(i), value);
  }
  EGRET_ASSIGN_OR_RETURN(joint.graph, b.finish());
  return joint;
}

struct Outcome {
  int compared = 0;    // elements
  double worst = 0;    // relative difference
  bool moved = false;  // some gradient is not 0
  // Nothing moves the loss and yet the gradient is not finite: a constant written through a point
  // without derivative, such as x/(sqrt((x-mean(x))^2) + e) of one element.
  bool singular = false;
};

// Central differences; elements at which one-sided differences disagree (kinks, jumps) are passed
// over, and so are losses that are not finite.
base::Result<Outcome> compare(const Joint& joint, std::vector<Tensor> inputs) {
  Outcome outcome;
  EGRET_ASSIGN_OR_RETURN(const std::vector<Tensor> at, ir::interpret(joint.graph, inputs));
  if (!std::isfinite(at[0].f64_at(0))) return outcome;
  ir::Graph loss_alone = joint.graph;
  const auto loss = [&](std::size_t input, std::int64_t element, double moved) {
    std::vector<Tensor> there = inputs;
    Tensor copy(there[input].type());
    for (std::int64_t i = 0; i < copy.elements(); ++i) copy.set_f64(i, there[input].f64_at(i));
    copy.set_f64(element, copy.f64_at(element) + moved);
    there[input] = copy;
    const auto result = ir::interpret(joint.graph, there);
    return result.ok() ? (*result)[0].f64_at(0) : std::nan("");
  };
  constexpr double kStep = 1e-5;
  for (std::size_t k = 0; k < joint.real.size(); ++k) {
    const std::size_t input = joint.real[k];
    const std::int64_t count = inputs[input].elements();
    for (std::int64_t i = 0; i < count; i += std::max<std::int64_t>(1, count / 6)) {
      const double up = loss(input, i, kStep);
      const double down = loss(input, i, -kStep);
      const double right = (up - at[0].f64_at(0)) / kStep;
      const double left = (at[0].f64_at(0) - down) / kStep;
      const double scale = 1 + std::abs(right) + std::abs(left);
      if (!std::isfinite(scale) || std::abs(right - left) > 1e-3 * scale) continue;
      const double given = at[k + 1].f64_at(i);
      const double expected = (up - down) / (2 * kStep);
      const double error = std::abs(given - expected) / scale;
      if (!std::isfinite(given) && expected == 0) {
        outcome.singular = true;
        continue;
      }
      outcome.worst = std::isfinite(error) ? std::max(outcome.worst, error) : HUGE_VAL;
      outcome.moved = outcome.moved || given != 0;
      ++outcome.compared;
    }
  }
  return outcome;
}

std::int64_t smallest_size(const Case& c) {
  std::int64_t smallest = 4;
  for (const TensorType& type : c.types) {
    for (const ir::Index& size : type.dims) smallest = std::min(smallest, size.constant());
  }
  return smallest;
}

// Rounding to 16 bits is a step function, of which the gradient is that of the number itself.
bool rounds(const Case& c) {
  const auto is_short = [](const TensorType& t) {
    return t.dtype == ir::DType::kF16 || t.dtype == ir::DType::kBF16;
  };
  return is_short(*ir::infer_type(*c.op, c.attrs, c.types)) ||
         std::any_of(c.types.begin(), c.types.end(), is_short);
}

struct Tally {
  int cases = 0;
  int singular = 0;
  int compared = 0;
  bool moved = false;
};

Tally check_operator(const ir::Operator& op, KnownOperators& known) {
  Tally tally;
  for (const Case& c : cases_of(op, known, 8)) {
    base::Random random(base::Random(11).split(static_cast<std::uint64_t>(tally.cases)));
    if (std::ranges::none_of(c.types, [](const TensorType& t) { return is_float(t.dtype); }))
      continue;
    if (!is_float(ir::infer_type(op, c.attrs, c.types)->dtype) || rounds(c)) continue;
    const auto joint = joint_graph(c, random);
    EXPECT_TRUE(joint.ok()) << c.text() << ": " << joint.status().message();
    if (!joint.ok()) continue;
    for (const auto& interval : kIntervals) {
      std::vector<Tensor> inputs;
      for (const TensorType& type : c.types)
        inputs.push_back(drawn(type, interval, smallest_size(c), random));
      const auto outcome = compare(*joint, inputs);
      if (!outcome.ok()) continue;  // an index or a length out of range
      if (outcome->singular) {
        ++tally.singular;
        continue;
      }
      EXPECT_LT(outcome->worst, 1e-5) << c.text() << "\n" << to_text(joint->graph);
      tally.compared += outcome->compared;
      tally.moved = tally.moved || outcome->moved;
      if (outcome->worst > 1e-5) return tally;
    }
    ++tally.cases;
  }
  return tally;
}

// Whether some case of the operator has a gradient, by the code; a composite's body may have none.
bool has_gradient(const ir::Operator& op, KnownOperators& known) {
  for (const Case& c : cases_of(op, known, 8)) {
    const auto source = ir::gradient_source(op, c.attrs, c.types);
    EXPECT_TRUE(source.ok()) << c.text() << ": " << source.status().message();
    if (source.ok() && source->kind != ir::GradientSource::Kind::kNone) return true;
  }
  return false;
}

TEST(Gradients, OfEveryOperatorAreItsDifferences) {
  KnownOperators known;
  std::set<std::string> without;
  const char* only = std::getenv("EGRET_TEST_OPERATOR");
  for (const ir::Operator* op : ir::all_operators()) {
    if (only != nullptr && op->name() != only) continue;
    const Tally tally = check_operator(*op, known);
    if (only != nullptr) std::printf("%d cases, %d compared\n", tally.cases, tally.compared);
    EXPECT_LE(tally.singular, 2 * tally.cases) << op->name();
    // By its definition sign(x) is x where x is neither above nor below 0: a point that is not hit.
    EXPECT_EQ(tally.moved, has_gradient(*op, known) && op->name() != "sign") << op->name();
    if (!tally.moved) without.insert(op->name());
  }
  if (only != nullptr) return;
  // Operators on integers and truth values, those that yield them, those that are constant but for
  // jumps, and those that read no tensor.
  EXPECT_EQ(without, (std::set<std::string>{"and",
                                            "arg_max",
                                            "arg_min",
                                            "bit_and",
                                            "bit_not",
                                            "bit_or",
                                            "bit_shift",
                                            "bit_xor",
                                            "ceil",
                                            "equal",
                                            "eye",
                                            "fill",
                                            "floor",
                                            "greater",
                                            "greater_equal",
                                            "hardmax",
                                            "iota",
                                            "is_inf",
                                            "is_nan",
                                            "less",
                                            "less_equal",
                                            "max_pool_indices",
                                            "not",
                                            "or",
                                            "quantize_linear",
                                            "round",
                                            "shape",
                                            "sign",
                                            "size",
                                            "topk_indices",
                                            "xor"}));
}

// What the comparison is worth: a gradient that is wrong by a thousandth is seen, of each operator
// that has one.
TEST(Gradients, ThatAreWrongByAThousandthAreSeen) {
  KnownOperators known;
  for (const ir::Operator* op : ir::all_operators()) {
    if (!has_gradient(*op, known) || op->name() == "sign") continue;
    bool seen = false;
    for (const Case& c : cases_of(*op, known, 8)) {
      if (seen || rounds(c) || !is_float(ir::infer_type(*op, c.attrs, c.types)->dtype)) continue;
      base::Random random(3);
      const auto joint = joint_graph(c, random, /*spoil=*/1e-3);
      ASSERT_TRUE(joint.ok()) << c.text();
      for (const auto& interval : kIntervals) {
        std::vector<Tensor> inputs;
        for (const TensorType& type : c.types)
          inputs.push_back(drawn(type, interval, smallest_size(c), random));
        const auto outcome = compare(*joint, inputs);
        seen = seen || (outcome.ok() && outcome->worst > 1e-5);
      }
    }
    EXPECT_TRUE(seen) << op->name();
  }
}

int count(const ir::Graph& graph, std::string_view name) {
  int found = 0;
  for (const ir::Node& node : graph.nodes()) found += node.op != nullptr && node.op->name() == name;
  return found;
}

ir::Graph gradient_of(std::string_view name, const ir::Attrs& attrs,
                      const std::vector<TensorType>& types) {
  const ir::Operator& op = ir::get_operator(name);
  base::Random random(1);
  const auto joint = joint_graph({&op, *canonical_attrs(op.attrs(), attrs), types}, random);
  EXPECT_TRUE(joint.ok()) << joint.status().message();
  return joint.ok() ? joint->graph : ir::Graph();
}

TEST(Gradients, SayWhyThereAreNone) {
  const auto reason = [](std::string_view name, ir::Attrs attrs, TensorType type) {
    const ir::Operator& op = ir::get_operator(name);
    const TensorType types[] = {type};
    const auto source = ir::gradient_source(op, *canonical_attrs(op.attrs(), attrs), types);
    return source.ok() ? source->reason : source.status().message();
  };
  const TensorType real(ir::DType::kF32, {2, 3});
  EXPECT_EQ(reason("floor", {}, real), "it is constant but for jumps");
  EXPECT_EQ(reason("is_nan", {}, real), "its output is of bool");
  EXPECT_EQ(reason("cast", {{"to", std::string("f32")}}, {ir::DType::kI64, {2}}),
            "it reads no real numbers");
  EXPECT_EQ(reason("relu", {}, real), "");
}

TEST(Gradients, OfAConvolutionAreConvolutions) {
  const ir::Attrs attrs{{"strides", ir::Integers{2, 1}},
                        {"pads", ir::Integers{1, 1, 1, 1}},
                        {"dilations", ir::Integers{1, 2}},
                        {"group", std::int64_t{2}}};
  const ir::Graph graph = gradient_of(
      "conv", attrs, {{ir::DType::kF32, {2, 4, 9, 8}}, {ir::DType::kF32, {6, 2, 3, 3}}});
  EXPECT_EQ(count(graph, "conv"), 2);  // forward, and for the kernel
  EXPECT_EQ(count(graph, "conv_transpose"), 1);
  EXPECT_EQ(count(graph, "gather") + count(graph, "scatter_nd"), 0);
}

TEST(Gradients, OfATransposedConvolutionAreConvolutions) {
  const ir::Attrs attrs{{"strides", ir::Integers{2}},
                        {"pads", ir::Integers{1, 1}},
                        {"dilations", ir::Integers{1}},
                        {"output_padding", ir::Integers{1}}};
  const ir::Graph graph = gradient_of("conv_transpose", attrs,
                                      {{ir::DType::kF32, {2, 4, 5}}, {ir::DType::kF32, {4, 3, 3}}});
  EXPECT_EQ(count(graph, "conv"), 2) << to_text(graph);
  EXPECT_EQ(count(graph, "gather") + count(graph, "scatter_nd"), 0) << to_text(graph);
}

TEST(Gradients, OfMaximaOverWindowsAreAddedTapByTap) {
  const ir::Attrs attrs{{"kernel", ir::Integers{3, 3}},
                        {"strides", ir::Integers{2, 2}},
                        {"pads", ir::Integers{1, 1, 1, 1}},
                        {"dilations", ir::Integers{1, 1}}};
  const ir::Graph graph = gradient_of("max_pool", attrs, {{ir::DType::kF32, {2, 3, 8, 8}}});
  EXPECT_EQ(count(graph, "scatter_nd"), 0);
}

TEST(Gradients, OfAMatrixProductAreMatrixProducts) {
  const ir::Graph graph =
      gradient_of("matmul", {}, {{ir::DType::kF32, {2, 3, 4, 5}}, {ir::DType::kF32, {5, 6}}});
  EXPECT_EQ(count(graph, "matmul"), 3);
  EXPECT_EQ(count(graph, "gather") + count(graph, "scatter_nd") + count(graph, "reduce_sum"), 1);
}

TEST(Gradients, OfScatteredUpdatesAreGathered) {
  const ir::Graph graph = gradient_of(
      "scatter_elements", {{"reduction", std::string("add")}},
      {{ir::DType::kF32, {5, 3}}, {ir::DType::kI64, {4, 3}}, {ir::DType::kF32, {4, 3}}});
  EXPECT_EQ(count(graph, "gather"), 1) << to_text(graph);
  EXPECT_EQ(count(graph, "scatter_nd"), 0) << to_text(graph);
}

}  // namespace
}  // namespace egret::rules
