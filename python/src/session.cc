// SPDX-License-Identifier: Apache-2.0
// egret.Session: a model that runs many times; and egret.compare().
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>

#include "base/recently_used.h"
#include "driver/engine/engine.h"
#include "driver/explain_difference.h"
#include "driver/load_in_engine.h"
#include "driver/measure/backend_options.h"
#include "driver/measure/model_comparison.h"
#include "driver/sized_plans.h"
#include "python/src/arrays.h"
#include "python/src/bindings.h"
#include "python/src/call.h"
#include "python/src/models.h"
#include "python/src/options.h"

namespace egret::python {
namespace {

struct SessionArguments {
  CommonOptions common;
  driver::ModelOptions model;
  driver::BackendOptions backend;

  void fill(const OptionTexts& texts) { fill_options(texts, common, model, backend); }
};

// One plan for each combination of open sizes that was run; the one that was used the longest time
// ago goes first.
class Session {
 public:
  struct Planned {
    std::unique_ptr<backends::ExecutablePlan> plan;
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    std::mutex running{};  // a plan owns one arena
  };

  Session(driver::ModelSource source, SessionArguments arguments)
      : source_(std::move(source)), arguments_(std::move(arguments)) {}

  static base::Result<std::unique_ptr<Session>> open(driver::ModelSource source,
                                                     SessionArguments arguments) {
    auto session = std::make_unique<Session>(std::move(source), std::move(arguments));
    EGRET_ASSIGN_OR_RETURN(session->declared_, driver::declared_inputs(session->source_));
    EGRET_ASSIGN_OR_RETURN(session->open_, driver::open_sizes(session->source_));
    const auto bound = frontends::parse_bindings(session->arguments_.model.bind);
    EGRET_RETURN_IF_ERROR(bound.status());
    std::erase_if(session->open_, [&](const auto& one) { return bound->contains(one.first); });
    // Without open sizes there is one plan, which is made now, and the model is not needed again.
    if (session->open_.empty()) {
      EGRET_RETURN_IF_ERROR(session->planned(session->arguments_.model.bind).status());
      session->source_.bytes.reset();
    }
    return session;
  }

  const std::vector<frontends::DeclaredInput>& declared() const { return declared_; }
  std::vector<std::string> open_sizes() const {
    std::vector<std::string> names;
    for (const auto& [name, axis] : open_) names.push_back(name);
    return names;
  }
  std::size_t plan_count() const {
    const std::scoped_lock lock(mutex_);
    return plans_.size();
  }

  struct Outputs {
    std::vector<std::string> names;
    std::vector<ir::Tensor> values;
  };
  base::Result<Outputs> run(const ir::GivenInputs& given) {
    EGRET_ASSIGN_OR_RETURN(const driver::InputValues values, driver::fit_inputs(declared_, given));
    EGRET_ASSIGN_OR_RETURN(const auto bind, driver::bind_given(arguments_.model.bind, values));
    EGRET_ASSIGN_OR_RETURN(const std::shared_ptr<Planned> planned, this->planned(bind));
    std::vector<ir::Tensor> inputs;
    for (const std::string& name : planned->inputs) {
      const auto value = values.values.find(name);
      if (value == values.values.end()) {
        std::string names;
        for (const std::string& each : planned->inputs)
          names += (names.empty() ? "'" : ", '") + each + "'";
        return base::usage_error("no value for input '" + name + "'; the inputs are " + names);
      }
      inputs.push_back(value->second);
    }
    const std::scoped_lock lock(planned->running);
    EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> outputs, planned->plan->run(inputs));
    return Outputs{planned->outputs, std::move(outputs)};
  }

