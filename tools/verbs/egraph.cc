// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "base/system/file.h"
#include "cost/model.h"
#include "driver/measure/machine_fingerprint.h"
#include "driver/select/selection.h"
#include "egraph/core/view_statistics.h"
#include "egraph/formats/dump.h"
#include "egraph/formats/serialized_egraph.h"
#include "extract/core/extractor.h"
#include "rules/tensors/saturated_graph.h"
#include "rules/tensors/tensor_egraph.h"
#include "tools/arguments/model_file.h"
#include "tools/arguments/output_file.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

enum class Source : unsigned char { kAuto, kEGraph, kModel };
enum class Form : unsigned char { kText, kDot, kSvg, kJson };

// Where the e-graph comes from.
struct SourceOptions {
  Source source = Source::kAuto;
  bool ignore_missing_roots = false;
  std::string rules = "default";
  std::string allow = "proven";
  std::int64_t limit_nodes = 20'000;
  std::int64_t limit_iterations = 12;
  double limit_time = 20;
  std::int64_t multi_iterations = 3;

  static const base::OptionTable<SourceOptions>& table() {
    using S = SourceOptions;
    static const base::OptionTable<S> rows{
        "egraph",
        {{"source", &S::source,
          "Kind of FILE: an e-graph or a model; auto reads .json files and standard input as "
          "e-graphs and other files as models",
          base::one_of({"auto", "egraph", "model"})},
         {"ignore-missing-roots", &S::ignore_missing_roots,
          "Ignore roots that name no e-class, instead of rejecting the file"},
         {"rules", &S::rules, std::string(rules::kRulesHelp)},
         {"allow", &S::allow, std::string(rules::kAllowHelp), base::one_of(rules::allow_names())},
         {"limit-nodes", &S::limit_nodes, "Stop saturation at this many e-nodes",
          base::range(1, 1e9)},
         {"limit-iterations", &S::limit_iterations, "Stop saturation after this many iterations",
          base::range(0, 1e6)},
         {"limit-time", &S::limit_time, "Stop saturation after this time", base::seconds()},
         {"multi-iterations", &S::multi_iterations,
          "Iterations in which rules with several sources run", base::range(0, 1e6)}}};
    return rows;
  }
};

struct DumpVerbOptions {
  Form form = Form::kText;
  std::string cost = "unit";
  std::int64_t most_classes = 200;
  bool mark_cheapest = false;
  std::string output = "-";

  static const base::OptionTable<DumpVerbOptions>& table() {
    using D = DumpVerbOptions;
    std::vector<std::string> costs = {"unit"};
    for (const cost::ModelRow& row : cost::estimating_models()) costs.emplace_back(row.name);
    static const base::OptionTable<D> rows{
        "egraph-dump",
        {{"form", &D::form,
          "Format: text, DOT for Graphviz, an SVG drawing, or egraph-serialize JSON",
          base::one_of({"text", "dot", "svg", "json"})},
         {"node-cost", &D::cost,
          "Costs of the nodes of a model: 1 for each node, or estimated seconds",
          base::one_of(costs)},
         {"most-classes", &D::most_classes,
          "Number of e-classes that text, DOT and SVG show, nearest to the roots first",
          base::range(1, 1e9)},
         {"mark-cheapest", &D::mark_cheapest,
          "Mark the cheapest terms of the roots in DOT and SVG, by the costs in the file or "
          "--node-cost"},
         {"output", &D::output, "File for the result; - is standard output", base::output_file(),
          'o'}}};
    return rows;
  }
};

// An e-graph from either source, as both verbs see it.
struct Opened {
  // One of the two.
  std::optional<egraph::SerializedEGraph> file;

  egraph::EGraphView tensor_view;
  std::optional<rules::SaturatedGraph> saturated;

  const egraph::EGraphView& view() const { return file ? file->view : tensor_view; }
  const egraph::OpTable& ops() const {
    return file ? file->ops : saturated->tensors->egraph().ops();
  }
  ExitCode code(const Console& console) const {
    return saturated ? console.code_of_stop(to_string(saturated->run.stop)) : ExitCode::kOk;
  }
};

bool is_egraph(const std::string& path, Source source) {
  if (source != Source::kAuto) return source == Source::kEGraph;
  return path == "-" || path.ends_with(".json");
}

