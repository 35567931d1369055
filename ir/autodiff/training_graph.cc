// SPDX-License-Identifier: Apache-2.0
#include "ir/autodiff/training_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "ir/autodiff/gradient.h"
#include "ir/evaluate/input_draws.h"
#include "ir/graph/adjoint.h"
#include "ir/graph/shared_nodes.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir {
namespace {

Value times(GraphBuilder& b, Value x, double factor) {
  return b.add("mul", {x, b.scalar(b.type(x).dtype, factor)});
}

// ---- Losses: the mean over the batch, as a number.

struct Loss {
  TrainingRow row;
  TensorType (*labels)(const TensorType& output);
  Value (*build)(GraphBuilder& b, Value output, Value labels);
};

Value sum_of_all(GraphBuilder& b, Value x) {
  return b.add("reduce_sum", {x}, reduction_attrs(axes_from(0, b.type(x).rank()), false));
}

double elements_of(const TensorType& type) {
  double count = 1;
  for (const Index& size : type.dims) count *= static_cast<double>(size.constant());
  return count;
}

// A sum times 1/count instead of a mean: devices that hold parts of the batch can add their sums.
Value mean_of_all(GraphBuilder& b, Value x) {
  return times(b, sum_of_all(b, x), 1 / elements_of(b.type(x)));
}

// -log softmax(x) at the class, along the last axis. The class is selected by a mask instead of an
// index: devices that hold some of the classes can add their sums, and the gradient is a mask too,
// not a scatter (the parallel loss of Shoeybi et al., "Megatron-LM", 2019, section 3).
Value cross_entropy(GraphBuilder& b, Value x, Value labels) {
  const TensorType type = b.type(x);
  const TensorType classes = b.type(labels);
  const std::int64_t axis = type.rank() - 1;
  const std::int64_t count = type.dims.back().constant();
  const Value logarithms = b.add("log_softmax", {x}, {{"axis", axis}});
  Integers column;
  for (const Index& size : classes.dims) column.push_back(size.constant());
  column.push_back(1);
  // A label counts modulo the number of classes, as an index does.
  const Value own = b.add("mod", {b.add("reshape", {labels}, {{"shape", column}}),
                                  b.scalar(classes.dtype, static_cast<double>(count))});
  const Value numbers = b.add("iota", std::span<const Value>{},
                              {{"size", count}, {"dtype", std::string(to_string(classes.dtype))}});
  const Value picked =
      b.add("where", {b.add("equal", {own, numbers}), logarithms, b.scalar(type.dtype, 0)});
  return b.add("neg", {times(b, sum_of_all(b, picked), 1 / elements_of(classes))});
}

Value squared_error(GraphBuilder& b, Value x, Value labels) {
  const Value difference = b.add("sub", {x, labels});
  return mean_of_all(b, b.add("mul", {difference, difference}));
}

constexpr std::array kLosses{
    Loss{{"cross_entropy", "of logits [..., C] with the classes [...]"},
         [](const TensorType& output) {
           TensorType type(DType::kI64, output.dims);
           if (!type.dims.empty()) type.dims.pop_back();
           return type;
         },
         cross_entropy},
    Loss{{"mse", "mean squared difference from labels of the output's type"},
         [](const TensorType& output) { return output; },
         squared_error},
};

// ---- Optimizers, as PyTorch defines them.

// One state variable of an optimizer, and the distribution of its values after some steps (for
// random inputs).
struct StateRow {
  std::string_view name;
  Draw later;
};

struct Optimizer {
  TrainingRow row;
  std::vector<StateRow> state;   // one for each parameter, of its type; initially 0
  std::vector<StateRow> shared;  // counts of steps
  Value (*step)(GraphBuilder& b, const TrainingOptions& o, Value parameter, Value gradient,
                std::span<const Value> shared, std::vector<Value>& state);
};

Value sgd(GraphBuilder& b, const TrainingOptions& o, Value parameter, Value gradient,
          std::span<const Value>, std::vector<Value>&) {
  return b.add("sub", {parameter, times(b, gradient, o.learning_rate)});
}

// v = momentum * v + g
Value momentum(GraphBuilder& b, const TrainingOptions& o, Value parameter, Value gradient,
               std::span<const Value> shared, std::vector<Value>& state) {
  state[0] = b.add("add", {times(b, state[0], o.momentum), gradient});
  return sgd(b, o, parameter, state[0], shared, state);
}

// Kingma, Ba, "Adam: a method for stochastic optimization", ICLR 2015.
Value adam(GraphBuilder& b, const TrainingOptions& o, Value parameter, Value gradient,
           std::span<const Value> shared, std::vector<Value>& state) {
  const DType type = b.type(parameter).dtype;
  const auto moved = [&](Value average, Value towards, double beta) {
    return b.add("add", {times(b, average, beta), times(b, towards, 1 - beta)});
  };
  const auto unbiased = [&](Value average, double beta) {
    const Value left = b.add("pow", {b.scalar(type, beta), shared[0]});
    return b.add("div", {average, b.add("sub", {b.scalar(type, 1), left})});
  };
  state[0] = moved(state[0], gradient, o.beta1);
  state[1] = moved(state[1], b.add("mul", {gradient, gradient}), o.beta2);
  const Value root = b.add("sqrt", {unbiased(state[1], o.beta2)});
  const Value scale = b.add("add", {root, b.scalar(type, o.adam_epsilon)});
  const Value direction = b.add("div", {unbiased(state[0], o.beta1), scale});
  return sgd(b, o, parameter, direction, shared, state);
}

const std::array<Optimizer, 3>& optimizer_table() {
  static const std::array<Optimizer, 3> rows{
      Optimizer{{"sgd", "parameter - lr * gradient"}, {}, {}, sgd},
      Optimizer{{"momentum", "v = momentum * v + gradient; parameter - lr * v"},
                {{"momentum", {-0.01, 0.01}}},
                {},
                momentum},
      Optimizer{{"adam", "Adam with bias correction"},
                {{"m", {-0.01, 0.01}}, {"v", {1e-5, 1e-4}}},
                {{"step", {1, 10}}},
                adam},
  };
  return rows;
}

struct Updated {
  std::vector<Value> parameters;
  std::vector<Value> state;
};

// One step of the optimizer. The state is what all parameters share, then that of each.
Updated applied(GraphBuilder& b, const Optimizer& optimizer, const TrainingOptions& options,
                std::span<const Value> found, std::span<const Value> parameters,
                std::span<const Value> old_state) {
  Updated next;
  for (std::size_t i = 0; i < optimizer.shared.size(); ++i) {
    const DType type = b.type(old_state[i]).dtype;
    next.state.push_back(b.add("add", {old_state[i], b.scalar(type, 1)}));
  }
  const std::vector<Value> shared = next.state;
  const std::size_t each = optimizer.state.size();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto own = old_state.subspan(shared.size() + i * each, each);
    std::vector<Value> state(own.begin(), own.end());
    next.parameters.push_back(optimizer.step(b, options, parameters[i], found[i], shared, state));
    next.state.insert(next.state.end(), state.begin(), state.end());
  }
  return next;
}

