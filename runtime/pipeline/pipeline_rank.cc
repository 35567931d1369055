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
      overlap_(overlap),
      messages_(messages),
      stages_(layout.stages_of(rank % layout.schedule.ranks)),
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
  std::set<std::pair<std::int64_t, PassKind>> kinds;
  for (const PipelinePass& pass :
       layout_.schedule.passes[static_cast<std::size_t>(pipeline_rank())])
    kinds.insert({pass.stage, pass.kind});
  for (const auto& [at, kind] : kinds) {
    const ir::Graph& graph = stage(at).pass(kind).graph;
    if (graph.outputs().empty()) continue;
    EGRET_ASSIGN_OR_RETURN(plans_[std::pair(at, kind)], backend.compile(graph, compile));
  }
  std::set<std::size_t> parameters;
  for (const std::int64_t at : stages_) {
    for (const parallel::StageParameter& p : stage(at).parameters) parameters.insert(p.parameter);
  }
  parameters_.assign(parameters.begin(), parameters.end());
  if (parameters_.empty()) return base::ok();
  EGRET_ASSIGN_OR_RETURN(const ir::Graph graph,
                         ir::update_graph(layout_.step.loss, parameters_, training));
  const std::vector<std::string>& names = layout_.step.loss.state;
  for (std::size_t i = 2 * parameters_.size(); i < graph.inputs().size(); ++i) {
    const auto found = std::ranges::find(names, graph.node(graph.inputs()[i]).name);
    state_.push_back(static_cast<std::size_t>(found - names.begin()));
  }
  EGRET_ASSIGN_OR_RETURN(optimizer_, backend.compile(graph, compile));
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
  return here.constants.at(node);
}

Status PipelineRank::receive(const PipelinePass& pass, Values& values) {
  const parallel::Stage& here = stage(pass.stage);
  const bool is_forward = pass.kind == PassKind::kForward;
  if (is_forward) {
    const auto& data = data_[static_cast<std::size_t>(pass.micro_batch)];
    for (const parallel::StageData& input : here.data) values[input.node] = data[input.input];
    if (pass.stage == 0) return base::ok();
    const std::int64_t from = layout_.rank_of(replica(), pass.stage - 1, pass.micro_batch);
    EGRET_ASSIGN_OR_RETURN(
        const MessageBytes bytes,
        messages_.receive(from, message_tag(false, pass.stage - 1, pass.micro_batch)));
    return read_values(bytes, here.incoming, false, values);
  }
  if (pass.kind == PassKind::kWeights || pass.stage + 1 == layout_.schedule.stages)
    return base::ok();
  const std::int64_t from = layout_.rank_of(replica(), pass.stage + 1, pass.micro_batch);
  EGRET_ASSIGN_OR_RETURN(const MessageBytes bytes,
                         messages_.receive(from, message_tag(true, pass.stage, pass.micro_batch)));
  return read_values(bytes, here.outgoing, true, values);
}

Status PipelineRank::compute(const PipelinePass& pass, Values& values) {
  const auto plan = plans_.find({pass.stage, pass.kind});
  if (plan == plans_.end()) return base::ok();
  const parallel::StagePass& graph = stage(pass.stage).pass(pass.kind);
  std::vector<Tensor> inputs;
  for (const std::size_t node : graph.inputs) inputs.push_back(value(pass.stage, values, node));
  EGRET_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, plan->second->run(inputs));
  for (std::size_t i = 0; i < outputs.size(); ++i) values[graph.outputs[i]] = std::move(outputs[i]);
  return base::ok();
}

