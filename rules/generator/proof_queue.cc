// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/proof_queue.h"

#include <algorithm>
#include <functional>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/system/thread_pool.h"

namespace egret::rules::generator {
namespace {

// Whether the other direction says the same, or only makes terms grow.
bool says_both_ways(const Rule& rule) {
  Rule back = rule;
  std::swap(back.sources.front().term, back.targets.front().term);
  if (content_hash(back) == content_hash(rule)) return true;
  bool inside = false;
  const std::string whole = to_string(rule, rule.targets.front().term);
  for_each_subterm(rule.sources.front().term,
                   [&](const Term& part) { inside = inside || to_string(rule, part) == whole; });
  return inside;
}

// Without instances nothing is known of the first; the other direction may be easier to draw.
bool leaves_back_open(const std::optional<Generalized>& made) {
  if (is_proven(made)) return !says_both_ways(made->rule);
  return !made ||
         (made->verdict.families == 0 && made->verdict.status == Verdict::Status::kUndecided);
}

}  // namespace

bool is_proven(const std::optional<Generalized>& made) {
  return made && made->verdict.status == Verdict::Status::kProven;
}

Equality turned(const Equality& equality) { return {equality.right, equality.left}; }

const std::optional<Generalized>& BothWays::proven() const { return is_proven(made) ? made : back; }

ProofQueue::ProofQueue(std::size_t threads, Prove prove) : prove_(std::move(prove)) {
  for (std::size_t i = 0; threads > 1 && i < threads; ++i) {
    try {
      workers_.emplace_back([this](const std::stop_token& stop) { work(stop); });
    } catch (const std::system_error&) {
      break;  // the machine grants no more threads; fewer do the same work
    }
  }
}

ProofQueue::~ProofQueue() {
  for (std::jthread& worker : workers_) worker.request_stop();
}

void ProofQueue::begin(const std::vector<Equality>& candidates) {
  {
    const std::lock_guard lock(mutex_);
    EGRET_CHECK(waves_.size() < 2, "two waves at most are under way");
    Wave& wave = waves_.emplace_back();
    for (const Equality& candidate : candidates) {
      // A job that was begun ahead is adopted: its result is reused, or it moves to the wanted
      // queue.
      const auto foreseen = foreseen_jobs_.find(Key(candidate.left, candidate.right));
      if (foreseen == foreseen_jobs_.end()) {
        wave.push_back(std::make_shared<Job>(Job{candidate, true}));
        wanted_.push_back({wave.back()});
        continue;
      }
      wave.push_back(foreseen->second);
      foreseen_jobs_.erase(foreseen);
      wave.back()->wanted = true;
      const auto waits = std::ranges::find(foreseen_, wave.back(), &Piece::job);
      if (waits == foreseen_.end()) continue;  // under way, or done
      wanted_.push_back(*waits);
      foreseen_.erase(waits);
    }
  }
  changed_.notify_all();
}

std::vector<BothWays> ProofQueue::finish(const Foresee& foresee) {
  std::unique_lock lock(mutex_);
  EGRET_CHECK(!waves_.empty(), "a wave was begun");
  const auto is_done = [&] { return std::ranges::all_of(waves_.front(), &Job::done); };
  bool may_foresee = foresee != nullptr;
  std::optional<std::uint64_t> asked_at;  // what is foreseen changes with what is under way
  while (!is_done()) {
    if (workers_.empty()) {
      run(*next_piece(), lock);
    } else if (may_foresee && is_short() && asked_at != events_) {
      asked_at = events_;
      lock.unlock();
      const std::vector<Equality> candidates = foresee();
      may_foresee = !candidates.empty();
      lock.lock();
      set_foreseen(candidates);
    } else {
      changed_.wait(lock);
    }
  }
  const Wave done = std::move(waves_.front());
  waves_.pop_front();
  std::vector<BothWays> proofs;
  for (const std::shared_ptr<Job>& job : done) {
    if (job->failure) std::rethrow_exception(job->failure);
    proofs.push_back(std::move(job->proofs));
  }
  return proofs;
}

ProofQueue::Foreseen ProofQueue::foreseen(const Equality& candidate) {
  const std::lock_guard lock(mutex_);
  const auto found = foreseen_jobs_.find(Key(candidate.left, candidate.right));
  if (found == foreseen_jobs_.end()) return Foreseen::kNo;
  return found->second->begun ? Foreseen::kBegun : Foreseen::kWaits;
}

void ProofQueue::set_foreseen(const std::vector<Equality>& candidates) {
  const auto begun = [](const auto& entry) { return entry.second->begun; };
  std::erase_if(foreseen_, [](const Piece& piece) { return !piece.job->begun; });
  std::erase_if(foreseen_jobs_, std::not_fn(begun));
  for (const Equality& candidate : candidates) {
    const auto [slot, is_new] = foreseen_jobs_.try_emplace(Key(candidate.left, candidate.right));
    if (!is_new) continue;
    slot->second = std::make_shared<Job>(Job{candidate});
    foreseen_.push_back({slot->second});
  }
  changed_.notify_all();
}

// Wanted pieces come first. Foreseen ones only use workers that would be idle.
std::optional<ProofQueue::Piece> ProofQueue::next_piece() {
  for (std::deque<Piece>* pieces : {&wanted_, &foreseen_}) {
    if (pieces->empty()) continue;
    Piece piece = std::move(pieces->front());
    pieces->pop_front();
    return piece;
  }
  return std::nullopt;
}

void ProofQueue::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto is_work = [&] { return !wanted_.empty() || !foreseen_.empty(); };
  while (changed_.wait(lock, stop, is_work)) {
    if (stop.stop_requested()) return;
    run(*next_piece(), lock);
  }
}

void ProofQueue::run(const Piece& piece, std::unique_lock<std::mutex>& lock) {
  Job& job = *piece.job;
  job.begun = true;
  ++events_;
  lock.unlock();
  changed_.notify_all();  // there may be too few left
  std::exception_ptr failure;
  bool back_next = false;
  try {
    const base::SequentialLoops here;
    if (piece.is_back) {
      job.proofs.back = prove_(turned(job.candidate));
    } else {
      job.proofs.made = prove_(job.candidate);
      back_next = leaves_back_open(job.proofs.made);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  ++events_;
  if (failure) job.failure = failure;
  // The other direction is a piece of its own and goes to the front, so that a wave ends soon.
  if (back_next) {
    (job.wanted ? wanted_ : foreseen_).push_front({piece.job, true});
  } else {
    job.done = true;
  }
  changed_.notify_all();
}

}  // namespace egret::rules::generator