base::Result<Opened> open_file(const std::string& path, const SourceOptions& options,
                               Console& console) {
  Opened opened;
  egraph::SerializedOptions reading;
  reading.ignore_missing_roots = options.ignore_missing_roots;
  EGRET_ASSIGN_OR_RETURN(opened.file, egraph::read_serialized(path, reading));
  if (const std::size_t missing = opened.file->missing_roots.size(); missing > 0) {
    console.warning(base::counted(static_cast<std::int64_t>(missing),
                                  "root names no e-class and is ignored: ",
                                  "roots name no e-class and are ignored: ") +
                    opened.file->missing_roots.front() + (missing > 1 ? ", ..." : ""));
  }
  return opened;
}

base::Result<Opened> open_model(const std::string& path, const SourceOptions& options,
                                const ModelOptions& model_options, Console& console) {
  EGRET_ASSIGN_OR_RETURN(const frontends::ImportedModel model,
                         read_concrete_model(path, model_options, console));
  Opened opened;
  EGRET_ASSIGN_OR_RETURN(const auto admitted,
                         rules::AdmittedRules::select(options.rules, options.allow));
  rules::SaturateOptions saturation;
  saturation.limits.nodes = static_cast<std::uint64_t>(options.limit_nodes);
  saturation.limits.iterations = static_cast<std::uint64_t>(options.limit_iterations);
  saturation.limits.seconds = options.limit_time;
  saturation.multi_pattern_iterations = static_cast<int>(options.multi_iterations);
  saturation.progress = console.progress();
  EGRET_ASSIGN_OR_RETURN(opened.saturated, rules::saturate(model.graph, admitted, saturation, 0));
  opened.tensor_view =
      egraph::make_view(opened.saturated->tensors->egraph(), opened.saturated->tensors->roots());
  return opened;
}

base::Result<Opened> open(const std::string& path, const SourceOptions& options,
                          const ModelOptions& model_options, Console& console) {
  return is_egraph(path, options.source) ? open_file(path, options, console)
                                         : open_model(path, options, model_options, console);
}

