// SPDX-License-Identifier: Apache-2.0
#include "driver/select/operator_costs.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "backends/named_backend.h"
#include "backends/option_help.h"
#include "backends/timing/node_timer.h"
#include "base/formats/units.h"
#include "base/stop.h"
#include "base/timer.h"
#include "cost/profiled.h"
#include "driver/measure/interference.h"
#include "driver/measure/machine_fingerprint.h"
#include "driver/prices/cost_choice.h"
#include "driver/prices/node_query.h"
#include "driver/select/selection.h"
#include "rules/tensors/saturated_graph.h"

namespace egret::driver {
namespace {

backends::TimerOptions timer_options(const Execution& execution) {
  return {.threads = execution.threads, .precision = execution.precision};
}

struct Item {
  extract::NodeIndex node = 0;
  double estimate_s = 0;
};

class Profiling {
 public:
  Profiling(const ProfileOptions& options, base::ProgressSink* sink,
            cost::ProfiledModel::Measure measure)
      : options_(options), sink_(sink), measure_(std::move(measure)) {}

  base::Result<ProfileReport> run(const ir::Graph& graph) {
    EGRET_RETURN_IF_ERROR(open());
    EGRET_RETURN_IF_ERROR(saturate(graph));
    const std::vector<egraph::ClassId> roots = tensors().roots();
    const egraph::EGraphView view = egraph::make_view(tensors().egraph(), roots);
    const base::Stopwatch watch;
    EGRET_RETURN_IF_ERROR(measure(view, unknown(view), watch));
    EGRET_RETURN_IF_ERROR(measure_noisy(view, watch));
    report_.seconds = watch.seconds();
    report_.disturbed = database_->stored_disturbed();
    return std::move(report_);
  }

 private:
  base::Status open() {
    EGRET_ASSIGN_OR_RETURN(backend_, backends::backend_called(options_.backend));
    EGRET_RETURN_IF_ERROR(backend_->takes_precision(execution().precision));
    EGRET_RETURN_IF_ERROR(backend_->availability());
    EGRET_ASSIGN_OR_RETURN(database_, cost::open_database(options_.cost_db));
    database_->replace_disturbed([this] { return !is_disturbed_now(execution()); });
    report_.machine = machine_fingerprint(execution());
    EGRET_ASSIGN_OR_RETURN(report_.of_other_machines,
                           entries_of_others_alone(*database_, report_.machine));
    EGRET_ASSIGN_OR_RETURN(report_.rates, rates_once_measured(*database_, execution()));
    model_.emplace(*database_, report_.machine, report_.rates.fastest, report_.rates.rates);
    if (!measure_) {
      measure_ = [this](const cost::Query& query) { return measured_cost(query, execution()); };
    }
    return base::ok();
  }

  // The e-graph that an optimization of this program would build. Extraction asks for the costs of
  // its operators.
  base::Status saturate(const ir::Graph& graph) {
    EGRET_ASSIGN_OR_RETURN(const auto set,
                           rules::AdmittedRules::select(options_.rules, options_.allow));
    rules::SaturateOptions saturation;
    saturation.limits.nodes = static_cast<std::uint64_t>(options_.limit_nodes);
    saturation.limits.seconds = options_.limit_time;
    saturation.progress = sink_;
    EGRET_ASSIGN_OR_RETURN(saturated_, rules::saturate(graph, set, saturation, options_.threads));
    report_.e_nodes = tensors().egraph().node_count();
    return base::ok();
  }

  // One node of each operator that is not in the database, in the order in which to measure.
  std::vector<Item> unknown(const egraph::EGraphView& view) {
    std::vector<Item> items;
    std::set<std::string> seen;
    // The program's own operators come first, since every extraction may need them. Within each
    // group the cheapest come first, so that a limited time covers as many as possible.
    for (const bool by_rule : {false, true}) {
      const auto begin = static_cast<std::ptrdiff_t>(items.size());
      for (extract::NodeIndex node = 0; node < view.node_count(); ++node) {
        if (made_by_rule(tensors(), view, node) != by_rule) continue;
        const NodeQuery query(tensors(), view, node);
        if (query.free() || cost::is_view(*query.query().op)) continue;
        if (!seen.insert(cost::key_of(query.query())).second) continue;
        const auto cost = model_->cost(query.query());
        if (!cost.ok()) continue;  // nor would it be chosen
        ++report_.operators;
        operators_.push_back(node);
        if (cost->measured()) {
          ++report_.known;
        } else {
          items.push_back({node, cost->seconds});
        }
      }
      std::stable_sort(items.begin() + begin, items.end(),
                       [](const Item& a, const Item& b) { return a.estimate_s < b.estimate_s; });
    }
    return items;
  }

