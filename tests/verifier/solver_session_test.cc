// SPDX-License-Identifier: Apache-2.0
#include "verifier/solver/solver_session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

namespace egret::verifier {
namespace {

constexpr unsigned kLimit = 1'000'000;

// 2 x == 2 y + 1, or == 2 y + 2.
void ask_parity(Query& query, const char* x, const char* y, std::int64_t excess) {
  const Expression two = query.number(2);
  query.add(two * query.unknown(x) == two * query.unknown(y) + query.number(excess));
}

TEST(SolverSession, KnowsContradictionsFromWhatMayHold) {
  SolverSession session;
  Query odd(Query::Sort::kInteger);
  ask_parity(odd, "x", "y", 1);
  EXPECT_TRUE(session.contradictory(odd, kLimit));
  Query even(Query::Sort::kInteger);
  ask_parity(even, "x", "y", 2);
  EXPECT_FALSE(session.contradictory(even, kLimit));
  EXPECT_EQ(session.statistics().queries, 2);
  EXPECT_EQ(session.statistics().contradictions, 1);
  EXPECT_GT(session.statistics().most_work, 0U);
}

TEST(SolverSession, RemembersAnswersWhateverUnknownsAreCalled) {
  SolverSession session;
  for (const char* name : {"x", "z"}) {
    Query query(Query::Sort::kInteger);
    ask_parity(query, name, "y", 1);
    EXPECT_TRUE(session.contradictory(query, kLimit));
  }
  EXPECT_EQ(session.statistics().queries, 1);
  EXPECT_EQ(session.statistics().remembered, 1);
  // Two unknowns are not one.
  Query same(Query::Sort::kInteger);
  ask_parity(same, "x", "x", 1);
  EXPECT_TRUE(session.contradictory(same, kLimit));
  EXPECT_EQ(session.statistics().queries, 2);
}

TEST(SolverSession, DoesNotTakeRealsForIntegers) {
  SolverSession session;
  Query integers(Query::Sort::kInteger);
  ask_parity(integers, "x", "y", 1);
  Query reals(Query::Sort::kReal);
  ask_parity(reals, "x", "y", 1);
  EXPECT_TRUE(session.contradictory(integers, kLimit));
  EXPECT_FALSE(session.contradictory(reals, kLimit));
}

TEST(SolverSession, GivesUpAtItsLimitOfWork) {
  SolverSession session;
  Query query(Query::Sort::kInteger);
  ask_parity(query, "x", "y", 1);
  EXPECT_FALSE(session.contradictory(query, 1));
}

TEST(SolverSession, WritesSmtLib) {
  SolverSession session({.keep_queries = true});
  Query query(Query::Sort::kReal);
  const Expression x = query.unknown("x");
  const Expression least = query.number("-3/4");
  const Expression larger = if_else(x < least, least, x);
  query.add(larger + larger < x && !(x == 0));
  session.contradictory(query, kLimit);
  ASSERT_EQ(session.queries().size(), 1U);
  EXPECT_EQ(session.queries()[0],
            "(set-info :status sat)\n(set-logic QF_NRA)\n(declare-fun |x| () Real)\n"
            "(define-fun .n3 () Real (ite (< |x| (- (/ 3.0 4.0))) (- (/ 3.0 4.0)) |x|))\n"
            "(assert (and (< (+ .n3 .n3) |x|) (not (= |x| 0.0))))\n(check-sat)\n");
}

// Gives one answer to all questions.
class Oracle final : public Solver {
 public:
  explicit Oracle(Answer answer) : answer_(answer) {}
  std::string_view name() const override { return "oracle"; }
  Answer ask(const Query&, unsigned) override { return answer_; }
  std::uint64_t work() const override { return 1; }

