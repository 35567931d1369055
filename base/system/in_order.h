// SPDX-License-Identifier: Apache-2.0
// Work on items by several threads whose results are handed over in the order of the items, as soon
// as all before them are there: reports and files are then the same for any number of threads.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/system/thread_pool.h"

namespace egret::base {

// Calls work(i), which gives a std::optional<Result>, for each i below COUNT on the pool, and
// done(i, Result) in order, one at a time, on whichever thread completes the row. An item without
// result (work that was asked to stop) ends the row: what comes after it is dropped.
template <typename Result, typename Work, typename Done>
void in_order(ThreadPool& pool, std::size_t count, const Work& work, const Done& done) {
  std::mutex mutex;
  std::vector<std::optional<Result>> results(count);
  std::size_t next = 0;
  pool.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::optional<Result> result = work(i);
      const std::lock_guard lock(mutex);
      results[i] = std::move(result);
      for (; next < count && results[next]; ++next) {
        done(next, *std::move(results[next]));
        results[next].reset();
      }
    }
  });
}

}  // namespace egret::base
