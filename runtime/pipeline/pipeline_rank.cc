// SPDX-License-Identifier: Apache-2.0
#include "runtime/pipeline/pipeline_rank.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <string>

#include "base/median.h"
#include "base/stop.h"
#include "base/thread_clock.h"
#include "base/timer.h"
#include "parallel/pipeline/stage_division.h"
#include "runtime/pipeline/pass_timing.h"
#include "runtime/pipeline/tensor_bytes.h"

namespace egret::runtime {
namespace {

using base::Result;
using base::Status;
using ir::Tensor;
using parallel::PassKind;
using parallel::PipelinePass;

std::int64_t boundary_tags(const parallel::PipelineSchedule& schedule) {
  return 2 * schedule.stages * schedule.micro_batches;
}

// Of one run.
template <typename Run>
Result<double> seconds_of(const Run& run, const TimingOptions& timing) {
  const base::Stopwatch watch;
  const base::ThreadStopwatch own_watch;
  EGRET_RETURN_IF_ERROR(run());
  return timing.processor_time ? own_watch.seconds() : watch.seconds();
}

}  // namespace

PipelineRank::PipelineRank(const parallel::PipelineLayout& layout, std::int64_t rank, bool overlap,
                           Messages& messages)
    : layout_(layout),
      rank_(rank),
      at_(layout.place_of(rank)),
      overlap_(overlap),
      messages_(messages),
      stages_(layout.stages_of(at_.pipeline_rank)),
      sums_(layout.exchanges, rank, boundary_tags(layout.schedule), messages) {}

Result<std::unique_ptr<PipelineRank>> PipelineRank::make(const parallel::PipelineLayout& layout,
                                                         const ir::TrainingOptions& training,
                                                         std::int64_t rank, bool overlap,
                                                         const backends::Backend& backend,
                                                         const backends::CompileOptions& compile,
                                                         Messages& messages) {
  std::unique_ptr<PipelineRank> made(new PipelineRank(layout, rank, overlap, messages));
  EGRET_RETURN_IF_ERROR(made->compile(training, backend, compile));
  return made;
}

Status PipelineRank::compile(const ir::TrainingOptions& training, const backends::Backend& backend,
                             const backends::CompileOptions& compile) {
  exchange_ = group_exchange(rank_ - at_.place, free_tag(2), messages_);
  EGRET_RETURN_IF_ERROR(compile_passes(backend, compile));
  for (const std::int64_t at : stages_) {
    for (const bool after : {false, true}) {
      const std::int64_t boundary = after ? at : at - 1;
      if (boundary < 0 || boundary + 1 == layout_.schedule.stages) continue;
      // Values leave through the boundary behind a stage, and gradients through that before it.
      sent_[{boundary, !after}] = sent_over(layout_.step, boundary, !after, at_.place);
      received_[{boundary, after}] = received_over(layout_.step, boundary, after, at_.place);
    }
    for (const auto& [node, whole] : stage(at).constants)
      constants_[{at, node}] = stage(at).share(node, whole, at_.place);
  }
  return compile_update(training, backend, compile);
}

Result<std::unique_ptr<PassProgram>> PipelineRank::program_of(
    const ir::Graph& whole, const parallel::PlacedGraph* divided, const backends::Backend& backend,
    const backends::CompileOptions& compile) {
  return divided == nullptr
             ? PassProgram::of_one(whole, backend, compile)
             : PassProgram::of_group(*divided, at_.place, exchange_, backend, compile);
}

Status PipelineRank::compile_passes(const backends::Backend& backend,
                                    const backends::CompileOptions& compile) {
  std::set<std::pair<std::int64_t, PassKind>> kinds;
  for (const PipelinePass& pass :
       layout_.schedule.passes[static_cast<std::size_t>(pipeline_rank())])
    kinds.insert({pass.stage, pass.kind});
  for (const auto& [at, kind] : kinds) {
    const parallel::Stage& here = stage(at);
    if (here.pass(kind).outputs.empty()) continue;
    const parallel::PlacedGraph* divided =
        here.division ? &here.division->passes[static_cast<std::size_t>(kind)] : nullptr;
    EGRET_ASSIGN_OR_RETURN(programs_[std::pair(at, kind)],
                           program_of(here.pass(kind).graph, divided, backend, compile));
  }
  return base::ok();
}

// Parameters and state lie where the stages hold the parameters.
Status PipelineRank::compile_update(const ir::TrainingOptions& training,
                                    const backends::Backend& backend,
                                    const backends::CompileOptions& compile) {
  const std::size_t first_state = layout_.step.loss.parameters.size();
  for (const std::size_t variable : layout_.variables_of(pipeline_rank())) {
    if (layout_.updater_of(rank_, variable) != rank_) continue;
    variable < first_state ? parameters_.push_back(variable)
                           : state_.push_back(variable - first_state);
  }
  if (parameters_.empty() && state_.empty()) return base::ok();
  EGRET_ASSIGN_OR_RETURN(const ir::Graph graph,
                         ir::update_graph(layout_.step.loss, parameters_, training));
  if (group_size() > 1) {
    const auto placement_of = [&](std::size_t input) {
      const std::size_t count = parameters_.size();
      const std::size_t variable =
          input < 2 * count ? parameters_[input % count] : first_state + state_[input - 2 * count];
      return layout_.placement_of(pipeline_rank(), variable);
    };
    EGRET_ASSIGN_OR_RETURN(
        update_, parallel::divided_update(graph, stage(stages_.front()).mesh(), placement_of));
  }
  EGRET_ASSIGN_OR_RETURN(
      optimizer_, program_of(graph, group_size() > 1 ? &update_ : nullptr, backend, compile));
  return base::ok();
}

Status PipelineRank::begin(std::span<const Tensor> inputs) {
  const ir::TrainingGraph& loss = layout_.step.loss;
  const std::size_t data = loss.model_inputs + 1;
  const std::int64_t micro_batches = layout_.schedule.micro_batches;
  const std::size_t count = data + loss.initial.size();
  if (inputs.size() != count) {
    return base::bad_input("the pipeline takes " + std::to_string(count) + " inputs, not " +
                           std::to_string(inputs.size()));
  }
  for (std::size_t i = data; i < count; ++i) {
    const Tensor& expected = loss.initial[i - data];
    if (inputs[i].type() != expected.type()) {
      return base::bad_input("input " + std::to_string(i) + " of the pipeline is " +
                             to_string(inputs[i].type()) + ", not " + to_string(expected.type()));
    }
  }
  data_.assign(static_cast<std::size_t>(micro_batches), {});
  for (std::int64_t m = 0; m < micro_batches; ++m) {
    for (std::size_t i = 0; i < data; ++i) {
      const ir::TensorType& type = loss.graph.node(loss.graph.inputs()[i]).type;
      EGRET_ASSIGN_OR_RETURN(Tensor rows, rows_of(inputs[i], type, replica() * micro_batches + m));
      data_[static_cast<std::size_t>(m)].push_back(std::move(rows));
    }
  }
  variables_.assign(inputs.begin() + static_cast<std::ptrdiff_t>(data), inputs.end());
  for (const std::size_t variable : layout_.variables_of(pipeline_rank())) {
    Tensor& held = variables_[variable];
    if (variable >= loss.parameters.size() && layout_.updater_of(rank_, variable) != rank_) {
      held = Tensor();
      continue;
    }
    held = block_of(held, layout_.placement_of(pipeline_rank(), variable),
                    stage(stages_.front()).mesh(), at_.place);
  }
  return base::ok();
}

std::int64_t PipelineRank::message_tag(bool backward, std::int64_t boundary,
                                       std::int64_t micro_batch) const {
  return 2 * (boundary * layout_.schedule.micro_batches + micro_batch) + (backward ? 1 : 0);
}

std::int64_t PipelineRank::free_tag(std::int64_t at) const {
  return boundary_tags(layout_.schedule) + 2 * static_cast<std::int64_t>(layout_.exchanges.size()) +
         at;
}

Tensor PipelineRank::value(std::int64_t at, const Values& values, std::size_t node) const {
  if (const auto found = values.find(node); found != values.end()) return found->second;
  const parallel::Stage& here = stage(at);
  const auto parameter = std::ranges::find(here.parameters, node, &parallel::StageParameter::node);
  if (parameter != here.parameters.end()) return variables_[parameter->parameter];
  return constants_.at({at, node});
}

Status PipelineRank::receive(const PipelinePass& pass, Values& values) {
  const bool is_forward = pass.kind == PassKind::kForward;
  if (is_forward) {
    const parallel::Stage& here = stage(pass.stage);
    const auto& data = data_[static_cast<std::size_t>(pass.micro_batch)];
    for (const parallel::StageData& input : here.data)
      values[input.node] = here.share(input.node, data[input.input], at_.place);
  }
  const std::int64_t from = pass.stage + (is_forward ? -1 : 1);
  if (pass.kind == PassKind::kWeights || from < 0 || from == layout_.schedule.stages)
    return base::ok();
  const std::int64_t boundary = std::min(from, pass.stage);
  const BoundarySide& side = received_.at({boundary, !is_forward});
  std::vector<Tensor> shares;
  for (const ir::TensorType& type : side.types) shares.push_back(Tensor::unfilled(type));
  for (const BoundaryMessage& message : side.messages) {
    const std::int64_t sender = layout_.rank_of(replica(), from, pass.micro_batch, message.place);
    EGRET_ASSIGN_OR_RETURN(
        const MessageBytes bytes,
        messages_.receive(sender, message_tag(!is_forward, boundary, pass.micro_batch)));
    EGRET_RETURN_IF_ERROR(unpack(message, bytes, shares));
  }
  for (std::size_t i = 0; i < shares.size(); ++i) values[side.nodes[i]] = std::move(shares[i]);
  return base::ok();
}

Status PipelineRank::compute(const PipelinePass& pass, Values& values) {
  const auto program = programs_.find({pass.stage, pass.kind});
  if (program == programs_.end()) return base::ok();
  const parallel::StagePass& numbers = stage(pass.stage).pass(pass.kind);
  std::vector<Tensor> inputs;
  for (const std::size_t node : numbers.inputs) inputs.push_back(value(pass.stage, values, node));
  EGRET_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, program->second->run(inputs));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    values[numbers.outputs[i]] = std::move(outputs[i]);
  return base::ok();
}