  bool is_over(const base::Stopwatch& watch) const {
    return watch.seconds() >= options_.profile_time || base::stop_requested();
  }

  base::Status measure(const egraph::EGraphView& view, const std::vector<Item>& items,
                       const base::Stopwatch& watch) {
    const base::Progress progress(sink_, "profile");
    std::size_t next = 0;
    for (; next < items.size() && !is_over(watch); ++next) {
      // Preparing several operators together lets a device compile their kernels in parallel.
      if (next % kMeasuredTogether == 0) make_ready(view, std::span(items).subspan(next));
      const NodeQuery query(tensors(), view, items[next].node);
      const auto added = model_->profile(query.query(), measure_);
      if (added.ok()) {
        ++report_.measured;
      } else if (added.status().code() == base::StatusCode::kUnavailable) {
        return added.status();  // the database, which no other operator will find better
      } else {
        report_.failures.push_back(cost::key_of(query.query()) + ": " +
                                   std::string(added.status().message()));
      }
      if (progress.due()) {
        progress.report({{base::kItems, next + 1}},
                        static_cast<double>(next + 1) / static_cast<double>(items.size()),
                        query.query().op->name());
      }
    }
    report_.left = static_cast<std::int64_t>(items.size() - next);
    return base::ok();
  }

  void make_ready(const egraph::EGraphView& view, std::span<const Item> items) const {
    std::vector<std::unique_ptr<NodeQuery>> owners;
    std::vector<cost::Query> queries;
    for (const Item& item : items.first(std::min(items.size(), kMeasuredTogether))) {
      owners.push_back(std::make_unique<NodeQuery>(tensors(), view, item.node));
      queries.push_back(owners.back()->query());
    }
    make_ready_to_measure(queries, execution());
  }

  // Those of the e-graph's operators whose entries are noisy, the largest deviations first.
  base::Result<std::vector<extract::NodeIndex>> noisy(const egraph::EGraphView& view) {
    std::vector<std::pair<double, extract::NodeIndex>> found;
    for (const extract::NodeIndex node : operators_) {
      const NodeQuery query(tensors(), view, node);
      EGRET_ASSIGN_OR_RETURN(const std::optional<cost::Entry> entry, model_->entry(query.query()));
      if (entry && cost::is_noisy(*entry)) found.emplace_back(-entry->deviation_s, node);
    }
    std::ranges::stable_sort(found);
    std::vector<extract::NodeIndex> nodes;
    for (const auto& [deviation, node] : found) nodes.push_back(node);
    return nodes;
  }

  // A few times each: what stays noisy then is so on this machine.
  base::Status measure_noisy(const egraph::EGraphView& view, const base::Stopwatch& watch) {
    constexpr int kRounds = 3;
    const base::Progress progress(sink_, "profile again");
    for (int round = 0; round < kRounds && report_.left == 0; ++round) {
      EGRET_ASSIGN_OR_RETURN(const std::vector<extract::NodeIndex> nodes, noisy(view));
      for (std::size_t i = 0; i < nodes.size() && !is_over(watch); ++i) {
        const NodeQuery query(tensors(), view, nodes[i]);
        const auto kept = model_->measure_again(query.query(), measure_);
        if (kept.status().code() == base::StatusCode::kUnavailable) return kept.status();
        if (!kept.ok()) continue;  // it has an entry, so nothing is lost
        ++report_.measured_again;
        report_.improved += *kept ? 1 : 0;
        if (progress.due()) {
          progress.report({{base::kItems, i + 1}},
                          static_cast<double>(i + 1) / static_cast<double>(nodes.size()),
                          query.query().op->name());
        }
      }
    }
    EGRET_ASSIGN_OR_RETURN(const std::vector<extract::NodeIndex> rest, noisy(view));
    report_.noisy = static_cast<std::int64_t>(rest.size());
    return base::ok();
  }

