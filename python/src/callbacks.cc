// SPDX-License-Identifier: Apache-2.0
#include "python/src/callbacks.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "extract/core/choice_walk.h"
#include "ir/graph/operator.h"
#include "python/src/arrays.h"

namespace egret::python {
namespace {

std::string name_of(const nb::object& callback) {
  return "python:" +
         nb::cast<std::string>(nb::str(nb::getattr(callback, "__name__", nb::str("callable"))));
}

// ---- extractors ----

// An e-graph as flat arrays. The arrays refer to this object, so it holds copies.
struct View {
  egraph::EGraphView graph;
  std::vector<double> costs;
};

// One int64 or uint32 array for each class, or a list.
base::Result<std::vector<extract::NodeIndex>> choice_of(const nb::object& answer,
                                                        const egraph::EGraphView& graph) {
  const nb::object numpy = nb::module_::import_("numpy");
  const nb::object flat = numpy.attr("ascontiguousarray")(answer, nb::arg("dtype") = "int64");
  const auto array = nb::cast<nb::ndarray<const std::int64_t, nb::ndim<1>, nb::device::cpu>>(flat);
  if (array.shape(0) != graph.class_count()) {
    return base::usage_error("the extractor's answer has " + std::to_string(array.shape(0)) +
                             " elements; it must have one node for each of the " +
                             std::to_string(graph.class_count()) + " classes (-1: none)");
  }
  std::vector<extract::NodeIndex> choice(graph.class_count(), extract::kNoNode);
  for (std::size_t c = 0; c < choice.size(); ++c) {
    const std::int64_t node = array.data()[c];
    if (node < 0) continue;
    if (node < graph.class_begin[c] || node >= graph.class_begin[c + 1]) {
      return base::usage_error("the extractor chose node " + std::to_string(node) + " for class " +
                               std::to_string(c) + ", whose nodes are " +
                               std::to_string(graph.class_begin[c]) + " to " +
                               std::to_string(graph.class_begin[c + 1] - 1));
    }
    choice[c] = static_cast<extract::NodeIndex>(node);
  }
  return choice;
}

// The answer as a solution, checked: complete, acyclic, nothing forbidden chosen.
base::Result<extract::Solution> checked_solution(const extract::Problem& problem,
                                                 std::vector<extract::NodeIndex> choice) {
  using Outcome = extract::ChoiceWalk::Outcome;
  const extract::ChoiceWalk walk = extract::walk_choice(problem, choice);
  if (walk.outcome != Outcome::kComplete) {
    return base::usage_error(
        "the extractor's answer is no graph: class " + std::to_string(walk.culprit) +
        (walk.outcome == Outcome::kMissing ? " is needed and has no node"
                                           : " needs itself, through the chosen nodes"));
  }
  if (!std::isfinite(walk.dag_cost))
    return base::usage_error("the extractor's answer contains a node of infinite cost");
  extract::Solution solution = extract::solution_of(problem, std::move(choice));
  solution.bound = 0;
  return solution;
}

// ---- cost models ----

nb::object value_of(const ir::AttrValue& value) {
  return std::visit([](const auto& one) { return nb::cast(one); }, value);
}

// ("f32", (1, 64))
nb::tuple pair_of(const ir::TensorType& type) {
  nb::list shape;
  for (const std::int64_t size : type.shape()) shape.append(size);
  return nb::make_tuple(std::string(ir::to_string(type.dtype)), nb::tuple(shape));
}

class PythonModel final : public cost::Model {
 public:
  PythonModel(Call& call, nb::handle callback, std::string name)
      : call_(call), callback_(callback), name_(std::move(name)) {}

  std::string_view name() const override { return name_; }

  // One call for each different operator application.
  base::Result<cost::Cost> cost(const cost::Query& query) override {
    if (query.all_constant()) return cost::Cost{};
    const std::string key = cost::key_of(query);
    const auto known = seconds_.find(key);
    if (known != seconds_.end()) return cost::Cost{.seconds = known->second};
    const nb::gil_scoped_acquire locked;
    if (call_.failed()) return base::usage_error("the cost model failed before");
    try {
      nb::dict attrs;
      for (const auto& [attribute, value] : query.attrs->entries())
        attrs[attribute.c_str()] = value_of(value);
      nb::list inputs;
      for (const ir::TensorType& type : query.inputs) inputs.append(pair_of(type));
      nb::list outputs;
      outputs.append(pair_of(*query.output));
      const std::string op(query.op->name());
      const auto seconds = nb::cast<double>(callback_(op, attrs, inputs, outputs));
      if (!std::isfinite(seconds) || seconds < 0) {
        return base::usage_error("the cost model gave " + std::to_string(seconds) + " for " + key +
                                 "; a cost is a number of seconds, at least 0");
      }
      seconds_.emplace(key, seconds);
      return cost::Cost{.seconds = seconds};
    } catch (nb::python_error& error) {
      return call_.fail(error);
    } catch (const nb::cast_error&) {
      return base::usage_error("the cost model's answer for " + key + " is no number");
    }
  }