Status PipelineRank::send(const PipelinePass& pass, const Values& values) {
  const bool is_forward = pass.kind == PassKind::kForward;
  const std::int64_t to = pass.stage + (is_forward ? 1 : -1);
  if (pass.kind == PassKind::kWeights || to < 0 || to == layout_.schedule.stages) return base::ok();
  const std::int64_t boundary = std::min(to, pass.stage);
  const BoundarySide& side = sent_.at({boundary, !is_forward});
  const auto share = [&](std::size_t i) { return value(pass.stage, values, side.nodes[i]); };
  for (const BoundaryMessage& message : side.messages) {
    EGRET_RETURN_IF_ERROR(messages_.send(
        layout_.rank_of(replica(), to, pass.micro_batch, message.place),
        message_tag(!is_forward, boundary, pass.micro_batch), packed(message, share)));
  }
  return base::ok();
}

void PipelineRank::add_gradients(const PipelinePass& pass, const Values& values) {
  for (const parallel::StageParameter& p : stage(pass.stage).parameters)
    add_to(gradients_[p.parameter], value(pass.stage, values, p.gradient));
}

// Keeps what later passes of the micro-batch read.
void PipelineRank::forget(const PipelinePass& pass, Values& values) {
  const parallel::Stage& here = stage(pass.stage);
  std::set<std::size_t> kept;
  const auto keep = [&](PassKind kind) {
    kept.insert(here.pass(kind).inputs.begin(), here.pass(kind).inputs.end());
  };
  if (pass.kind == PassKind::kForward) {
    keep(PassKind::kBackward);
    keep(PassKind::kInputs);
    for (const parallel::BoundaryValue& crossing : here.incoming) {
      if (crossing.gradient) kept.insert(*crossing.gradient);
    }
  }
  if (pass.kind == PassKind::kForward || pass.kind == PassKind::kInputs) {
    keep(PassKind::kWeights);
    for (const parallel::StageParameter& p : here.parameters) kept.insert(p.gradient);
  }
  std::erase_if(values, [&](const auto& entry) { return !kept.contains(entry.first); });
}

