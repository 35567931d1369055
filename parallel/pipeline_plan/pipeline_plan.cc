// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline_plan/pipeline_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/stop.h"
#include "base/timer.h"
#include "parallel/pipeline/pipeline_help.h"
#include "parallel/pipeline/schedule_time.h"
#include "parallel/pipeline_plan/piece_division.h"
#include "parallel/pipeline_plan/piece_prices.h"
#include "parallel/simulator/pipeline_simulation.h"
#include "parallel/transformer/number_list.h"

namespace egret::parallel {
namespace {

using base::Result;
using base::Status;

constexpr std::int64_t kMostMicroBatches = 64;
constexpr std::size_t kDivisions = 3;  // of each kind that are simulated
// Stages with their own numbers of ranks: for replicas of at most so many ranks and stages.
constexpr std::int64_t kMostOwnRanks = 16, kMostOwnStages = 8;
constexpr double kDirections = 2;  // values forward, gradients backward

inline constexpr base::ProgressColumn kPlaced{
    "pieces", "pieces", base::ProgressColumn::Unit::kCount, "pieces that were placed"};
inline constexpr base::ProgressColumn kSimulated{
    "simulated", "simulated", base::ProgressColumn::Unit::kCount, "pipelines that were simulated"};

// The degrees of a pipeline, all but its schedule and its stages.
struct Degrees {
  std::int64_t replicas = 1;
  std::int64_t ranks = 1;  // of a replica
  std::int64_t micro_batches = 1;
};

struct ScheduleChoice {
  PipelineKind kind = PipelineKind::k1F1B;
  std::int64_t pipeline_ranks = 1;
  std::int64_t stages_per_rank = 1;
  // Of a stage; 0: each stage has its own number.
  std::int64_t stage_ranks = 0;
};

// The prices of all pieces on so many ranks.
struct PricedPieces {
  std::int64_t ranks = 1;
  std::vector<PiecePrice> pieces;
};

// The links of a pipeline on ranks that fill one node after the other: those of a stage first, then
// its stages, then replicas.
struct Links {
  const Link* messages = nullptr;
  const Link* gradients = nullptr;
};

class PipelineSearch {
 public:
  PipelineSearch(const PipelineTask& task, const ir::Graph& model, const Cluster& machine,
                 const PipelinePlanOptions& options, std::int64_t stage_ranks,
                 base::ProgressSink* sink)
      : task_(task),
        machine_(machine),
        options_(options),
        stage_ranks_(stage_ranks),
        prices_(model, task.training, machine, options.piece_time),
        progress_(sink, "plan pipeline") {}

  Status run() {
    const std::int64_t ranks = machine_.mesh.ranks();
    for (const std::int64_t replicas : divisors(ranks, ranks)) {
      if (!allows(options_.replicas, replicas)) continue;
      for (const std::int64_t micro_batches : micro_batch_counts()) {
        EGRET_RETURN_IF_ERROR(try_degrees({replicas, ranks / replicas, micro_batches}));
        if (base::stop_requested()) return base::ok();
      }
    }
    return base::ok();
  }

  Result<PipelinePlan> plan() && {
    if (best_.empty()) {
      if (base::stop_requested()) return base::limit_hit("interrupted; no plan was made");
      if (tried_ && !divided_) {
        return base::unsupported(
            "the model's batch cannot be divided into equal micro-batches for these ranks: the "
            "first axis of an input or of the output has another size, or an operator mixes the "
            "samples");
      }
      return base::usage_error("no pipeline with these choices exists on " +
                               to_string(machine_.mesh));
    }
    PipelinePlan plan;
    for (auto& [kind, one] : best_) plan.ranking.push_back(std::move(one));
    std::ranges::stable_sort(plan.ranking, [&](const PlannedPipeline& a, const PlannedPipeline& b) {
      return better(a, b);
    });
    plan.best = plan.ranking.front();
    plan.bound_s = std::min(bound_s_, plan.best.seconds);
    plan.pieces = pieces_;
    plan.placements = prices_.placements();
    plan.simulations = simulations_;
    return plan;
  }

 private:
  static bool allows(std::int64_t given, std::int64_t value) {
    return given == 0 || given == value;
  }

  // A plan that fits comes first, then the faster one, or the smaller one where none fits.
  bool better(const PlannedPipeline& a, const PlannedPipeline& b) const {
    const bool fits = a.fits(task_.memory);
    if (fits != b.fits(task_.memory)) return fits;
    return fits ? a.seconds < b.seconds : a.memory_bytes < b.memory_bytes;
  }

