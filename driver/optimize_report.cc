// SPDX-License-Identifier: Apache-2.0
#include "driver/optimize_report.h"

#include <algorithm>

#include "base/formats/text_table.h"
#include "base/formats/units.h"

namespace egret::driver {
namespace {

using base::Json;
using Report = OptimizeReport;

Json counts_json(const std::map<std::string, int>& counts) {
  Json json = Json::object();
  for (const auto& [name, count] : counts) json.set(name, count);
  return json;
}

Json candidates_json(const Report::Race& race) {
  Json list = Json::array();
  for (const Report::Race::Entry& candidate : race.candidates) {
    list.push(Json::object()
                  .set("name", candidate.name)
                  .set("operators", candidate.operators)
                  .set("predicted_s", candidate.predicted_s)
                  .set("kernels_s", candidate.kernels.seconds)
                  .set("known_kernels_s", candidate.kernels.known_s)
                  .set("measured_s", candidate.measured.median_s));
  }
  return list;
}

Json rules_used_json(const Report::Rules& rules) {
  Json list = Json::array();
  for (const RuleCount& use : rules.used) {
    list.push(Json::object()
                  .set("name", use.name)
                  .set("count", use.count)
                  .set("status", use.status)
                  .set("limit", use.limit)
                  .set("proof", use.proof));
  }
  return list;
}

Json steps_json(const Report::Growth& growth) {
  Json list = Json::array();
  for (const Report::Growth::Step& step : growth.steps) {
    list.push(Json::object()
                  .set("e_nodes", step.e_nodes)
                  .set("e_classes", step.e_classes)
                  .set("bytes", step.bytes)
                  .set("matches", step.matches)
                  .set("applied", step.applied)
                  .set("search_s", step.search_s)
                  .set("apply_s", step.apply_s)
                  .set("rebuild_s", step.rebuild_s));
  }
  return list;
}

Json kernels_json(const std::vector<KernelTime>& kernels) {
  Json list = Json::array();
  for (const KernelTime& kernel : kernels) {
    list.push(Json::object()
                  .set("kernel", kernel.name)
                  .set("implementation", kernel.implementation)
                  .set("nodes", Json::array(kernel.nodes))
                  .set("seconds", kernel.seconds));
  }
  return list;
}

std::string measured_text(const Report::Race& race) {
  if (!race.measured) return "";
  const std::string times = base::format_seconds(race.before.median_s) + " -> " +
                            base::format_seconds(race.after.median_s);
  const std::string where = race.engine.empty() ? "" : "  in " + race.engine;
  if (race.chosen == "original") return times + where;
  const backends::Gain& gain = race.after.gain;
  return times + where + "  (" + base::format_short(gain.ratio) + " times as fast; 95 % interval " +
         base::format_short(gain.low) + " to " + base::format_short(gain.high) + ")";
}

std::string predicted_text(const Report::Prediction& p) {
  if (p.kernels_before.seconds > 0 && p.kernels_after.seconds > 0) {
    return base::format_seconds(p.kernels_before.seconds) + " -> " +
           base::format_seconds(p.kernels_after.seconds) + "  by the times of kernels";
  }
  std::string text = base::format_seconds(p.before_s) + " -> " + base::format_seconds(p.after_s) +
                     "  by " + p.cost_model + " cost";
  if (p.interpolated > 0)
    text += ", " + base::counted(p.interpolated, "operator") + " interpolated";
  if (p.estimated > 0) {
    text += ", " + base::counted(p.estimated, "operator") + " estimated at " +
            (p.rates.measured ? "measured" : "assumed") + " rates";
  }
  return text;
}

std::string search_text(const Report::Growth& g) {
  if (g.graphs_seen == 0) return "";
  return base::counted(static_cast<std::int64_t>(g.graphs_seen), "graph") + ", " +
         base::format_count(static_cast<std::int64_t>(g.graphs_rewritten)) +
         " of them rewritten, stopped: " + g.stop_reason;
}

std::string saturation_text(const Report::Growth& g) {
  if (g.graphs_seen > 0) return "";
  return base::counted(static_cast<std::int64_t>(g.e_nodes), "e-node") + " in " +
         base::counted(static_cast<std::int64_t>(g.e_classes), "class", "classes") + ", " +
         base::counted(static_cast<std::int64_t>(g.iterations), "iteration") +
         ", stopped: " + g.stop_reason;
}

std::string certainty_text(const Report::Rules& rules) {
  if (rules.not_proven.empty()) return "all proven";
  constexpr std::size_t kNamed = 5;
  std::string text = std::to_string(rules.not_proven.size()) + " of " +
                     std::to_string(rules.available) + " not proven, --allow " + rules.allowed +
                     ": ";
  for (std::size_t i = 0; i < std::min(kNamed, rules.not_proven.size()); ++i)
    text += (i > 0 ? ", " : "") + rules.not_proven[i];
  return text + (rules.not_proven.size() > kNamed ? ", and more" : "");
}

std::string extraction_text(const Report::Extraction& e) {
  const std::string text = e.extractor + ", " + e.status;
  if (e.status == "optimal") return text;
  if (e.bound_s <= 0) return text + " (no bound proven)";
  return text + " (nothing in the e-graph costs less than " + base::format_seconds(e.bound_s) + ")";
}

double gap(const Report::Extraction& e) { return e.cost_s > 0 ? 1 - e.bound_s / e.cost_s : 0; }

void add_sizes(base::TextTable& table, const Report::Sizes& s) {
  const auto row = [&](const std::string& label, const std::vector<std::string>& items) {
    std::string text;
    for (const std::string& item : items) text += (text.empty() ? "" : "; ") + item;
    if (!text.empty()) table.row({label, text});
  };
  table.row({"open sizes", "measured at " + s.at});
  for (const std::string& profile : s.profiles) table.row({"", profile});
  row("also at", s.checked);
  row("assumed", s.assumed);
  if (s.undecided > 0)
    table.row({"skipped", base::format_count(s.undecided) + " matches that depend on the sizes"});
}

std::string binding_text(const Report::Binding& b) {
  const auto result = [](int operators, double seconds) {
    return base::counted(operators, "operator") + ", " + base::format_seconds(seconds) +
           " predicted";
  };
  return b.sizes + ": " + result(b.operators_bound, b.predicted_bound_s) +
         "; left open: " + result(b.operators_open, b.predicted_open_s);
}

std::string precision_text(const Report::Precision& p) {
  std::string kernels;
  for (const auto& [form, count] : p.kernels) {
    if (count > 0) kernels += (kernels.empty() ? "" : ", ") + std::to_string(count) + " " + form;
  }
  return "budget " + base::format_short(p.budget) + ", error " + base::format_short(p.measured) +
         " measured on " + std::to_string(p.held_out) +
         (p.drawn ? " drawn samples" : " held-out samples") + ", " +
         base::format_short(p.estimated) +
         " estimated; kernels: " + (kernels.empty() ? "none to choose for" : kernels) +
         (p.written ? "" : " (not written)");
}

// The rules behind a result whose check cannot tell it from a wrong one.
std::string suspects(const Report& r) {
  if (r.check.outputs.not_told_apart.empty() || r.rules.used.empty()) return "";
  std::string names;
  for (const RuleCount& rule : r.rules.used) names += (names.empty() ? "" : ", ") + rule.name;
  return "; rewritten by " + names;
}

std::string check_text(const Report& r) {
  std::string given;
  for (const std::string& name : r.check.given) given += (given.empty() ? "" : ", ") + name;
  if (!given.empty()) given = ", with the given " + given;
  if (r.check.made) return to_string(r.check.outputs) + given + suspects(r);
  return r.status == "unchanged" ? "not made" : "not made (--no-check)";
}

std::string oracle_text(const Report::Oracle& o) {
  if (!o.made) return o.note;
  std::string text = o.engine + ": largest error " + base::format_short(o.max_error) + ", bound " +
                     base::format_short(o.bound) + ", passed";
  for (std::size_t i = 0; i < o.sizes.size(); ++i) text += (i == 0 ? ", at " : "; ") + o.sizes[i];
  for (std::size_t i = 0; i < o.unknown_outputs.size(); ++i)
    text += (i == 0 ? ", without output " : ", ") + o.unknown_outputs[i];
  return text;
}

std::string result_text(const Report& r) {
  if (r.status == "improved") return "improved";
  if (r.status == "rewritten") {
    if (!r.race.measured) return "rewritten; not measured";
    return r.race.after.gain.high < 1 ? "rewritten; slower than the original"
                                      : "rewritten; as fast as the original, within noise";
  }
  return r.race.measured ? "the original is the fastest; written unchanged" : "written unchanged";
}

}  // namespace

const base::ReportTable<Report::Operators>& Report::Operators::table() {
  using O = Operators;
  static const base::ReportTable<O> rows{
      {{"operators_before", "ONNX nodes of the original",
        [](const O& o) { return Json(operator_count(o.before)); }},
       {"operators_after", "ONNX nodes of the result",
        [](const O& o) { return Json(operator_count(o.after)); }},
       {"operators_before_by_kind", "the same by operator",
        [](const O& o) { return counts_json(o.before); }},
       {"operators_after_by_kind", "the same by operator",
        [](const O& o) { return counts_json(o.after); }}}};
  return rows;
}

const base::ReportTable<Report::Race>& Report::Race::table() {
  using R = Race;
  static const base::ReportTable<R> rows{
      {{"measured_before_s", "median time of the original in seconds; absent without a race",
        [](const R& r) { return r.measured ? Json(r.before.median_s) : Json(); }, "measured",
        measured_text},
       {"measured_after_s", "median time of the result in seconds",
        [](const R& r) { return r.measured ? Json(r.after.median_s) : Json(); }},
       {"measured_gain", "how many times as fast the result is: the median ratio of paired runs",
        [](const R& r) { return r.measured ? Json(r.after.gain.ratio) : Json(); }},
       {"measured_gain_low", "lower end of its confidence interval of 95 %",
        [](const R& r) { return r.measured ? Json(r.after.gain.low) : Json(); }},
       {"measured_gain_high", "upper end of this interval",
        [](const R& r) { return r.measured ? Json(r.after.gain.high) : Json(); }},
       {"candidates", "the graphs that were raced: name, operators, predicted and measured seconds",
        candidates_json},
       {"engine", "the engine that ran them, with its version; empty: Egret's backend", &R::engine},
       {"chosen", "the name of the candidate that is written, or original", &R::chosen},
       {"arena_bytes_before", "bytes of activations and scratch space, original", &R::arena_before,
        "arena",
        [](const R& r) {
          if (!r.engine.empty()) return std::string();
          return base::format_bytes(r.arena_before) + " -> " + base::format_bytes(r.arena_after) +
                 " of activations";
        }},
       {"arena_bytes_after", "bytes of activations and scratch space, result", &R::arena_after}}};
  return rows;
}

const base::ReportTable<Report::Prediction>& Report::Prediction::table() {
  using P = Prediction;
  static const base::ReportTable<P> rows{
      {{"predicted_before_s", "time of the original by the cost model, in seconds", &P::before_s,
        "predicted", predicted_text},
       {"predicted_after_s", "time of the result by the cost model, in seconds", &P::after_s},
       {"kernels_before_s", "time of the original's kernels in seconds; 0: not known",
        [](const P& p) { return Json(p.kernels_before.seconds); }},
       {"kernels_after_s", "the same of the result",
        [](const P& p) { return Json(p.kernels_after.seconds); }},
       {"known_kernels_before_s", "the part of it that was measured",
        [](const P& p) { return Json(p.kernels_before.known_s); }}}};
  return rows;
}

const base::ReportTable<Report::Rules>& Report::Rules::table() {
  using R = Rules;
  static const base::ReportTable<R> rows{
      {{"rules_used", "rules that made nodes of the result: name, count, status, limit, proof",
        rules_used_json},
       {"rules_available", "rules of the selection", &R::available},
       {"rules_allowed", "the least certainty of a rule (--allow)", &R::allowed, "rules",
        certainty_text},
       {"rules_not_proven", "names of the rules that ran without a proof", &R::not_proven}}};
  return rows;
}

const base::ReportTable<Report::Kernels>& Report::Kernels::table() {
  using K = Kernels;
  static const base::ReportTable<K> rows{
      {{"kernels_source", "measured: times of the plans' kernels; predicted: costs of operators",
        &K::source},
       {"kernels_before", "kernels of the original: name, implementation, nodes, seconds",
        [](const K& k) { return kernels_json(k.before); }},
       {"kernels_after", "kernels of the result",
        [](const K& k) { return kernels_json(k.after); }}}};
  return rows;
}

const base::ReportTable<Report::Sizes>& Report::Sizes::table() {
  using S = Sizes;
  static const base::ReportTable<S> rows{
      {{"sizes_at", "the values of open sizes at which candidates are priced and measured", &S::at},
       {"sizes_profiles", "times before and after at each of several profiles", &S::profiles},
       {"sizes_checked", "further values at which the outputs agree", &S::checked},
       {"sizes_assumed", "relations of open sizes without which the model has no meaning",
        &S::assumed},
       {"rules_undecided", "matches whose conditions depend on open sizes, and were not applied",
        &S::undecided}}};
  return rows;
}

const base::ReportTable<Report::Binding>& Report::Binding::table() {
  using B = Binding;
  static const base::ReportTable<B> rows{
      {{"bound_sizes", "the open sizes that --bind fixed", &B::sizes, "bound", binding_text},
       {"bound_operators", "ONNX nodes of the result",
        [](const B& b) { return Json(b.operators_bound); }},
       {"open_operators", "ONNX nodes of the result with these sizes left open",
        [](const B& b) { return Json(b.operators_open); }},
       {"bound_predicted_s", "time of the result by the cost model, in seconds",
        &B::predicted_bound_s},
       {"open_predicted_s", "the same with these sizes left open", &B::predicted_open_s}}};
  return rows;
}

const base::ReportTable<Report::Growth>& Report::Growth::table() {
  using G = Growth;
  const auto in_search = [](std::uint64_t G::*member) {
    return [member](const G& g) { return g.graphs_seen > 0 ? Json(g.*member) : Json(); };
  };
  static const base::ReportTable<G> rows{
      {{"stop_reason", "why saturation or the search ended", &G::stop_reason, "search",
        search_text},
       {"e_nodes", "e-nodes when saturation ended", &G::e_nodes, "saturation", saturation_text},
       {"e_classes", "e-classes when saturation ended", &G::e_classes},
       {"iterations", "iterations of saturation", &G::iterations},
       {"search_s", "seconds of matching", &G::search_s},
       {"apply_s", "seconds of applying matches", &G::apply_s},
       {"rebuild_s", "seconds of restoring congruence", &G::rebuild_s},
       {"growth", "the e-graph after each iteration: e-nodes, e-classes, bytes, matches, seconds",
        steps_json},
       {"graphs_rewritten", "graphs that a search over whole graphs rewrote",
        in_search(&G::graphs_rewritten)},
       {"graphs_seen", "different graphs that it saw", in_search(&G::graphs_seen)}}};
  return rows;
}

const base::ReportTable<Report::Extraction>& Report::Extraction::table() {
  using E = Extraction;
  static const base::ReportTable<E> rows{
      {{"extractor", "the extractor", &E::extractor, "extraction", extraction_text},
       {"cost", "cost of the cheapest candidate, in seconds", &E::cost_s},
       {"bound", "no equal graph costs less, in seconds", &E::bound_s},
       {"gap", "1 - bound / cost", [](const E& e) { return Json(gap(e)); }},
       {"status", "optimal or feasible", &E::status},
       {"operators_measured", "operators measured for the cost model in this run",
        &E::operators_measured},
       {"operators_estimated", "operators that were chosen on an estimate",
        &E::operators_estimated},
       {"notes", "remarks on costs and extraction", &E::notes}}};
  return rows;
}

const base::ReportTable<Report::Precision>& Report::Precision::table() {
  using P = Precision;
  static const base::ReportTable<P> rows{
      {{"error_budget", "the largest relative error of the outputs (--error-budget)", &P::budget,
        "precision", precision_text},
       {"error_estimated", "estimated for the candidate whose precision was chosen", &P::estimated},
       {"error_measured", "measured for it on samples that are held out", &P::measured},
       {"error_bound",
        "its square limits the mean square of all such samples at a confidence of 95 %; also "
        "within the "
        "budget",
        &P::bound},
       {"kernels", "its products and convolutions, by the precision of their operands",
        [](const P& p) { return counts_json(p.kernels); }},
       {"forms_from", "who chose (--forms-from)", &P::forms_from},
       {"written", "whether the candidate was written", &P::written},
       {"calibration_samples", "samples to calibrate on", &P::calibration},
       {"held_out_samples", "samples to measure the error on", &P::held_out},
       {"samples_drawn", "whether samples were drawn, as no input was given", &P::drawn}}};
  return rows;
}

const base::ReportTable<Report::Check>& Report::Check::table() {
  using C = Check;
  static const base::ReportTable<C> rows{
      {{"max_error", "largest difference of an output from the original's",
        [](const C& c) { return Json(c.outputs.max_error); }},
       {"bound", "the difference that rounding explains",
        [](const C& c) { return Json(c.outputs.bound); }},
       {"passed", "whether all outputs are within their bounds",
        [](const C& c) { return Json(c.outputs.passed); }},
       {"not_told_apart",
        "outputs whose bound is as large as the standard deviation of their elements",
        [](const C& c) { return Json::array(c.outputs.not_told_apart); }},
       {"vacuous_output", "an output without a finite element that is not 0; empty: none",
        [](const C& c) { return Json(c.outputs.vacuous); }},
       {"given_inputs", "the inputs that --input gives; the others are random", &C::given}}};
  return rows;
}

// The output that comes nearest to its bound stands for all.
void Report::Oracle::add(const CheckReport& sample) {
  const bool nearer = sample.max_error * bound >= max_error * sample.bound;
  if (!nearer && bound > 0) return;
  max_error = sample.max_error;
  bound = sample.bound;
}

const base::ReportTable<Report::Oracle>& Report::Oracle::table() {
  using O = Oracle;
  const auto if_made = [](double O::*member) {
    return [member](const O& o) { return o.made ? Json(o.*member) : Json(); };
  };
  static const base::ReportTable<O> rows{
      {{"made", "whether the written file was compared with the given one", &O::made},
       {"engine", "the engine that ran both (--oracle), with its version", &O::engine},
       {"max_error", "largest difference of an output there, of the one nearest to its bound",
        if_made(&O::max_error)},
       {"bound", "the difference that rounding explains", if_made(&O::bound)},
       {"sizes", "the open sizes at which both ran", &O::sizes},
       {"unknown_outputs", "outputs that were not compared, since their sizes depend on data",
        &O::unknown_outputs},
       {"note", "why they were not compared; empty: they were, or no engine was asked for",
        &O::note}}};
  return rows;
}

Json Report::to_json() const {
  Json json = base::versioned_json();
  json.set("status", status);
  Growth::table().add_to(json, growth);
  Operators::table().add_to(json, operators);
  Race::table().add_to(json, race);
  Prediction::table().add_to(json, predicted);
  if (!kernels.source.empty()) Kernels::table().add_to(json, kernels);
  Rules::table().add_to(json, rules);
  if (!sizes.at.empty()) Sizes::table().add_to(json, sizes);
  if (!binding.sizes.empty()) Binding::table().add_to(json, binding);
  Json chosen = Json::object();
  Extraction::table().add_to(chosen, extraction);
  chosen.set("cost_model", predicted.cost_model)
      .set("predicted_interpolated", predicted.interpolated)
      .set("predicted_estimated", predicted.estimated)
      .set("rates_measured", predicted.rates.measured);
  json.set("extraction", std::move(chosen));
  if (precision.budget > 0) {
    Json member = Json::object();
    Precision::table().add_to(member, precision);
    json.set("precision", std::move(member));
  }
  if (check.made) {
    Json outputs = Json::object();
    Check::table().add_to(outputs, check);
    json.set("check", std::move(outputs));
  }
  if (oracle.made || !oracle.note.empty()) {
    Json outputs = Json::object();
    Oracle::table().add_to(outputs, oracle);
    json.set("oracle", std::move(outputs));
  }
  Json phases = Json::object();
  for (const auto& [name, spent] : seconds_by_phase) phases.set(name, spent);
  json.set("machine", machine);
  return json.set("seconds", seconds).set("seconds_by_phase", std::move(phases));
}

base::TextTable Report::closing_table() const {
  base::TextTable table({{""}, {""}});
  Race::table().add_to(table, race);
  Prediction::table().add_to(table, predicted);
  Growth::table().add_to(table, growth);
  Extraction::table().add_to(table, extraction);
  for (const std::string& note : extraction.notes) table.row({"note", note});
  Rules::table().add_to(table, rules);
  if (!sizes.at.empty()) add_sizes(table, sizes);
  if (!binding.sizes.empty()) Binding::table().add_to(table, binding);
  if (precision.budget > 0) Precision::table().add_to(table, precision);
  const std::string other = oracle_text(oracle);
  table.row({"check", (other.empty() ? "" : "own interpreter: ") + check_text(*this)});
  if (!other.empty()) table.row({"", other});
  table.row({"result", result_text(*this)});
  std::string phases;
  for (const auto& [name, spent] : seconds_by_phase)
    phases += ", " + name + " " + base::format_seconds(spent);
  table.row({"time", base::format_seconds(seconds) + phases});
  return table;
}

std::string Report::documentation() {
  const auto section = [](const std::string& title, const std::string& rows) {
    return "\n## " + title + "\n\n| member | value |\n|---|---|\n" + rows;
  };
  return section("Operators", Operators::table().documentation()) +
         section("Race", Race::table().documentation()) +
         section("Prediction", Prediction::table().documentation()) +
         section("Kernels, with `--report`", Kernels::table().documentation()) +
         section("Rules", Rules::table().documentation()) +
         section("Open sizes", Sizes::table().documentation()) +
         section("Sizes that are fixed", Binding::table().documentation()) +
         section("Saturation or search", Growth::table().documentation()) +
         section("`extraction`", Extraction::table().documentation()) +
         section("`precision`, with `--error-budget`", Precision::table().documentation()) +
         section("`check`", Check::table().documentation()) +
         section("`oracle`, with an engine at hand", Oracle::table().documentation());
}

}  // namespace egret::driver
