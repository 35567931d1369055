// SPDX-License-Identifier: Apache-2.0
// The times of collectives between the ranks at hand, and the latency and bandwidth that explain
// them: those of the links in a machine file (parallel/machine/cluster.h).
//
// Ranks of one host are a tier, and ranks with the same place on all hosts are another. All groups
// of a tier communicate at the same time, as they do in plans.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "parallel/machine/cluster.h"
#include "runtime/ranks/ranks.h"

namespace egret::runtime {

struct CollectiveSample {
  std::string tier;
  std::string collective;  // as in parallel/machine/collective.h, or "send_receive"
  double bytes = 0;        // of the whole tensor; of send_receive, of the message
  double steps = 0;        // of which each waits for the latency of the link
  double sent_bytes = 0;   // by each rank
  double seconds = 0;      // the median of some runs, each of its slowest rank
};

// seconds = steps * latency_s + sent_bytes / bytes_per_second, with the least squares of the
// logarithms of predicted over measured times: short messages count as much as long ones.
struct LinkFit {
  std::string tier;
  std::int64_t ranks = 0;  // of a group
  parallel::Link link;
  double mean_error = 0;  // of the fit, relative to the measurement
  double worst_error = 0;
};

struct LinkProfile {
  std::vector<CollectiveSample> samples;
  std::vector<LinkFit> tiers;  // from the outermost; a tier has at least two ranks in a group
};

// Of the samples of one tier. The bandwidth is at most 1,000 times that of the fastest sample.
// Errors: bad_input, for fewer than two different samples.
base::Result<LinkFit> fit_link(std::span<const CollectiveSample> samples);

struct LinkProfileOptions {
  double least_bytes = 1 << 10;
  double most_bytes = 1 << 26;
  std::int64_t ranks_per_host = 0;  // 0: as mpirun has placed them
};

// How ranks execute what is timed.
class LinkTransport {
 public:
  // Returns when this rank's data have arrived.
  using Run = std::function<base::Status()>;

  virtual ~LinkTransport() = default;
  // Of this rank's part, of the type LOCAL. All ranks of a group prepare and run the same.
  virtual base::Result<Run> collective(const parallel::Collective& collective,
                                       const ir::TensorType& local) = 0;
  // A message to the next rank of the group along an axis, and one from the one before.
  virtual base::Result<Run> message(int axis, std::int64_t bytes) = 0;
};
using MakeTransport =
    std::function<base::Result<std::unique_ptr<LinkTransport>>(const parallel::Mesh& mesh)>;

// A rank among those that are measured together.
struct RankPlace {
  std::int64_t rank = 0, size = 1, on_host = 1;
  Exchange exchange;  // of what the ranks tell each other besides
};
RankPlace place_of(const Ranks& ranks);

// All ranks call it, and all get the profile. Sizes grow by factors of four. Errors: usage, for one
// rank alone, or hosts with different numbers of ranks; those of exchanges.
base::Result<LinkProfile> profile_links(const RankPlace& place, const LinkProfileOptions& options,
                                        const MakeTransport& make_transport);
// Between the processes, as they exchange values of plans (MPI).
base::Result<LinkProfile> profile_links(const Ranks& ranks, const LinkProfileOptions& options);

}  // namespace egret::runtime