 private:
  // A run that is in progress keeps a plan that others displace.
  base::Result<std::shared_ptr<Planned>> planned(const std::vector<std::string>& bind) {
    const std::scoped_lock lock(mutex_);
    if (const std::shared_ptr<Planned>* const known = plans_.find(bind)) return *known;
    plans_.make_room();  // before another takes memory
    driver::ModelOptions options = arguments_.model;
    options.bind = bind;
    EGRET_ASSIGN_OR_RETURN(driver::ConcreteModel read,
                           driver::read_concrete_model(source_, options));
    auto made = std::make_shared<Planned>();
    const ir::Graph& graph = read.model.graph;
    for (const ir::NodeId id : graph.inputs()) made->inputs.push_back(graph.node(id).name);
    for (const auto& output : graph.outputs()) made->outputs.push_back(output.name);
    EGRET_ASSIGN_OR_RETURN(made->plan,
                           driver::compile_plan(std::move(read.model.graph), arguments_.backend,
                                                arguments_.common.threads));
    return plans_.add(bind, std::move(made));
  }

  driver::ModelSource source_;
  SessionArguments arguments_;
  std::vector<frontends::DeclaredInput> declared_;
  std::vector<frontends::OpenSize> open_;
  mutable std::mutex mutex_;
  base::RecentlyUsed<std::vector<std::string>, std::shared_ptr<Planned>> plans_{
      driver::SizedPlanOptions().most_plans};  // by --bind
};

// (name, element type, sizes: numbers, or the names of open ones)
nb::list declared_list(const Session& session) {
  nb::list all;
  for (const frontends::DeclaredInput& input : session.declared()) {
    if (!input.type) {
      all.append(nb::make_tuple(input.name, "unknown", nb::tuple()));
      continue;
    }
    nb::list sizes;
    for (const ir::Index& size : input.type->dims) {
      if (size.is_constant()) {
        sizes.append(size.constant());
      } else {
        sizes.append(ir::to_string(size));
      }
    }
    all.append(nb::make_tuple(input.name, std::string(ir::to_string(input.type->dtype)),
                              nb::tuple(sizes)));
  }
  return all;
}

nb::dict run(Session& session, const nb::dict& feeds) {
  ir::GivenInputs given = tensors_of(feeds);
  Call call;
  auto outputs = call.run([&] { return session.run(given); });
  nb::dict result;
  for (std::size_t i = 0; i < outputs->values.size(); ++i)
    result[outputs->names[i].c_str()] = array_of(std::move(outputs->values[i]));
  return result;
}

struct CompareArguments {
  CommonOptions common;
  driver::ModelOptions model;
  driver::BackendOptions backend;
  driver::ComparisonOptions comparison;
  driver::EngineChoice engine;
};

struct Comparison {
  driver::CheckReport report;
  driver::DifferenceText difference;

