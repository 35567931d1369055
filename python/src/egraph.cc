// SPDX-License-Identifier: Apache-2.0
// egret.EGraph: the engine alone, on terms as text.
#include "egraph/core/egraph.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/stop.h"
#include "egraph/core/smallest_term.h"
#include "egraph/core/view.h"
#include "egraph/formats/dump.h"
#include "egraph/proofs/explainer.h"
#include "egraph/search/runner.h"
#include "egraph/search/syntax.h"
#include "extract/core/extractor.h"
#include "python/src/arrays.h"
#include "python/src/bindings.h"
#include "python/src/call.h"

namespace egret::python {
namespace {

struct RunSummary {
  std::string stop_reason;
  std::uint64_t iterations = 0;
  std::uint64_t nodes = 0;
  std::uint64_t classes = 0;
  double seconds = 0;
  std::map<std::string, std::uint64_t> applied;  // rules that changed anything
};

class Use {
 public:
  explicit Use(bool& busy) : busy_(busy) { busy_ = true; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() { busy_ = false; }

 private:
  bool& busy_;
};

class Engine {
 public:
  Engine() : egraph_(ops_), syntax_(ops_) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::uint32_t add(const std::string& term) {
    check_free();
    const auto id = value_or_raise(syntax_.add_term(egraph_, term));
    restore();
    return id.index();
  }

  // Whether they were two classes.
  bool merge(std::uint32_t a, std::uint32_t b) {
    const bool changed = value_or_raise(egraph_.merge(known(a), known(b)));
    restore();
    return changed;
  }
  bool same(std::uint32_t a, std::uint32_t b) const { return egraph_.same(known(a), known(b)); }
  std::uint32_t find(std::uint32_t a) const { return egraph_.find(known(a)).index(); }
  std::size_t nodes() const {
    check_free();
    return egraph_.node_count();
  }
  std::size_t classes() const {
    check_free();
    return egraph_.class_count();
  }

  RunSummary run(const std::vector<std::string>& texts, std::uint64_t iterations,
                 std::uint64_t most_nodes, double seconds, const std::string& scheduler,
                 const nb::object& progress) {
    check_free();
    std::vector<egraph::Rewrite> rules;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      auto rule = syntax_.rule(texts[i]);
      if (!rule.ok()) raise(rule.status().at("rule " + std::to_string(i + 1) + ": " + texts[i]));
      rules.push_back(*std::move(rule));
    }
    auto made = value_or_raise(egraph::make_scheduler(scheduler));
    Call call(progress, OnInterrupt::kKeepResult);
    const Use use(busy_);
    auto report = call.run([&]() -> base::Result<egraph::RunReport> {
      egraph::Runner runner(egraph_, rules);
      runner.limits().iterations = iterations;
      runner.limits().nodes = most_nodes;
      runner.limits().seconds = seconds;
      runner.set_scheduler(std::move(made));
      const base::Progress reported(call.progress(), "saturate");
      runner.hooks().before_iteration = [&](egraph::EGraph& graph, const egraph::RunReport& run) {
        if (reported.due()) {
          reported.report({{base::kIteration, run.iterations.size()},
                           {base::kENodes, graph.node_count()},
                           {base::kEClasses, graph.class_count()}});
        }
        return !base::stop_requested();
      };
      runner.hooks().after_rule = [](const egraph::EGraph&, std::size_t) {
        return !base::stop_requested();
      };
      egraph::RunReport run = runner.run();
      EGRET_RETURN_IF_ERROR(run.conflict);
      return run;
    });
    RunSummary summary;
    summary.stop_reason =
        call.interrupted() ? "interrupted" : std::string(egraph::to_string(report->stop));
    summary.iterations = report->iterations.size();
    summary.nodes = egraph_.node_count();
    summary.classes = egraph_.class_count();
    summary.seconds = report->seconds;
    for (const egraph::RuleStats& rule : report->rules) {
      if (rule.applied > 0) summary.applied[rule.name] += rule.applied;
    }
    return summary;
  }

  // The smallest term of the class by the costs of operators (1 where there is none), shared
  // subterms paid once where `extractor` is one for that.
  nb::tuple extract(std::uint32_t id, const std::map<std::string, double>& costs, double other_cost,
                    const std::string& extractor, double seconds) const {
    const extract::ExtractorRow* row = extract::find_extractor(extractor);
    if (row == nullptr) raise(base::usage_error("unknown extractor '" + extractor + "'"));
    const std::vector<egraph::ClassId> roots{known(id)};
    const egraph::EGraphView view = egraph::make_view(egraph_, roots);
    std::vector<double> node_costs;
    for (const egraph::OpId op : view.node_op) {
      const auto cost = costs.find(std::string(ops_.name(op)));
      node_costs.push_back(cost != costs.end() ? cost->second : other_cost);
    }
    const extract::Problem problem{view, node_costs};
    Call call;
    const Use use(busy_);
    const auto solution = call.run([&]() -> base::Result<extract::Solution> {
      EGRET_ASSIGN_OR_RETURN(
          extract::Solution found,
          row->extract(problem, {.time_limit_s = seconds, .should_stop = base::stop_requested}));
      EGRET_RETURN_IF_ERROR(extract::check_solution(problem, found));
      return found;
    });
    const bool optimal = solution->quality == extract::Quality::kOptimal;
    return nb::make_tuple(term_of(view, solution->choice, view.roots.front()), solution->dag_cost,
                          solution->tree_cost, solution->bound, optimal);
  }

