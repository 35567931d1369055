// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/proof_queue.h"

#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/thread_pool.h"

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
  for (std::size_t i = 1; i < threads; ++i) {
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

void ProofQueue::begin(std::vector<Equality> candidates) {
  {
    const std::lock_guard lock(mutex_);
    EGRET_CHECK(waves_.size() < 2, "two waves at most are under way");
    Wave& wave = *waves_.emplace_back(std::make_unique<Wave>());
    wave.candidates = std::move(candidates);
    wave.proofs.resize(wave.candidates.size());
    wave.pieces_left = wave.candidates.size();
    for (std::size_t i = 0; i < wave.candidates.size(); ++i) pieces_.push_back({&wave, i});
  }
  changed_.notify_all();
}

std::vector<BothWays> ProofQueue::finish() {
  std::unique_lock lock(mutex_);
  EGRET_CHECK(!waves_.empty(), "a wave was begun");
  Wave& first = *waves_.front();
  while (first.pieces_left > 0) {
    if (pieces_.empty()) {
      changed_.wait(lock);
    } else {
      const Piece piece = pieces_.front();
      pieces_.pop_front();
      run(piece, lock);
    }
  }
  const std::unique_ptr<Wave> done = std::move(waves_.front());
  waves_.pop_front();
  if (done->failure) std::rethrow_exception(done->failure);
  return std::move(done->proofs);
}

void ProofQueue::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !pieces_.empty(); })) {
    if (stop.stop_requested()) return;
    const Piece piece = pieces_.front();
    pieces_.pop_front();
    run(piece, lock);
  }
}

void ProofQueue::run(Piece piece, std::unique_lock<std::mutex>& lock) {
  Wave& wave = *piece.wave;
  BothWays& proofs = wave.proofs[piece.candidate];
  lock.unlock();
  std::exception_ptr failure;
  bool back_next = false;
  try {
    const base::SequentialLoops here;
    const Equality& candidate = wave.candidates[piece.candidate];
    if (piece.is_back) {
      proofs.back = prove_(turned(candidate));
    } else {
      proofs.made = prove_(candidate);
      back_next = leaves_back_open(proofs.made);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  if (failure && !wave.failure) wave.failure = failure;
  if (back_next) {
    pieces_.push_front({&wave, piece.candidate, true});
  } else {
    --wave.pieces_left;
  }
  changed_.notify_all();
}

}  // namespace egret::rules::generator
