// SPDX-License-Identifier: Apache-2.0
#include "parallel/planner.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "base/stop.h"
#include "base/timer.h"
#include "extract/extractor.h"
#include "parallel/placed_egraph.h"
#include "rules/constant_folding.h"
#include "rules/rule_set.h"
#include "rules/saturate.h"

namespace egret::parallel {
namespace {

using base::Result;
using egraph::ClassId;
using egraph::EGraphView;
using Kind = PlacedEGraph::Kind;

constexpr double kForbidden = std::numeric_limits<double>::infinity();
// Seconds for a byte of weights: from below any that matters to above all of them.
constexpr double kLeastPriceOfByte = 1e-16;
constexpr double kMostPriceOfByte = 1e-6;
constexpr double kPriceStep = 8;
constexpr int kBisections = 6;

inline constexpr base::ProgressColumn kPlacedValues{"placed_values", "placed values",
                                                    base::ProgressColumn::Unit::kCount,
                                                    "values of the program under placements"};

// Which leaves may be placed how.
using AllowLeaf = std::function<bool(bool constant, const ir::TensorType& whole, const Placement&)>;

bool any_placement(bool, const ir::TensorType&, const Placement&) { return true; }
bool copied_inputs(bool constant, const ir::TensorType&, const Placement& placement) {
  return constant || placement.is_copy();
}
bool copies(bool, const ir::TensorType&, const Placement& placement) { return placement.is_copy(); }
bool all_along(const Placement& placement, const std::function<bool(AxisPlacement)>& is) {
  for (int axis = 0; axis < placement.axis_count(); ++axis) {
    if (!is(placement.along(axis))) return false;
  }
  return true;
}
bool data_parallel(bool constant, const ir::TensorType&, const Placement& placement) {
  if (constant) return placement.is_copy();
  return all_along(placement, [](AxisPlacement p) { return p == AxisPlacement::split(0); });
}
bool tensor_parallel(bool constant, const ir::TensorType& whole, const Placement& placement) {
  if (!constant || whole.rank() < 2 || whole.elements() == 1)
    return constant || placement.is_copy();
  return all_along(placement, [](AxisPlacement p) { return p.is_split(); });
}

// The placed e-graph with a price for each node.
class Pricing {
 public:
  Pricing(const PlacedEGraph& placed, const Machine& machine)
      : placed_(placed),
        machine_(machine),
        model_(cost::make_model("roofline", machine.rates)),
        view_(egraph::make_view(placed.egraph(), placed.roots())) {
    for (EGraphView::Index node = 0; node < view_.node_count(); ++node)
      costs_.push_back(price(node));
  }

  const EGraphView& view() const { return view_; }

  Result<extract::Solution> extract(const extract::ExtractorRow& extractor,
                                    const extract::Options& options, const AllowLeaf& allow,
                                    bool may_slice, double price_of_byte = 0) const {
    std::vector<double> costs = costs_;
    for (EGraphView::Index node = 0; price_of_byte > 0 && node < view_.node_count(); ++node)
      costs[node] += price_of_byte * weight_bytes(node);
    for (EGraphView::Index node = 0; node < view_.node_count(); ++node) {
      const PlacedEGraph::Meaning& meaning = placed_.meaning(view_.node_op[node]);
      if (meaning.kind == Kind::kPlace && costs_[node] == 0) {
        const PlacedEGraph::Placed& value = value_of(node);
        const bool constant = placed_.tensors().is_constant(value.value);
        if (!allow(constant, placed_.tensors().type(value.value), value.placement))
          costs[node] = kForbidden;
      }
      const bool slices = meaning.kind == Kind::kCollective && meaning.collective.from.is_copy();
      if (slices && !may_slice) costs[node] = kForbidden;
    }
    EGRET_ASSIGN_OR_RETURN(extract::Solution solution, extractor.extract({view_, costs}, options));
    EGRET_RETURN_IF_ERROR(extract::check_solution({view_, costs}, solution));
    return solution;
  }