class EGraphDump final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("FILE", path_,
                         "An e-graph in JSON, - for standard input, or an ONNX file");
    arguments.options(options_);
    arguments.options(source_);
    arguments.options(model_);
  }

  base::Result<ExitCode> run(Console& console) override {
    if (console.options().json && options_.form != Form::kJson)
      return base::usage_error("--json needs --form json");
    std::vector<InputFile> inputs = rule_files(source_.rules);
    inputs.push_back({"the input", path_});
    EGRET_RETURN_IF_ERROR(check_not_input(options_.output, inputs));
    EGRET_ASSIGN_OR_RETURN(const Opened opened, open(path_, source_, model_, console));
    if (keeps_earlier_file(console, options_.output)) return opened.code(console);
    if (options_.form == Form::kJson) {
      EGRET_RETURN_IF_ERROR(write_json(opened, console));
      return opened.code(console);
    }
    egraph::DumpOptions how;
    how.max_classes = static_cast<std::size_t>(options_.most_classes);
    if (opened.file) how.class_names = opened.file->class_names;
    const std::vector<std::string> rules = rules_of(opened);
    how.made_by = rules;
    std::vector<extract::NodeIndex> chosen;
    if (options_.mark_cheapest) {
      EGRET_ASSIGN_OR_RETURN(chosen, cheapest(opened));
      how.chosen = chosen;
    }
    const egraph::Dump dump = draw(opened, how);
    if (const std::string hidden = egraph::hidden_text(dump); !hidden.empty()) {
      console.note(hidden + "; --most-classes shows more");
    }
    EGRET_RETURN_IF_ERROR(write_output(console, options_.output, dump.text));
    return opened.code(console);
  }

 private:
  egraph::Dump draw(const Opened& opened, const egraph::DumpOptions& how) const {
    switch (options_.form) {
      case Form::kDot: return egraph::dump_dot(opened.view(), opened.ops(), how);
      case Form::kSvg: return egraph::dump_svg(opened.view(), opened.ops(), how);
      default: return egraph::dump_text(opened.view(), opened.ops(), how);
    }
  }

  // By node of the view: the rule that made it. A file does not say.
  static std::vector<std::string> rules_of(const Opened& opened) {
    std::vector<std::string> names;
    if (!opened.saturated) return names;
    const rules::TensorEGraph& tensors = *opened.saturated->tensors;
    for (const egraph::ClassId id : opened.tensor_view.class_id) {
      for (const egraph::NodeId node : tensors.egraph().nodes(id)) {
        const std::uint32_t rule = tensors.creator(node);
        names.push_back(rule < opened.saturated->rules.size() ? opened.saturated->rules[rule].name()
                                                              : "");
      }
    }
    return names;
  }

  // The answer of the greedy extractor: a drawing needs no proof.
  base::Result<std::vector<extract::NodeIndex>> cheapest(const Opened& opened) const {
    std::vector<double> costs =
        opened.file ? opened.file->costs : std::vector<double>(opened.view().node_count(), 1);
    if (!opened.file && options_.cost != "unit") {
      const auto model = cost::make_model(options_.cost, driver::assumed_rates({.threads = 1}));
      EGRET_ASSIGN_OR_RETURN(
          costs, driver::price_nodes(*opened.saturated->tensors, opened.tensor_view, *model));
    }
    EGRET_ASSIGN_OR_RETURN(
        extract::Solution solution,
        extract::find_extractor("dag-greedy")->extract({opened.view(), costs}, {}));
    return std::move(solution.choice);
  }

  base::Status write_json(const Opened& opened, Console& console) const {
    std::unordered_map<std::uint32_t, double> costs;
    if (options_.cost != "unit" && opened.saturated) {
      EGRET_ASSIGN_OR_RETURN(costs,
                             estimated_costs(*opened.saturated->tensors, opened.tensor_view));
    }
    const auto write = [&](const egraph::TextSink& sink) {
      if (opened.file) return egraph::write_serialized(*opened.file, sink);
      return egraph::write_serialized(
          opened.saturated->tensors->egraph(), opened.saturated->tensors->roots(), sink,
          [&](egraph::NodeId node) {
            const auto priced = costs.find(static_cast<std::uint32_t>(node.index()));
            return priced != costs.end() ? priced->second : 1;
          });
    };
    if (options_.output == "-") {
      return write([&](std::string_view text) {
        console.data(text);
        return base::ok();
      });
    }
    EGRET_ASSIGN_OR_RETURN(base::AtomicFile file, base::AtomicFile::create(options_.output));
    EGRET_RETURN_IF_ERROR(write([&](std::string_view text) { return file.append(text); }));
    return file.commit();
  }

  // By node. The format has no word for a node that must not be chosen.
  base::Result<std::unordered_map<std::uint32_t, double>> estimated_costs(
      const rules::TensorEGraph& tensors, const egraph::EGraphView& view) const {
    const auto model = cost::make_model(options_.cost, driver::assumed_rates({.threads = 1}));
    EGRET_ASSIGN_OR_RETURN(const std::vector<double> prices,
                           driver::price_nodes(tensors, view, *model));
    std::unordered_map<std::uint32_t, double> costs;
    for (std::size_t c = 0; c < view.class_count(); ++c) {
      std::size_t next = view.class_begin[c];
      for (const egraph::NodeId node : tensors.egraph().nodes(view.class_id[c])) {
        if (!std::isfinite(prices[next])) {
          return base::unsupported("the cost model '" + options_.cost + "' has no price for " +
                                   tensors.egraph().ops().text(view.node_op[next]));
        }
        costs.emplace(static_cast<std::uint32_t>(node.index()), prices[next++]);
      }
    }
    return costs;
  }

  std::string path_;
  DumpVerbOptions options_;
  SourceOptions source_;
  ModelOptions model_;
};

std::string count(std::size_t n) { return base::format_count(static_cast<std::int64_t>(n)); }
std::string count(std::size_t n, std::string_view one, std::string_view many = "") {
  return base::counted(static_cast<std::int64_t>(n), one, many);
}