  std::string text() const {
    return driver::to_string(report) + (difference.text.empty() ? "" : "\n" + difference.text);
  }
};

base::Result<std::unique_ptr<backends::ExecutablePlan>> plan_of(
    const driver::ComparedModel& model) {
  if (model.engine == nullptr)
    return driver::compile_plan(model.graph, model.backend, model.threads);
  return driver::load_in_engine(*model.engine, model.source, model.graph,
                                {.threads = static_cast<int>(model.threads)});
}

base::Result<Comparison> compared(const driver::ModelSource& a, const driver::ModelSource& b,
                                  const CompareArguments& arguments,
                                  const ir::GivenInputs& values) {
  constexpr auto names = driver::BindNames::kMayBeUnknown;
  EGRET_ASSIGN_OR_RETURN(const driver::InputValues given, values_for(a, values));
  driver::ModelOptions bound = arguments.model;
  EGRET_ASSIGN_OR_RETURN(bound.bind, driver::bind_given(bound.bind, given));
  EGRET_ASSIGN_OR_RETURN(const driver::ConcreteModel first,
                         driver::read_concrete_model(a, bound, names));
  EGRET_ASSIGN_OR_RETURN(const driver::ConcreteModel second,
                         driver::read_concrete_model(b, bound, names));
  EGRET_RETURN_IF_ERROR(driver::same_interface(first.model.graph, second.model.graph));
  EGRET_ASSIGN_OR_RETURN(const auto engine, driver::start_engine(arguments.engine));
  const driver::ComparedModel candidate{.source = b,
                                        .graph = second.model.graph,
                                        .engine = engine.get(),
                                        .backend = arguments.backend,
                                        .threads = arguments.common.threads};
  EGRET_ASSIGN_OR_RETURN(const auto plan, plan_of(candidate));
  driver::CheckOptions checking;
  checking.samples = static_cast<int>(arguments.comparison.samples);
  checking.seed = static_cast<std::uint64_t>(arguments.backend.seed);
  checking.roundoff = roundoff(driver::precision_of(arguments.backend));
  checking.given = given.values;
  Comparison result;
  EGRET_ASSIGN_OR_RETURN(
      result.report,
      driver::compare_models(first.model.graph, second.model.graph, *plan, checking));
  if (arguments.comparison.explain_diff && !result.report.passed) {
    result.difference =
        driver::explain_difference(first.model.graph, candidate, result.report, checking);
  }
  return result;
}

Comparison compare(const Model& a, const Model& b, const OptionTexts& options,
                   const nb::dict& inputs, const nb::object& progress) {
  CompareArguments arguments;
  fill_options(options, arguments.common, arguments.model, arguments.backend, arguments.comparison,
               arguments.engine);
  const ir::GivenInputs values = tensors_of(inputs);
  Call call(progress);
  const driver::ModelSource first = a.source();
  const driver::ModelSource second = b.source();
  return *call.run([&] { return compared(first, second, arguments, values); });
}

}  // namespace

void bind_session(nb::module_& module) {
  // An array as a run takes it and gives it back, for tests of copies.
  module.def("through_tensor", [](nb::handle array) { return array_of(tensor_of(array)); });
  nb::class_<Session>(module, "Session")
      .def_prop_ro("inputs", &declared_list)
      .def_prop_ro("open_sizes", &Session::open_sizes)
      .def_prop_ro("plan_count", &Session::plan_count)
      .def("run", &run, nb::arg("feeds"));
  module.def("open_session", [](const Model& model, const OptionTexts& options) {
    SessionArguments arguments;
    arguments.fill(options);
    driver::ModelSource source = model.source();
    Call call;
    return *call.run([&] { return Session::open(std::move(source), std::move(arguments)); });
  });
  module.def("session_options", [] {
    SessionArguments arguments;
    return describe(arguments.common, arguments.model, arguments.backend);
  });
  nb::class_<driver::OutputError>(module, "OutputError")
      .def_ro("output", &driver::OutputError::output)
      .def_ro("max_error", &driver::OutputError::max_error)
      .def_ro("bound", &driver::OutputError::bound)
      .def_ro("wrong", &driver::OutputError::wrong)
      .def_ro("unstable", &driver::OutputError::unstable)
      .def_ro("elements", &driver::OutputError::elements);
  nb::class_<driver::CheckReport>(module, "CheckReport")
      .def_ro("passed", &driver::CheckReport::passed)
      .def_ro("max_error", &driver::CheckReport::max_error)
      .def_ro("bound", &driver::CheckReport::bound)
      .def_ro("not_told_apart", &driver::CheckReport::not_told_apart)
      .def_ro("vacuous_output", &driver::CheckReport::vacuous)
      .def_ro("outputs", &driver::CheckReport::outputs);
  nb::class_<Comparison>(module, "Comparison")
      .def_ro("report", &Comparison::report)
      .def_prop_ro("first_difference", [](const Comparison& c) { return c.difference.json.dump(); })
      .def("text", &Comparison::text);
  module.def("compare", &compare, nb::arg("a"), nb::arg("b"), nb::arg("options"), nb::arg("inputs"),
             nb::arg("progress").none());
  module.def("compare_options", [] {
    CompareArguments arguments;
    return describe(arguments.common, arguments.model, arguments.backend, arguments.comparison,
                    arguments.engine);
  });
}

}  // namespace egret::python
