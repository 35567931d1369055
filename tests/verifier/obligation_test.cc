// SPDX-License-Identifier: Apache-2.0
// Two graphs over symbolic sizes: proven equal, or not.
#include "verifier/equality/obligation.h"

#include <gtest/gtest.h>

#include <functional>

#include "ir/graph/builder.h"
#include "verifier/solver/solver_session.h"

namespace egret::verifier {
namespace {

using ir::Attrs;
using ir::Dims;
using ir::Integers;
using ir::Value;

ir::Index size(std::string_view name) { return ir::symbolic_dim(name); }

using Build = std::function<Value(ir::GraphBuilder&, std::span<const Value>)>;

// Proves the two equal over inputs of these sizes, symbols being at least 1.
Proof prove(const std::vector<Dims>& inputs, const Build& left, const Build& right) {
  const auto graph = [&](const Build& build) {
    ir::GraphBuilder builder;
    std::vector<Value> values;
    for (const Dims& dims : inputs)
      values.push_back(builder.input("x" + std::to_string(values.size()), {ir::DType::kF32, dims}));
    builder.output("y", build(builder, values));
    auto made = builder.finish();
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  };
  auto obligation = Obligation::of(graph(left), graph(right), {});
  EXPECT_TRUE(obligation.ok()) << obligation.status().message();
  std::vector<ir::Guard> conditions(obligation->requirements().begin(),
                                    obligation->requirements().end());
  for (const Dims& dims : inputs) {
    for (const ir::Index& dim : dims) conditions.push_back(dim >= 1);
  }
  SolverSession session;
  return obligation->prove(conditions, {.session = &session});
}

const Attrs kSwap{{"perm", Integers{1, 0}}};

TEST(Obligation, ProvesThatTheTransposeOfAProductIsTheProductOfTransposes) {
  const Proof proof = prove(
      {{size("M"), size("K")}, {size("K"), size("N")}},
      [](auto& b, auto x) {
        return b.add("transpose", {b.add("matmul", {x[0], x[1]})}, kSwap);
      },
      [](auto& b, auto x) {
        return b.add("matmul",
                     {b.add("transpose", {x[1]}, kSwap), b.add("transpose", {x[0]}, kSwap)});
      });
  EXPECT_TRUE(proof.proven) << proof.reason;
}

TEST(Obligation, DoesNotProveThatProductsCommute) {
  const Proof proof = prove(
      {{size("N"), size("N")}, {size("N"), size("N")}},
      [](auto& b, auto x) {
        return b.add("matmul", {x[0], x[1]});
      },
      [](auto& b, auto x) {
        return b.add("matmul", {x[1], x[0]});
      });
  EXPECT_FALSE(proof.proven);
  EXPECT_NE(proof.reason.find("no match"), std::string::npos) << proof.reason;
}

TEST(Obligation, SplitsASumOverConcatenatedAxes) {
  const Proof proof = prove(
      {{size("M"), size("K")},
       {size("K"), size("N")},
       {size("M"), size("L")},
       {size("L"), size("N")}},
      [](auto& b, auto x) {
        return b.add("add", {b.add("matmul", {x[0], x[1]}), b.add("matmul", {x[2], x[3]})});
      },
      [](auto& b, auto x) {
        return b.add("matmul", {b.add("concat", {x[0], x[2]}, {{"axis", std::int64_t{1}}}),
                                b.add("concat", {x[1], x[3]}, {{"axis", std::int64_t{0}}})});
      });
  EXPECT_TRUE(proof.proven) << proof.reason;
}

TEST(Obligation, DoesNotMixUpTheHalvesOfAConcatenation) {
  const Proof proof = prove(
      {{size("M"), size("K")},
       {size("K"), size("N")},
       {size("M"), size("K")},
       {size("K"), size("N")}},
      [](auto& b, auto x) {
        return b.add("add", {b.add("matmul", {x[0], x[1]}), b.add("matmul", {x[2], x[3]})});
      },
      [](auto& b, auto x) {
        return b.add("matmul", {b.add("concat", {x[0], x[2]}, {{"axis", std::int64_t{1}}}),
                                b.add("concat", {x[3], x[1]}, {{"axis", std::int64_t{0}}})});
      });
  EXPECT_FALSE(proof.proven);
}

TEST(Obligation, EliminatesAnIdentityMatrix) {
  const Proof proof = prove(
      {{size("M"), 4}},
      [](auto& b, auto x) {
        const Value eye = b.add("eye", {},
                                {{"rows", std::int64_t{4}},
                                 {"columns", std::int64_t{4}},
                                 {"dtype", std::string("f32")}});
        return b.add("matmul", {x[0], eye});
      },
      [](auto& b, auto x) { return b.add("identity", {x[0]}); });
  EXPECT_TRUE(proof.proven) << proof.reason;
}

Attrs sum_over(Integers axes) { return {{"axes", std::move(axes)}, {"keepdims", std::int64_t{0}}}; }

TEST(Obligation, ExchangesSums) {
  const Proof proof = prove(
      {{size("M"), size("N")}},
      [](auto& b, auto x) {
        return b.add("reduce_sum", {b.add("reduce_sum", {x[0]}, sum_over({0}))}, sum_over({0}));
      },
      [](auto& b, auto x) {
        return b.add("reduce_sum", {b.add("transpose", {x[0]}, kSwap)}, sum_over({0, 1}));
      });
  EXPECT_TRUE(proof.proven) << proof.reason;
}

// The sum over a flattened axis is the sum over the axes it came from: k <-> (k div N, k mod N).
TEST(Obligation, SplitsTheIndexOfASum) {
  const Proof proof = prove(
      {{size("M"), size("N")}},
      [](auto& b, auto x) {
        return b.add("reduce_sum", {b.add("reshape", {x[0]}, {{"shape", Integers{-1}}})},
                     sum_over({0}));
      },
      [](auto& b, auto x) {
        return b.add("reduce_sum", {x[0]}, sum_over({0, 1}));
      });
  EXPECT_TRUE(proof.proven) << proof.reason;
}

TEST(Obligation, DoesNotProveAReshapeToBeATranspose) {
  const Proof proof = prove(
      {{size("N"), size("N")}}, [](auto& b, auto x) { return b.add("identity", {x[0]}); },
      [](auto& b, auto x) { return b.add("transpose", {x[0]}, kSwap); });
  EXPECT_FALSE(proof.proven);
}

TEST(Obligation, TakesMaximaApart) {
  const Attrs over{{"axes", Integers{1}}, {"keepdims", std::int64_t{1}}};
  const Proof proof = prove(
      {{size("M"), size("N")}},
      [&](auto& b, auto x) { return b.add("reduce_max", {b.add("relu", {x[0]})}, over); },
      [&](auto& b, auto x) { return b.add("relu", {b.add("reduce_max", {x[0]}, over)}); });
  EXPECT_TRUE(proof.proven) << proof.reason;
}

TEST(Obligation, DoesNotTakeTheMaximumOfNegativesForTheNegativeOfTheMaximum) {
  const Attrs over{{"axes", Integers{1}}, {"keepdims", std::int64_t{1}}};
  const Proof proof = prove(
      {{size("M"), size("N")}},
      [&](auto& b, auto x) { return b.add("reduce_max", {b.add("neg", {x[0]})}, over); },
      [&](auto& b, auto x) { return b.add("neg", {b.add("reduce_max", {x[0]}, over)}); });
  EXPECT_FALSE(proof.proven);
}

}  // namespace
}  // namespace egret::verifier
