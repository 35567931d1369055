// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/ranks.h"

#include <cstdlib>
#include <utility>

#include "base/stop.h"
#include "runtime/mpi/mpi_messages.h"

namespace egret::runtime {

base::Result<Ranks> Ranks::join(Options options) {
  Ranks ranks;
  ranks.limit_exchange_s_ = options.limit_exchange_s;
  if (!MpiWorld::is_distributed()) return ranks;
  if (!options.on_hang) return base::usage_error("ranks of mpirun need Ranks::Options::on_hang");
  EGRET_ASSIGN_OR_RETURN(ranks.world_,
                         MpiWorld::join(options.limit_exchange_s, std::move(options.on_hang)));
  return ranks;
}

std::int64_t Ranks::size_of_host() const {
  const char* text = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  const std::int64_t found = text == nullptr ? 0 : std::atoll(text);
  return is_distributed() && found > 0 ? found : size();
}

Exchange Ranks::exchange(bool ends_on_stop) const {
  return [world = world_.get(), ends_on_stop](std::span<const std::int64_t> group,
                                              std::span<const std::vector<std::byte>> outgoing) {
    return world->exchange(group, outgoing, ends_on_stop);
  };
}

base::Result<bool> Ranks::stop_agreed() const {
  if (world_ == nullptr) return base::stop_requested();
  return world_->stop_agreed();
}

base::Result<std::unique_ptr<Messages>> Ranks::messages(bool overlap) const {
  return make_mpi_messages({.limit_s = limit_exchange_s_, .overlap = overlap});
}

void Ranks::abort() {
  const int code = base::exit_code(base::StatusCode::kRankFailed);
  if (world_ != nullptr) world_->abort(code);
  std::_Exit(code);
}

}  // namespace egret::runtime