  // Terms of the class, one a node, with children as the numbers of their classes.
  std::vector<std::string> nodes_of(std::uint32_t id) const {
    std::vector<std::string> texts;
    for (const egraph::NodeId node : egraph_.nodes(egraph_.find(known(id)))) {
      std::string text = ops_.text(egraph_.op(node));
      if (!egraph_.children(node).empty()) {
        text = "(" + text;
        for (const egraph::ClassId child : egraph_.children(node))
          text += " c" + std::to_string(egraph_.find(child).index());
        text += ")";
      }
      texts.push_back(std::move(text));
    }
    return texts;
  }

  std::string dump(const std::string& format, const std::vector<std::uint32_t>& roots,
                   std::size_t most_classes) const {
    check_free();
    std::vector<egraph::ClassId> ids;
    for (const std::uint32_t root : roots) ids.push_back(known(root));
    const egraph::EGraphView view = egraph::make_view(egraph_, ids);
    const egraph::DumpOptions options{.max_classes = most_classes};
    if (format == "text") return egraph::dump_text(view, ops_, options).text;
    if (format == "dot") return egraph::dump_dot(view, ops_, options).text;
    if (format == "svg") return egraph::dump_svg(view, ops_, options).text;
    raise(base::usage_error("unknown format '" + format + "'; there are text, dot and svg"));
  }

 private:
  // While a run goes on without the interpreter's lock, other threads keep out.
  void check_free() const {
    if (busy_) raise(base::usage_error("this e-graph is being run in another thread"));
  }
  egraph::ClassId known(std::uint32_t id) const {
    check_free();
    if (id >= egraph_.id_count())
      raise(base::usage_error("there is no class " + std::to_string(id) + " in this e-graph"));
    return egraph::ClassId(id);
  }
  void restore() {
    const base::Status status = egraph_.rebuild();
    if (!status.ok()) raise(status);
  }

  // Shared subterms are written at each use, which can make the text astronomically long: limited.
  std::string term_of(const egraph::EGraphView& view, std::span<const extract::NodeIndex> choice,
                      extract::ClassIndex root) const {
    constexpr std::size_t kMostText = std::size_t{1} << 24;
    struct Frame {
      extract::ClassIndex c;
      std::size_t child = 0;
    };
    std::string text;
    std::vector<Frame> stack{{root}};
    while (!stack.empty() && text.size() < kMostText) {
      Frame& frame = stack.back();
      const auto children = view.children_of(choice[frame.c]);
      if (frame.child == 0)
        text += (children.empty() ? "" : "(") + ops_.text(view.node_op[choice[frame.c]]);
      if (frame.child == children.size()) {
        if (!children.empty()) text += ')';
        stack.pop_back();
        continue;
      }
      text += ' ';
      const extract::ClassIndex next = children[frame.child++];
      stack.push_back({next});
    }
    return stack.empty() ? text : text + " ...";
  }

  egraph::OpTable ops_;
  egraph::EGraph egraph_;
  egraph::Syntax syntax_;
  mutable bool busy_ = false;
};

}  // namespace

void bind_egraph(nb::module_& module) {
  nb::class_<RunSummary>(module, "RunSummary")
      .def_ro("stop_reason", &RunSummary::stop_reason)
      .def_ro("iterations", &RunSummary::iterations)
      .def_ro("nodes", &RunSummary::nodes)
      .def_ro("classes", &RunSummary::classes)
      .def_ro("seconds", &RunSummary::seconds)
      .def_ro("applied", &RunSummary::applied);
  nb::class_<Engine>(module, "Engine")
      .def(nb::init<>())
      .def("add", &Engine::add)
      .def("merge", &Engine::merge)
      .def("same", &Engine::same)
      .def("find", &Engine::find)
      .def_prop_ro("node_count", &Engine::nodes)
      .def_prop_ro("class_count", &Engine::classes)
      .def("run", &Engine::run, nb::arg("rules"), nb::arg("iterations"), nb::arg("nodes"),
           nb::arg("seconds"), nb::arg("scheduler"), nb::arg("progress").none())
      .def("extract", &Engine::extract)
      .def("nodes_of", &Engine::nodes_of)
      .def("dump", &Engine::dump);
}

}  // namespace egret::python
