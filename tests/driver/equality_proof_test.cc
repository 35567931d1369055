// SPDX-License-Identifier: Apache-2.0
#include "driver/proofs/equality_proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "base/hash.h"
#include "ir/graph/builder.h"

namespace egret::driver {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Verdict = EqualityProof::Verdict;
using Body = std::function<ir::Value(ir::GraphBuilder&, ir::Value x, ir::Value w)>;

ir::Graph graph_of(const Body& body) {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", {ir::DType::kF32, {4, 4}});
  const ir::Value w = b.input("w", {ir::DType::kF32, {4, 4}});
  b.output("y", body(b, x, w));
  return b.finish().value();
}

const rules::AdmittedRules& proven_rules() {
  static const rules::AdmittedRules rules = rules::AdmittedRules::select("default").value();
  return rules;
}

EqualityProof proof_of(const ir::Graph& a, const ir::Graph& b) {
  auto proof = prove_equal(a, b, proven_rules(), {.pair_seconds = 5, .threads = 1});
  EXPECT_TRUE(proof.ok()) << proof.status().message();
  return std::move(proof).value_or(EqualityProof());
}

// A tensor of other elements with the same hash: base/hash.h absorbs blocks of 16 bytes one after
// the other, so a second block can undo what the first one changed.
ir::Tensor forged(const ir::Tensor& tensor) {
  const auto rotate = [](std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); };
  const auto inverse = [](std::uint64_t odd) {  // modulo 2^64, by Newton's iteration
    std::uint64_t x = odd;
    for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
    return x;
  };
  constexpr std::uint64_t kA = 0x87c37b91114253d5ULL;
  constexpr std::uint64_t kB = 0x4cf5ad432745937fULL;
  std::vector<std::uint64_t> words(static_cast<std::size_t>(tensor.bytes()) / 8);
  std::memcpy(words.data(), tensor.data().data(), static_cast<std::size_t>(tensor.bytes()));
  const std::uint64_t seed = 0x45677265742d3031ULL;
  std::uint64_t a = base::mix(seed ^ static_cast<std::uint64_t>(tensor.bytes()));
  std::uint64_t b = base::mix(seed + 0xd6e8feb86659fd93ULL);
  const auto step = [&](std::uint64_t& s, std::uint64_t& t, std::uint64_t x, std::uint64_t y) {
    s = rotate((s ^ x) * kA, 31) + t;
    t = rotate((t ^ y) * kB, 33) + s;
  };
  std::uint64_t after_a = a;
  std::uint64_t after_b = b;
  step(after_a, after_b, words[0], words[1]);
  step(after_a, after_b, words[2], words[3]);
  words[0] ^= std::uint64_t{1} << 31;  // the sign of the first element
  step(a, b, words[0], words[1]);
  words[2] = a ^ (rotate(after_a - b, 64 - 31) * inverse(kA));
  words[3] = b ^ (rotate(after_b - after_a, 64 - 33) * inverse(kB));
  ir::Tensor made = tensor;
  std::memcpy(made.mutable_data().data(), words.data(), words.size() * 8);
  return made;
}

TEST(EqualityProof, IsNotForOtherConstantsOfTheSameHash) {
  base::Random random(1);
  const ir::Tensor own = ir::Tensor::random({ir::DType::kF32, {4, 4}}, random);
  const ir::Tensor other = forged(own);
  ASSERT_EQ(own.content_hash(), other.content_hash());
  ASSERT_FALSE(std::ranges::equal(own.data(), other.data()));
  const auto program = [](const ir::Tensor& data, bool reversed) {
    return graph_of([&](ir::GraphBuilder& b, ir::Value x, ir::Value) {
      const ir::Value c = b.constant(data, "c");
      return reversed ? b.add("add", {c, x}) : b.add("add", {x, c});
    });
  };
  EXPECT_EQ(proof_of(program(own, false), program(own, false)).verdict, Verdict::kProven);
  EXPECT_NE(proof_of(program(own, false), program(other, false)).verdict, Verdict::kProven);
  // By rules.
  EXPECT_EQ(proof_of(program(own, false), program(own, true)).verdict, Verdict::kProven);
  EXPECT_NE(proof_of(program(own, false), program(other, true)).verdict, Verdict::kProven);
}

// Consumers find values by name.
TEST(EqualityProof, IsNotForTheSameNamesInAnotherOrder) {
  const auto program = [](const char* first, const char* second) {
    ir::GraphBuilder b;
    const ir::Value x = b.input("x", {ir::DType::kF32, {4, 4}});
    b.output(first, b.add("neg", {x}));
    b.output(second, b.add("relu", {x}));
    return b.finish().value();
  };
  EXPECT_EQ(proof_of(program("a", "b"), program("c", "d")).verdict, Verdict::kProven);
  const auto swapped = prove_equal(program("a", "b"), program("b", "a"), proven_rules(), {});
  EXPECT_EQ(swapped.status().code(), base::StatusCode::kMismatch);
  EXPECT_THAT(swapped.status().message(), HasSubstr("the same outputs in another order"));
}

