// SPDX-License-Identifier: Apache-2.0
#include "ir/core/symbolic_scope.h"

#include <gtest/gtest.h>

#include "ir/graph/open_text.h"
#include "ir/graph/operator.h"

namespace egret::ir {
namespace {

std::vector<std::string> conditions(const SymbolicScope& scope) {
  std::vector<std::string> all;
  for (const Guard& condition : scope.conditions()) all.push_back(to_string(condition));
  return all;
}

TEST(SymbolicScope, NotesWhatWasDecidedOnce) {
  SymbolicScope scope;
  const Index n = scope.symbol("N", 3);
  EXPECT_TRUE(scope.decide(n <= 4));
  EXPECT_TRUE(scope.decide(n <= 4));
  EXPECT_FALSE(scope.decide(n == 4));
  EXPECT_EQ(scope.conditions().size(), 2U);
  EXPECT_TRUE(scope.decide(Index(1) <= Index(2)));
  EXPECT_EQ(scope.conditions().size(), 2U);
}

TEST(SymbolicScope, NotesOfAlternativesTheOneThatHolds) {
  SymbolicScope scope;
  const Index n = scope.symbol("N", 3);
  EXPECT_TRUE(scope.decide(n == 0 || (n >= 2 && n <= 3)));
  EXPECT_EQ(conditions(scope), (std::vector<std::string>{"2 <= N", "N <= 3"}));
}

TEST(SymbolicScope, LetsIntegersStandForExpressions) {
  SymbolicScope scope;
  const Index n = scope.symbol("N", 3);
  const std::int64_t stands = scope.integer_of(n * 2);
  EXPECT_TRUE(is_symbolic(stands));
  EXPECT_TRUE(index_of_integer(stands).same(n * 2));
  EXPECT_EQ(scope.integer_of(n * 2), stands);
  EXPECT_EQ(scope.integer_of(7), 7);
  EXPECT_FALSE(is_symbolic(7));
  // Asked for as a number it is what the example has, which is noted.
  EXPECT_EQ(concrete_integer(stands), 6);
  EXPECT_EQ(scope.conditions().size(), 1U);
}

// A number of a model or a certificate is never read as an expression.
TEST(SymbolicScope, RefusesNumbersThatStandForExpressions) {
  SymbolicScope scope({}, [](Guard) { return std::nullopt; });
  const std::int64_t stands = scope.integer_of(scope.symbol("N", 3) * 2);
  const std::string number = std::to_string(stands);
  EXPECT_FALSE(scope.take_undecided());
  scope.integer_of(Index(stands));
  EXPECT_TRUE(scope.take_undecided());
  for (const std::string& text : {number, "[1, " + number + "]", "[N, " + number + "]"})
    EXPECT_EQ(parse_open_attr(text).status().code(), base::StatusCode::kBadInput) << text;
  EXPECT_TRUE(parse_open_attr("[1, 2*N]").ok());
  EXPECT_TRUE(parse_open_attr("5").ok());
}

// A flag that depends on sizes is no flag that is set.
TEST(SymbolicScope, NotesFlagsThatAreNotDecided) {
  SymbolicScope scope({}, [](Guard) { return std::nullopt; });
  const Index n = scope.symbol("N", 1);
  const Attrs attrs{{"keepdims", scope.integer_of(n - 1)}};
  EXPECT_FALSE(attrs.flag("keepdims"));  // the example's
  EXPECT_TRUE(scope.take_undecided());
  EXPECT_TRUE(Attrs({{"keepdims", std::int64_t{1}}}).flag("keepdims"));
  EXPECT_FALSE(scope.take_undecided());
}

TEST(SymbolicScope, EndsWithItsLife) {
  std::int64_t stands = 0;
  {
    SymbolicScope scope;
    stands = scope.integer_of(scope.symbol("N", 3));
    EXPECT_TRUE(is_symbolic(stands));
  }
  EXPECT_FALSE(is_symbolic(stands));
  EXPECT_EQ(SymbolicScope::current(), nullptr);
}

TEST(SymbolicScope, BroadcastsAsTheExampleDoes) {
  SymbolicScope scope;
  const Index n = scope.symbol("N", 3);
  const Index one = scope.symbol("E", 1);
  const TensorType types[] = {{DType::kF32, Dims{n}}, {DType::kF32, Dims{one}}};
  const auto d = denote(get_operator("add"), {}, types);
  ASSERT_TRUE(d.ok()) << d.status().message();
  EXPECT_EQ(to_string(d->value), "in0[i0] + in1[0]");
  EXPECT_EQ(conditions(scope),
            (std::vector<std::string>{"not (E == N)", "not (N == 1)", "E == 1"}));
}

// Dimensions of a process share a pool; what was made first must not show.
TEST(SymbolicScope, WritesExpressionsAloneOfWhatWasMadeBefore) {
  const Index late = symbolic_dim("order b");
  const Index early = symbolic_dim("order a");
  const Index sum = late * early + late;
  EXPECT_EQ(to_string(late * early), "\"order a\"*\"order b\"");
  EXPECT_EQ(to_string(sum), "\"order b\" + \"order a\"*\"order b\"");
  EXPECT_TRUE((early * late).same(late * early));
  EXPECT_TRUE((late + early * late).same(sum));
  EXPECT_EQ(to_string(min(late + 1, early)), "min(\"order a\", \"order b\" + 1)");
}

TEST(SymbolicScope, MakesAttributesSymbolic) {
  SymbolicScope scope;
  const Index n = scope.symbol("N", 5);
  const Index start = scope.symbol("S", 1);
  Attrs attrs{{"axis", std::int64_t{0}},
              {"start", scope.integer_of(start)},
              {"size", std::int64_t{2}},
              {"step", std::int64_t{2}}};
  const TensorType types[] = {{DType::kF32, Dims{n}}};
  const auto d = denote(get_operator("slice"), attrs, types);
  ASSERT_TRUE(d.ok()) << d.status().message();
  EXPECT_EQ(to_string(d->value), "in0[S + i0*2]");
}

TEST(SymbolicScope, RefusesWhatTheExampleRefuses) {
  SymbolicScope scope;
  const Index n = scope.symbol("N", 3);
  const Index m = scope.symbol("M", 2);
  const TensorType types[] = {{DType::kF32, Dims{n}}, {DType::kF32, Dims{m}}};
  EXPECT_FALSE(denote(get_operator("add"), {}, types).ok());
}

}  // namespace
}  // namespace egret::ir