// All gradients of a stage are here: sums that wait for no other stage of this rank begin.
Status PipelineRank::start_sums(std::int64_t finished_stage) {
  for (std::size_t e = 0; e < layout_.exchanges.size(); ++e) {
    const parallel::GradientExchange& exchange = layout_.exchanges[e];
    if (std::ranges::find(exchange.stages, finished_stage) == exchange.stages.end() ||
        std::ranges::find(exchange.ranks, rank_) == exchange.ranks.end()) {
      continue;
    }
    const bool is_ready = std::ranges::all_of(exchange.stages, [&](std::int64_t at) {
      return std::ranges::find(stages_, at) == stages_.end() || gradients_left_[at] == 0;
    });
    if (is_ready) EGRET_RETURN_IF_ERROR(sums_.start(e, gradients_));
  }
  return base::ok();
}

Status PipelineRank::run(const PipelinePass& pass) {
  Values& values = values_[{pass.stage, pass.micro_batch}];
  EGRET_RETURN_IF_ERROR(receive(pass, values));
  EGRET_RETURN_IF_ERROR(compute(pass, values));
  EGRET_RETURN_IF_ERROR(send(pass, values));
  const parallel::Stage& here = stage(pass.stage);
  if (pass.kind == PassKind::kForward && here.loss)
    loss_ += value(pass.stage, values, *here.loss).f64_at(0);
  const bool has_weights = pass.kind == PassKind::kBackward || pass.kind == PassKind::kWeights;
  if (!has_weights) {
    forget(pass, values);
    return base::ok();
  }
  add_gradients(pass, values);
  values_.erase({pass.stage, pass.micro_batch});
  if (--gradients_left_[pass.stage] == 0 && overlap_) EGRET_RETURN_IF_ERROR(start_sums(pass.stage));
  return base::ok();
}

