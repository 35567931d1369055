// SPDX-License-Identifier: Apache-2.0
// Sums of gradients over ranks, while they compute something else. Each of n ranks sums one n-th of
// the elements, in the order of ranks, and sends the sum to the others: all have equal bits.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ir/core/tensor.h"
#include "parallel/pipeline/pipeline_layout.h"
#include "parallel/simulator/pipeline_simulation.h"
#include "runtime/mpi/messages.h"

namespace egret::runtime {

// Of one rank. The tensors of gradients are those of the rank, by parameter.
class GradientSums {
 public:
  // Messages have tags from FIRST_TAG on, two for each exchange.
  GradientSums(const std::vector<parallel::GradientExchange>& exchanges, std::int64_t rank,
               std::int64_t first_tag, Messages& messages)
      : exchanges_(exchanges), rank_(rank), first_tag_(first_tag), messages_(messages) {}

  // Sends this rank's parts. Errors: unsupported for gradients that are not f32 or f64.
  base::Status start(std::size_t exchange, std::span<const ir::Tensor> gradients);
  // Does what the messages that are here allow.
  base::Status advance(std::span<ir::Tensor> gradients);
  // Waits for all exchanges that were started.
  base::Status finish(std::span<ir::Tensor> gradients);

 private:
  // Messages by the place of their sender in the exchange.
  struct Arrivals {
    std::vector<std::optional<MessageBytes>> from;
    std::size_t count = 0;

    bool are_all_here() const { return count == from.size(); }
    void put(std::size_t place, MessageBytes bytes) {
      from[place] = std::move(bytes);
      ++count;
    }
  };
  struct Running {
    std::size_t exchange = 0;
    std::size_t here = 0;  // place of this rank among those of the exchange
    Arrivals parts{};      // of this rank's share
    Arrivals sums{};
  };

  base::Status advance(Running& running, std::span<ir::Tensor> gradients, bool wait);
  base::Status take(const Running& running, std::int64_t round, Arrivals& into, bool wait);
  std::int64_t tag(const Running& running, std::int64_t round) const {
    return first_tag_ + 2 * static_cast<std::int64_t>(running.exchange) + round;
  }

  const std::vector<parallel::GradientExchange>& exchanges_;
  const std::int64_t rank_;
  const std::int64_t first_tag_;
  Messages& messages_;
  std::vector<Running> running_;
};

// The seconds that this rank's processor takes for the bytes of sums, the median of `repetitions`.
// 0 without exchanges.
parallel::SumSeconds time_sums(const std::vector<parallel::GradientExchange>& exchanges,
                               int repetitions);

}  // namespace egret::runtime
