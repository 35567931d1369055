// SPDX-License-Identifier: Apache-2.0
// Proofs of candidates by threads of their own, while the one who hands them in looks for the next.
// Candidates come in waves; those of a wave are begun before those of the next, and a long proof
// holds up no thread as long as there are others. Each is proven in both directions: read from left
// to right and from right to left an equality may become different rules, under different
// conditions.
//
// Where a wave leaves threads idle they prove what is foreseen: candidates that later waves will
// probably have. A proof depends on its candidate alone, so that this changes nothing but the time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "rules/generator/candidate_rule.h"

namespace egret::rules::generator {

struct BothWays {
  std::optional<Generalized> made{};
  std::optional<Generalized> back{};  // the other direction, where the first leaves it open

  const std::optional<Generalized>& proven() const;  // of one direction, the first if it can be
};

bool is_proven(const std::optional<Generalized>& made);
Equality turned(const Equality& equality);

class ProofQueue {
 public:
  // Called with an equality or a turned one, by several threads.
  using Prove = std::function<std::optional<Generalized>(const Equality&)>;
  // Candidates that may be wanted later, the most probable first, instead of those foreseen before
  // whose proofs have not begun. None: there is nothing to foresee.
  using Foresee = std::function<std::vector<Equality>()>;

  // Proofs that run at a time. With one thread, or where the machine grants no more, the caller
  // proves in finish(), and nothing is foreseen.
  ProofQueue(std::size_t threads, Prove prove);
  ~ProofQueue();  // waits for proofs that have begun
  ProofQueue(const ProofQueue&) = delete;
  ProofQueue& operator=(const ProofQueue&) = delete;

  // A wave, while none or one is under way.
  void begin(const std::vector<Equality>& candidates);
  // Waits until the first wave that was begun has its proofs. Meanwhile `foresee` is asked, by the
  // caller's thread, whenever a thread would find nothing to do; not again once it had nothing.
  std::vector<BothWays> finish(const Foresee& foresee = {});
  // Of a candidate that no wave has had yet; begun is one whose proof is under way or at hand.
  enum class Foreseen : std::uint8_t { kNo, kWaits, kBegun };
  Foreseen foreseen(const Equality& candidate);

 private:
  using Key = std::pair<TermId, TermId>;
  struct Job {
    Equality candidate;
    bool wanted = false;
    bool begun = false;
    bool done = false;
    BothWays proofs{};
    std::exception_ptr failure{};
  };
  struct Piece {
    std::shared_ptr<Job> job;
    bool is_back = false;
  };
  using Wave = std::vector<std::shared_ptr<Job>>;

  void work(const std::stop_token& stop);
  // The next piece of a wave, or else a foreseen one.
  std::optional<Piece> next_piece();
  // Of a lock that is given back meanwhile.
  void run(const Piece& piece, std::unique_lock<std::mutex>& lock);
  void set_foreseen(const std::vector<Equality>& candidates);
  bool is_short() const { return wanted_.size() + foreseen_.size() < workers_.size(); }

  const Prove prove_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::uint64_t events_ = 0;  // proofs begun and ended
  std::deque<Wave> waves_;
  std::deque<Piece> wanted_;
  std::deque<Piece> foreseen_;
  std::map<Key, std::shared_ptr<Job>> foreseen_jobs_;  // not wanted yet
  std::vector<std::jthread> workers_;
};

}  // namespace egret::rules::generator
