// SPDX-License-Identifier: Apache-2.0
// Every law of every operator, in exact arithmetic: attributes and types are drawn at random, the
// parts are computed one by one and put together.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/evaluate/exact.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/graph_text.h"
#include "parallel/laws/law_proof.h"
#include "parallel/laws/laws.h"
#include "parallel/laws/some_application.h"
#include "parallel/laws/stored_laws.h"
#include "rules/tensors/rule_status.h"

namespace egret::parallel {
namespace {

using ir::ExactTensor;
using ir::Rational;
using Kind = AxisPlacement::Kind;

ExactTensor some_tensor(const ir::TensorType& type, base::Random& random) {
  ExactTensor tensor(type);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor[i] = type.dtype == ir::DType::kBool ? Rational(random.below(2))
                                               : Rational(random.between(-4, 4));
  }
  return tensor;
}

Mesh line(std::int64_t devices) { return Mesh::of({{"x", devices}}).value(); }

// What each device holds of a tensor; partial results are drawn.
std::vector<ExactTensor> parts_of(const ExactTensor& whole, AxisPlacement placement,
                                  std::int64_t devices, base::Random& random) {
  const Mesh mesh = line(devices);
  const Placement on_mesh = Placement(1).with(0, placement);
  const bool zero = placement.halo.beyond == Halo::Beyond::kZero;
  const Rational beyond = zero ? 0 : -1'000'000;  // less than all
  std::vector<ExactTensor> parts;
  for (std::int64_t rank = 0; rank < devices; ++rank) {
    ExactTensor part(*local_type(whole.type(), on_mesh, mesh));
    const auto held = elements_held(whole.type(), on_mesh, mesh, rank);
    for (std::int64_t i = 0; i < part.elements(); ++i) {
      const std::int64_t at = held[static_cast<std::size_t>(i)];
      part[i] = at == kBeyond ? beyond : whole[at];
    }
    parts.push_back(std::move(part));
  }
  if (!placement.is_partial()) return parts;
  for (std::int64_t i = 0; i < whole.elements(); ++i) {
    const auto special = static_cast<std::size_t>(random.below(parts.size()));
    Rational sum = 0;
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      if (rank == special) continue;
      parts[rank][i] = placement.kind == Kind::kSum ? Rational(random.between(-4, 4))
                                                    : whole[i] - random.between(0, 3);
      sum += parts[rank][i];
    }
    if (placement.kind == Kind::kSum) parts[special][i] = whole[i] - sum;
  }
  return parts;
}

// The whole of the parts; nullopt where they do not agree.
std::optional<ExactTensor> whole_of(const std::vector<ExactTensor>& parts,
                                    const ir::TensorType& type, AxisPlacement placement) {
  const Mesh mesh = line(static_cast<std::int64_t>(parts.size()));
  const Placement on_mesh = Placement(1).with(0, placement);
  ExactTensor whole(type);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const ExactTensor& part = parts[rank];
    const auto held = elements_held(type, on_mesh, mesh, static_cast<std::int64_t>(rank));
    if (static_cast<std::int64_t>(held.size()) != part.elements()) return std::nullopt;
    for (std::int64_t i = 0; i < part.elements(); ++i) {
      Rational& element = whole[held[static_cast<std::size_t>(i)]];
      if (rank == 0 || placement.is_split()) {
        element = part[i];
      } else if (placement.is_copy() && element != part[i]) {
        return std::nullopt;
      } else if (placement.is_partial()) {
        element =
            placement.kind == Kind::kSum ? element + part[i] : std::max<Rational>(element, part[i]);
      }
    }
  }
  return whole;
}

// Exact arithmetic knows of functions no more than that equal arguments give equal values; maxima
// need that they increase, which they do in f64 without an error that could be seen.
base::Result<ExactTensor> evaluate(const ir::Operator& op, const ir::Attrs& attrs,
                                   const std::vector<ExactTensor>& inputs, Kind output) {
  if (output != Kind::kMax) return ir::evaluate_exact(op, attrs, inputs);
  std::vector<ir::Tensor> tensors;
  tensors.reserve(inputs.size());
  for (const ExactTensor& input : inputs) tensors.push_back(input.to_tensor(input.type().dtype));
  EGRET_ASSIGN_OR_RETURN(const ir::Tensor result, ir::evaluate(op, attrs, tensors));
  ExactTensor exact = ExactTensor::of(result);
  EGRET_RETURN_IF_ERROR(exact.check_defined());
  return exact;
}

enum class Outcome : std::uint8_t { kHolds, kFails, kUndefined };

