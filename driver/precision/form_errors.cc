// SPDX-License-Identifier: Apache-2.0
#include "driver/precision/form_errors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/stop.h"
#include "base/timer.h"

namespace egret::driver {
namespace {

using backends::OperandForm;

constexpr std::array kLowered = {OperandForm::kI8, OperandForm::kBF16};

bool is_constant(const ir::Graph& graph, ir::NodeId id) {
  return graph.node(id).kind == ir::NodeKind::kConstant;
}

// The operands of a contraction that are computed, each once, and its result.
struct Values {
  std::vector<ir::NodeId> of;  // nodes whose values are wanted

  std::size_t place(ir::NodeId id) {
    const auto found = std::ranges::find(of, id);
    if (found != of.end()) return static_cast<std::size_t>(found - of.begin());
    of.push_back(id);
    return of.size() - 1;
  }
};

// The program with further outputs.
ir::Graph observed(const ir::Graph& program, std::span<const ir::NodeId> values) {
  ir::Graph graph;
  for (const ir::Node& node : program.nodes()) graph.append(node);
  for (const auto& output : program.outputs()) graph.add_output(output.name, output.node);
  for (std::size_t i = 0; i < values.size(); ++i)
    graph.add_output("egret.value." + std::to_string(i), values[i]);
  return graph;
}

// The program with an input added to the result of each contraction.
ir::Graph disturbed(const ir::Graph& program, std::span<const ir::NodeId> contractions) {
  ir::Graph graph;
  std::vector<ir::NodeId> map;
  std::vector<ir::NodeId> errors;
  const ir::Operator* const add = ir::find_operator("add");
  for (std::size_t i = 0; i < program.size(); ++i) {
    ir::Node node = program.node(ir::NodeId(i));
    for (ir::NodeId& input : node.inputs) input = map[input.index()];
    map.push_back(graph.append(std::move(node)));
    const auto found = std::ranges::find(contractions, ir::NodeId(i));
    if (found == contractions.end()) continue;
    const ir::TensorType type = program.node(ir::NodeId(i)).type;
    const ir::NodeId error =
        graph.append({.kind = ir::NodeKind::kInput,
                      .type = type,
                      .name = "egret.error." + std::to_string(found - contractions.begin())});
    map.back() = graph.append({.op = add, .inputs = {map.back(), error}, .type = type});
  }
  for (const auto& output : program.outputs())
    graph.add_output(output.name, map[output.node.index()]);
  return graph;
}

ir::Tensor difference(const ir::Tensor& a, const ir::Tensor& b) {
  ir::Tensor result(a.type());
  std::ranges::transform(a.as<float>(), b.as<float>(), result.mutable_as<float>().begin(),
                         std::minus<>());
  return result;
}

double norm_square(const ir::Tensor& values) {
  double sum = 0;
  for (const float value : values.as<float>()) sum += static_cast<double>(value) * value;
  return sum;
}

class Meter {
 public:
  Meter(const ir::Graph& program, std::span<const ir::NodeId> contractions,
        std::span<const Sample> calibration, const backends::Backend& backend,
        const backends::CompileOptions& plan, double seconds)
      : program_(program),
        contractions_(contractions),
        calibration_(calibration),
        backend_(backend),
        plan_(plan),
        seconds_(seconds),
        results_(contractions.size()),
        errors_(contractions.size()) {
    plan_.division.clear();
    plan_.limit_arena = 0;
  }