template <typename Rows>
auto* row_called(const Rows& rows, std::string_view name) {
  const auto found = std::ranges::find_if(rows, [&](const auto& r) { return r.row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

// A pattern is a name, or a prefix and "*".
bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

// Whether training updates each node. Two passes: a constant with any use other than as a measured
// input is a parameter.
std::vector<bool> parameters_of(const Graph& model, const TrainingOptions& options) {
  std::vector<bool> only_measured(model.size(), false);
  for (const NodeId id : live_nodes(model)) {
    const Node& node = model.node(id);
    for (std::size_t i = 0; node.op != nullptr && i < node.inputs.size(); ++i) {
      if (is_measured_input(*node.op, i)) only_measured[node.inputs[i].index()] = true;
    }
  }
  for (const NodeId id : live_nodes(model)) {
    const Node& node = model.node(id);
    for (std::size_t i = 0; node.op != nullptr && i < node.inputs.size(); ++i) {
      if (!is_measured_input(*node.op, i)) only_measured[node.inputs[i].index()] = false;
    }
  }
  std::vector<bool> result(model.size(), false);
  for (std::size_t i = 0; i < model.size(); ++i) {
    const Node& node = model.nodes()[i];
    result[i] = node.kind == NodeKind::kConstant && !node.name.empty() &&
                is_float(node.type.dtype) && node.type.rank() > 0 && !only_measured[i] &&
                std::ranges::none_of(options.freeze,
                                     [&](const std::string& p) { return matches(p, node.name); });
  }
  return result;
}

base::Status check_freeze(const Graph& model, const TrainingOptions& options) {
  for (const std::string& pattern : options.freeze) {
    const bool known = std::ranges::any_of(model.nodes(), [&](const Node& node) {
      return node.kind == NodeKind::kConstant && matches(pattern, node.name);
    });
    if (!known) return base::usage_error("--freeze: the model has no constant '" + pattern + "'");
  }
  return base::ok();
}

base::Result<NodeId> chosen_output(const Graph& model, const std::string& name) {
  if (model.outputs().empty()) return base::bad_input("the model has no output");
  if (name.empty()) return model.outputs().front().node;
  for (const auto& out : model.outputs()) {
    if (out.name == name) return out.node;
  }
  return base::usage_error("--loss-of: the model has no output '" + name + "'");
}

// A uniform distribution with the tensor's mean and deviation, cut to its least and largest value.
// Constant tensors, such as zeros, get a small spread so that they do not hide errors.
Draw draw_like(const Tensor& data) {
  double sum = 0;
  double squares = 0;
  Draw most{HUGE_VAL, -HUGE_VAL};
  for (std::int64_t i = 0; i < data.elements(); ++i) {
    const double value = data.f64_at(i);
    sum += value;
    squares += value * value;
    most = {std::min(most.low, value), std::max(most.high, value)};
  }
  if (data.elements() == 0 || !std::isfinite(squares)) return usual_draw(data.dtype());
  const double count = static_cast<double>(data.elements());
  const double mean = sum / count;
  // A uniform distribution on [mean - r, mean + r] has the deviation r / sqrt(3).
  const double reach = std::sqrt(3 * std::max(0.0, squares / count - mean * mean));
  const double some = most.low == 0 ? 0.01 : 0.1 * std::abs(most.low);
  if (most.low == most.high) return {most.low - some, most.low + some};
  return {std::max(most.low, mean - reach), std::min(most.high, mean + reach)};
}

// Builds the training step from the model's graph.
class Maker {
 public:
  Maker(const Graph& model, const TrainingOptions& options, const Loss& loss,
        const Optimizer& optimizer)
      : model_(model),
        options_(options),
        loss_(loss),
        optimizer_(optimizer),
        is_parameter_(parameters_of(model, options)) {}

  base::Result<TrainingGraph> run(NodeId output, bool differentiate) {
    if (std::ranges::find(is_parameter_, true) == is_parameter_.end())
      return base::bad_input("the model has no parameters: no named floating-point constants");
    const TensorType type = model_.node(output).type;
    if (!is_float(type.dtype) || (loss_.build == cross_entropy && type.rank() == 0)) {
      return base::bad_input("a loss " + std::string(loss_.row.name) + " of an output " +
                             to_string(type));
    }
    copy_inputs(type);
    copy_rest();
    EGRET_RETURN_IF_ERROR(b_.status());
    const Value loss = loss_.build(b_, values_[output.index()], labels_);
    b_.output("loss", loss);
    EGRET_RETURN_IF_ERROR(expand());
    if (differentiate) EGRET_RETURN_IF_ERROR(update());
    EGRET_ASSIGN_OR_RETURN(made_.graph, b_.finish());
    made_.graph.name = model_.name;
    made_.graph.metadata = model_.metadata;
    made_.graph.metadata[std::string(kDrawsKey)] = draws_text(draws_);
    made_.graph = with_shared_nodes(made_.graph);
    EGRET_RETURN_IF_ERROR(made_.graph.check_invariants());
    return std::move(made_);
  }

 private:
  std::string fresh(std::string name) {
    while (!names_.insert(name).second) name += "_";
    return name;
  }

  // An input of the step with its initial value and the distribution of its random values.
  Value add_variable(std::vector<std::string>& list, const std::string& wanted, Tensor initial,
                     const Draw& draw) {
    list.push_back(fresh(wanted));
    draws_[list.back()] = draw;
    const Value made = b_.input(list.back(), initial.type());
    made_.initial.push_back(std::move(initial));
    return made;
  }

  // All inputs come first and keep their places when composites are expanded.
  // The order of the step's inputs: those of the model, labels, parameters, shared state, state by
  // parameter.
  void copy_inputs(const TensorType& output) {
    values_.resize(model_.size());
    for (const NodeId id : model_.inputs()) {
      const Node& node = model_.node(id);
      values_[id.index()] = b_.input(fresh(node.name), node.type);
    }
    made_.model_inputs = model_.inputs().size();
    if (is_integer(loss_.labels(output).dtype)) made_.classes = output.dims.back().constant();
    const std::string labels = fresh("labels");
    labels_ = b_.input(labels, loss_.labels(output));
    if (made_.classes > 0) draws_[labels] = {0, static_cast<double>(made_.classes - 1)};
    for (const NodeId id : live_nodes(model_)) {
      const Node& node = model_.node(id);
      if (!is_parameter_[id.index()]) continue;
      values_[id.index()] =
          add_variable(made_.parameters, node.name, node.data, draw_like(node.data));
    }
    for (const StateRow& shared : optimizer_.shared) {
      add_variable(made_.state, std::string(shared.name), Tensor::scalar(real(), 0), shared.later);
    }
    made_.shared_state = made_.state.size();
    const std::size_t count = made_.parameters.size();
    for (std::size_t i = 0; i < count; ++i) {
      for (const StateRow& state : optimizer_.state) {
        add_variable(made_.state, made_.parameters[i] + "." + std::string(state.name),
                     Tensor(made_.initial[i].type()), state.later);
      }
    }
  }

  DType real() const { return made_.initial.empty() ? DType::kF32 : made_.initial[0].type().dtype; }

  void copy_rest() {
    for (const NodeId id : live_nodes(model_)) {
      const Node& node = model_.node(id);
      Value& value = values_[id.index()];
      if (value.valid()) continue;
      if (node.kind == NodeKind::kConstant) {
        value = b_.constant(node.data, node.name.empty() ? "" : fresh(node.name));
        continue;
      }
      std::vector<Value> inputs;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const std::size_t input = node.inputs[i].index();
        // A parameter that is also a measured input keeps its initial value there.
        const bool stays = is_parameter_[input] && is_measured_input(*node.op, i);
        inputs.push_back(stays ? b_.constant(model_.nodes()[input].data) : values_[input]);
      }
      value = b_.add(*node.op, inputs, node.attrs, node.name.empty() ? "" : fresh(node.name));
    }
  }

  // Expands composites. Forward and backward pass then share the values inside of them.
  base::Status expand() {
    EGRET_ASSIGN_OR_RETURN(const Graph forward, b_.finish());
    made_.forward_operators = without_dead_nodes(forward).operator_count();
    EGRET_ASSIGN_OR_RETURN(const Graph expanded, expanded_for_gradients(forward));
    b_ = GraphBuilder();
    std::vector<Value> values(expanded.size());
    for (std::size_t i = 0; i < expanded.size(); ++i) {
      const Node& node = expanded.nodes()[i];
      if (node.kind == NodeKind::kInput) values[i] = b_.input(node.name, node.type);
    }
    for (const NodeId id : live_nodes(expanded)) {
      const Node& node = expanded.node(id);
      if (node.kind == NodeKind::kConstant) values[id.index()] = b_.constant(node.data, node.name);
      if (node.kind != NodeKind::kOperator) continue;
      std::vector<Value> inputs;
      for (const NodeId input : node.inputs) inputs.push_back(values[input.index()]);
      values[id.index()] = b_.add(*node.op, inputs, node.attrs, node.name);
    }
    for (const NodeId id : expanded.inputs()) inputs_.push_back(values[id.index()]);
    loss_value_ = values[expanded.outputs().front().node.index()];
    b_.output("loss", loss_value_);
    return b_.status();
  }

  // Differentiates the loss, then applies the optimizer to each parameter. Outputs follow the order
  // of the inputs that they replace.
  base::Status update() {
    const std::size_t first = made_.model_inputs + 1;
    const std::size_t count = made_.parameters.size();
    const std::span<const Value> parameters = std::span(inputs_).subspan(first, count);
    EGRET_ASSIGN_OR_RETURN(const std::vector<Value> found, gradients(b_, loss_value_, parameters));
    const auto [next, next_state] = applied(b_, optimizer_, options_, found, parameters,
                                            std::span(inputs_).subspan(first + count));
    for (std::size_t i = 0; i < count; ++i) {
      b_.output(fresh(made_.parameters[i] + ".next"), next[i]);
    }
    for (std::size_t i = 0; i < next_state.size(); ++i) {
      b_.output(fresh(made_.state[i] + ".next"), next_state[i]);
    }
    return b_.status();
  }

  const Graph& model_;
  const TrainingOptions& options_;
  const Loss& loss_;
  const Optimizer& optimizer_;
  const std::vector<bool> is_parameter_;  // by node of the model
  GraphBuilder b_;
  TrainingGraph made_;
  std::set<std::string> names_{"loss"};
  std::map<std::string, Draw> draws_;  // by input of the step
  std::vector<Value> values_;          // by node of the model
  Value labels_, loss_value_;
  std::vector<Value> inputs_;  // of the step, once composites are expanded
};

template <typename Rows>
std::vector<TrainingRow> rows_of(const Rows& rows) {
  std::vector<TrainingRow> list;
  for (const auto& row : rows) list.push_back(row.row);
  return list;
}

}  // namespace

std::span<const TrainingRow> losses() {
  static const std::vector<TrainingRow> list = rows_of(kLosses);
  return list;
}

std::span<const TrainingRow> optimizers() {
  static const std::vector<TrainingRow> list = rows_of(optimizer_table());
  return list;
}

namespace {

base::Result<TrainingGraph> made_graph(const Graph& model, const TrainingOptions& options,
                                       bool differentiate) {
  const auto* loss = row_called(kLosses, options.loss);
  if (loss == nullptr) return base::usage_error("unknown loss '" + options.loss + "'");
  const auto* optimizer = row_called(optimizer_table(), options.optimizer);
  if (optimizer == nullptr) {
    return base::usage_error("unknown optimizer '" + options.optimizer + "'");
  }
  EGRET_RETURN_IF_ERROR(check_freeze(model, options));
  for (const Node& node : model.nodes()) {
    if (!node.type.is_concrete()) {
      return base::unsupported("gradients need known sizes, not " + to_string(node.type) +
                               "; bind them with --bind NAME=SIZE");
    }
  }
  EGRET_ASSIGN_OR_RETURN(const NodeId output, chosen_output(model, options.model_output));
  return Maker(model, options, *loss, *optimizer).run(output, differentiate);
}

}  // namespace

base::Result<TrainingGraph> training_graph(const Graph& model, const TrainingOptions& options) {
  return made_graph(model, options, true);
}

base::Result<TrainingGraph> loss_graph(const Graph& model, const TrainingOptions& options) {
  return made_graph(model, options, false);
}

base::Result<Graph> update_graph(const TrainingGraph& step, std::span<const std::size_t> parameters,
                                 const TrainingOptions& options) {
  const auto* optimizer = row_called(optimizer_table(), options.optimizer);
  if (optimizer == nullptr) {
    return base::usage_error("unknown optimizer '" + options.optimizer + "'");
  }
  GraphBuilder b;
  const auto type = [&](std::size_t variable) { return step.initial[variable].type(); };
  std::vector<Value> found, own, state;
  std::vector<std::string> names;
  for (const std::size_t i : parameters)
    found.push_back(b.input(step.parameters[i] + ".gradient", type(i)));
  for (const std::size_t i : parameters) own.push_back(b.input(step.parameters[i], type(i)));
  const std::size_t count = step.parameters.size();
  const auto add_state = [&](std::size_t at) {
    names.push_back(step.state[at]);
    state.push_back(b.input(step.state[at], type(count + at)));
  };
  for (std::size_t k = 0; k < optimizer->shared.size(); ++k) add_state(k);
  for (const std::size_t i : parameters) {
    for (std::size_t k = 0; k < optimizer->state.size(); ++k)
      add_state(optimizer->shared.size() + i * optimizer->state.size() + k);
  }
  const Updated next = applied(b, *optimizer, options, found, own, state);
  for (std::size_t k = 0; k < parameters.size(); ++k)
    b.output(step.parameters[parameters[k]] + ".next", next.parameters[k]);
  for (std::size_t k = 0; k < names.size(); ++k) b.output(names[k] + ".next", next.state[k]);
  return b.finish();
}

}  // namespace egret::ir