  std::vector<std::int64_t> micro_batch_counts() const {
    if (options_.micro_batches > 0) return {options_.micro_batches};
    std::vector<std::int64_t> counts;
    for (std::int64_t count = 1; count <= kMostMicroBatches; count *= 2) counts.push_back(count);
    return counts;
  }

  Status try_degrees(const Degrees& degrees) {
    EGRET_ASSIGN_OR_RETURN(const SlicedLoss* sliced,
                           prices_.sliced(degrees.replicas * degrees.micro_batches));
    tried_ = true;
    if (sliced == nullptr) return base::ok();
    divided_ = true;
    EGRET_RETURN_IF_ERROR(find_cuts(*sliced));
    std::vector<PricedPieces> priced;
    for (const std::int64_t ranks : divisors(node(), degrees.ranks)) {
      if (!allows(stage_ranks_, ranks)) continue;
      PricedPieces& one = priced.emplace_back(ranks);
      for (std::size_t i = 0; i + 1 < cuts_.size(); ++i) {
        if (base::stop_requested()) return base::ok();
        const auto price = prices_.price(*sliced, cuts_[i], cuts_[i + 1], ranks);
        // No placement of a piece was found in its time: stages have other numbers of ranks.
        if (price.status().code() == base::StatusCode::kLimit) break;
        if (!price.ok()) return price.status();
        one.pieces.push_back(*price);
        progress_.report({{kPlaced, static_cast<std::int64_t>(prices_.placements())},
                          {kSimulated, static_cast<std::int64_t>(simulations_)}});
      }
    }
    std::erase_if(priced, [&](const PricedPieces& one) { return one.pieces.size() < pieces_; });
    if (priced.empty()) return base::ok();
    bound_s_ = std::min(bound_s_, least_seconds(degrees, priced));
    for (const ScheduleChoice& schedule : schedules(degrees, priced)) {
      const std::int64_t stages = schedule.pipeline_ranks * schedule.stages_per_rank;
      if (!allows(options_.pipeline_stages, stages)) continue;
      if (static_cast<std::size_t>(stages) > pieces_) continue;
      EGRET_RETURN_IF_ERROR(try_schedule(degrees, schedule, *sliced, priced));
    }
    return base::ok();
  }

  std::int64_t node() const { return machine_.mesh.size(machine_.mesh.axis_count() - 1); }

  // All slices have the same operators.
  Status find_cuts(const SlicedLoss& sliced) {
    if (!cuts_.empty()) return base::ok();
    EGRET_ASSIGN_OR_RETURN(cuts_,
                           piece_cuts(sliced.loss, sliced.line, options_.pieces, machine_.rates,
                                      machine_.links.back().bytes_per_second));
    pieces_ = cuts_.size() - 1;
    return base::ok();
  }

  // Equal numbers of ranks for all stages; and stages with numbers of their own where ranks are
  // few.
  static std::vector<ScheduleChoice> schedules(const Degrees& degrees,
                                               std::span<const PricedPieces> priced) {
    std::vector<ScheduleChoice> all;
    const auto add = [&](std::int64_t pipeline_ranks, std::int64_t stage_ranks) {
      all.push_back({PipelineKind::k1F1B, pipeline_ranks, 1, stage_ranks});
      if (pipeline_ranks > 1) all.push_back({PipelineKind::kZbH1, pipeline_ranks, 1, stage_ranks});
    };
    for (const PricedPieces& one : priced) {
      if (degrees.ranks % one.ranks != 0) continue;
      const std::int64_t pipeline_ranks = degrees.ranks / one.ranks;
      add(pipeline_ranks, one.ranks);
      if (pipeline_ranks > 1 && degrees.micro_batches % pipeline_ranks == 0)
        all.push_back({PipelineKind::k1F1B, pipeline_ranks, 2, one.ranks});
    }
    if (priced.size() < 2 || degrees.ranks > kMostOwnRanks) return all;
    for (std::int64_t stages = 2; stages < std::min(degrees.ranks, kMostOwnStages + 1); ++stages)
      add(stages, 0);
    return all;
  }

