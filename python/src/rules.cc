// SPDX-License-Identifier: Apache-2.0
// egret.Rules: reading, proving, deriving and generating rules.
#include "python/src/rules.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "base/stop.h"
#include "base/system/in_order.h"
#include "base/system/thread_pool.h"
#include "base/timer.h"
#include "python/src/arrays.h"
#include "python/src/bindings.h"
#include "python/src/options.h"
#include "rules/generator/derivation.h"
#include "rules/generator/generation.h"
#include "rules/generator/spaces/named_spaces.h"
#include "rules/language/rule_names.h"
#include "rules/language/rule_parser.h"
#include "rules/proving/record.h"
#include "rules/proving/verification.h"

namespace egret::python {
namespace {

base::Result<Rules> parsed(const std::string& name, const std::string& text) {
  Rules result;
  EGRET_ASSIGN_OR_RETURN(result.set.rules, rules::parse_rules(name, text));
  EGRET_ASSIGN_OR_RETURN(result.statuses, rules::builtin_statuses());
  return result;
}

base::Result<Rules> selected(const std::string& selection) {
  Rules result;
  EGRET_ASSIGN_OR_RETURN(result.set, rules::select_rules(selection));
  EGRET_ASSIGN_OR_RETURN(result.statuses, rules::statuses_of(result.set));
  return result;
}

// Names stay unique: a rule of `b` whose name is taken by another one gets its file's name as a
// prefix. A rule that both have is in the sum once.
Rules sum(const Rules& a, const Rules& b) {
  Rules result = a;
  rules::add_rules(result.set.rules, b.set.rules, "");
  for (const rules::DynamicRule* rule : b.set.dynamic) {
    if (std::ranges::find(result.set.dynamic, rule) == result.set.dynamic.end())
      result.set.dynamic.push_back(rule);
  }
  result.statuses.merge(b.statuses);
  return result;
}

struct NamedVerdict {
  std::string name;
  rules::Verdict verdict;
  double seconds = 0;
};

struct VerifyArguments {
  int instances = 100;
  int tensor_checks = 100;
  std::int64_t small = 400'000;
  std::int64_t bounded = 2000;
  std::uint64_t seed = 1;
};

// Proven rules that come with Egret, from which others may be derived.
base::Result<std::vector<rules::Lemma>> lemmas() {
  std::vector<rules::Lemma> all;
  EGRET_ASSIGN_OR_RETURN(const rules::RuleSet set, rules::select_rules("all"));
  EGRET_ASSIGN_OR_RETURN(const rules::RuleStatuses statuses, rules::builtin_statuses());
  for (const rules::Rule& rule : set.rules) {
    if (statuses.of(rule) == rules::RuleStatus::kProven)
      all.push_back({rule, statuses.limit_of(rule)});
  }
  return all;
}

base::Result<std::vector<NamedVerdict>> verdicts(const std::vector<rules::Rule>& all,
                                                 const VerifyArguments& arguments,
                                                 base::ProgressSink* sink) {
  EGRET_ASSIGN_OR_RETURN(const std::vector<rules::Lemma> known_rules, lemmas());
  rules::VerifyOptions how;
  how.lemmas = known_rules;
  how.instances = arguments.instances;
  how.tensor_checks = arguments.tensor_checks;
  how.small_effort = static_cast<std::size_t>(arguments.small);
  how.bounded_members = arguments.bounded;
  how.seed = arguments.seed;
  const base::Progress progress(sink, "verify rules");
  rules::KnownOperators known;
  std::vector<NamedVerdict> found;
  base::in_order<NamedVerdict>(
      base::shared_pool(), all.size(),
      [&](std::size_t i) -> std::optional<NamedVerdict> {
        if (base::stop_requested()) return std::nullopt;
        const base::Stopwatch watch;
        NamedVerdict one{all[i].name, rules::verify(all[i], how, known), 0};
        one.seconds = watch.seconds();
        if (base::stop_requested()) return std::nullopt;  // before it was decided
        return one;
      },
      [&](std::size_t i, const NamedVerdict& one) {
        found.push_back(one);
        if (!progress.due()) return;
        progress.report({{base::kItems, i + 1}},
                        static_cast<double>(i + 1) / static_cast<double>(all.size()), one.name);
      });
  return found;
}

// The verdicts, and whether Ctrl-C ended the work before the last.
nb::tuple verify(Rules& self, const nb::object& progress, int instances, int tensor_checks,
                 std::int64_t small, std::int64_t bounded, std::uint64_t seed) {
  const VerifyArguments arguments{instances, tensor_checks, small, bounded, seed};
  Call call(progress, OnInterrupt::kKeepResult);
  const std::vector<rules::Rule> all = self.set.rules;
  auto found = call.run([&] { return verdicts(all, arguments, call.progress()); });
  for (const NamedVerdict& one : *found) {
    const auto rule = std::ranges::find(all, one.name, &rules::Rule::name);
    rules::record(self.statuses, *rule, one.verdict);
  }
  return nb::make_tuple(*std::move(found), call.interrupted());
}

struct NamedDerivation {
  std::string name;
  bool derived = false;
  std::string reason;
};

// Which of the other rules this set derives, from both sides.
std::vector<NamedDerivation> derive(const Rules& self, const Rules& goals,
                                    const nb::object& progress, int instances,
                                    std::uint64_t iterations, std::uint64_t nodes,
                                    std::uint64_t seed) {
  rules::DerivationOptions how;
  how.instances = instances;
  how.iterations = iterations;
  how.nodes = nodes;
  how.seed = seed;
  const rules::RuleSet set = rules::without_heuristics(self.set);
  const std::vector<rules::Rule> wanted = goals.set.rules;
  Call call(progress);
  auto found = call.run([&]() -> base::Result<std::vector<NamedDerivation>> {
    const base::Progress reported(call.progress(), "derive rules");
    rules::KnownOperators known;
    std::vector<NamedDerivation> all;
    for (const rules::Rule& goal : wanted) {
      if (base::stop_requested()) return base::limit_hit("interrupted");
      const rules::Derivation one = rules::derive(set, goal, how, known);
      all.push_back({goal.name, one.derived, one.reason});
      if (reported.due()) reported.report({{base::kItems, all.size()}}, -1, goal.name);
    }
    return all;
  });
  return *std::move(found);
}

base::Result<rules::generator::Space> space_named(const std::string& name,
                                                  const std::vector<std::string>& operators) {
  if (name.empty()) return rules::generator::space_of_operators(operators);
  const auto* named = rules::generator::find_named_space(name);
  if (named != nullptr) return named->make();
  std::string known;
  for (const auto& row : rules::generator::named_spaces())
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  return base::usage_error("unknown space '" + name + "'; there are " + known);
}

// The rules that were found, with their verdicts.
Rules generate(const std::vector<std::string>& operators, const std::string& space,
               std::size_t most_operators, std::int64_t memory, std::uint64_t seed,
               const nb::object& progress) {
  namespace gen = rules::generator;
  Call call(progress);
  auto generation = call.run([&]() -> base::Result<gen::Generation> {
    EGRET_ASSIGN_OR_RETURN(const gen::Space wanted, space_named(space, operators));
    gen::GenerationOptions how;
    const auto* named = gen::find_named_space(space);
    how.enumeration.most_operators =
        most_operators > 0 ? most_operators : (named != nullptr ? named->most_operators : 2);
    how.enumeration.seed = seed;
    how.enumeration.most_bytes = static_cast<std::size_t>(memory);
    how.enumeration.progress = call.progress();
    how.scrutiny.screening.seed = seed;
    EGRET_ASSIGN_OR_RETURN(gen::Generation found, gen::generate(wanted, how));
    if (found.stopped) return base::limit_hit("interrupted");
    return found;
  });
  Rules result;
  result.statuses = value_or_raise(rules::builtin_statuses());
  for (const gen::GeneratedRule& one : generation->rules) {
    result.set.rules.push_back(one.rule);
    rules::record(result.statuses, one.rule, one.verdict);
  }
  return result;
}

nb::dict tensors_dict(const rules::Difference& difference) {
  nb::dict inputs;
  for (const auto& [name, tensor] : difference.inputs) inputs[name.c_str()] = array_of(tensor);
  nb::dict result;
  result["inputs"] = inputs;
  result["output"] = difference.output;
  const bool has_values = !difference.output.empty();
  result["left"] = has_values ? array_of(difference.left) : nb::none();
  result["right"] = has_values ? array_of(difference.right) : nb::none();
  return result;
}

}  // namespace

void admit(const Rules& given, driver::OptimizeOptions& how) {
  const auto least = rules::parse_rule_status(how.allow);
  if (!least) raise(base::usage_error("allow: unknown status '" + how.allow + "'"));
  how.own_rules = std::make_shared<const rules::AdmittedRules>(
      value_or_raise(rules::AdmittedRules::admit(given.set, given.statuses, *least)));
}

void bind_rules(nb::module_& module) {
  nb::class_<NamedVerdict>(module, "Verdict")
      .def_ro("name", &NamedVerdict::name)
      .def_ro("seconds", &NamedVerdict::seconds)
      .def_prop_ro(
          "status",
          [](const NamedVerdict& v) { return std::string(rules::to_string(v.verdict.status)); })
      .def_prop_ro("reason", [](const NamedVerdict& v) { return v.verdict.reason; })
      .def_prop_ro("families", [](const NamedVerdict& v) { return v.verdict.families; })
      .def_prop_ro("bound", [](const NamedVerdict& v) { return v.verdict.bound; })
      .def_prop_ro("any_rank", [](const NamedVerdict& v) { return v.verdict.any_rank; })
      .def_prop_ro("open", [](const NamedVerdict& v) { return v.verdict.cover.open; })
      .def_prop_ro("proofs", [](const NamedVerdict& v) { return v.verdict.proofs; })
      .def_prop_ro("counterexample", [](const NamedVerdict& v) -> nb::object {
        if (v.verdict.difference == nullptr) return nb::none();
        return tensors_dict(*v.verdict.difference);
      });
  nb::class_<NamedDerivation>(module, "Derivation")
      .def_ro("name", &NamedDerivation::name)
      .def_ro("derived", &NamedDerivation::derived)
      .def_ro("reason", &NamedDerivation::reason);
  nb::class_<Rules>(module, "Rules")
      .def("__len__", [](const Rules& r) { return r.set.size(); })
      .def("names",
           [](const Rules& r) {
             std::vector<std::string> names;
             for (const rules::Rule& rule : r.set.rules) names.push_back(rule.name);
             for (const rules::DynamicRule* rule : r.set.dynamic) names.emplace_back(rule->name);
             return names;
           })
      .def("status",
           [](const Rules& r, const std::string& name) {
             for (const rules::Rule& rule : r.set.rules) {
               if (rule.name == name) return std::string(to_string(r.statuses.of(rule)));
             }
             for (const rules::DynamicRule* rule : r.set.dynamic) {
               if (rule->name == name) return std::string("dynamic");
             }
             raise(base::usage_error("there is no rule '" + name + "' in this set"));
           })
      .def("text",
           [](const Rules& r) {
             std::string text;
             for (const rules::Rule& rule : r.set.rules) {
               text += (text.empty() ? "" : "\n") + to_string(rule);
               if (!text.ends_with('\n')) text += '\n';
             }
             return text;
           })
      .def("statuses",
           [](const Rules& r) {
             rules::RuleStatuses known = r.statuses;
             known.keep_only(r.set);
             return known.size() > 0 ? known.to_json() : std::string();
           })
      .def("sum", &sum)
      .def("only",
           [](const Rules& r, const std::set<std::string>& names) {
             Rules result = r;
             std::erase_if(result.set.rules,
                           [&](const rules::Rule& rule) { return !names.contains(rule.name); });
             std::erase_if(result.set.dynamic, [&](const rules::DynamicRule* rule) {
               return !names.contains(std::string(rule->name));
             });
             return result;
           })
      .def("hash", [](const Rules& r) { return r.set.hash().to_hex(); })
      .def("verify", &verify, nb::arg("progress").none(), nb::arg("instances"),
           nb::arg("tensor_checks"), nb::arg("small"), nb::arg("bounded"), nb::arg("seed"))
      .def("derive", &derive, nb::arg("goals"), nb::arg("progress").none(), nb::arg("instances"),
           nb::arg("iterations"), nb::arg("nodes"), nb::arg("seed"));
  module.def("parse_rules", [](const std::string& name, const std::string& text) {
    return value_or_raise(parsed(name, text));
  });
  module.def("select_rules",
             [](const std::string& selection) { return value_or_raise(selected(selection)); });
  module.def("generate_rules", &generate, nb::arg("operators"), nb::arg("space"),
             nb::arg("most_operators"), nb::arg("memory"), nb::arg("seed"),
             nb::arg("progress").none());
}

}  // namespace egret::python