Status PipelineRank::update() {
  if (optimizer_ == nullptr) return base::ok();
  const std::size_t first_state = layout_.step.loss.parameters.size();
  std::vector<Tensor> inputs;
  for (const std::size_t p : parameters_) inputs.push_back(gradients_[p]);
  for (const std::size_t p : parameters_) inputs.push_back(variables_[p]);
  for (const std::size_t s : state_) inputs.push_back(variables_[first_state + s]);
  EGRET_ASSIGN_OR_RETURN(std::vector<Tensor> next, optimizer_->run(inputs));
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    variables_[parameters_[i]] = std::move(next[i]);
  for (std::size_t i = 0; i < state_.size(); ++i)
    variables_[first_state + state_[i]] = std::move(next[parameters_.size() + i]);
  return base::ok();
}

// Forms in the order of the layout, so that all ranks add alike. Those of other stages have their
// sums from the ranks of the first of them.
Status PipelineRank::add_tied(std::size_t at) {
  const parallel::TiedParameter& tied = layout_.tied[at];
  const ir::TensorType& whole = layout_.step.loss.initial[tied.parameter].type();
  const std::int64_t tag = free_tag(3 + static_cast<std::int64_t>(variables_.size() + at));
  const auto held_in = [&](const std::vector<std::int64_t>& stages) {
    const parallel::Stage& first = stage(stages.front());
    const auto found =
        std::ranges::find(first.parameters, tied.parameter, &parallel::StageParameter::parameter);
    return parallel::HeldIn{first.mesh(), first.placement(found->node)};
  };
  const auto is_own = [&](const std::vector<std::int64_t>& stages) {
    return std::ranges::any_of(
        stages, [&](std::int64_t s) { return std::ranges::find(stages_, s) != stages_.end(); });
  };
  const auto own = std::ranges::find_if(tied.stages, is_own);
  if (own == tied.stages.end()) return base::ok();
  Tensor& gradient = gradients_[tied.parameter];
  const bool sends = layout_.rank_of(replica(), own->front(), 0, at_.place) == rank_;
  for (const auto& other : tied.stages) {
    if (&other == &*own || !sends) continue;
    std::set<std::int64_t> groups;
    for (const std::int64_t s : other) {
      groups.insert(layout_.schedule.rank_of(s, 0));
      groups.insert(layout_.schedule.rank_of(s, layout_.schedule.micro_batches - 1));
    }
    for (const std::int64_t group : groups) {
      for (std::int64_t place = 0; place < layout_.group_size(group); ++place) {
        const auto moves = parallel::block_moves(whole, held_in(*own), held_in(other), place);
        const auto& runs = moves[static_cast<std::size_t>(at_.place)];
        if (runs.empty()) continue;
        MessageBytes bytes;
        append_runs(gradient, runs, bytes);
        EGRET_RETURN_IF_ERROR(
            messages_.send(layout_.group_begin(replica(), group) + place, tag, std::move(bytes)));
      }
    }
  }
  Tensor sum;
  for (const auto& other : tied.stages) {
    if (&other == &*own) {
      add_to(sum, gradient);
      continue;
    }
    Tensor part = Tensor::unfilled(gradient.type());
    const auto moves = parallel::block_moves(whole, held_in(other), held_in(*own), at_.place);
    for (std::size_t place = 0; place < moves.size(); ++place) {
      if (moves[place].empty()) continue;
      EGRET_ASSIGN_OR_RETURN(
          const MessageBytes bytes,
          messages_.receive(
              layout_.rank_of(replica(), other.front(), 0, static_cast<std::int64_t>(place)), tag));
      std::size_t read = 0;
      EGRET_RETURN_IF_ERROR(write_runs(bytes, read, moves[place], part));
    }
    add_to(sum, part);
  }
  gradient = std::move(sum);
  return base::ok();
}