  base::Result<std::vector<FormErrors>> run() {
    if (contractions_.empty()) return std::move(results_);
    EGRET_RETURN_IF_ERROR(observe());
    if (may_measure()) EGRET_RETURN_IF_ERROR(prepare_effects());
    // Large errors come first, because a small one is better inferred from a large one of the same
    // contraction than the other way round.
    for (const OperandForm form : kLowered) {
      for (std::size_t i = 0; i < contractions_.size(); ++i) {
        if (base::stop_requested()) return base::limit_hit("interrupted");
        FormErrors::One& one = results_[i][form];
        if (!one.possible) continue;
        Error& error = errors_[i][static_cast<std::size_t>(form)];
        EGRET_ASSIGN_OR_RETURN(ir::Tensor values, error_of(i, form));
        error.norm_square = norm_square(values);
        one.possible = std::isfinite(error.norm_square);
        if (!one.possible || !effects_ || !may_measure()) continue;
        EGRET_ASSIGN_OR_RETURN(one.square, effect_of(i, std::move(values)));
        error.measured = true;
      }
    }
    estimate_others();
    return std::move(results_);
  }

 private:
  struct Error {
    double norm_square = 0;  // of the contraction's result in one form, on the first sample
    bool measured = false;   // its effect on the outputs
  };

  bool may_measure() const { return watch_.seconds() < seconds_; }

  // Runs the program on all samples: ranges of first operands, and the values of the first sample.
  base::Status observe() {
    Values wanted;
    std::vector<std::size_t> first;  // the place of each contraction's first operand
    for (const ir::NodeId id : contractions_) {
      const ir::Node& node = program_.node(id);
      first.push_back(wanted.place(node.inputs[0]));
      for (const ir::NodeId input : node.inputs) {
        if (!is_constant(program_, input)) wanted.place(input);
      }
      wanted.place(id);
    }
    EGRET_ASSIGN_OR_RETURN(const auto plan, backend_.compile(observed(program_, wanted.of), plan_));
    const std::size_t before = program_.outputs().size();
    std::vector<double> least(contractions_.size(), 0), most(contractions_.size(), 0);
    for (std::size_t s = 0; s < calibration_.size(); ++s) {
      EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> values, plan->run(calibration_[s]));
      for (std::size_t i = 0; i < contractions_.size(); ++i) {
        const auto [low, high] = std::ranges::minmax(values[before + first[i]].as<float>());
        least[i] = std::min<double>(least[i], low);
        most[i] = std::max<double>(most[i], high);
      }
      if (s > 0) continue;
      for (std::size_t k = 0; k < wanted.of.size(); ++k)
        values_.emplace(wanted.of[k], std::move(values[before + k]));
      values.resize(before);
      exact_ = std::move(values);
    }
    for (std::size_t i = 0; i < contractions_.size(); ++i) {
      const ir::NodeId id = contractions_[i];
      const bool has_weights = is_constant(program_, program_.node(id).inputs[1]);
      for (const OperandForm form : kLowered) {
        FormErrors::One& one = results_[i][form];
        one.lowering.form = form;
        one.possible = backend_.takes_form(program_, id, form) &&
                       (form != OperandForm::kI8 || has_weights) && std::isfinite(least[i]) &&
                       std::isfinite(most[i]);
        if (!one.possible || form != OperandForm::kI8) continue;
        set_range(one.lowering, least[i], most[i]);
        one.lowering.weight_scales = backends::weight_scales(program_, id);
      }
    }
    return base::ok();
  }

  // How the contraction's result changes with its operands in this form.
  base::Result<ir::Tensor> error_of(std::size_t i, OperandForm form) {
    const ir::NodeId id = contractions_[i];
    ir::Node node = program_.node(id);
    ir::Graph alone;
    std::vector<ir::Tensor> inputs;
    std::map<ir::NodeId, ir::NodeId> built;
    for (ir::NodeId& input : node.inputs) {
      const auto [entry, is_new] = built.try_emplace(input);
      if (is_new) {
        ir::Node leaf{.kind = ir::NodeKind::kInput,
                      .type = program_.node(input).type,
                      .name = "x" + std::to_string(inputs.size())};
        if (is_constant(program_, input)) {
          leaf = program_.node(input);
        } else {
          inputs.push_back(values_.at(input));
        }
        entry->second = alone.append(std::move(leaf));
      }
      input = entry->second;
    }
    const ir::NodeId result = alone.append(std::move(node));
    alone.add_output("y", result);
    const auto rounded =
        backends::with_roundings(alone, {}, {{result, results_[i][form].lowering}});
    EGRET_ASSIGN_OR_RETURN(const auto plan, backend_.compile(rounded.graph, plan_));
    EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Tensor> got, plan->run(inputs));
    return difference(got.front(), values_.at(id));
  }

