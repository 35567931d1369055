// SPDX-License-Identifier: Apache-2.0
#include "driver/recompute/storage_rates.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <span>
#include <system_error>
#include <vector>

#include "base/system/nameless_file.h"
#include "base/timer.h"

namespace egret::driver {
namespace {

base::Status failed(const std::string& folder, int error) {
  const std::string text =
      "the folder '" + folder + "' takes no values: " + std::generic_category().message(error);
  return error == ENOSPC || error == EDQUOT ? base::limit_hit(text) : base::unavailable(text);
}

// The least of some repetitions.
template <typename Copy>
base::Result<double> seconds_of(std::size_t bytes, const std::string& folder, const Copy& copy) {
  constexpr int kRuns = 3;
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    const base::Stopwatch watch;
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t now = copy(done);
      if (now < 0 && errno == EINTR) continue;
      if (now <= 0) return failed(folder, now == 0 ? ENOSPC : errno);
      done += static_cast<std::size_t>(now);
    }
    least = std::min(least, watch.seconds());
  }
  return least;
}

}  // namespace

base::Result<StorageRates> measured_storage(const std::string& folder) {
  constexpr std::size_t kMany = std::size_t{64} << 20, kFew = 4096;
  const base::NamelessFile file(folder);
  if (file.descriptor() < 0) return failed(folder, errno);
  std::vector<std::byte> memory(kMany, std::byte{1});
  const auto out = [&](std::size_t bytes) {
    return seconds_of(bytes, folder, [&](std::size_t done) {
      return pwrite(file.descriptor(), memory.data() + done, bytes - done,
                    static_cast<off_t>(done));
    });
  };
  const auto back = [&](std::size_t bytes) {
    return seconds_of(bytes, folder, [&](std::size_t done) {
      return pread(file.descriptor(), memory.data() + done, bytes - done, static_cast<off_t>(done));
    });
  };
  EGRET_ASSIGN_OR_RETURN(const double many_out, out(kMany));
  EGRET_ASSIGN_OR_RETURN(const double many_back, back(kMany));
  EGRET_ASSIGN_OR_RETURN(const double few_out, out(kFew));
  EGRET_ASSIGN_OR_RETURN(const double few_back, back(kFew));
  return StorageRates{.seconds_per_copy = std::max(few_out, few_back),
                      .bytes_per_second_out = static_cast<double>(kMany) / many_out,
                      .bytes_per_second_back = static_cast<double>(kMany) / many_back};
}

void price_copies(const StorageRates& rates, extract::RecomputeProblem& problem) {
  for (extract::RecomputeTask& task : problem.tasks) {
    if (task.bytes == 0) continue;
    const auto bytes = static_cast<double>(task.bytes);
    task.copy_out = rates.seconds_per_copy + bytes / rates.bytes_per_second_out;
    task.copy_back = rates.seconds_per_copy + bytes / rates.bytes_per_second_back;
  }
}

}  // namespace egret::driver