// Where replicas divide the state, each parameter comes from the rank that has updated it.
Status PipelineRank::share_updates() {
  const auto first = static_cast<std::int64_t>(3 + variables_.size() + layout_.tied.size());
  for (std::size_t e = 0; e < layout_.exchanges.size(); ++e) {
    const parallel::GradientExchange& exchange = layout_.exchanges[e];
    if (std::ranges::find(exchange.ranks, rank_) == exchange.ranks.end()) continue;
    const std::int64_t tag = free_tag(first + static_cast<std::int64_t>(e));
    const auto updater = [&](std::size_t k) { return exchange.ranks[exchange.updaters[k]]; };
    for (std::size_t k = 0; k < exchange.updaters.size(); ++k) {
      for (const std::int64_t to : exchange.ranks) {
        if (updater(k) != rank_ || to == rank_) continue;
        EGRET_RETURN_IF_ERROR(
            messages_.send(to, tag, bytes_of(variables_[exchange.parameters[k]])));
      }
    }
    for (std::size_t k = 0; k < exchange.updaters.size(); ++k) {
      if (updater(k) == rank_) continue;
      Tensor& parameter = variables_[exchange.parameters[k]];
      EGRET_ASSIGN_OR_RETURN(const MessageBytes bytes, messages_.receive(updater(k), tag));
      EGRET_ASSIGN_OR_RETURN(parameter, tensor_of(bytes, parameter.type()));
    }
  }
  return base::ok();
}