  double seconds_of(const extract::Solution& solution) const {
    double seconds = 0;
    for (const extract::NodeIndex node : solution.choice)
      seconds += node == extract::kNoNode ? 0 : costs_[node];
    return seconds;
  }

  const PlacedEGraph::Placed& value_of(EGraphView::Index node) const {
    return placed_.placed(view_.class_id[view_.node_class[node]]);
  }

 private:
  // Of what is known before the first run and kept.
  double weight_bytes(EGraphView::Index node) const {
    if (placed_.meaning(view_.node_op[node]).kind == Kind::kValue) return 0;
    const PlacedEGraph::Placed& value = value_of(node);
    return placed_.tensors().is_constant(value.value) ? static_cast<double>(value.type.bytes()) : 0;
  }

  double price(EGraphView::Index node) const {
    const PlacedEGraph::Meaning& meaning = placed_.meaning(view_.node_op[node]);
    switch (meaning.kind) {
      case Kind::kValue: return 0;
      case Kind::kPlace: {
        const PlacedEGraph::Placed& value = value_of(node);
        const bool leaf = placed_.leaf_of(value.value).valid();
        return leaf && !value.placement.has_partial() ? 0 : kForbidden;
      }
      case Kind::kOperator: return price_of_operator(node, meaning);
      case Kind::kCollective: {
        const PlacedEGraph::Placed& to = value_of(node);
        if (placed_.tensors().is_constant(to.value)) return 0;  // before the first run
        const auto& from = placed_.placed(view_.class_id[view_.children_of(node).front()]);
        return machine_.seconds(meaning.collective, static_cast<double>(from.type.bytes()),
                                static_cast<double>(to.type.bytes()));
      }
    }
    return kForbidden;
  }

  double price_of_operator(EGraphView::Index node, const PlacedEGraph::Meaning& meaning) const {
    const auto children = view_.children_of(node);
    std::vector<ir::TensorType> types;
    const auto constant = std::make_unique<bool[]>(children.size());
    for (std::size_t i = 0; i < children.size(); ++i) {
      const auto& child = placed_.placed(view_.class_id[children[i]]);
      types.push_back(child.type);
      constant[i] = placed_.tensors().is_constant(child.value);
    }
    const auto seconds = model_->cost({.op = &placed_.tensors().language().op(meaning.sequential),
                                       .attrs = &meaning.part_attrs,
                                       .inputs = types,
                                       .constant = {constant.get(), children.size()},
                                       .output = &value_of(node).type});
    return seconds.ok() ? seconds->seconds : kForbidden;
  }

  const PlacedEGraph& placed_;
  const Machine& machine_;
  std::unique_ptr<cost::Model> model_;
  EGraphView view_;
  std::vector<double> costs_;
};

// The chosen nodes as a program. Inputs come first, all of them, in the program's order.
class ProgramWriter {
 public:
  ProgramWriter(const PlacedEGraph& placed, const EGraphView& view,
                const extract::Solution& solution, const ir::Graph& graph)
      : placed_(placed), view_(view), solution_(solution), graph_(graph) {}

