// SPDX-License-Identifier: Apache-2.0
// NCCL without a GPU: ranks are threads of this process that take turns, and meet in each call.
// Memory is the heap, as in fake_cuda.h. Calls answer "in progress" until all of a group have made
// the same one, as NCCL may; a rank that does not come leaves the others waiting.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/nccl/library.h"

namespace egret::runtime {

struct FakeNccl {
  bool reports_lost_rank = false;  // to who waits
  std::vector<std::string> calls;  // "all_reduce 0/2" of rank 0 of 2
  int open = 0;                    // communicators that were neither destroyed nor aborted

  std::size_t count(const std::string& call) const;
};

FakeNccl& fake_nccl();
const nccl::Library& fake_nccl_library();

// A thread for each rank; one runs at a time, and another when it waits for something.
void on_rank_threads(int ranks, const std::function<void(int rank)>& body);
// What the ranks do together besides: sends outgoing[i] to the i-th rank of the group.
using Letters = std::vector<std::vector<std::byte>>;
base::Result<Letters> exchange_letters(int rank, std::span<const std::int64_t> group,
                                       std::span<const std::vector<std::byte>> outgoing);

}  // namespace egret::runtime