// The same long program in two forms: a transposed product, and a sum in another order.
TEST(EqualityProof, ProvesAProgramThatWasRewritten) {
  const auto program = [](bool rewritten) {
    return graph_of([&](ir::GraphBuilder& b, ir::Value x, ir::Value w) {
      for (int i = 0; i < 20; ++i) {
        const ir::Value product = b.add("matmul", {x, w});
        x = b.add("tanh", {rewritten ? b.add("add", {x, product}) : b.add("add", {product, x})});
      }
      return x;
    });
  };
  const EqualityProof proof = proof_of(program(false), program(true));
  EXPECT_EQ(proof.verdict, Verdict::kProven);
  EXPECT_EQ(proof.values, 60);
  EXPECT_EQ(proof.same + proof.by_rules, 60);
  EXPECT_EQ(proof.by_rules, 20);
  EXPECT_THAT(proof.term_b, IsEmpty());
}

TEST(EqualityProof, NamesTheSmallestPairThatDiffers) {
  const auto graph = [](const char* function) {
    return graph_of([&](ir::GraphBuilder& b, ir::Value x, ir::Value w) {
      x = b.add("matmul", {x, w});
      x = b.add(function, {b.add("add", {x, w})});
      return b.add("exp", {b.add("tanh", {b.add("add", {x, w})})});
    });
  };
  const EqualityProof proof = proof_of(graph("relu"), graph("neg"));
  EXPECT_EQ(proof.verdict, Verdict::kDifferent);
  EXPECT_THAT(proof.term_a, HasSubstr("relu"));
  EXPECT_THAT(proof.term_b, HasSubstr("neg"));
  for (const std::string& term : {proof.term_a, proof.term_b}) {
    EXPECT_THAT(term, testing::Not(HasSubstr("tanh")));
    EXPECT_THAT(term, testing::Not(HasSubstr("matmul")));
  }
}

// ONNX Runtime and others drop inputs that nothing reads, or leave them over.
TEST(EqualityProof, LeavesOutInputsThatOneGraphAloneHasAndDoesNotRead) {
  const auto graph = [](bool with_mask, bool reads_mask) {
    ir::GraphBuilder b;
    ir::Value mask{};
    if (with_mask) mask = b.input("mask", {ir::DType::kF32, {4}});
    const ir::Value x = b.input("x", {ir::DType::kF32, {4}});
    b.output("y", b.add("relu", {reads_mask ? b.add("add", {x, mask}) : x}));
    return b.finish().value();
  };
  const EqualityProof dropped = proof_of(graph(true, false), graph(false, false));
  EXPECT_EQ(dropped.verdict, Verdict::kProven);
  EXPECT_THAT(dropped.unused_inputs, testing::ElementsAre("mask"));
  EXPECT_EQ(proof_of(graph(false, false), graph(true, false)).verdict, Verdict::kProven);
  EXPECT_THAT(proof_of(graph(true, false), graph(true, false)).unused_inputs, IsEmpty());
  const auto read = prove_equal(graph(true, true), graph(false, false), proven_rules(), {});
  EXPECT_EQ(read.status().code(), base::StatusCode::kMismatch);
}

// The value of B is in a pair with one of A's two nodes; what reads the other has the same proof.
TEST(EqualityProof, ProvesProgramsOfWhichOneComputesAValueTwice) {
  const auto product = [](ir::GraphBuilder& b, ir::Value x, ir::Value w) {
    return b.add("exp", {b.add("matmul", {x, w})});
  };
  const ir::Graph twice = graph_of([&](ir::GraphBuilder& b, ir::Value x, ir::Value w) {
    const ir::Value one = product(b, x, w), other = product(b, x, w);
    return b.add("add", {b.add("matmul", {one, w}), b.add("matmul", {other, x})});
  });
  const ir::Graph once = graph_of([&](ir::GraphBuilder& b, ir::Value x, ir::Value w) {
    const ir::Value one = product(b, x, w);
    return b.add("add", {b.add("matmul", {one, x}), b.add("matmul", {one, w})});
  });
  EXPECT_EQ(proof_of(twice, once).verdict, Verdict::kProven);
  EXPECT_EQ(proof_of(once, twice).verdict, Verdict::kProven);
}