class EGraphStats final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("FILE", path_,
                         "An e-graph in JSON, - for standard input, or an ONNX file");
    arguments.options(source_);
    arguments.options(model_);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(const Opened opened, open(path_, source_, model_, console));
    const egraph::ViewStatistics s = egraph::statistics(opened.view(), opened.ops());
    base::Json json = to_json(s);
    std::string text = to_text(s);
    if (opened.file) json.set("missing_roots", std::uint64_t{opened.file->missing_roots.size()});
    if (opened.saturated) add_run(opened, json, text);
    console.result(json, text);
    return opened.code(console);
  }

 private:
  static base::Json to_json(const egraph::ViewStatistics& s) {
    base::Json json = base::versioned_json();
    json.set("nodes", s.nodes).set("classes", s.classes).set("roots", s.roots);
    json.set("children", s.children).set("leaves", s.leaves);
    json.set("largest_class", s.largest_class).set("largest_arity", s.largest_arity);
    json.set("cyclic_classes", s.cyclic_classes);
    json.set("reachable_classes", s.reachable_classes).set("reachable_nodes", s.reachable_nodes);
    json.set("log2_choices", s.log2_choices);
    base::Json operators = base::Json::array();
    for (const auto& entry : s.operators) {
      operators.push(base::Json::object().set("name", entry.text).set("nodes", entry.nodes));
    }
    json.set("operators", std::move(operators));
    return json;
  }

  static std::string to_text(const egraph::ViewStatistics& s) {
    base::TextTable facts({{""}, {""}});
    facts.row({"nodes", count(s.nodes) + ", " + count(s.leaves, "leaf", "leaves") + " among them"});
    facts.row({"classes", count(s.classes) + ", the largest with " +
                              count(s.largest_class, "node") + ", " + count(s.cyclic_classes) +
                              " on cycles"});
    facts.row({"reachable", count(s.reachable_nodes, "node") + " in " +
                                count(s.reachable_classes, "class", "classes") + " from " +
                                count(s.roots, "root")});
    facts.row({"choices", "2^" + base::format_short(s.log2_choices)});
    constexpr std::size_t kOperators = 20;
    base::TextTable table({{"operator"}, {"nodes", base::Align::kRight}});
    for (std::size_t i = 0; i < std::min(kOperators, s.operators.size()); ++i) {
      table.row({s.operators[i].text, count(s.operators[i].nodes)});
    }
    if (s.operators.size() > kOperators) {
      table.row({"and " + count(s.operators.size() - kOperators, "other"), ""});
    }
    return facts.render() + "\n" + table.render();
  }

  static void add_run(const Opened& opened, base::Json& json, std::string& text) {
    const egraph::RunReport& run = opened.saturated->run;
    const std::string stop(egraph::to_string(run.stop));
    const double bytes = static_cast<double>(opened.saturated->tensors->egraph().bytes());
    json.set("stop_reason", stop).set("iterations", std::uint64_t{run.iterations.size()});
    json.set("seconds", run.seconds).set("bytes", opened.saturated->tensors->egraph().bytes());
    base::Json rules = base::Json::array();
    base::TextTable table({{"rule"},
                           {"matches", base::Align::kRight},
                           {"applied", base::Align::kRight},
                           {"known", base::Align::kRight},
                           {"rejected", base::Align::kRight},
                           {"refused", base::Align::kRight},
                           {"search", base::Align::kRight},
                           {"apply", base::Align::kRight}});
    for (const egraph::RuleStats& rule : run.rules) {
      rules.push(base::Json::object()
                     .set("name", rule.name)
                     .set("matches", rule.matches)
                     .set("applied", rule.applied)
                     .set("unchanged", rule.unchanged)
                     .set("rejected", rule.rejected)
                     .set("refused", rule.refused)
                     .set("search_s", rule.search_seconds)
                     .set("apply_s", rule.apply_seconds));
      if (rule.applied == 0) continue;
      table.row({rule.name, count(rule.matches), count(rule.applied), count(rule.unchanged),
                 count(rule.rejected), count(rule.refused),
                 base::format_seconds(rule.search_seconds),
                 base::format_seconds(rule.apply_seconds)});
    }
    json.set("rules", std::move(rules));
    text += "\n" + count(run.iterations.size(), "iteration") + " in " +
            base::format_seconds(run.seconds) + ", stopped: " + stop + ", " +
            base::format_bytes(bytes) + "; rules that changed something:\n" + table.render();
  }

  std::string path_;
  SourceOptions source_;
  ModelOptions model_;
};

}  // namespace

Verb egraph_dump_verb() {
  return {"egraph dump", "Show an e-graph as text, a drawing or JSON",
          "The e-graph comes from a file in egraph-serialize JSON, or from saturating a model with "
          "rewrite rules (--limit-iterations 0 applies none). Text, DOT and SVG show the e-classes "
          "nearest to the roots and the number of hidden ones. For a model, DOT and SVG also name "
          "the rule that made a node. JSON contains the whole e-graph.",
          make_command<EGraphDump>};
}

Verb egraph_stats_verb() {
  return {"egraph stats", "Print statistics of an e-graph",
          "Prints sizes, cycles and operators of an e-graph, from a file in egraph-serialize JSON "
          "or from saturating a model. For a model it also prints the applications of each rule.",
          make_command<EGraphStats>};
}

}  // namespace egret::tools
