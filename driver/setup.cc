// SPDX-License-Identifier: Apache-2.0
#include "driver/setup.h"

#include <utility>

#include "backends/named_backend.h"
#include "driver/measure/interference.h"
#include "driver/select/operator_costs.h"

namespace egret::driver {
namespace {

struct Method {
  const extract::ExtractorRow* extractor = nullptr;
  std::shared_ptr<const extract::ExtractorRow> own{};
  const GraphSearchRow* search = nullptr;
};

base::Result<Method> method_of(const OptimizeOptions& options) {
  if (options.own_extractor) {
    auto row = std::make_shared<const extract::ExtractorRow>(
        extract::ExtractorRow{"own", "given by the program", options.own_extractor});
    return Method{.extractor = row.get(), .own = row};
  }
  const Method method{.extractor = extract::find_extractor(options.extractor),
                      .search = find_graph_search(options.extractor)};
  if (method.extractor == nullptr && method.search == nullptr)
    return base::usage_error("unknown extractor '" + options.extractor + "'");
  if (method.search == nullptr) return method;
  const std::string search = "--extractor " + options.extractor;
  if (options.limit_arena > 0)
    return base::usage_error("--limit-arena cannot be combined with " + search);
  if (!options.forbid.empty())
    return base::usage_error("--forbid cannot be combined with " + search);
  if (chooses_kernels(options))
    return base::usage_error(option_of_kernels(options) + " cannot be combined with " + search);
  return method;
}

base::Result<rules::AdmittedRules> rules_of(const OptimizeOptions& options) {
  if (options.own_rules != nullptr) return *options.own_rules;
  return rules::AdmittedRules::select(options.rules, options.allow);
}

base::Result<CostChoice> costs_of(const OptimizeOptions& options, const Execution& execution,
                                  const std::string& machine, const Engine* engine) {
  if (options.own_cost) {
    CostChoice own;
    own.model = options.own_cost();
    return own;
  }
  const CostOptions costing{.model = options.cost,
                            .database = options.cost_db,
                            .database_machine = options.cost_machine,
                            .execution = execution,
                            .engine = engine != nullptr ? engine->version() : ""};
  return choose_costs(costing, machine);
}

// Null if operators are not measured in an engine.
std::shared_ptr<EngineCosts> engine_costs_of(const Engine* engine, const CostChoice& costs,
                                             int threads) {
  // Of a file of operators; what takes longer is not worth its price.
  constexpr double kLoadSeconds = 60;
  constexpr double kRunSeconds = 20;
  if (engine == nullptr || costs.profiled == nullptr) return nullptr;
  auto timed = std::make_shared<Engine>(*engine);
  timed->set_limits(kLoadSeconds, kRunSeconds);
  timed->keep_process();
  return std::make_shared<EngineCosts>([timed, threads](const ir::Graph& graph, bool profile) {
    return timed->compile_to_time(graph, {.threads = threads, .profile = profile});
  });
}

base::Result<const backends::Backend*> backend_of(const OptimizeOptions& options,
                                                  backends::Precision precision) {
  EGRET_ASSIGN_OR_RETURN(const backends::Backend* backend,
                         backends::backend_called(options.backend));
  EGRET_RETURN_IF_ERROR(backend->takes_precision(precision));
  EGRET_RETURN_IF_ERROR(backend->availability());
  return backend;
}

// Null without --engine.
base::Result<std::shared_ptr<const Engine>> engine_of(const OptimizeOptions& options) {
  if (options.engine.empty()) return std::shared_ptr<const Engine>();
  if (options.limit_arena > 0)
    return base::usage_error("--limit-arena cannot be combined with --engine");
  if (options.precision != OptimizeOptions().precision)
    return base::usage_error("--precision cannot be combined with --engine");
  if (chooses_kernels(options))
    return base::usage_error(option_of_kernels(options) + " cannot be combined with --engine");
  EGRET_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine,
                         Engine::start(options.engine, {.python = options.engine_python}));
  if (options.written_like != nullptr) engine->write_like(*options.written_like);
  return std::shared_ptr<const Engine>(std::move(engine));
}

std::unique_ptr<cost::ProfiledModel> backend_costs_of(const CostChoice& costs,
                                                      const std::string& machine) {
  return std::make_unique<cost::ProfiledModel>(*costs.database, machine, costs.rates.fastest,
                                               costs.rates.rates);
}

void measure_on_backend(Profiler& profiler, const Execution& execution) {
  profiler.measure = [execution](const cost::Query& query) {
    return measured_cost(query, execution);
  };
  profiler.make_ready = [execution](std::span<const cost::Query> queries) {
    make_ready_to_measure(queries, execution);
  };
}

base::Status check_budget(const OptimizeOptions& options) {
  const OptimizeOptions defaults;
  if (options.error_budget == 0) {
    return options.forms_from == defaults.forms_from
               ? base::ok()
               : base::usage_error("--forms-from needs --error-budget");
  }
  if (!options.engine.empty())
    return base::usage_error("--error-budget cannot be combined with --engine");
  if (options.precision != defaults.precision)
    return base::usage_error("--error-budget cannot be combined with --precision");
  if (options.layouts != defaults.layouts)
    return base::usage_error("--error-budget cannot be combined with --layouts egraph");
  if (options.quick || options.profile_time == 0)
    return base::usage_error("--error-budget needs measurements of kernels");
  return base::ok();
}

}  // namespace