  // No division of the pieces takes less under any schedule: the busiest rank has at least the mean
  // of the work and the largest piece.
  static double least_seconds(const Degrees& degrees, std::span<const PricedPieces> priced) {
    double sum = 0, largest = 0;
    for (std::size_t i = 0; i < priced.front().pieces.size(); ++i) {
      double work = HUGE_VAL, shared = HUGE_VAL;
      for (const PricedPieces& one : priced) {
        work = std::min(work, one.pieces[i].work_s());
        shared = std::min(shared, one.pieces[i].work_s() * static_cast<double>(one.ranks));
      }
      sum += shared;
      largest = std::max(largest, work);
    }
    return static_cast<double>(degrees.micro_batches) *
           std::max(largest, sum / static_cast<double>(degrees.ranks));
  }

  Links links_of(const Degrees& degrees) const {
    const Link* slow = &machine_.links.front();
    const Link* fast = &machine_.links.back();
    return {degrees.ranks <= node() ? fast : slow,
            degrees.ranks * degrees.replicas <= node() ? fast : slow};
  }

  double bytes_between(const SlicedLoss& sliced, std::size_t cut) const {
    double bytes = 0;
    for (const ir::NodeId id : sliced.line.crossing(cut))
      bytes += static_cast<double>(sliced.loss.graph.node(id).type.bytes());
    return bytes;
  }

  Status try_schedule(const Degrees& degrees, const ScheduleChoice& choice,
                      const SlicedLoss& sliced, std::span<const PricedPieces> priced) {
    const std::int64_t stages = choice.pipeline_ranks * choice.stages_per_rank;
    const auto schedule = pipeline_schedule(choice.kind, choice.pipeline_ranks,
                                            choice.stages_per_rank, degrees.micro_batches);
    if (!schedule.ok()) return base::ok();  // micro-batches that do not suit it
    std::vector<StageRanks> choices;
    std::vector<const PricedPieces*> own;  // by choice
    for (const PricedPieces& one : priced) {
      if (!allows(choice.stage_ranks, one.ranks)) continue;
      choices.push_back(terms_of(degrees, sliced, one));
      own.push_back(&one);
    }
    DivisionTask task{.choices = choices,
                      .ranks = choice.stage_ranks * choice.pipeline_ranks,
                      .micro_batches = degrees.micro_batches,
                      .in_flight = {}};
    if (choice.stage_ranks == 0) {
      task.ranks = degrees.ranks;
      task.ranks_of_node = node();
    }
    for (std::int64_t s = 0; s < stages; ++s) {
      std::vector<double> one(static_cast<std::size_t>(stages), 0);
      one[static_cast<std::size_t>(s)] = 1;
      task.in_flight.push_back(
          schedule_kept_bytes(*schedule, s % choice.pipeline_ranks, one, freeing(choice.kind)));
    }
    // The chunks of a rank share its memory, and its ranks.
    if (choice.stages_per_rank == 1) {
      task.memory = task_.memory;
    } else {
      task.ranks *= choice.stages_per_rank;
    }
    std::vector<PieceDivision> found = divisions(task, kDivisions);
    if (found.empty()) {
      // The smallest of those that do not fit may be all that there is.
      task.memory = 0;
      found = divisions(task, kDivisions);
    }
    for (const PieceDivision& division : found)
      EGRET_RETURN_IF_ERROR(simulate(degrees, *schedule, sliced, own, division));
    return base::ok();
  }

  StageRanks terms_of(const Degrees& degrees, const SlicedLoss& sliced,
                      const PricedPieces& priced) const {
    const Link& link = *links_of(degrees).messages;
    StageRanks choice{.ranks = priced.ranks, .pieces = {}};
    for (std::size_t i = 0; i < priced.pieces.size(); ++i) {
      const PiecePrice& price = priced.pieces[i];
      const double message_s =
          link.latency_s + bytes_between(sliced, cuts_[i]) / link.bytes_per_second;
      choice.pieces.push_back({price.work_s(), kDirections * message_s,
                               price.parameter_bytes * (2 + prices_.state_share()),
                               price.kept_bytes, price.live_bytes});
    }
    return choice;
  }

  static PassKind freeing(PipelineKind kind) {
    return kind == PipelineKind::kZbH1 ? PassKind::kWeights : PassKind::kBackward;
  }

  std::vector<BoundaryValue> boundary(const SlicedLoss& sliced, std::size_t cut) const {
    std::vector<BoundaryValue> values;
    for (const ir::NodeId id : sliced.line.crossing(cut)) {
      const ir::TensorType& type = sliced.loss.graph.node(id).type;
      values.push_back({id.index(), type, {}});
      if (ir::is_float(type.dtype)) values.back().gradient = id.index();
    }
    return values;
  }

