// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of this process.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/ranks/rank_program.h"

namespace egret::runtime {

// A letter box for each pair of ranks; letters of one pair arrive in the order in which they are
// sent.
class Post {
 public:
  using Bytes = std::vector<std::byte>;

  Exchange of(std::int64_t rank) {
    return [this, rank](std::span<const std::int64_t> group,
                        std::span<const Bytes> outgoing) -> base::Result<std::vector<Bytes>> {
      std::unique_lock lock(mutex_);
      for (std::size_t i = 0; i < group.size(); ++i) {
        boxes_[{rank, group[i]}].push_back(outgoing[i]);
        if (group[i] != rank) sent_ += static_cast<double>(outgoing[i].size());
      }
      changed_.notify_all();
      std::vector<Bytes> incoming;
      for (const std::int64_t from : group) {
        std::vector<Bytes>& box = boxes_[{from, rank}];
        changed_.wait(lock, [&] { return !box.empty(); });
        incoming.push_back(box.front());
        box.erase(box.begin());
      }
      return incoming;
    };
  }
  double bytes_sent() const { return sent_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Bytes>> boxes_;
  double sent_ = 0;
};

template <typename Body>
void on_all_ranks(const parallel::Mesh& mesh, const Body& body) {
  std::vector<std::thread> threads;
  for (std::int64_t rank = 0; rank < mesh.ranks(); ++rank)
    threads.emplace_back([&, rank] { body(rank); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace egret::runtime
