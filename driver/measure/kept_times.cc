// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/kept_times.h"

#include <optional>
#include <sstream>
#include <utility>

#include "backends/layout_forms.h"
#include "base/hash.h"
#include "base/stop.h"
#include "driver/measure/race.h"

namespace egret::driver {
namespace {

// The entry holds the time of all of the program, and says whether it was disturbed; the note holds
// the parts, the rest and the median of whole runs.
std::string note_of(const PartTimes& times) {
  std::ostringstream text;
  text.precision(9);
  for (const double part : times.parts) text << part << ' ';
  text << times.rest << ' ' << times.whole;
  return text.str();
}

std::optional<PartTimes> times_from(const std::string& note, std::size_t parts) {
  std::istringstream text(note);
  PartTimes times;
  for (double value = 0; text >> value;) times.parts.push_back(value);
  if (times.parts.size() != parts + 2) return std::nullopt;
  times.whole = times.parts.back();
  times.rest = times.parts[parts];
  times.parts.resize(parts);
  return times;
}

base::Result<std::optional<PartTimes>> recall(const KeptTimes& kept, const std::string& key,
                                              std::size_t parts) {
  EGRET_ASSIGN_OR_RETURN(const auto entry, kept.database->find(kept.machine, key));
  if (!entry) return std::optional<PartTimes>();
  EGRET_ASSIGN_OR_RETURN(const auto note, kept.database->find_note(key + " on " + kept.machine));
  if (!note) return std::optional<PartTimes>();
  std::optional<PartTimes> times = times_from(*note, parts);
  if (times) times->runs = entry->runs;
  return times;
}

base::Status keep(const KeptTimes& kept, const std::string& key, const PartTimes& times) {
  const cost::Entry entry{
      .runs = times.runs, .median_s = times.whole, .disturbed = kept.disturbed && kept.disturbed()};
  EGRET_RETURN_IF_ERROR(kept.database->store(kept.machine, key, entry));
  return kept.database->store_note(key + " on " + kept.machine, note_of(times));
}

}  // namespace

std::string identity_of(const backends::Division& division) {
  std::string text = " divided";
  for (const std::vector<ir::NodeId>& kernel : division) {
    for (std::size_t i = 0; i < kernel.size(); ++i)
      text += (i == 0 ? " " : ",") + std::to_string(kernel[i].index());
  }
  return text;
}

std::string identity_of(const backends::DivisionLayouts& layouts) {
  if (layouts.empty()) return "";
  std::string text = " laid out";
  for (const backends::KernelLayouts& kernel : layouts.kernels) text += " " + to_string(kernel);
  for (const backends::Reorder& reorder : layouts.reorders) {
    text += ", " + std::to_string(reorder.value.index()) + " " +
            to_string(backends::KernelLayouts{reorder.from, reorder.to});
  }
  return text;
}

base::Result<std::optional<KnownPartTimes>> kept_part_times(const backends::Backend& backend,
                                                            const ir::Graph& graph,
                                                            const backends::CompileOptions& options,
                                                            const KeptTimes& kept, bool measures) {
  std::string key;
  if (kept.database != nullptr) {
    key =
        "parts of graph " + base::content_hash(identity_of(graph) + identity_of(options.division) +
                                               identity_of(options.layouts))
                                .to_hex();
    EGRET_ASSIGN_OR_RETURN(
        auto known, recall(kept, key, options.division.size() + options.layouts.reorders.size()));
    if (known) return std::optional(KnownPartTimes{*std::move(known), true});
  }
  if (!measures) return std::optional<KnownPartTimes>();
  if (kept.disturbed) (void)kept.disturbed();
  EGRET_ASSIGN_OR_RETURN(PartTimes times, time_parts(backend, graph, options, kept.seconds));
  if (kept.database != nullptr && !base::stop_requested())
    EGRET_RETURN_IF_ERROR(keep(kept, key, times));
  return std::optional(KnownPartTimes{std::move(times)});
}

}  // namespace egret::driver
