// SPDX-License-Identifier: Apache-2.0
// A new collective: it has a name and a price, keeps the whole, and runs on ranks without sending.
// Prints the first thing that does not hold and exits with 1.
#include <algorithm>
#include <iostream>
#include <string>

#include "base/random.h"
#include "parallel/machine/cluster.h"
#include "parallel/machine/collective.h"
#include "runtime/devices/device_moves.h"
#include "runtime/ranks/rank_program.h"

namespace {

using namespace egret;
using parallel::AxisPlacement;
using parallel::Collective;
using parallel::Mesh;

base::Status expect(bool holds, const std::string& what) {
  return holds ? base::ok() : base::mismatch("this does not hold: " + what);
}

base::Status check_ranks(const Collective& keep, const Mesh& mesh) {
  base::Random random(5);
  const ir::Tensor value = ir::Tensor::random({ir::DType::kF32, {2, 3}}, random);
  const std::vector<ir::Tensor> locals(static_cast<std::size_t>(mesh.ranks()), value);
  EGRET_ASSIGN_OR_RETURN(const auto expected, parallel::apply(keep, mesh, locals));
  const runtime::Exchange nothing = [](auto,
                                       auto) -> base::Result<std::vector<std::vector<std::byte>>> {
    return base::internal_error("the collective sends something");
  };
  std::vector<ir::Tensor> results;
  for (std::int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    EGRET_ASSIGN_OR_RETURN(results.emplace_back(),
                           runtime::run_collective(keep, mesh, rank, value, nothing));
    EGRET_RETURN_IF_ERROR(expect(
        std::ranges::equal(results.back().data(), expected[static_cast<std::size_t>(rank)].data()),
        "rank " + std::to_string(rank) + " holds what the definition says"));
  }
  const Collective reduce{keep.axis, keep.to, keep.from};
  EGRET_ASSIGN_OR_RETURN(const auto wholes, parallel::apply(reduce, mesh, results));
  for (const ir::Tensor& whole : wholes) {
    EGRET_RETURN_IF_ERROR(
        expect(std::ranges::equal(whole.data(), value.data()), "the sum is the value"));
  }
  return base::ok();
}

base::Status check() {
  const Collective keep{0, AxisPlacement::copy(), AxisPlacement::sum()};
  EGRET_RETURN_IF_ERROR(expect(name_of(keep) == "keep_first", "it has a name"));
  const auto all = parallel::collectives_to(0, AxisPlacement::sum(), 2);
  EGRET_RETURN_IF_ERROR(
      expect(std::ranges::find(all, keep) != all.end(), "the planner considers it"));
  const Collective maximum{0, AxisPlacement::copy(), AxisPlacement::max()};
  EGRET_RETURN_IF_ERROR(expect(name_of(maximum).empty(), "a partial maximum has none"));

  EGRET_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::parse("x=3"));
  EGRET_RETURN_IF_ERROR(check_ranks(keep, mesh));
  EGRET_RETURN_IF_ERROR(expect(bytes_sent(keep, 3, 24, 24) == 0, "nothing is sent"));
  EGRET_ASSIGN_OR_RETURN(const auto machine,
                         parallel::parse_cluster(parallel::cluster_presets()[0].toml, "preset"));
  const Collective reduce{0, AxisPlacement::sum(), AxisPlacement::copy()};
  EGRET_RETURN_IF_ERROR(expect(machine.seconds(keep, 24, 24) < machine.seconds(reduce, 24, 24),
                               "it takes less time than an all-reduce"));

  const ir::TensorType type(ir::DType::kF32, {2, 3});
  const auto first = runtime::device_moves(keep, 3, 0, type);
  const auto second = runtime::device_moves(keep, 3, 1, type);
  EGRET_RETURN_IF_ERROR(
      expect(first.before.size() == 1 && first.before[0].bytes == 24 && first.before[0].rows == 1,
             "the first device copies all bytes"));
  return expect(second.before.empty() && second.transfers.empty(), "the second copies none");
}

}  // namespace

int main() {
  const base::Status status = check();
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
