// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/first_difference.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/formats/units.h"
#include "base/minimal_subset.h"
#include "driver/measure/model_comparison.h"
#include "ir/evaluate/interpreter.h"

namespace egret::driver {
namespace {

using Origin = FirstDifference::Origin;

bool is_operator(const ir::Graph& graph, ir::NodeId id) {
  return graph.node(id).kind == ir::NodeKind::kOperator;
}

// The graph with more outputs.
ir::Graph observed(const ir::Graph& graph, const std::vector<SharedValue>& stored,
                   ir::NodeId SharedValue::*node) {
  ir::Graph result = graph;
  for (const SharedValue& value : stored) result.add_output(value.name, value.*node);
  return result;
}

class DifferenceSearch {
 public:
  DifferenceSearch(const ir::Graph& a, const ir::Graph& b, const PlanOfStored& plan_of,
                   const CheckOptions& options)
      : a_(a), b_(b), plan_of_(plan_of), options_(options) {}

  base::Result<std::optional<FirstDifference>> find(const std::vector<SharedValue>& shared) {
    Origin origin = Origin::kModels;
    EGRET_ASSIGN_OR_RETURN(const OutputCheck check,
                           OutputCheck::of(observed(a_, shared, &SharedValue::a), options_));
    EGRET_ASSIGN_OR_RETURN(CheckReport report, interpreted(check, shared));
    if (!has_wrong_output(report)) {
      origin = Origin::kRun;
      EGRET_ASSIGN_OR_RETURN(report, executed(check, shared));
    }
    if (has_wrong_output(report)) return described(origin, shared, report);
    return find_in_fusion(shared);
  }

 private:
  // An inner value may differ, and no output with it.
  bool has_wrong_output(const CheckReport& report) const {
    const auto outputs = std::span(report.outputs).first(b_.outputs().size());
    return std::ranges::any_of(outputs, [](const OutputError& error) { return error.wrong > 0; });
  }

  // By node of `b`: whether a wrong output depends on it.
  std::vector<bool> behind_wrong_outputs(const CheckReport& report) const {
    std::vector<bool> behind(b_.size());
    for (std::size_t i = 0; i < b_.outputs().size(); ++i) {
      if (report.outputs[i].wrong > 0) behind[b_.outputs()[i].node.index()] = true;
    }
    for (std::size_t i = b_.size(); i-- > 0;) {
      if (!behind[i]) continue;
      for (const ir::NodeId input : b_.node(ir::NodeId(i)).inputs) behind[input.index()] = true;
    }
    return behind;
  }

  base::Result<CheckReport> interpreted(const OutputCheck& check,
                                        const std::vector<SharedValue>& stored) const {
    const ir::Graph graph = observed(b_, stored, &SharedValue::b);
    return check.check([&](std::span<const ir::Tensor> inputs) {
      return ir::interpret(graph, inputs, {.should_stop = options_.should_stop});
    });
  }
  base::Result<CheckReport> executed(const OutputCheck& check,
                                     const std::vector<SharedValue>& stored) const {
    EGRET_ASSIGN_OR_RETURN(const auto plan,
                           plan_of_(observed(b_, stored, &SharedValue::b), stored));
    return check.check([&](std::span<const ir::Tensor> inputs) { return plan->run(inputs); });
  }