  Status simulate(const Degrees& degrees, const PipelineSchedule& schedule,
                  const SlicedLoss& sliced, std::span<const PricedPieces* const> priced,
                  const PieceDivision& division) {
    const Links links = links_of(degrees);
    PipelineLayout layout;
    layout.schedule = schedule;
    layout.replicas = degrees.replicas;
    // A rank stands for those that share its stages: they work alike.
    layout.group_sizes.assign(static_cast<std::size_t>(schedule.ranks), 1);
    PipelineCosts costs;
    costs.update_s.assign(static_cast<std::size_t>(schedule.ranks), 0);
    costs.messages = {{.latency_s = links.messages->latency_s}};
    costs.bytes_per_second = links.messages->bytes_per_second;
    costs.overlap = machine_.overlaps;
    PlannedPipeline planned;
    std::vector<double> fixed(costs.update_s.size(), 0), live(costs.update_s.size(), 0);
    std::vector<double> kept;
    std::vector<double> gradients(sliced.loss.parameters.size(), 0);
    std::size_t begin = 0;
    for (std::size_t s = 0; s < division.ends.size(); ++s) {
      const std::size_t end = division.ends[s];
      const auto rank = s % costs.update_s.size();
      const PricedPieces& own = *priced[division.choices[s]];
      if (planned.stage_ranks.size() < costs.update_s.size())
        planned.stage_ranks.push_back(own.ranks);
      Stage stage;
      stage.incoming = boundary(sliced, cuts_[begin]);
      stage.outgoing = boundary(sliced, cuts_[end]);
      PlannedStage& row = planned.stages.emplace_back();
      row.ranks = own.ranks;
      row.first_rank = std::accumulate(
          planned.stage_ranks.begin(),
          planned.stage_ranks.begin() + static_cast<std::ptrdiff_t>(rank), std::int64_t{0});
      row.operators = cuts_[end] - cuts_[begin];
      std::array<double, 4> pass_s{};
      kept.push_back(0);
      for (std::size_t i = begin; i < end; ++i) {
        const PiecePrice& price = own.pieces[i];
        for (std::size_t k = 0; k < pass_s.size(); ++k) pass_s[k] += price.pass_s[k];
        costs.update_s[rank] += price.update_s;
        kept.back() += price.kept_bytes;
        row.parameter_bytes += price.parameter_bytes;
        live[rank] = std::max(live[rank], price.live_bytes);
        EGRET_RETURN_IF_ERROR(add_parameters(sliced, i, price, links, stage, gradients));
      }
      fixed[rank] += row.parameter_bytes * (2 + prices_.state_share());
      row.forward_s = pass_s[0];
      row.backward_s = pass_s[1];
      name_stage(sliced, cuts_[begin], cuts_[end], row);
      costs.stages.push_back(pass_s);
      layout.step.stages.push_back(std::move(stage));
      begin = end;
    }
    find_exchanges(layout,
                   [&](std::int64_t, std::size_t parameter) { return gradients[parameter]; });
    EGRET_ASSIGN_OR_RETURN(const PipelinePrediction predicted, simulate_pipeline(layout, costs));
    ++simulations_;
    planned.seconds = predicted.seconds;
    planned.bubble = predicted.idle();
    for (std::size_t rank = 0; rank < fixed.size(); ++rank) {
      const double bytes = fixed[rank] + live[rank] +
                           schedule_kept_bytes(schedule, static_cast<std::int64_t>(rank), kept,
                                               freeing(schedule.kind));
      planned.memory_bytes = std::max(planned.memory_bytes, bytes);
    }
    planned.shape = {.kind = schedule.kind,
                     .stages = schedule.stages,
                     .stages_per_rank = schedule.stages / schedule.ranks,
                     .micro_batches = degrees.micro_batches,
                     .replicas = degrees.replicas};
    for (const PlannedStage& stage : planned.stages)
      planned.shape.stage_operators.push_back(static_cast<std::int64_t>(stage.operators));
    keep(std::move(planned));
    return base::ok();
  }