Status PipelineRank::send(const PipelinePass& pass, const Values& values) {
  const parallel::Stage& here = stage(pass.stage);
  const bool is_forward = pass.kind == PassKind::kForward;
  const std::int64_t to = pass.stage + (is_forward ? 1 : -1);
  if (pass.kind == PassKind::kWeights || to < 0 || to == layout_.schedule.stages) return base::ok();
  MessageBytes bytes;
  for (const parallel::BoundaryValue& crossing : is_forward ? here.outgoing : here.incoming) {
    if (!is_forward && !crossing.gradient) continue;
    const std::size_t node = is_forward ? crossing.value : *crossing.gradient;
    const Tensor tensor = value(pass.stage, values, node);
    bytes.insert(bytes.end(), tensor.data().begin(), tensor.data().end());
  }
  return messages_.send(layout_.rank_of(replica(), to, pass.micro_batch),
                        message_tag(!is_forward, is_forward ? pass.stage : to, pass.micro_batch),
                        std::move(bytes));
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
    if (std::ranges::find(exchange.stages, finished_stage) == exchange.stages.end()) continue;
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
  EGRET_RETURN_IF_ERROR(update());
  return mean_loss();
}

// Each variable comes from the first rank that has it.
Result<std::vector<Tensor>> PipelineRank::end() {
  const ir::TrainingGraph& loss = layout_.step.loss;
  std::vector<bool> is_here(variables_.size(), false);
  for (const std::size_t p : parameters_) is_here[p] = true;
  for (const std::size_t s : state_) is_here[loss.parameters.size() + s] = true;
  MessageBytes list(variables_.size());
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = is_here[i] ? std::byte{1} : std::byte{0};
  const auto tag = [&](std::size_t variable) {
    return free_tag(3 + static_cast<std::int64_t>(variable));
  };
  EGRET_RETURN_IF_ERROR(messages_.send(0, free_tag(2), list));
  for (std::size_t i = 0; i < variables_.size() && rank_ != 0; ++i) {
    if (is_here[i]) EGRET_RETURN_IF_ERROR(messages_.send(0, tag(i), bytes_of(variables_[i])));
  }
  if (rank_ != 0) return std::vector<Tensor>{};
  std::vector<bool> is_known = is_here;
  for (std::int64_t rank = 0; rank < layout_.ranks(); ++rank) {
    EGRET_ASSIGN_OR_RETURN(const MessageBytes has, messages_.receive(rank, free_tag(2)));
    for (std::size_t i = 0; i < has.size() && rank != 0; ++i) {
      if (has[i] == std::byte{0}) continue;
      EGRET_ASSIGN_OR_RETURN(const MessageBytes bytes, messages_.receive(rank, tag(i)));
      if (is_known[i]) continue;
      EGRET_ASSIGN_OR_RETURN(variables_[i], tensor_of(bytes, variables_[i].type()));
      is_known[i] = true;
    }
  }
  return variables_;
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
  for (auto& [key, plan] : plans_) {
    const auto& [at, kind] = key;
    const bool forward = kind == PassKind::kForward;
    const bool weights = kind == PassKind::kWeights;
    const bool first = at == 0, last = at + 1 == layout_.schedule.stages;
    keys.push_back(key);
    passes.emplace_back(stage(at), kind, *plan,
                        TimedPass::Surroundings{.receives = !weights && !(forward ? first : last),
                                                .sends = !weights && !(forward ? last : first),
                                                .adds = (weights || kind == PassKind::kBackward) &&
                                                        layout_.schedule.micro_batches > 1});
  }
  std::vector<Tensor> update;
  if (optimizer_ != nullptr) {
    for (const ir::TensorType& type : optimizer_->input_types()) update.emplace_back(type);
  }
  std::vector<std::vector<double>> seconds(passes.size() + 1);
  for (int i = 0; i <= timing.repetitions && !base::stop_requested(); ++i) {
    for (std::size_t k = 0; k < seconds.size(); ++k) {
      if (k == passes.size() && optimizer_ == nullptr) continue;
      const auto run = [&] {
        return k < passes.size() ? passes[k].run() : optimizer_->run(update).status();
      };
      EGRET_RETURN_IF_ERROR(between());
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