// Whether the law holds for some inputs.
Outcome holds(const Application& call, const Law& law, std::int64_t devices, base::Random random) {
  std::vector<ExactTensor> wholes;
  std::vector<std::vector<ExactTensor>> parts(static_cast<std::size_t>(devices));
  for (std::size_t i = 0; i < call.types.size(); ++i) {
    wholes.push_back(some_tensor(call.types[i], random));
    if (!part_type(call.types[i], law.inputs[i], devices)) return Outcome::kUndefined;
    const auto own = parts_of(wholes.back(), law.inputs[i], devices, random);
    for (std::size_t rank = 0; rank < parts.size(); ++rank) parts[rank].push_back(own[rank]);
  }
  const auto whole = evaluate(*call.op, call.attrs, wholes, law.output.kind);
  if (!whole.ok()) return Outcome::kUndefined;
  std::vector<ExactTensor> results;
  std::vector<ir::TensorType> types;
  for (const ExactTensor& part : parts.front()) types.push_back(part.type());
  if (!ir::infer_type(*call.op, law.attrs, types).ok()) return Outcome::kFails;
  for (const auto& own : parts) {
    auto result = evaluate(*call.op, law.attrs, own, law.output.kind);
    if (!result.ok()) return Outcome::kFails;
    results.push_back(*std::move(result));
  }
  if (!part_type(whole->type(), law.output, devices)) return Outcome::kFails;
  const auto again = whole_of(results, whole->type(), law.output);
  return again && *again == *whole ? Outcome::kHolds : Outcome::kFails;
}

TEST(AllLaws, HoldInExactArithmetic) {
  int held = 0;
  std::set<std::string> operators, with_halo;
  for_all_operators(60, [&](const Application& call, base::Random random) {
    for (const std::int64_t devices : {2, 3}) {
      for (const Law& law : laws_of(*call.op, call.attrs, call.types, devices)) {
        const Outcome outcome = holds(call, law, devices, random);
        EXPECT_NE(outcome, Outcome::kFails) << to_string(call) << "\n  " << to_string(law);
        if (outcome != Outcome::kHolds || law.output.is_copy()) continue;
        ++held;
        operators.insert(call.op->name());
        if (std::ranges::any_of(law.inputs, &AxisPlacement::has_halo))
          with_halo.insert(call.op->name());
      }
    }
  });
  EXPECT_GT(held, 2000);
  EXPECT_GT(operators.size(), 100U);
  EXPECT_GE(with_halo.size(), 4U);
  std::cout << held << " laws of " << operators.size() << " operators hold; with halos of";
  for (const std::string& name : with_halo) std::cout << " " << name;
  std::cout << "\n";
}