  // Sums of gradients may take slower links than messages: their bytes count as often.
  Status add_parameters(const SlicedLoss& sliced, std::size_t piece, const PiecePrice& price,
                        const Links& links, Stage& stage, std::vector<double>& gradients) {
    EGRET_ASSIGN_OR_RETURN(const PiecePrices::Piece* own,
                           prices_.piece(sliced, cuts_[piece], cuts_[piece + 1]));
    const double whole = whole_parameter_bytes(own->graph, sliced.loss);
    const double slower = links.messages->bytes_per_second / links.gradients->bytes_per_second;
    for (const auto& [input, gradient, parameter] : own->graph.parameters) {
      stage.parameters.push_back({0, parameter, 0});
      gradients[parameter] = static_cast<double>(sliced.loss.initial[parameter].bytes()) *
                             price.parameter_bytes / whole * slower;
    }
    return base::ok();
  }

  static void name_stage(const SlicedLoss& sliced, std::size_t begin, std::size_t end,
                         PlannedStage& row) {
    for (std::size_t at = begin; at < end; ++at) {
      const std::string& name = sliced.loss.graph.node(sliced.line.operators[at]).name;
      if (name.empty()) continue;
      if (row.first.empty()) row.first = name;
      row.last = name;
    }
  }

  void keep(PlannedPipeline planned) {
    const auto [at, is_new] =
        best_.try_emplace({planned.shape.stages, planned.stage_ranks}, planned);
    if (!is_new && better(planned, at->second)) at->second = std::move(planned);
  }

  const PipelineTask& task_;
  const Cluster& machine_;
  const PipelinePlanOptions& options_;
  const std::int64_t stage_ranks_;  // 0: as the search chooses
  PiecePrices prices_;
  const base::Progress progress_;
  std::vector<std::size_t> cuts_;  // of pieces, in operators
  std::size_t pieces_ = 0;
  std::size_t simulations_ = 0;
  bool tried_ = false;    // some numbers of replicas and micro-batches
  bool divided_ = false;  // some count of micro-batches suits the batch
  double bound_s_ = std::numeric_limits<double>::infinity();
  // By the number of stages and their ranks.
  std::map<std::pair<std::int64_t, std::vector<std::int64_t>>, PlannedPipeline> best_;
};

}  // namespace

std::int64_t PlannedPipeline::ranks() const {
  return shape.replicas * std::accumulate(stage_ranks.begin(), stage_ranks.end(), std::int64_t{0});
}

bool PlannedPipeline::has_equal_ranks() const {
  return std::ranges::all_of(stage_ranks, [&](auto own) { return own == stage_ranks.front(); });
}

const base::OptionTable<PipelinePlanOptions>& PipelinePlanOptions::table() {
  using P = PipelinePlanOptions;
  const auto size = base::range(1, 1e4);
  static const base::OptionTable<P> rows{
      "plan-pipeline",
      {{"pipeline", &P::pipeline,
        "Cut the step into the stages of a pipeline, and choose stages, ranks of a stage, "
        "replicas, micro-batches and the schedule; needs --train"},
       {"pipeline-stages", &P::pipeline_stages, kPipelineStagesHelp, base::range(0, 1e4)},
       {"stage-ranks", &P::stage_ranks, kStageRanksHelp},
       {"replicas", &P::replicas, kReplicasHelp, size},
       {"micro-batches", &P::micro_batches, kMicroBatchesHelp, size},
       {"pieces", &P::pieces, "With --pipeline: cut the model into at most so many pieces",
        base::range(2, 64)},
       {"piece-time", &P::piece_time, "With --pipeline: time to place a piece on a stage's ranks",
        base::seconds()}}};
  return rows;
}

Result<PipelinePlan> plan_pipeline(const PipelineTask& task, const Cluster& machine,
                                   const PipelinePlanOptions& options, base::ProgressSink* sink) {
  const base::Stopwatch watch;
  const auto stage_ranks = numbers_of(options.stage_ranks);
  if (!stage_ranks || stage_ranks->size() > 1)
    return base::usage_error("--stage-ranks: a pipeline is planned with one number for all stages");
  EGRET_ASSIGN_OR_RETURN(const ir::Graph model, model_of_loss(task.model, task.training));
  PipelineSearch search(task, model, machine, options,
                        stage_ranks->empty() ? 0 : stage_ranks->front(), sink);
  EGRET_RETURN_IF_ERROR(search.run());
  EGRET_ASSIGN_OR_RETURN(PipelinePlan plan, std::move(search).plan());
  plan.seconds = watch.seconds();
  plan.interrupted = base::stop_requested();
  return plan;
}

}  // namespace egret::parallel