  // The program with an error that may be added to each contraction's result.
  base::Status prepare_effects() {
    EGRET_ASSIGN_OR_RETURN(effects_, backend_.compile(disturbed(program_, contractions_), plan_));
    effect_inputs_ = calibration_.front();
    for (std::size_t i = effect_inputs_.size(); i < effects_->input_types().size(); ++i)
      effect_inputs_.emplace_back(effects_->input_types()[i]);
    // Inputs are numbered in the order of the contractions' nodes.
    std::vector<std::size_t> order(contractions_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return contractions_[i]; });
    places_.resize(contractions_.size());
    for (std::size_t k = 0; k < order.size(); ++k)
      places_[order[k]] = calibration_.front().size() + k;
    return base::ok();
  }

  // The square of the outputs' relative error where this is the only one.
  base::Result<double> effect_of(std::size_t i, ir::Tensor error) {
    std::swap(effect_inputs_[places_[i]], error);
    EGRET_ASSIGN_OR_RETURN(Sample got, effects_->run(effect_inputs_));
    std::swap(effect_inputs_[places_[i]], error);
    const Sample expected[] = {exact_}, with_error[] = {std::move(got)};
    return std::pow(relative_error(expected, with_error), 2);
  }

  // How far the outputs move for each unit of a contraction's error.
  std::optional<double> gain(std::size_t i) const {
    for (const OperandForm form : kLowered) {
      const Error& error = errors_[i][static_cast<std::size_t>(form)];
      if (error.measured && error.norm_square > 0)
        return results_[i][form].square / error.norm_square;
    }
    return std::nullopt;
  }

  void estimate_others() {
    std::vector<double> gains;
    for (std::size_t i = 0; i < contractions_.size(); ++i) {
      if (const auto known = gain(i)) gains.push_back(*known);
    }
    std::ranges::sort(gains);
    const double usual = gains.empty() ? 1 : gains[gains.size() / 2];
    for (std::size_t i = 0; i < contractions_.size(); ++i) {
      const double own = gain(i).value_or(usual);
      for (const OperandForm form : kLowered) {
        const Error& error = errors_[i][static_cast<std::size_t>(form)];
        if (!error.measured) results_[i][form].square = own * error.norm_square;
      }
    }
  }

  const ir::Graph& program_;
  const std::span<const ir::NodeId> contractions_;
  const std::span<const Sample> calibration_;
  const backends::Backend& backend_;
  backends::CompileOptions plan_;
  const double seconds_;
  const base::Stopwatch watch_;
  std::vector<FormErrors> results_;
  std::vector<std::array<Error, backends::kOperandForms>> errors_;
  std::map<ir::NodeId, ir::Tensor> values_;  // of the first sample
  std::unique_ptr<backends::ExecutablePlan> effects_;
  std::vector<ir::Tensor> effect_inputs_;
  std::vector<std::size_t> places_;  // of errors among these inputs, by contraction
  Sample exact_;                     // outputs on the first sample
};

}  // namespace

base::Result<std::vector<FormErrors>> measure_form_errors(const ir::Graph& program,
                                                          std::span<const ir::NodeId> contractions,
                                                          std::span<const Sample> calibration,
                                                          const backends::Backend& backend,
                                                          const backends::CompileOptions& plan,
                                                          double seconds) {
  return Meter(program, contractions, calibration, backend, plan, seconds).run();
}

}  // namespace egret::driver