 private:
  Call& call_;
  nb::handle callback_;  // the caller of egret.optimize() holds it
  std::string name_;
  std::map<std::string, double> seconds_;
};

// ---- schedulers ----

class PythonScheduler final : public egraph::Scheduler {
 public:
  PythonScheduler(Call& call, nb::handle object, std::vector<std::string> names)
      : call_(call), object_(object), names_(std::move(names)) {}

  void start(std::size_t) override {
    ask<bool>(false, [&] {
      nb::list names;
      for (const std::string& name : names_) names.append(name);
      object_.attr("start")(names);
      return true;
    });
  }
  std::uint64_t match_limit(std::uint64_t iteration, std::size_t rule) override {
    return ask<std::uint64_t>(0, [&]() -> std::uint64_t {
      const nb::object limit = object_.attr("match_limit")(iteration, rule);
      if (limit.is_none()) return kUnlimited;
      const auto number = nb::cast<std::int64_t>(limit);
      return number < 0 ? 0 : static_cast<std::uint64_t>(number);
    });
  }
  bool accept(std::uint64_t iteration, std::size_t rule, bool exceeded) override {
    return ask<bool>(
        false, [&] { return nb::cast<bool>(object_.attr("accept")(iteration, rule, exceeded)); });
  }
  bool may_stop(std::uint64_t iteration) override {
    return ask<bool>(true, [&] { return nb::cast<bool>(object_.attr("may_stop")(iteration)); });
  }

 private:
  template <typename Value, typename Question>
  Value ask(Value otherwise, const Question& question) {
    const nb::gil_scoped_acquire locked;
    if (call_.failed()) return otherwise;
    try {
      return question();
    } catch (nb::python_error& error) {
      (void)call_.fail(error);
    } catch (const nb::cast_error&) {
      PyErr_SetString(PyExc_TypeError,
                      "a scheduler's match_limit() gives an integer or None, accept() and "
                      "may_stop() give bool");
      nb::python_error error;
      (void)call_.fail(error);
    }
    return otherwise;
  }

  Call& call_;
  nb::handle object_;
  std::vector<std::string> names_;
};

}  // namespace

void use_extractor(Call& call, const nb::object& callback, driver::OptimizeOptions& how) {
  how.extractor = name_of(callback);
  const nb::handle held = callback;
  how.own_extractor = [&call, held](const extract::Problem& problem,
                                    const extract::Options&) -> base::Result<extract::Solution> {
    std::vector<extract::NodeIndex> choice;
    {
      const nb::gil_scoped_acquire locked;
      if (call.failed()) return base::usage_error("the extractor failed before");
      try {
        auto view = std::make_unique<View>(
            View{problem.graph, {problem.costs.begin(), problem.costs.end()}});
        const nb::object object = nb::cast(std::move(view));
        const nb::object answer = held(object, object.attr("costs"));
        EGRET_ASSIGN_OR_RETURN(choice, choice_of(answer, problem.graph));
      } catch (nb::python_error& error) {
        return call.fail(error);
      } catch (const nb::cast_error&) {
        return base::usage_error("the extractor's answer is no array of node numbers");
      }
    }
    return checked_solution(problem, std::move(choice));
  };
}

void use_cost_model(Call& call, const nb::object& callback, driver::OptimizeOptions& how) {
  how.cost = name_of(callback);
  const nb::handle held = callback;
  how.own_cost = [&call, held, name = how.cost] {
    return std::make_unique<PythonModel>(call, held, name);
  };
}

void use_scheduler(Call& call, const nb::object& scheduler, driver::OptimizeOptions& how) {
  const nb::handle held = scheduler;
  how.own_scheduler = [&call, held](std::span<const rules::CompiledRule> rules) {
    std::vector<std::string> names;
    for (const rules::CompiledRule& rule : rules) names.push_back(rule.name());
    return std::make_unique<PythonScheduler>(call, held, std::move(names));
  };
}

void bind_callbacks(nb::module_& module) {
  using Index = egraph::EGraphView::Index;
  const auto array = [](const std::vector<Index> egraph::EGraphView::*member) {
    return [member](nb::handle_t<View> self) {
      const auto& values = nb::cast<const View&>(self).graph.*member;
      return view_of(values.data(), values.size(), self);
    };
  };
  nb::class_<View>(module, "View")
      .def_prop_ro("class_begin", array(&egraph::EGraphView::class_begin))
      .def_prop_ro("node_class", array(&egraph::EGraphView::node_class))
      .def_prop_ro("child_begin", array(&egraph::EGraphView::child_begin))
      .def_prop_ro("children", array(&egraph::EGraphView::children))
      .def_prop_ro("roots", array(&egraph::EGraphView::roots))
      .def_prop_ro("costs",
                   [](nb::handle_t<View> self) {
                     const auto& costs = nb::cast<const View&>(self).costs;
                     return view_of(costs.data(), costs.size(), self);
                   })
      .def_prop_ro("node_op", [](nb::handle_t<View> self) {
        // Numbers of operators, equal for equal operators with equal attributes.
        const auto& ops = nb::cast<const View&>(self).graph.node_op;
        static_assert(sizeof(egraph::OpId) == sizeof(Index));
        return view_of(reinterpret_cast<const Index*>(ops.data()), ops.size(), self);
      });
}

}  // namespace egret::python