  const rules::TensorEGraph& tensors() const { return *saturated_.tensors; }
  Execution execution() const {
    return {options_.backend, static_cast<int>(options_.threads),
            backends::precision_named(options_.precision)};
  }

  const ProfileOptions& options_;
  base::ProgressSink* sink_;
  cost::ProfiledModel::Measure measure_;
  const backends::Backend* backend_ = nullptr;
  std::unique_ptr<cost::Database> database_;
  std::optional<cost::ProfiledModel> model_;
  rules::SaturatedGraph saturated_;
  std::vector<extract::NodeIndex> operators_;  // one node of each
  ProfileReport report_;
};

}  // namespace

const base::OptionTable<ProfileOptions>& ProfileOptions::table() {
  using P = ProfileOptions;
  static const base::OptionTable<P> rows{
      "costs profile",
      {{"rules", &P::rules, std::string(rules::kRulesHelp)},
       {"allow", &P::allow, std::string(rules::kAllowHelp), base::one_of(rules::allow_names())},
       {"cost-db", &P::cost_db, cost::kDatabaseHelp, base::path()},
       {"backend", &P::backend, backends::kBackendHelp},
       {"precision", &P::precision, backends::kPrecisionHelp,
        base::one_of(backends::precision_names())},
       {"limit-nodes", &P::limit_nodes, "Stop saturation at this many e-nodes",
        base::range(1, 1e9)},
       {"limit-time", &P::limit_time, "Stop saturation after this time", base::seconds()},
       {"profile-time", &P::profile_time, "Time limit of measuring operators", base::seconds()}}};
  return rows;
}

// The time that the operator adds to a graph, which is less than its own where it is fused. The
// deviation is that of the operator alone.
base::Result<cost::Entry> measured_cost(const cost::Query& query, const Execution& execution) {
  const std::vector<bool> constant(query.constant.begin(), query.constant.end());
  (void)is_disturbed(execution);
  EGRET_ASSIGN_OR_RETURN(
      const backends::OperatorTiming timing,
      backends::time_operator(*backends::find_backend(execution.backend), *query.op, *query.attrs,
                              query.inputs, constant, timer_options(execution)));
  return cost::Entry{.runs = std::max(1, timing.alone.runs),
                     .median_s = timing.view ? 0 : timing.fused_s,
                     .deviation_s = timing.alone.mad_s,
                     .disturbed = is_disturbed(execution)};
}

void make_ready_to_measure(std::span<const cost::Query> queries, const Execution& execution) {
  std::vector<std::vector<bool>> constant;
  for (const cost::Query& query : queries)
    constant.emplace_back(query.constant.begin(), query.constant.end());
  std::vector<backends::Application> applications;
  for (std::size_t i = 0; i < queries.size(); ++i)
    applications.push_back({*queries[i].op, *queries[i].attrs, queries[i].inputs, constant[i]});
  backends::make_ready(*backends::find_backend(execution.backend), applications,
                       timer_options(execution));
}

// A warning where predicted and measured time differ several times; nothing below a millisecond,
// where start-up decides.
std::string doubt_about_costs(double predicted_s, double measured_s) {
  constexpr double kSeveral = 4;
  constexpr double kLeast = 1e-3;
  const auto [less, more] = std::minmax(predicted_s, measured_s);
  if (more < kLeast || more < kSeveral * less) return "";
  return "measured costs add up to " + base::format_seconds(predicted_s) +
         ", but the graph takes " + base::format_seconds(measured_s) +
         ". If they were measured on a busy machine, remove them (`egret costs clear`)";
}

std::string note_of_disturbed(std::int64_t measurements) {
  if (measurements == 0) return "";
  return base::counted(measurements, "measurement") +
         " ran while other processes used the processors; later runs replace them";
}

base::Result<ProfileReport> profile(const ir::Graph& graph, const ProfileOptions& options,
                                    base::ProgressSink* progress,
                                    const cost::ProfiledModel::Measure& measure) {
  return Profiling(options, progress, measure).run(graph);
}

}  // namespace egret::driver