TEST(EqualityProof, IsOfTheSameGraphWithoutRules) {
  const ir::Graph graph = graph_of([](ir::GraphBuilder& b, ir::Value x, ir::Value w) {
    return b.add("relu", {b.add("matmul", {x, w})});
  });
  const EqualityProof proof = proof_of(graph, graph);
  EXPECT_EQ(proof.verdict, Verdict::kProven);
  EXPECT_EQ(proof.same, 2);
  EXPECT_EQ(proof.by_rules, 0);
}

TEST(EqualityProof, FindsADifference) {
  const EqualityProof proof = proof_of(graph_of([](ir::GraphBuilder& b, ir::Value x, ir::Value w) {
                                         return b.add("relu", {b.add("matmul", {x, w})});
                                       }),
                                       graph_of([](ir::GraphBuilder& b, ir::Value x, ir::Value w) {
                                         return b.add("relu", {b.add("matmul", {w, x})});
                                       }));
  EXPECT_EQ(proof.verdict, Verdict::kDifferent);
  EXPECT_EQ(proof.output, "y");
  EXPECT_GT(proof.difference, 0.01);
}

ir::Tensor constant_of(double value) {
  ir::Tensor tensor({ir::DType::kF32, {4, 4}});
  for (int i = 0; i < 16; ++i) tensor.set_f64(i, value * (1 + i));
  return tensor;
}

// Another tool stores the product of two constants, rounded to f32.
TEST(EqualityProof, TakesConstantsThatWereFolded) {
  const auto scaled = [](double by, bool folded) {
    return graph_of([&](ir::GraphBuilder& b, ir::Value x, ir::Value w) {
      const ir::Value product = b.add("matmul", {x, w});
      const ir::Value third = b.constant(constant_of(1.0 / 3));
      if (folded) return b.add("mul", {product, b.constant(constant_of(by / 3))});
      const ir::Value factor = b.constant(ir::Tensor::filled({ir::DType::kF32, {4, 4}}, by));
      return b.add("mul", {b.add("mul", {product, factor}), third});
    });
  };
  const EqualityProof proof = proof_of(scaled(0.1, false), scaled(0.1, true));
  EXPECT_EQ(proof.verdict, Verdict::kProven);
  EXPECT_GE(proof.folded, 1);
  // Within what random inputs tell apart, and beyond rounding.
  EXPECT_EQ(proof_of(scaled(0.1, false), scaled(0.1 * (1 + 5e-6), true)).verdict,
            Verdict::kUndecided);
}

// Between 0 and 1, no square is larger: no rule knows. The terms are over what is proven.
TEST(EqualityProof, NamesTheSmallestPairWithoutAProof) {
  const auto program = [](bool clipped) {
    return graph_of([&](ir::GraphBuilder& b, ir::Value x, ir::Value w) {
      ir::Value y = b.add("sigmoid", {b.add("matmul", {x, w})});
      if (clipped) y = b.add("max", {b.add("mul", {y, y}), y});
      return b.add("tanh", {y});
    });
  };
  const EqualityProof proof = proof_of(program(false), program(true));
  EXPECT_EQ(proof.verdict, Verdict::kUndecided);
  EXPECT_EQ(proof.output, "y");
  EXPECT_THAT(proof.term_b, HasSubstr("max"));
  EXPECT_THAT(proof.term_b, Not(HasSubstr("matmul")));
  EXPECT_EQ(proof.same, 2);
}

TEST(EqualityProof, NeedsTheSameTypes) {
  ir::GraphBuilder b;
  b.output("y", b.add("relu", {b.input("x", {ir::DType::kF32, {4, 4}})}));
  const ir::Graph other = b.finish().value();
  const auto proof = prove_equal(graph_of([](ir::GraphBuilder& g, ir::Value x, ir::Value w) {
                                   return g.add("add", {x, w});
                                 }),
                                 other, proven_rules(), {});
  EXPECT_EQ(proof.status().code(), base::StatusCode::kMismatch);
}

// A wrong claim by tests alone would be proven: a pair that agrees on the drawn inputs by chance
// still needs a proof.
TEST(EqualityProof, AgreementOnInputsIsNoProof) {
  const EqualityProof proof = proof_of(
      graph_of([](ir::GraphBuilder& b, ir::Value x, ir::Value) { return b.add("relu", {x}); }),
      graph_of([](ir::GraphBuilder& b, ir::Value x, ir::Value) {
        // Inputs beyond 1000 are not drawn.
        return b.add("min", {b.add("relu", {x}), b.scalar(ir::DType::kF32, 1000)});
      }));
  EXPECT_EQ(proof.verdict, Verdict::kUndecided);
}

}  // namespace
}  // namespace egret::driver