// Rank 0 adds the losses in the order of ranks and tells the others, with whether to stop. So all
// stop after the same step, whenever the signal reaches each of them.
Result<double> PipelineRank::mean_loss() {
  const std::vector<std::int64_t> owners = layout_.loss_ranks();
  if (std::ranges::find(owners, rank_) != owners.end())
    EGRET_RETURN_IF_ERROR(messages_.send(0, free_tag(0), bytes_of(loss_)));
  if (rank_ == 0) {
    const std::byte stop{base::stop_requested() ? std::uint8_t{1} : std::uint8_t{0}};
    double sum = 0;
    for (const std::int64_t owner : owners) {
      EGRET_ASSIGN_OR_RETURN(const MessageBytes bytes, messages_.receive(owner, free_tag(0)));
      EGRET_ASSIGN_OR_RETURN(const double part, number_of(bytes));
      sum += part;
    }
    const auto parts = static_cast<double>(layout_.replicas * layout_.schedule.micro_batches);
    for (std::int64_t rank = 0; rank < layout_.ranks(); ++rank) {
      MessageBytes bytes = bytes_of(sum / parts);
      bytes.push_back(stop);
      EGRET_RETURN_IF_ERROR(messages_.send(rank, free_tag(1), std::move(bytes)));
    }
  }
  EGRET_ASSIGN_OR_RETURN(MessageBytes bytes, messages_.receive(0, free_tag(1)));
  stopped_ = !bytes.empty() && bytes.back() != std::byte{0};
  if (!bytes.empty()) bytes.pop_back();
  return number_of(bytes);
}

Result<double> PipelineRank::step() {
  loss_ = 0;
  gradients_.assign(layout_.step.loss.parameters.size(), {});
  gradients_left_.clear();
  const auto& passes = layout_.schedule.passes[static_cast<std::size_t>(pipeline_rank())];
  for (const PipelinePass& pass : passes) {
    if (pass.kind == PassKind::kBackward || pass.kind == PassKind::kWeights)
      ++gradients_left_[pass.stage];
  }
  for (const PipelinePass& pass : passes) {
    EGRET_RETURN_IF_ERROR(run(pass));
    EGRET_RETURN_IF_ERROR(sums_.advance(gradients_));
  }
  for (std::size_t e = 0; e < layout_.exchanges.size() && !overlap_; ++e) {
    const auto& ranks = layout_.exchanges[e].ranks;
    if (std::ranges::find(ranks, rank_) != ranks.end())
      EGRET_RETURN_IF_ERROR(sums_.start(e, gradients_));
  }
  EGRET_RETURN_IF_ERROR(sums_.finish(gradients_));
  for (std::size_t i = 0; i < layout_.tied.size(); ++i) EGRET_RETURN_IF_ERROR(add_tied(i));
  EGRET_RETURN_IF_ERROR(update());
  EGRET_RETURN_IF_ERROR(share_updates());
  return mean_loss();
}

// Each variable comes from the first group of the first replica that has it, or from those who
// update its shares.
Result<std::vector<Tensor>> PipelineRank::end() {
  std::vector<Tensor> wholes = rank_ == 0 ? variables_ : std::vector<Tensor>{};
  std::vector<bool> is_known(variables_.size(), false);
  for (std::int64_t group = 0; group < layout_.schedule.ranks; ++group) {
    const std::int64_t first = layout_.group_begin(0, group);
    const parallel::Mesh& mesh = stage(layout_.stages_of(group).front()).mesh();
    for (const std::size_t variable : layout_.variables_of(group)) {
      if (is_known[variable]) continue;
      is_known[variable] = true;
      const std::int64_t tag = free_tag(3 + static_cast<std::int64_t>(variable));
      std::vector<std::int64_t> holders;  // by place
      for (std::int64_t place = 0; place < layout_.group_size(group); ++place)
        holders.push_back(layout_.updater_of(first + place, variable));
      if (std::ranges::find(holders, rank_) != holders.end())
        EGRET_RETURN_IF_ERROR(messages_.send(0, tag, bytes_of(variables_[variable])));
      if (rank_ != 0) continue;
      const ir::TensorType& whole = layout_.step.loss.initial[variable].type();
      const parallel::Placement placement = layout_.placement_of(group, variable);
      EGRET_ASSIGN_OR_RETURN(const ir::TensorType type, local_type(whole, placement, mesh));
      std::vector<Tensor> shares;
      for (const std::int64_t holder : holders) {
        EGRET_ASSIGN_OR_RETURN(const MessageBytes bytes, messages_.receive(holder, tag));
        EGRET_ASSIGN_OR_RETURN(Tensor share, tensor_of(bytes, type));
        shares.push_back(std::move(share));
      }
      EGRET_ASSIGN_OR_RETURN(wholes[variable], whole_of(shares, whole, placement, mesh));
    }
  }
  return wholes;
}