 private:
  Answer answer_;
};

SolverSession session_of(Answer first, Answer second) {
  return {
      {.second_opinion = true}, std::make_unique<Oracle>(first), std::make_unique<Oracle>(second)};
}

TEST(SolverSession, TakesFromAMemoryWhatAnEarlierOneWasTold) {
  SolverMemory memory;
  const auto session_with = [&](Answer answer) {
    return SolverSession({.memory = &memory}, std::make_unique<Oracle>(answer), nullptr);
  };
  Query query(Query::Sort::kInteger);
  ask_parity(query, "x", "y", 1);
  SolverSession first = session_with(Answer::kUnsatisfiable);
  EXPECT_TRUE(first.contradictory(query, kLimit));
  SolverSession second = session_with(Answer::kSatisfiable);
  EXPECT_TRUE(second.contradictory(query, kLimit));
  EXPECT_EQ(second.statistics().queries, 1);
  EXPECT_EQ(second.statistics().most_work, 1U);
  // With another limit the solver might find more.
  SolverSession third = session_with(Answer::kSatisfiable);
  EXPECT_FALSE(third.contradictory(query, 2 * kLimit));
}

TEST(SolverSession, TakesFromOthersWhatWasEasy) {
  EasyAnswers easy;
  const auto says = [&](Query& query, Answer answer, unsigned limit) {
    return SolverSession({.easy = &easy}, std::make_unique<Oracle>(answer), nullptr)
        .contradictory(query, limit);
  };
  // The oracle's answers take one unit of work.
  constexpr unsigned kPlenty = 8;
  Query query(Query::Sort::kInteger);
  ask_parity(query, "x", "y", 1);
  EXPECT_TRUE(says(query, Answer::kUnsatisfiable, kPlenty - 1));
  EXPECT_FALSE(says(query, Answer::kSatisfiable, kPlenty - 1)) << "it was not easy";
  EXPECT_FALSE(says(query, Answer::kUnknown, kPlenty));
  EXPECT_TRUE(says(query, Answer::kUnsatisfiable, kPlenty)) << "nothing was found out";
  Query renamed(Query::Sort::kInteger);
  ask_parity(renamed, "a", "b", 1);
  EXPECT_TRUE(says(renamed, Answer::kSatisfiable, kPlenty));
  EXPECT_FALSE(says(renamed, Answer::kSatisfiable, 2 * kPlenty)) << "another limit";
  Query real(Query::Sort::kReal);
  ask_parity(real, "x", "y", 1);
  EXPECT_TRUE(says(real, Answer::kUnsatisfiable, kPlenty));
  EXPECT_FALSE(says(real, Answer::kSatisfiable, kPlenty)) << "reals are asked anew";
}

TEST(SolverSession, KeepsTheQueryOnWhichSolversDisagree) {
  SolverSession session = session_of(Answer::kUnsatisfiable, Answer::kSatisfiable);
  Query query(Query::Sort::kInteger);
  ask_parity(query, "x", "y", 1);
  session.contradictory(query, kLimit);
  EXPECT_EQ(session.statistics().disagreed, 1);
  EXPECT_EQ(session.statistics().confirmed, 0);
  EXPECT_NE(session.disagreement().find("(set-info :status unsat)"), std::string::npos);
  EXPECT_NE(session.disagreement().find("|x|"), std::string::npos);
}

TEST(SolverSession, CountsWhatTheSecondSolverDoesNotFindOut) {
  SolverSession session = session_of(Answer::kUnsatisfiable, Answer::kUnknown);
  Query query(Query::Sort::kInteger);
  ask_parity(query, "x", "y", 1);
  EXPECT_TRUE(session.contradictory(query, kLimit));
  EXPECT_EQ(session.statistics().unconfirmed, 1);
  EXPECT_TRUE(session.disagreement().empty());
}

// A proof uses only that facts contradict each other.
TEST(SolverSession, AsksASecondSolverOfContradictionsAlone) {
  for (const Answer answer : {Answer::kSatisfiable, Answer::kUnknown}) {
    SolverSession session = session_of(answer, Answer::kUnsatisfiable);
    Query query(Query::Sort::kInteger);
    ask_parity(query, "x", "y", 1);
    EXPECT_FALSE(session.contradictory(query, kLimit));
    EXPECT_EQ(session.statistics().confirmed, 0);
    EXPECT_EQ(session.statistics().disagreed, 0);
  }
}

class SecondOpinion : public testing::Test {
 protected:
  void SetUp() override {
    if (make_cvc5() == nullptr) GTEST_SKIP() << "built without cvc5";
  }
};

TEST_F(SecondOpinion, ConfirmsContradictionsOfIntegersAndReals) {
  SolverSession session({.second_opinion = true});
  Query integers(Query::Sort::kInteger);
  ask_parity(integers, "x", "y", 1);
  EXPECT_TRUE(session.contradictory(integers, kLimit));
  Query reals(Query::Sort::kReal);
  const Expression x = reals.unknown("x");
  reals.add(x * x < reals.number("-1/2") || (x < reals.number(0) && 0 < x));
  EXPECT_TRUE(session.contradictory(reals, kLimit));
  EXPECT_EQ(session.statistics().confirmed, 2);
  EXPECT_EQ(session.statistics().disagreed, 0);
}

TEST_F(SecondOpinion, ReadsEveryOperationAsZ3Does) {
  // For small numbers all formulas of one operation, decided by both.
  const auto solvers = {make_z3(), make_cvc5()};
  using Op = Query::Op;
  for (const Op op : {Op::kSum, Op::kProduct, Op::kLess, Op::kLessEqual, Op::kEqual, Op::kImplies,
                      Op::kAnd, Op::kOr, Op::kIf}) {
    for (int a = -1; a <= 1; ++a) {
      for (int b = -1; b <= 1; ++b) {
        std::vector<Answer> answers;
        for (const auto& solver : solvers) {
          Query query(Query::Sort::kInteger);
          const Expression x = query.number(a);
          const Expression y = query.number(b);
          const bool of_truths = op == Op::kImplies || op == Op::kAnd || op == Op::kOr;
          const Expression both[] = {of_truths ? 0 < x : x, of_truths ? 0 < y : y};
          if (op == Op::kSum || op == Op::kProduct) {
            query.add(query.make(op, both) == query.number(1));
          } else if (op == Op::kIf) {
            query.add(if_else(0 < x, y, query.unknown("z")) == query.number(1));
          } else {
            query.add(!query.make(op, both));
          }
          answers.push_back(solver->ask(query, kLimit));
        }
        EXPECT_EQ(answers[0], answers[1]) << static_cast<int>(op) << " of " << a << ", " << b;
        EXPECT_NE(answers[0], Answer::kUnknown);
      }
    }
  }
}

std::atomic<int> noticed{0};
extern "C" void notice(int /*signal*/) { ++noticed; }

// A solver that puts a handler of its own in the place of the program's takes interruptions from
// it, and leaves a handler behind if several threads solve.
TEST(SolverSession, LeavesTheHandlerOfInterruptionsAlone) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = notice;
  ASSERT_EQ(sigaction(SIGINT, &action, &before), 0);
  std::atomic<bool> ended{false};
  const auto solve = [&] {
    for (std::int64_t i = 0; !ended; ++i) {
      SolverSession session;
      Query query(Query::Sort::kInteger);
      ask_parity(query, "x", "y", i);
      (void)session.contradictory(query, kLimit);
    }
  };
  std::thread one(solve);
  std::thread other(solve);
  constexpr int kSignals = 200;
  for (int sent = 1; sent <= kSignals; ++sent) {
    std::raise(SIGINT);  // handled before it returns
    EXPECT_EQ(noticed, sent);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ended = true;
  one.join();
  other.join();
  ASSERT_EQ(sigaction(SIGINT, &before, &action), 0);
  EXPECT_EQ(action.sa_handler, notice);
}

}  // namespace
}  // namespace egret::verifier
