// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/collective_profile.h"

#include <algorithm>
#include <cstdlib>

#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "driver/measure/calibration.h"
#include "runtime/devices/device_links.h"
#include "runtime/plan_run.h"
#include "runtime/ranks/link_profile.h"
#include "tools/arguments/measured_machine.h"
#include "tools/arguments/output_file.h"
#include "tools/arguments/plan_arguments.h"

namespace egret::tools {
namespace {

double predicted_seconds(const runtime::CollectiveSample& sample, const parallel::Link& link) {
  return sample.steps * link.latency_s + sample.sent_bytes / link.bytes_per_second;
}

const parallel::Link& link_of(const runtime::LinkProfile& profile, const std::string& tier) {
  const auto found = std::ranges::find(profile.tiers, tier, &runtime::LinkFit::tier);
  return found->link;
}

base::Json to_json(const runtime::LinkProfile& profile) {
  base::Json tiers = base::Json::array();
  for (const runtime::LinkFit& fit : profile.tiers) {
    tiers.push(base::Json::object()
                   .set("tier", fit.tier)
                   .set("ranks", fit.ranks)
                   .set("latency_s", fit.link.latency_s)
                   .set("bytes_per_second", fit.link.bytes_per_second)
                   .set("mean_error", fit.mean_error)
                   .set("worst_error", fit.worst_error));
  }
  base::Json samples = base::Json::array();
  for (const runtime::CollectiveSample& sample : profile.samples) {
    samples.push(base::Json::object()
                     .set("tier", sample.tier)
                     .set("collective", sample.collective)
                     .set("bytes", sample.bytes)
                     .set("seconds", sample.seconds)
                     .set("predicted_s", predicted_seconds(sample, link_of(profile, sample.tier))));
  }
  return base::versioned_json().set("tiers", std::move(tiers)).set("samples", std::move(samples));
}

std::string to_text(const runtime::LinkProfile& profile) {
  using base::Align;
  base::TextTable table({{"tier"},
                         {"collective"},
                         {"tensor", Align::kRight},
                         {"measured", Align::kRight},
                         {"of the fit", Align::kRight}});
  for (const runtime::CollectiveSample& sample : profile.samples) {
    table.row({sample.tier, sample.collective, base::format_bytes(sample.bytes),
               base::format_seconds(sample.seconds),
               base::format_seconds(predicted_seconds(sample, link_of(profile, sample.tier)))});
  }
  std::string text = table.render() + "\n";
  for (const runtime::LinkFit& fit : profile.tiers) {
    text += fit.tier + "=" + std::to_string(fit.ranks) + ": latency " +
            base::format_seconds(fit.link.latency_s) + ", " +
            base::format_bytes(fit.link.bytes_per_second) + "/s; the fit is off by " +
            base::format_percent(fit.mean_error) + " on average, " +
            base::format_percent(fit.worst_error) + " at most\n";
  }
  return text;
}

// Between the GPUs, unless they cannot be connected and MPI will do. OVERLAPS: whether plans run
// these exchanges beside computation. NCCL's have a stream of their own; a rank waits in MPI's.
base::Result<runtime::LinkProfile> profile_of(const runtime::Ranks& ranks,
                                              const CollectiveOptions& options,
                                              const driver::Execution& execution, bool& overlaps,
                                              Console& console) {
  overlaps = false;
  const runtime::LinkProfileOptions sizes = {.most_bytes = static_cast<double>(options.largest),
                                             .ranks_per_host = options.ranks_per_host};
  if (execution.backend != "cuda" || options.exchange == "mpi")
    return runtime::profile_links(ranks, sizes);
  EGRET_ASSIGN_OR_RETURN(auto device,
                         backends::cuda::open_own_device(backends::cuda::system_libraries()));
  auto profile =
      runtime::profile_device_links(place_of(ranks), sizes, runtime::nccl::system_library(),
                                    std::move(device), ranks.limit_exchange_s());
  if (options.exchange == "nccl" || profile.status().code() != base::StatusCode::kUnavailable) {
    overlaps = true;
    return profile;
  }
  if (ranks.rank() == 0)
    console.warning("ranks exchange values through MPI: " + profile.status().message());
  return runtime::profile_links(ranks, sizes);
}

base::Result<parallel::Cluster> machine_of(const runtime::LinkProfile& profile,
                                           const cost::Rates& rates, bool overlaps) {
  parallel::Cluster machine;
  machine.name = kMeasuredMachine;
  machine.overlaps = overlaps;
  std::vector<parallel::MeshAxis> axes;
  for (const runtime::LinkFit& fit : profile.tiers) {
    axes.push_back({fit.tier, fit.ranks});
    machine.links.push_back(fit.link);
  }
  EGRET_ASSIGN_OR_RETURN(machine.mesh, parallel::Mesh::of(std::move(axes)));
  machine.rates = rates;
  return machine;
}

}  // namespace

const base::OptionTable<CollectiveOptions>& CollectiveOptions::table() {
  using C = CollectiveOptions;
  static const base::OptionTable<C> rows{
      "costs profile collectives",
      {{"collectives", &C::collectives,
        "Measure collectives between the ranks of mpirun, not operators"},
       {"output", &C::output, "File for the result; - is standard output", base::output_file(),
        'o'},
       {"largest", &C::largest, "With --collectives: bytes of the largest tensor",
        base::bytes(1 << 12, std::int64_t{1} << 30)},
       {"ranks-per-host", &C::ranks_per_host,
        "With --collectives: ranks of a host; 0: as mpirun has placed them", base::range(0, 1e6)},
       {"limit-exchange", &C::limit_exchange, kLimitExchangeHelp, base::seconds()},
       {"exchange", &C::exchange, kExchangeHelp, base::one_of({"auto", "nccl", "mpi"})}}};
  return rows;
}

base::Result<ExitCode> profile_collectives(const CollectiveOptions& options,
                                           const driver::Execution& execution,
                                           const std::string& database, Console& console) {
  EGRET_RETURN_IF_ERROR(runtime::check_backend(
      {.backend = std::string(execution.backend), .precision = execution.precision}));
  EGRET_ASSIGN_OR_RETURN(
      runtime::Ranks ranks,
      runtime::Ranks::join({.limit_exchange_s = options.limit_exchange,
                            .on_hang = [&console](const std::string& message) {
                              console.error(message);
                              std::_Exit(base::exit_code(base::StatusCode::kRankFailed));
                            }}));
  bool overlaps = false;
  const auto profile = profile_of(ranks, options, execution, overlaps, console);
  if (!profile.ok()) return rank_failed(ranks, profile.status(), console);
  // As ranks run a plan: with one thread each, and all at the same time, since those of one machine
  // share its cores.
  driver::Execution of_rank = execution;
  of_rank.threads = 1;
  const auto rates = driver::measured_rates(of_rank);
  if (!rates.ok()) return rank_failed(ranks, rates.status(), console);
  const bool reports = ranks.rank() == 0;
  ranks.leave();
  if (!reports) return ExitCode::kOk;
  EGRET_ASSIGN_OR_RETURN(const parallel::Cluster machine, machine_of(*profile, *rates, overlaps));
  EGRET_ASSIGN_OR_RETURN(const auto kept, cost::open_database(database));
  EGRET_RETURN_IF_ERROR(keep_measured_machine(*kept, machine));
  if (!options.output.empty())
    EGRET_RETURN_IF_ERROR(write_output(console, options.output, to_toml(machine)));
  if (options.output != "-") console.result(to_json(*profile), to_text(*profile));
  return ExitCode::kOk;
}

}  // namespace egret::tools
