// SPDX-License-Identifier: Apache-2.0
// Proofs of candidates by threads of their own, while the one who hands them in looks for the next.
// Candidates come in waves; those of a wave are begun before those of the next, and a long proof
// holds up no thread as long as there are others. Each is proven in both directions: read from left
// to right and from right to left an equality may become different rules, under different
// conditions.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
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

  // THREADS counts the caller, who works along in finish().
  ProofQueue(std::size_t threads, Prove prove);
  ~ProofQueue();  // waits for proofs that have begun
  ProofQueue(const ProofQueue&) = delete;
  ProofQueue& operator=(const ProofQueue&) = delete;

  // A wave, while none or one is under way.
  void begin(std::vector<Equality> candidates);
  // Works along until the first wave that was begun has its proofs.
  std::vector<BothWays> finish();

 private:
  struct Wave {
    std::vector<Equality> candidates;
    std::vector<BothWays> proofs;
    std::size_t pieces_left = 0;
    std::exception_ptr failure;
  };
  struct Piece {
    Wave* wave = nullptr;
    std::size_t candidate = 0;
    bool is_back = false;
  };

  void work(const std::stop_token& stop);
  // Of a lock that is given back meanwhile.
  void run(Piece piece, std::unique_lock<std::mutex>& lock);

  const Prove prove_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::deque<std::unique_ptr<Wave>> waves_;
  std::deque<Piece> pieces_;
  std::vector<std::jthread> workers_;
};

}  // namespace egret::rules::generator