// A law that is not listed should be wrong: of all placements of operators with one or two inputs,
// those that are not derived are tried.
TEST(AllLaws, WhatIsNotDerivedDoesNotHold) {
  int refuted = 0;
  int undecided = 0;  // by chance, or because such small numbers do not tell
  for_all_operators(12, [&](const Application& call, base::Random random) {
    if (call.types.empty() || call.types.size() > 2) return;
    const auto out = ir::infer_type(*call.op, call.attrs, call.types);
    const auto choices = [](const ir::TensorType& type) {
      std::vector<AxisPlacement> all{AxisPlacement::copy()};
      if (type.dtype != ir::DType::kBool) all.push_back(AxisPlacement::sum());
      for (int dim = 0; dim < type.rank(); ++dim) {
        if (part_type(type, AxisPlacement::split(dim), 2)) all.push_back(AxisPlacement::split(dim));
      }
      return all;
    };
    const std::vector<Law> derived = laws_of(*call.op, call.attrs, call.types, 2);
    const auto is_derived = [&](const Law& law) {
      return std::ranges::any_of(derived, [&](const Law& other) {
        return other.inputs == law.inputs && other.output == law.output;
      });
    };
    const auto try_law = [&](const Law& law) {
      if (is_derived(law)) return;
      for (const std::uint64_t salt : {1, 2, 3, 4}) {
        const Outcome outcome = holds(call, law, 2, random.split(salt));
        if (outcome == Outcome::kUndefined) return;
        if (outcome == Outcome::kFails) return void(++refuted);
      }
      ++undecided;
    };
    for (const AxisPlacement a : choices(call.types[0])) {
      for (const AxisPlacement b :
           call.types.size() > 1 ? choices(call.types[1]) : choices({call.types[0].dtype, {}})) {
        if (call.types.size() == 1 && !b.is_copy()) continue;
        Law law{{a}, {}, call.attrs};
        if (call.types.size() > 1) law.inputs.push_back(b);
        for (const AxisPlacement output : choices(*out)) {
          law.output = output;
          try_law(law);
        }
      }
    }
  });
  std::cout << refuted << " refuted, " << undecided << " not\n";
  EXPECT_GT(refuted, 20'000);
  EXPECT_LT(undecided, refuted / 20);
}

// Of each law one example for each choice of ranks. What is not proven is not wrong: the exact
// arithmetic above holds it.
TEST(AllLaws, AreStoredWithWhatTheyAreProvenFor) {
  std::vector<StoredLaw> laws;
  for_all_laws([&](const Application& call, const Law& law) {
    const LawProof proof = prove_law(*call.op, call.attrs, call.types, law, 2);
    laws.push_back(stored(call, law, proof.scope));
  });
  std::map<LawProof::Scope, int> counts;
  for (const StoredLaw& law : laws) ++counts[law.scope];
  const auto all = static_cast<double>(laws.size());
  std::cout << laws.size() << " laws: " << counts[LawProof::Scope::kAllSizes]
            << " for all sizes and attributes, " << counts[LawProof::Scope::kSizes]
            << " for all sizes, " << counts[LawProof::Scope::kCut]
            << " for all sizes of what is cut, " << counts[LawProof::Scope::kNone] << " not\n";
  EXPECT_GT(laws.size(), 1500U);
  EXPECT_LT(counts[LawProof::Scope::kNone], 0.12 * all);
  // Where this fails: placement_laws parallel/data/placement.laws
  const auto known = parse_laws(builtin_laws());
  ASSERT_TRUE(known.ok()) << known.status().message();
  EXPECT_EQ(known->definitions, rules::definitions_hash());
  ASSERT_EQ(known->laws.size(), laws.size());
  for (std::size_t i = 0; i < laws.size(); ++i)
    EXPECT_EQ(known->laws[i], laws[i]) << laws[i].application << " : " << laws[i].law;
}

TEST(StoredLaws, AreReadAsTheyAreWritten) {
  const auto known = parse_laws(builtin_laws());
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(to_text(*known), builtin_laws());
  const auto product = std::ranges::find(known->laws, "matmul", &StoredLaw::op);
  ASSERT_NE(product, known->laws.end());
  EXPECT_EQ(product->scope, LawProof::Scope::kAllSizes);
  for (const auto& [line, message] : std::map<std::string, std::string>{
           {"proven matmul(f32[2] ) : R -> R", "line 2: unknown status 'proven'"},
           {"tested  matmul",
            "line 2: a law has the form STATUS  OPERATOR(TYPES) : INPUTS -> OUTPUT"}}) {
    EXPECT_EQ(parse_laws("# laws\n" + line + "\n").status().message(), message);
  }
}

LawProof proof_of(std::string_view name, const std::vector<std::string>& types, const Law& law,
                  const ir::Attrs& given = {}) {
  const ir::Operator& op = ir::get_operator(name);
  const ir::Attrs attrs = ir::canonical_attrs(op.attrs(), given).value();
  std::vector<ir::TensorType> inputs;
  inputs.reserve(types.size());
  for (const std::string& type : types) inputs.push_back(ir::parse_type(type).value());
  Law full = law;
  full.attrs = attrs;
  return prove_law(op, attrs, inputs, full, 2);
}

// Of every law of the application that needs a halo, how it is proven.
std::string proofs_of_halos(std::string_view name, const std::vector<std::string>& types,
                            const ir::Attrs& given) {
  const ir::Operator& op = ir::get_operator(name);
  const ir::Attrs attrs = ir::canonical_attrs(op.attrs(), given).value();
  std::vector<ir::TensorType> inputs;
  inputs.reserve(types.size());
  for (const std::string& type : types) inputs.push_back(ir::parse_type(type).value());
  std::string text;
  for (const Law& law : laws_of(op, attrs, inputs, 2)) {
    if (std::ranges::none_of(law.inputs, &AxisPlacement::has_halo)) continue;
    const LawProof proof = prove_law(op, attrs, inputs, law, 2);
    text += to_string(law) + ": ";
    text += proof.scope == LawProof::Scope::kNone ? "not, " + proof.reason : "proven";
    text += "\n";
  }
  return text;
}

TEST(HaloLaws, AreProven) {
  const auto windows = [](std::int64_t stride, const ir::Integers& kernel) {
    ir::Attrs attrs{{"strides", ir::Integers{stride, stride}}, {"pads", ir::Integers{1, 1, 1, 1}}};
    attrs.set("dilations", ir::Integers{1, 1});
    if (!kernel.empty()) attrs.set("kernel", kernel);
    return attrs;
  };
  EXPECT_EQ(proofs_of_halos("conv", {"f32[2,4,8,8]", "f32[6,4,3,3]"}, windows(1, {})),
            "S(2)-1+1, R -> S(2): proven\nS(3)-1+1, R -> S(3): proven\n");
  EXPECT_EQ(proofs_of_halos("conv", {"f32[2,4,8,8]", "f32[6,4,3,3]"}, windows(2, {})),
            "S(2)-1+0, R -> S(2): proven\nS(3)-1+0, R -> S(3): proven\n");
  EXPECT_EQ(proofs_of_halos("max_pool", {"f32[2,4,8,8]"}, windows(2, {3, 3})),
            "S(2)-1+0(-inf) -> S(2): proven\nS(3)-1+0(-inf) -> S(3): proven\n");
  // A filter's gradient.
  EXPECT_EQ(proofs_of_halos("conv", {"f32[2,4,8,1]", "f32[6,4,8,1]"}, windows(1, {})),
            "S(2)-1+1, S(2) -> P(sum): proven\n");
  ir::Attrs mean = windows(1, {3, 3});
  mean.set("count_include_pad", std::int64_t{1});
  EXPECT_EQ(proofs_of_halos("avg_pool", {"f32[2,4,8,8]"}, mean),
            "S(2)-1+1 -> S(2): proven\nS(3)-1+1 -> S(3): proven\n");
}

TEST(WrongLaws, AreNotProven) {
  using A = AxisPlacement;
  const auto scope = [](const LawProof& proof) { return proof.scope; };
  const auto none = LawProof::Scope::kNone;
  EXPECT_EQ(scope(proof_of("matmul", {"f32[4,6]", "f32[6,8]"},
                           {{A::split(1), A::split(0)}, A::sum(), {}})),
            LawProof::Scope::kAllSizes);
  // ReLU of partial sums.
  EXPECT_EQ(scope(proof_of("relu", {"f32[4]"}, {{A::sum()}, A::sum(), {}})), none);
  // A bias added on every device.
  EXPECT_EQ(scope(proof_of("add", {"f32[4]", "f32[4]"}, {{A::sum(), A::copy()}, A::sum(), {}})),
            none);
  // A softmax along a cut axis.
  const ir::Attrs axis{{"axis", std::int64_t{1}}};
  EXPECT_EQ(scope(proof_of("softmax", {"f32[4,8]"}, {{A::split(1)}, A::split(1), {}}, axis)), none);
  EXPECT_EQ(scope(proof_of("softmax", {"f32[4,8]"}, {{A::split(0)}, A::split(0), {}}, axis)),
            LawProof::Scope::kAllSizes);
  // Copies are no partial sums, nor the other way round.
  EXPECT_EQ(scope(proof_of("neg", {"f32[4]"}, {{A::copy()}, A::sum(), {}})), none);
  EXPECT_EQ(
      scope(proof_of("matmul", {"f32[4,6]", "f32[6,8]"}, {{A::sum(), A::sum()}, A::sum(), {}})),
      none);
  // Rows taken for columns.
  EXPECT_EQ(scope(proof_of("matmul", {"f32[4,4]", "f32[4,4]"},
                           {{A::split(0), A::copy()}, A::split(1), {}})),
            none);
  // A convolution in space without its halo, or with half of it.
  const ir::Attrs windows{{"strides", ir::Integers{1, 1}},
                          {"pads", ir::Integers{1, 0, 1, 0}},
                          {"dilations", ir::Integers{1, 1}}};
  const auto conv_with = [&](const Halo& halo) {
    const ir::Operator& op = ir::get_operator("conv");
    const ir::Attrs attrs = ir::canonical_attrs(op.attrs(), windows).value();
    ir::Attrs part = attrs;
    part.set("pads", ir::Integers{1 - halo.before, 0, 1 - halo.after, 0});
    const std::vector<ir::TensorType> types{{ir::DType::kF32, {1, 1, 8, 1}},
                                            {ir::DType::kF32, {1, 1, 3, 1}}};
    const Law law{{A::split(2, halo), A::copy()}, A::split(2), part};
    return prove_law(op, attrs, types, law, 2).scope;
  };
  EXPECT_NE(conv_with({1, 1}), none);
  EXPECT_EQ(conv_with({}), none);
  EXPECT_EQ(conv_with({1, 0}), none);
  EXPECT_EQ(conv_with({0, 1}), none);
}

}  // namespace
}  // namespace egret::parallel
