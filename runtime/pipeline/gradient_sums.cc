// SPDX-License-Identifier: Apache-2.0
#include "runtime/pipeline/gradient_sums.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/median.h"
#include "base/timer.h"

namespace egret::runtime {
namespace {

template <typename T>
void add_elements(MessageBytes& sum, const MessageBytes& part) {
  for (std::size_t at = 0; at + sizeof(T) <= sum.size(); at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, sum.data() + at, sizeof(T));
    std::memcpy(&b, part.data() + at, sizeof(T));
    a += b;
    std::memcpy(sum.data() + at, &a, sizeof(T));
  }
}

// The gradients of an exchange, one after the other.
MessageBytes flat(const parallel::GradientExchange& exchange,
                  std::span<const ir::Tensor> gradients) {
  MessageBytes bytes;
  for (const std::size_t p : exchange.parameters)
    bytes.insert(bytes.end(), gradients[p].data().begin(), gradients[p].data().end());
  return bytes;
}

ir::DType element_of(const parallel::GradientExchange& exchange,
                     std::span<const ir::Tensor> gradients) {
  return gradients[exchange.parameters.front()].dtype();
}

}  // namespace

base::Status GradientSums::start(std::size_t exchange, std::span<const ir::Tensor> gradients) {
  const parallel::GradientExchange& what = exchanges_[exchange];
  const ir::DType dtype = element_of(what, gradients);
  for (const std::size_t p : what.parameters) {
    const bool is_summed = dtype == ir::DType::kF32 || dtype == ir::DType::kF64;
    if (!is_summed || gradients[p].dtype() != dtype)
      return base::unsupported("pipelines sum gradients of f32 or of f64");
  }
  Running running{.exchange = exchange};
  const auto count = static_cast<std::int64_t>(what.ranks.size());
  running.here =
      static_cast<std::size_t>(std::ranges::find(what.ranks, rank_) - what.ranks.begin());
  running.parts.from.resize(what.ranks.size());
  running.sums.from.resize(what.ranks.size());
  const MessageBytes all = flat(what, gradients);
  const auto size = static_cast<std::int64_t>(ir::byte_size(dtype));
  const std::int64_t elements = static_cast<std::int64_t>(all.size()) / size;
  for (std::int64_t i = 0; i < count; ++i) {
    MessageBytes part(all.begin() + elements * i / count * size,
                      all.begin() + elements * (i + 1) / count * size);
    const auto at = static_cast<std::size_t>(i);
    if (at == running.here) {
      running.parts.put(at, std::move(part));
    } else {
      EGRET_RETURN_IF_ERROR(messages_.send(what.ranks[at], tag(running, 0), std::move(part)));
    }
  }
  running_.push_back(std::move(running));
  return base::ok();
}

base::Status GradientSums::take(const Running& running, std::int64_t round, Arrivals& into,
                                bool wait) {
  const std::vector<std::int64_t>& ranks = exchanges_[running.exchange].ranks;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (into.from[i]) continue;
    if (wait) {
      EGRET_ASSIGN_OR_RETURN(MessageBytes bytes, messages_.receive(ranks[i], tag(running, round)));
      into.put(i, std::move(bytes));
    } else {
      EGRET_ASSIGN_OR_RETURN(std::optional<MessageBytes> bytes,
                             messages_.take(ranks[i], tag(running, round)));
      if (bytes) into.put(i, std::move(*bytes));
    }
  }
  return base::ok();
}

base::Status GradientSums::advance(Running& running, std::span<ir::Tensor> gradients, bool wait) {
  const parallel::GradientExchange& exchange = exchanges_[running.exchange];
  const std::size_t count = exchange.ranks.size();
  if (!running.parts.are_all_here()) {
    EGRET_RETURN_IF_ERROR(take(running, 0, running.parts, wait));
    if (!running.parts.are_all_here()) return base::ok();
    MessageBytes sum = *running.parts.from.front();
    const bool is_f32 = element_of(exchange, gradients) == ir::DType::kF32;
    for (std::size_t i = 1; i < count; ++i) {
      const MessageBytes& part = *running.parts.from[i];
      if (part.size() != sum.size())
        return base::internal_error("ranks do not agree on the gradients that they sum");
      is_f32 ? add_elements<float>(sum, part) : add_elements<double>(sum, part);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (i != running.here)
        EGRET_RETURN_IF_ERROR(messages_.send(exchange.ranks[i], tag(running, 1), sum));
    }
    running.sums.put(running.here, std::move(sum));
  }
  EGRET_RETURN_IF_ERROR(take(running, 1, running.sums, wait));
  if (!running.sums.are_all_here()) return base::ok();
  MessageBytes all;
  for (const auto& sum : running.sums.from) all.insert(all.end(), sum->begin(), sum->end());
  std::size_t at = 0;
  for (const std::size_t p : exchange.parameters) {
    const std::span<std::byte> to = gradients[p].mutable_data();
    if (at + to.size() > all.size())
      return base::internal_error("ranks do not agree on the gradients that they sum");
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(at), to.size(), to.begin());
    at += to.size();
  }
  return base::ok();
}

base::Status GradientSums::advance(std::span<ir::Tensor> gradients) {
  for (std::size_t i = 0; i < running_.size();) {
    EGRET_RETURN_IF_ERROR(advance(running_[i], gradients, false));
    if (running_[i].sums.are_all_here()) {
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return base::ok();
}

parallel::SumSeconds time_sums(const std::vector<parallel::GradientExchange>& exchanges,
                               int repetitions) {
  constexpr double kMostBytes = 1 << 24;  // beyond caches, and quick
  double bytes = 0;
  for (const parallel::GradientExchange& exchange : exchanges)
    bytes = std::max(bytes, std::min(exchange.bytes, kMostBytes));
  if (bytes == 0) return {};
  const MessageBytes from(static_cast<std::size_t>(bytes));
  std::vector<double> copied, added;
  for (int i = 0; i <= repetitions; ++i) {
    base::Stopwatch watch;
    MessageBytes to(from.begin(), from.end());
    copied.push_back(watch.seconds() / bytes);
    watch.restart();
    add_elements<float>(to, from);
    added.push_back(watch.seconds() / bytes);
  }
  return {base::median(std::move(copied)), base::median(std::move(added))};
}

// In the order of exchanges, which all ranks share.
base::Status GradientSums::finish(std::span<ir::Tensor> gradients) {
  std::ranges::sort(running_, {}, &Running::exchange);
  for (Running& running : running_) EGRET_RETURN_IF_ERROR(advance(running, gradients, true));
  running_.clear();
  return base::ok();
}

}  // namespace egret::runtime
