// SPDX-License-Identifier: Apache-2.0
#include "verifier/solver/solver_session.h"

#include <algorithm>
#include <utility>

#include "base/thread_clock.h"

namespace egret::verifier {
namespace {

std::string_view smt_status(Answer answer) {
  switch (answer) {
    case Answer::kUnsatisfiable: return "unsat";
    case Answer::kSatisfiable: return "sat";
    case Answer::kUnknown: return "unknown";
  }
  return "";
}

std::string script_of(const Query& query, Answer answer) {
  return "(set-info :status " + std::string(smt_status(answer)) + ")\n" + query.to_smt_lib();
}

}  // namespace

void add(SolverStatistics& to, const SolverStatistics& from) {
  to.queries += from.queries;
  to.remembered += from.remembered;
  to.contradictions += from.contradictions;
  to.confirmed += from.confirmed;
  to.unconfirmed += from.unconfirmed;
  to.disagreed += from.disagreed;
  to.longest_seconds = std::max(to.longest_seconds, from.longest_seconds);
  to.most_work = std::max(to.most_work, from.most_work);
}

SolverSession::SolverSession(Options options, std::unique_ptr<Solver> first,
                             std::unique_ptr<Solver> second)
    : options_(options), first_(std::move(first)), second_(std::move(second)) {}

// Each query is asked once per session. Its result is "contradictory" only if the solver says
// "unsatisfiable"; a second solver repeats such queries, because proofs rest on them.
bool SolverSession::contradictory(const Query& query, unsigned limit) {
  const auto [known, is_new] = known_.emplace(query.key(), false);
  if (!is_new) {
    ++statistics_.remembered;
    return known->second;
  }
  const base::ThreadStopwatch watch;
  const SolverAnswer answer = ask(query, limit, known->first);
  count(query, answer, watch.seconds());
  known->second = answer.answer == Answer::kUnsatisfiable;
  if (known->second) use_contradiction(query, limit);
  return known->second;
}

SolverSession::Finding SolverSession::find(const Query& query, unsigned limit, bool proves) {
  const base::ThreadStopwatch watch;
  // The numbers must not depend on earlier queries.
  const std::unique_ptr<Solver> fresh = first_->fresh();
  Solver* const solver = fresh != nullptr ? fresh.get() : first_.get();
  const Answer answer = solver->ask(query, limit);
  count(query, {answer, solver->work()}, watch.seconds());
  if (answer == Answer::kUnsatisfiable && proves) use_contradiction(query, limit);
  if (answer != Answer::kSatisfiable) return {answer};
  return {answer, solver->numbers()};
}

void SolverSession::count(const Query& query, const SolverAnswer& answer, double seconds) {
  ++statistics_.queries;
  statistics_.longest_seconds = std::max(statistics_.longest_seconds, seconds);
  statistics_.most_work = std::max(statistics_.most_work, answer.work);
  if (options_.keep_queries) queries_.push_back(script_of(query, answer.answer));
}

void SolverSession::use_contradiction(const Query& query, unsigned limit) {
  ++statistics_.contradictions;
  if (options_.on_contradiction) options_.on_contradiction(query);
  if (options_.second_opinion) ask_again(query, limit);
}

// Looks for the answer in the memory of earlier sessions, then among the easy integer queries that
// sessions share. Asks the solver last.
SolverAnswer SolverSession::ask(const Query& query, unsigned limit, const std::string& key) {
  const auto anew = [&] {
    const Answer answer = first_->ask(query, limit);
    return SolverAnswer{answer, first_->work()};
  };
  const SolverQuestion question{base::content_hash(key), limit};
  const auto easy_or_anew = [&] {
    EasyAnswers* const easy = query.sort() == Query::Sort::kInteger ? options_.easy : nullptr;
    if (easy == nullptr) return anew();
    if (const auto known = easy->find(question)) return *known;
    const SolverAnswer answer = anew();
    easy->record(question, answer);
    return answer;
  };
  if (options_.memory == nullptr) return easy_or_anew();
  const auto [known, is_new] = options_.memory->try_emplace(question);
  if (is_new) known->second = easy_or_anew();
  return known->second;
}

// Only a satisfiable answer contradicts the first solver. The first such query is kept as the
// disagreement.
void SolverSession::ask_again(const Query& query, unsigned limit) {
  switch (second_ != nullptr ? second_->ask(query, limit) : Answer::kUnknown) {
    case Answer::kUnsatisfiable: ++statistics_.confirmed; break;
    case Answer::kUnknown: ++statistics_.unconfirmed; break;
    case Answer::kSatisfiable:
      if (statistics_.disagreed++ == 0) disagreement_ = script_of(query, Answer::kUnsatisfiable);
  }
}

}  // namespace egret::verifier