  Result<PlacedGraph> write() {
    program_.mesh = placed_.mesh();
    built_.assign(view_.class_count(), kNone);
    for (std::size_t i = 0; i < view_.roots.size(); ++i) {
      write_from(view_.roots[i]);
      program_.outputs.push_back({graph_.outputs()[i].name, built_[view_.roots[i]]});
    }
    return std::move(program_);
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  // Depth first without recursion: a class is written when its children are.
  void write_from(extract::ClassIndex root) {
    std::vector<extract::ClassIndex> stack{root};
    while (!stack.empty()) {
      const extract::ClassIndex at = stack.back();
      const extract::NodeIndex node = solution_.choice[at];
      bool ready = true;
      if (!is_leaf(node)) {
        const auto children = view_.children_of(node);
        for (auto child = children.rbegin(); child != children.rend(); ++child) {
          if (built_[*child] != kNone) continue;
          stack.push_back(*child);
          ready = false;
        }
      }
      if (!ready) continue;
      stack.pop_back();
      if (built_[at] == kNone) built_[at] = append(node);
    }
  }

  bool is_leaf(extract::NodeIndex node) const {
    return placed_.meaning(view_.node_op[node]).kind == Kind::kPlace;
  }

  std::size_t append(extract::NodeIndex node) {
    const PlacedEGraph::Meaning& meaning = placed_.meaning(view_.node_op[node]);
    const auto& placed = placed_.placed(view_.class_id[view_.node_class[node]]);
    const rules::TensorEGraph& tensors = placed_.tensors();
    PlacedNode result;
    result.whole = tensors.type(placed.value);
    result.type = placed.type;
    result.placement = placed.placement;
    if (meaning.kind == Kind::kPlace) {
      const egraph::OpId leaf = tensors.egraph().op(placed_.leaf_of(placed.value));
      const bool constant = tensors.language().is_constant(leaf);
      result.kind = constant ? PlacedNode::Kind::kConstant : PlacedNode::Kind::kInput;
      result.name = tensors.language().leaf_name(leaf);
      if (constant) result.data = tensors.language().tensor(leaf);
    } else {
      for (const auto child : view_.children_of(node)) result.inputs.push_back(built_[child]);
      if (meaning.kind == Kind::kCollective) {
        result.kind = PlacedNode::Kind::kCollective;
        result.collective = meaning.collective;
      } else {
        result.op = &tensors.language().op(meaning.sequential);
        result.attrs = tensors.language().attrs(meaning.sequential);
        result.part_attrs = meaning.part_attrs;
      }
    }
    program_.nodes.push_back(std::move(result));
    return program_.nodes.size() - 1;
  }

  const PlacedEGraph& placed_;
  const EGraphView& view_;
  const extract::Solution& solution_;
  const ir::Graph& graph_;
  PlacedGraph program_;
  std::vector<std::size_t> built_;
};

}  // namespace

namespace {
std::vector<std::string> extractor_names() {
  std::vector<std::string> names;
  for (const extract::ExtractorRow& row : extract::extractors()) names.emplace_back(row.name);
  return names;
}
}  // namespace

const base::OptionTable<PlanOptions>& PlanOptions::table() {
  using P = PlanOptions;
  static const base::OptionTable<P> rows{
      "plan",
      {{"rules", &P::rules, "Rules that rewrite the program before it is distributed"},
       {"extractor", &P::extractor, "How the cheapest plan is found",
        base::one_of(extractor_names())},
       {"limit-nodes", &P::limit_nodes, "E-nodes of the program's e-graph",
        base::range(1, 100'000'000)},
       {"limit-time", &P::limit_time, "Seconds for each extraction", base::range(0.0, 1e6)},
       {"limit-memory", &P::limit_memory,
        "Bytes of weights, inputs and activations on one device; 0: what the machine has",
        base::bytes()},
       {"sharded-inputs", &P::sharded_inputs,
        "Inputs may arrive in blocks; otherwise every rank is given them whole"}}};
  return rows;
}

std::vector<Communication> communication_of(const PlacedGraph& graph) {
  std::vector<Communication> all;
  for (const PlacedNode& node : graph.nodes) {
    if (node.kind != PlacedNode::Kind::kCollective || node.collective.from.is_copy()) continue;
    const std::string_view name = name_of(node.collective);
    const std::string& axis = graph.mesh.axis(node.collective.axis).name;
    auto found = std::ranges::find_if(
        all, [&](const Communication& one) { return one.collective == name && one.axis == axis; });
    if (found == all.end()) {
      all.push_back({std::string(name), axis});
      found = std::prev(all.end());
    }
    ++found->count;
    found->bytes += bytes_sent(node.collective, graph.mesh.size(node.collective.axis),
                               static_cast<double>(graph.nodes[node.inputs.front()].type.bytes()),
                               static_cast<double>(node.type.bytes()));
  }
  return all;
}

Result<Plan> make_plan(const ir::Graph& graph, const Machine& machine, const PlanOptions& options,
                       base::ProgressSink* sink) {
  const base::Stopwatch watch;
  const base::Progress progress(sink, "plan");
  const extract::ExtractorRow* extractor = extract::find_extractor(options.extractor);
  if (extractor == nullptr)
    return base::usage_error("there is no extractor '" + options.extractor + "'");
  EGRET_ASSIGN_OR_RETURN(const ir::Graph folded, rules::fold_constants(graph));
  EGRET_ASSIGN_OR_RETURN(const auto tensors, rules::TensorEGraph::from_graph(folded));
  EGRET_ASSIGN_OR_RETURN(const rules::RuleSet set, rules::select_rules(options.rules));
  rules::SaturateOptions saturation;
  saturation.limits.nodes = static_cast<std::uint64_t>(options.limit_nodes);
  saturation.progress = sink;
  rules::saturate(*tensors, rules::compile(set, *tensors), saturation);

  const std::vector<Placement> outputs(graph.outputs().size(),
                                       Placement(machine.mesh.axis_count()));
  EGRET_ASSIGN_OR_RETURN(const auto placed, PlacedEGraph::of(*tensors, machine.mesh, outputs));
  const Pricing pricing(*placed, machine);
  progress.report({{kPlacedValues, static_cast<std::int64_t>(pricing.view().class_count())}});

  extract::Options extraction;
  extraction.time_limit_s = options.limit_time;
  extraction.should_stop = base::stop_requested;
  const AllowLeaf allow = options.sharded_inputs ? any_placement : copied_inputs;
  Plan plan;
  plan.limit_bytes =
      options.limit_memory > 0 ? static_cast<double>(options.limit_memory) : machine.memory_bytes;
  // Takes the plan at this price if it is better than the one so far: it fits where that does not,
  // or is faster. Whether it fits.
  const auto plan_at = [&](double price_of_byte) -> Result<bool> {
    EGRET_ASSIGN_OR_RETURN(const extract::Solution found,
                           pricing.extract(*extractor, extraction, allow, true, price_of_byte));
    EGRET_ASSIGN_OR_RETURN(PlacedGraph program,
                           ProgramWriter(*placed, pricing.view(), found, graph).write());
    const double bytes = peak_bytes(program);
    const double seconds = pricing.seconds_of(found);
    const auto misses = [&](double needed) {
      return plan.limit_bytes > 0 ? std::max(needed - plan.limit_bytes, 0.0) : 0.0;
    };
    if (price_of_byte == 0) plan.bound_s = found.bound;
    if (price_of_byte == 0 ||
        std::pair(misses(bytes), seconds) < std::pair(misses(plan.memory_bytes), plan.time_s)) {
      plan.program = std::move(program);
      plan.time_s = seconds;
      plan.memory_bytes = bytes;
    }
    return misses(bytes) == 0;
  };
  EGRET_ASSIGN_OR_RETURN(bool fits, plan_at(0));
  if (!fits) {
    double low = kLeastPriceOfByte;
    double high = low;
    for (; !fits && high <= kMostPriceOfByte; high *= kPriceStep) {
      low = high / kPriceStep;
      EGRET_ASSIGN_OR_RETURN(fits, plan_at(high));
    }
    for (int step = 0; fits && step < kBisections; ++step) {
      const double middle = std::sqrt(low * high);
      EGRET_ASSIGN_OR_RETURN(const bool here, plan_at(middle));
      (here ? high : low) = middle;
    }
  }
  plan.communication = communication_of(plan.program);
  plan.placed_values = pricing.view().class_count();
  plan.placed_nodes = pricing.view().node_count();
  struct Baseline {
    const char* name;
    AllowLeaf allow;
    bool may_slice;
  };
  for (const Baseline& baseline :
       {Baseline{"single", copies, false}, Baseline{"data", data_parallel, false},
        Baseline{"tensor", tensor_parallel, true}}) {
    const auto found = pricing.extract(*extractor, extraction, baseline.allow, baseline.may_slice);
    if (found.ok()) plan.baselines[baseline.name] = found->dag_cost;
  }
  EGRET_RETURN_IF_ERROR(check_against(plan.program, folded));
  plan.seconds = watch.seconds();
  return plan;
}

}  // namespace egret::parallel