base::Result<Setup> prepare(const OptimizeOptions& options) {
  EGRET_RETURN_IF_ERROR(check_budget(options));
  if (options.oracle != "auto" && options.oracle != "none")
    EGRET_RETURN_IF_ERROR(check_engine_name(options.oracle));
  EGRET_ASSIGN_OR_RETURN(auto rules, rules_of(options));
  EGRET_ASSIGN_OR_RETURN(const Method method, method_of(options));
  EGRET_ASSIGN_OR_RETURN(auto forbidden, ForbiddenOperators::named(options.forbid));
  const backends::Precision precision = backends::precision_named(options.precision);
  EGRET_ASSIGN_OR_RETURN(const backends::Backend* backend, backend_of(options, precision));
  EGRET_ASSIGN_OR_RETURN(auto engine, engine_of(options));
  if (chooses_kernels(options) && options.limit_arena > 0)
    return base::usage_error("--limit-arena cannot be combined with " + option_of_kernels(options));
  const int threads = static_cast<int>(options.threads);
  const Execution execution{options.backend, threads, precision};
  std::string machine = machine_fingerprint(execution);
  EGRET_ASSIGN_OR_RETURN(CostChoice costs, costs_of(options, execution, machine, engine.get()));
  // Where nothing is measured, an entry in doubt is better than none.
  if (costs.profiled != nullptr && options.profile_time > 0)
    costs.database->replace_disturbed([execution] { return !is_disturbed_now(execution); });
  auto engine_costs = engine_costs_of(engine.get(), costs, threads);
  std::unique_ptr<cost::ProfiledModel> backend_costs;
  if (engine_costs != nullptr) backend_costs = backend_costs_of(costs, machine);
  const bool by_kernels =
      options.alternatives > 0 && costs.database != nullptr && !options.no_measure;
  return Setup{.rules = std::move(rules),
               .extractor = method.extractor,
               .own_extractor = method.own,
               .search = method.search,
               .forbidden = std::move(forbidden),
               .backend = backend,
               .engine = std::move(engine),
               .execution = execution,
               .machine = std::move(machine),
               .costs = std::move(costs),
               .engine_costs = std::move(engine_costs),
               .backend_costs = std::move(backend_costs),
               .plan = {.threads = threads,
                        .profile = by_kernels,
                        .limit_arena = options.limit_arena,
                        .precision = precision},
               .predicts_by_kernels = by_kernels};
}

Profiler make_profiler(const Setup& setup, double budget_s) {
  Profiler profiler{.model = setup.costs.profiled, .measure = {}, .budget_s = budget_s};
  if (setup.engine_costs == nullptr) {
    measure_on_backend(profiler, setup.execution);
    return profiler;
  }
  profiler.measure = [costs = setup.engine_costs](const cost::Query& query) {
    return costs->measure(query);
  };
  profiler.make_ready = [costs = setup.engine_costs](std::span<const cost::Query> queries) {
    costs->make_ready(queries);
  };
  return profiler;
}

Profiler make_backend_profiler(const Setup& setup, double budget_s) {
  Profiler profiler{.model = setup.backend_costs.get(), .measure = {}, .budget_s = budget_s};
  measure_on_backend(profiler, setup.execution);
  return profiler;
}

}  // namespace egret::driver