// Whether a rank of the group saw base::stop_requested(): those that wait for each other stop
// together.
Result<bool> PipelineRank::group_stops() const {
  if (group_size() == 1) return base::stop_requested();
  std::vector<std::int64_t> all(static_cast<std::size_t>(group_size()));
  std::iota(all.begin(), all.end(), 0);
  const MessageBytes own{base::stop_requested() ? std::byte{1} : std::byte{0}};
  EGRET_ASSIGN_OR_RETURN(const auto flags,
                         exchange_(all, std::vector<MessageBytes>(all.size(), own)));
  return std::ranges::any_of(flags, [](const MessageBytes& one) { return one != MessageBytes(1); });
}

double RankSeconds::total() const {
  double sum = update_s;
  for (const StageSeconds& stage : stages)
    sum += std::accumulate(stage.passes.begin(), stage.passes.end(), 0.0);
  return sum;
}

void RankSeconds::average(const RankSeconds& other) {
  update_s = (update_s + other.update_s) / 2;
  for (std::size_t at = 0; at < stages.size(); ++at) {
    for (std::size_t kind = 0; kind < stages[at].passes.size(); ++kind) {
      double& seconds = stages[at].passes[kind];
      seconds = (seconds + other.stages[at].passes[kind]) / 2;
    }
  }
}

// The runs of a pass are not one after another: in a step, other passes replace its values in the
// caches too.
Result<RankSeconds> PipelineRank::time_work(const TimingOptions& timing,
                                            const std::function<Status()>& between) {
  RankSeconds result;
  std::vector<TimedPass> passes;
  std::vector<std::pair<std::int64_t, PassKind>> keys;
  for (const std::int64_t at : stages_) result.stages.push_back({.stage = at});
  const auto side = [](const auto& sides, std::int64_t boundary, bool backward) {
    const auto found = sides.find({boundary, backward});
    return found == sides.end() ? nullptr : &found->second;
  };
  for (auto& [key, program] : programs_) {
    const auto& [at, kind] = key;
    const bool forward = kind == PassKind::kForward;
    const bool weights = kind == PassKind::kWeights;
    const bool adds =
        (weights || kind == PassKind::kBackward) && layout_.schedule.micro_batches > 1;
    TimedPass::Surroundings around{.adds = adds};
    if (!weights) {
      around.received = side(received_, forward ? at - 1 : at, !forward);
      around.sent = side(sent_, forward ? at : at - 1, !forward);
    }
    keys.push_back(key);
    passes.emplace_back(stage(at), kind, *program, around);
  }
  std::vector<Tensor> update;
  if (optimizer_ != nullptr) {
    for (const ir::TensorType& type : optimizer_->input_types()) update.emplace_back(type);
  }
  std::vector<std::vector<double>> seconds(passes.size() + 1);
  for (int i = 0; i <= timing.repetitions; ++i) {
    EGRET_ASSIGN_OR_RETURN(const bool stops, group_stops());
    if (stops) break;
    for (std::size_t k = 0; k < seconds.size(); ++k) {
      if (k == passes.size() && optimizer_ == nullptr) continue;
      const auto run = [&] {
        return k < passes.size() ? passes[k].run() : optimizer_->run(update).status();
      };
      EGRET_RETURN_IF_ERROR(between());
      // Ranks of a group begin together.
      if (group_size() > 1) EGRET_RETURN_IF_ERROR(group_stops().status());
      EGRET_ASSIGN_OR_RETURN(const double taken, seconds_of(run, timing));
      if (i > 0 || timing.repetitions == 0) seconds[k].push_back(taken);
    }
  }
  for (std::size_t k = 0; k < passes.size(); ++k) {
    const auto found = std::ranges::find(result.stages, keys[k].first, &StageSeconds::stage);
    found->passes[static_cast<std::size_t>(keys[k].second)] = base::median(std::move(seconds[k]));
  }
  result.update_s = base::median(std::move(seconds.back()));
  return result;
}

}  // namespace egret::runtime