  // With all values stored, nothing differs: the fewest values that must not be stored.
  base::Result<std::optional<FirstDifference>> find_in_fusion(
      const std::vector<SharedValue>& shared) {
    EGRET_ASSIGN_OR_RETURN(const OutputCheck outputs, OutputCheck::of(a_, options_));
    base::Status failed = base::ok();
    const auto without = [&](const std::vector<std::size_t>& inside) {
      std::vector<SharedValue> stored;
      for (std::size_t i = 0; i < shared.size(); ++i) {
        if (!std::ranges::binary_search(inside, i)) stored.push_back(shared[i]);
      }
      return stored;
    };
    const auto differs = [&](const std::vector<std::size_t>& inside) {
      if (!failed.ok()) return false;
      const std::vector<SharedValue> stored = without(inside);
      const auto plan = plan_of_(observed(b_, stored, &SharedValue::b), stored);
      if (!plan.ok()) {
        failed = plan.status();
        return false;
      }
      const auto report = outputs.check([&](std::span<const ir::Tensor> inputs) {
        auto results = (*plan)->run(inputs);
        if (results.ok()) results->resize(b_.outputs().size());
        return results;
      });
      if (!report.ok()) failed = report.status();
      return report.ok() && !report->passed;
    };
    std::vector<std::size_t> all(shared.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    const bool any = differs(all);
    EGRET_RETURN_IF_ERROR(failed);
    if (!any) return std::optional<FirstDifference>();
    const std::vector<std::size_t> inside = base::minimal_subset(shared.size(), differs);
    EGRET_RETURN_IF_ERROR(failed);
    const std::vector<SharedValue> stored = without(inside);
    EGRET_ASSIGN_OR_RETURN(const OutputCheck check,
                           OutputCheck::of(observed(a_, stored, &SharedValue::a), options_));
    EGRET_ASSIGN_OR_RETURN(const CheckReport report, executed(check, stored));
    if (!has_wrong_output(report))
      return base::mismatch("the difference of the outputs comes and goes between equal runs");
    auto found = described(Origin::kFusion, stored, report);
    for (const std::size_t i : inside) found->not_stored.push_back(shared[i].name);
    return found;
  }

  // The first value beyond its bound that a wrong output depends on, in the order of `b`.
  std::optional<FirstDifference> described(Origin origin, const std::vector<SharedValue>& stored,
                                           const CheckReport& report) const {
    FirstDifference result;
    result.origin = origin;
    result.compared = stored.size();
    const std::size_t outputs = b_.outputs().size();
    const std::vector<bool> behind = behind_wrong_outputs(report);
    std::optional<std::pair<ir::NodeId, std::size_t>> first;
    std::map<ir::NodeId, std::string> names_a;
    std::map<ir::NodeId, std::string> names_b;
    for (std::size_t i = 0; i < report.outputs.size(); ++i) {
      const bool output = i < outputs;
      const ir::NodeId a = output ? a_.outputs()[i].node : stored[i - outputs].a;
      const ir::NodeId b = output ? b_.outputs()[i].node : stored[i - outputs].b;
      names_a.emplace(a, output ? a_.outputs()[i].name : stored[i - outputs].name);
      names_b.emplace(b, output ? b_.outputs()[i].name : stored[i - outputs].name);
      const bool wrong = report.outputs[i].wrong > 0 && behind[b.index()];
      if (wrong && (!first || b < first->first)) first = {b, i};
    }
    if (!first) return std::nullopt;
    const std::size_t i = first->second;
    const ir::NodeId a = i < outputs ? a_.outputs()[i].node : stored[i - outputs].a;
    result.error = report.outputs[i];
    result.error.output = names_b.at(first->first);
    result.name_in_a = names_a.at(a);
    result.in_a = derivation(a_, a, names_a);
    result.in_b = derivation(b_, first->first, names_b);
    result.weights = other_weights(result.in_b.from);
    return result;
  }

  static Derivation derivation(const ir::Graph& graph, ir::NodeId value,
                               const std::map<ir::NodeId, std::string>& shared) {
    std::set<ir::NodeId> inner;
    std::set<ir::NodeId> before;
    std::vector<ir::NodeId> pending = {value};
    while (!pending.empty()) {
      const ir::NodeId id = pending.back();
      pending.pop_back();
      if (!is_operator(graph, id) || (id != value && shared.contains(id))) {
        before.insert(id);
      } else if (inner.insert(id).second) {
        for (const ir::NodeId input : graph.node(id).inputs) pending.push_back(input);
      }
    }
    Derivation result;
    for (const ir::NodeId id : inner) result.operators.push_back(graph.node(id).op->name());
    for (const ir::NodeId id : before) {
      const auto found = shared.find(id);
      const std::string& name = found == shared.end() ? graph.node(id).name : found->second;
      if (!name.empty()) result.from.push_back(name);
    }
    return result;
  }

  std::vector<std::string> other_weights(const std::vector<std::string>& names) const {
    std::map<std::string, const ir::Tensor*> weights;
    for (const ir::Node& node : a_.nodes()) {
      if (node.kind == ir::NodeKind::kConstant && !node.name.empty())
        weights.emplace(node.name, &node.data);
    }
    std::vector<std::string> result;
    for (const ir::Node& node : b_.nodes()) {
      if (node.kind != ir::NodeKind::kConstant || !std::ranges::count(names, node.name)) continue;
      const auto other = weights.find(node.name);
      if (other != weights.end() && other->second->content_hash() != node.data.content_hash())
        result.push_back(node.name);
    }
    return result;
  }

  const ir::Graph& a_;
  const ir::Graph& b_;
  const PlanOfStored& plan_of_;
  const CheckOptions& options_;
};

// "'a', 'b' and 3 more".
std::string listed(const std::vector<std::string>& names, std::string_view quote) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text.append(i == 0 ? "" : ", ").append(quote).append(names[i]).append(quote);
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text.empty() ? "nothing" : text;
}

std::string text_of(const Derivation& derivation) {
  return listed(derivation.operators, "") + " of " + listed(derivation.from, "'");
}

std::set<ir::NodeId> live_set(const ir::Graph& graph) {
  const std::vector<ir::NodeId> live = ir::live_nodes(graph);
  return {live.begin(), live.end()};
}

}  // namespace

std::string_view name_of(FirstDifference::Origin origin) {
  switch (origin) {
    case Origin::kModels: return "models";
    case Origin::kRun: return "run";
    case Origin::kFusion: return "fusion";
  }
  return "";
}

base::Json to_json(const FirstDifference& found) {
  const auto json_of = [](const Derivation& derivation) {
    return base::Json::object()
        .set("operators", base::Json::array(derivation.operators))
        .set("from", base::Json::array(derivation.from));
  };
  return base::Json::object()
      .set("value", found.error.output)
      .set("value_in_a", found.name_in_a)
      .set("max_error", found.error.max_error)
      .set("bound", found.error.bound)
      .set("wrong", found.error.wrong)
      .set("elements", found.error.elements)
      .set("origin", name_of(found.origin))
      .set("in_a", json_of(found.in_a))
      .set("in_b", json_of(found.in_b))
      .set("weights", base::Json::array(found.weights))
      .set("not_stored", base::Json::array(found.not_stored))
      .set("values_compared", std::uint64_t{found.compared});
}

std::string to_string(const FirstDifference& found) {
  const OutputError& error = found.error;
  std::string text = "first difference: '" + error.output + "'";
  if (found.name_in_a != error.output) text += " ('" + found.name_in_a + "' in A)";
  text += ", " + base::format_count(error.wrong) + " of " +
          base::counted(error.elements, "element") + ", largest error " +
          base::format_short(error.max_error) + ", bound " + base::format_short(error.bound) + "\n";
  text += "  in A: " + text_of(found.in_a) + "\n  in B: " + text_of(found.in_b) + "\n";
  switch (found.origin) {
    case Origin::kModels:
      text += "  the models differ: so it is where both are interpreted\n";
      break;
    case Origin::kRun: text += "  the run is wrong: interpreted, both models agree\n"; break;
    case Origin::kFusion:
      text += "  the run is wrong, and only while these values are not stored: " +
              listed(found.not_stored, "'") + "\n";
      break;
  }
  if (!found.weights.empty()) text += "  other elements in B: " + listed(found.weights, "'") + "\n";
  text += "  values compared: " + base::format_count(static_cast<std::int64_t>(found.compared)) +
          " besides the outputs\n";
  return text;
}

std::vector<SharedValue> shared_values(
    const ir::Graph& a, const ir::Graph& b,
    const std::function<bool(const std::string& name)>& may_observe) {
  // Names of inputs and outputs are taken in either graph.
  std::set<std::string> taken;
  for (const ir::Graph* graph : {&a, &b}) {
    for (const ir::NodeId id : graph->inputs()) taken.insert(graph->node(id).name);
    for (const auto& output : graph->outputs()) taken.insert(output.name);
  }
  std::map<std::string, ir::NodeId> of_a;
  for (const ir::NodeId id : live_set(a)) {
    if (is_operator(a, id) && !a.node(id).name.empty()) of_a.emplace(a.node(id).name, id);
  }
  std::vector<SharedValue> shared;
  for (const ir::NodeId id : live_set(b)) {
    const ir::Node& node = b.node(id);
    if (!is_operator(b, id) || node.name.empty() || taken.contains(node.name)) continue;
    const auto found = of_a.find(node.name);
    if (found == of_a.end() || !(a.node(found->second).type == node.type)) continue;
    if (may_observe && !may_observe(node.name)) continue;
    taken.insert(node.name);
    shared.push_back({node.name, found->second, id});
  }
  return shared;
}

base::Result<std::optional<FirstDifference>> first_difference(
    const ir::Graph& a, const ir::Graph& b, const std::vector<SharedValue>& shared,
    const PlanOfStored& plan_of, const CheckOptions& options) {
  EGRET_RETURN_IF_ERROR(same_interface(a, b));
  return DifferenceSearch(a, b, plan_of, options).find(shared);
}

}  // namespace egret::driver
