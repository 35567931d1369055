// SPDX-License-Identifier: Apache-2.0
#include "parallel/replay/plan_replay.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/hash.h"
#include "ir/autodiff/training_arguments.h"
#include "parallel/placed/program_interface.h"
#include "parallel/placed/program_reader.h"
#include "parallel/placed/sequential_program.h"
#include "parallel/placement/block_counts.h"
#include "parallel/ring/lookup_in_blocks.h"
#include "rules/tensors/constant_folding.h"
#include "verifier/replay/plain_program.h"

namespace egret::parallel {

using base::Json;
using base::Result;
using base::Status;
using verifier::ReplayTerms;
using verifier::RuleApplication;
using verifier::RuleSides;
using verifier::TermRef;
using Kind = PlacedNode::Kind;
using Reason = PlanCertificate::Reason;

namespace {

// What is wrong with a plan or certificate is a mismatch, whatever function found it.
Status rejected(const Status& reason, const std::string& place) {
  using base::StatusCode;
  if (reason.code() != StatusCode::kBadInput && reason.code() != StatusCode::kUnsupported)
    return reason.at(place);
  return base::mismatch(reason.message()).at(place);
}

std::string place_of(const PlacedNode& node, std::size_t number) {
  std::string text = "node " + std::to_string(number);
  std::string what;
  if (node.kind == Kind::kOperator) what = node.op->name();
  if (node.kind == Kind::kCollective) what = name_of(node.collective);
  if (node.kind == Kind::kRing) what = "ring";
  if (node.kind == Kind::kBack) what = "copy back";
  if (!node.name.empty()) what += (what.empty() ? "'" : " '") + node.name + "'";
  return what.empty() ? text : text + " (" + what + ")";
}

// Rules with proofs, and lookups in blocks.
class PlanRules final : public verifier::RuleBook {
 public:
  PlanRules(const verifier::RuleBook& rules, const Mesh& mesh) : rules_(rules) {
    for (const std::int64_t count : block_counts(mesh)) counts_[hash_of_lookup(count)] = count;
  }

  Result<RuleSides> instance(const std::string& hash, const RuleApplication& application,
                             ReplayTerms& terms) const override {
    const auto lookup = counts_.find(hash);
    if (lookup == counts_.end()) return rules_.instance(hash, application, terms);
    if (application.substitution.size() != 2 || application.operators.size() != 1 ||
        application.equation != 0)
      return base::mismatch("a lookup has a table and indices, and one equation");
    EGRET_ASSIGN_OR_RETURN(const TermRef left,
                           terms.make(application.operators[0], application.substitution));
    if (!terms.is(left, "gather")) return base::mismatch("the left side is no lookup");
    EGRET_ASSIGN_OR_RETURN(
        const ir::Graph blocks,
        lookup_in_blocks(terms.type(application.substitution[0]),
                         terms.type(application.substitution[1]),
                         terms.head(left).attrs.integer("axis"), lookup->second));
    EGRET_ASSIGN_OR_RETURN(const std::vector<TermRef> made,
                           terms.add(blocks, application.substitution));
    return RuleSides{left, made[blocks.outputs().front().node.index()]};
  }

 private:
  const verifier::RuleBook& rules_;
  std::map<std::string, std::int64_t> counts_;  // by hash
};

class PlanReplay {
 public:
  PlanReplay(const PlanCertificate& certificate, const PlacedGraph& placed, LawCache& laws)
      : certificate_(certificate), placed_(placed), laws_(laws) {}

  Status check(PlanReplayReport& report) {
    if (placed_.nodes.size() != certificate_.nodes.size()) {
      return base::mismatch("the plan has " + std::to_string(placed_.nodes.size()) +
                            " nodes, and the certificate reasons for " +
                            std::to_string(certificate_.nodes.size()));
    }
    for (std::size_t i = 0; i < placed_.nodes.size(); ++i) {
      const Status status = check_node(placed_.nodes[i], certificate_.nodes[i], report);
      if (!status.ok()) return rejected(status, place_of(placed_.nodes[i], i));
    }
    for (std::size_t i = 0; i < certificate_.laws.size(); ++i) {
      if (numbers_.contains(i)) continue;
      return base::mismatch("no node follows law " + std::to_string(i) + " ('" +
                            certificate_.laws[i].name + "')");
    }
    report.nodes = placed_.nodes.size();
    report.laws = used_.size();
    report.mesh = placed_.mesh;
    return base::ok();
  }

 private:
  Status check_node(const PlacedNode& node, const Reason& reason, PlanReplayReport& report) {
    const auto wanted = [&](Reason::Kind kind) {
      if (reason.kind == kind) return base::ok();
      return base::mismatch("its reason must be '" + std::string(name_of(kind)) + "', not '" +
                            std::string(name_of(reason.kind)) + "'");
    };
    switch (node.kind) {
      case Kind::kInput:
      case Kind::kConstant:
      case Kind::kBack: return wanted(Reason::Kind::kLeaf);  // the reader compared it
      case Kind::kOperator:
        EGRET_RETURN_IF_ERROR(wanted(Reason::Kind::kLaws));
        return check_laws(node, reason, report);
      case Kind::kCollective:
        EGRET_RETURN_IF_ERROR(wanted(Reason::Kind::kExchange));
        ++report.exchanges;
        // What it does follows from the placements before and after, which the reader compared.
        if (reason.text == name_of(node.collective)) return base::ok();
        return base::mismatch("the exchange is " + std::string(name_of(node.collective)) +
                              ", not '" + reason.text + "'");
      case Kind::kRing:
        EGRET_RETURN_IF_ERROR(wanted(Reason::Kind::kRing));
        ++report.rings;
        if (reason.text == hash_of(node.ring, placed_.mesh)) return base::ok();
        return base::mismatch("the ring has another hash");
    }
    return base::internal_error("a node of no kind");
  }

  Status check_laws(const PlacedNode& node, const Reason& reason, PlanReplayReport& report) {
    EGRET_ASSIGN_OR_RETURN(const std::vector<LawStep> steps, laws_of_node(placed_, node, laws_));
    if (steps.size() != reason.laws.size()) {
      return base::mismatch("it follows " + std::to_string(steps.size()) + " laws, not " +
                            std::to_string(reason.laws.size()));
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const PlanCertificate::Law& stated = certificate_.laws[reason.laws[i]];
      if (stated.hash != hash_of(steps[i]) || stated.name != name_of(steps[i])) {
        return base::mismatch("law " + std::to_string(reason.laws[i]) + " ('" + stated.name +
                              "') is another one than that of its placements along '" +
                              placed_.mesh.axis(steps[i].axis).name +
                              "': " + statement_of(steps[i]));
      }
      used_.insert(stated.hash);
      numbers_.insert(reason.laws[i]);
      ++report.law_steps;
    }
    return base::ok();
  }

  const PlanCertificate& certificate_;
  const PlacedGraph& placed_;
  LawCache& laws_;
  std::set<std::string> used_;     // hashes of laws
  std::set<std::size_t> numbers_;  // of laws in the certificate
};

}  // namespace

std::string hash_of(const LawStep& step) { return base::content_hash(statement_of(step)).to_hex(); }

std::string hash_of(const Ring& ring, const Mesh& mesh) {
  return base::content_hash(to_string(ring, mesh)).to_hex();
}

std::string hash_of_lookup(std::int64_t blocks) {
  return base::content_hash("lookup in " + std::to_string(blocks) + " blocks").to_hex();
}

Result<std::vector<LawStep>> laws_of_node(const PlacedGraph& graph, const PlacedNode& node,
                                          LawCache& laws) {
  std::vector<ir::TensorType> types;
  std::vector<Placement> placements;
  for (const std::size_t input : node.inputs) {
    types.push_back(graph.nodes[input].whole);
    placements.push_back(graph.nodes[input].placement);
  }
  return law_steps(*node.op, node.attrs, types, placements, node.placement, graph.mesh, laws);
}

Result<PlanPrograms> read_plan_programs(const Json& plan, const ir::Graph& model, LawCache& laws) {
  PlanPrograms programs;
  std::optional<ir::TrainingGraph> step;
  if (const Json* const training = plan.find("training")) {
    EGRET_ASSIGN_OR_RETURN(const ir::TrainingArguments arguments, ir::read_training(*training));
    EGRET_ASSIGN_OR_RETURN(step, ir::training_step(model, arguments, "the model"));
    programs.training = ir::to_json(arguments);
  }
  programs.model = verifier::plain_program(step ? step->graph : model);
  // Constants are compared by their bytes with what the certificate folds; these are candidates.
  EGRET_ASSIGN_OR_RETURN(const ir::Graph folded, rules::fold_constants(step ? step->graph : model));
  std::map<std::string, const ir::Tensor*> weights;
  for (const ir::Graph* const graph : {&std::as_const(programs.model), &folded}) {
    for (const ir::Node& node : graph->nodes()) {
      if (node.kind == ir::NodeKind::kConstant)
        weights[node.data.content_hash().to_hex()] = &node.data;
    }
  }
  auto placed = read_program(
      plan,
      [&](const std::string& hash) {
        const auto found = weights.find(hash);
        return found == weights.end() ? nullptr : found->second;
      },
      laws);
  if (!placed.ok()) return rejected(placed.status(), "the plan");
  programs.placed = *std::move(placed);
  EGRET_RETURN_IF_ERROR(check_outputs(programs.placed, programs.model).at("the plan"));
  EGRET_RETURN_IF_ERROR(check_carried(programs.placed, step ? &*step : nullptr).at("the plan"));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph sequential,
                         sequential_program(programs.placed, programs.model));
  programs.sequential = verifier::plain_program(sequential);
  return programs;
}

Result<PlanReplayReport> replay_plan(const PlanCertificate& certificate, const Json& plan,
                                     const ir::Graph& model, const verifier::RuleBook& rules) {
  const std::string hash_of_model = model_hash(model);
  const Json* const planned = plan.find("model_hash");
  if (planned == nullptr || !planned->is_string() || *planned->as_string() != hash_of_model)
    return base::mismatch("the plan was made for another model than this one with the hash " +
                          hash_of_model);
  LawCache laws;
  EGRET_ASSIGN_OR_RETURN(const PlanPrograms programs, read_plan_programs(plan, model, laws));
  PlanReplayReport report;
  report.training = programs.training;
  EGRET_RETURN_IF_ERROR(PlanReplay(certificate, programs.placed, laws).check(report));
  auto hash = program_hash(plan);
  if (!hash.ok()) return rejected(hash.status(), "the plan");
  if (*hash != certificate.program)
    return base::mismatch("the certificate is of a plan with the hash " + certificate.program +
                          ", and this one has " + *hash);
  EGRET_ASSIGN_OR_RETURN(report.model,
                         verifier::replay(certificate.model, programs.model, programs.sequential,
                                          PlanRules(rules, programs.placed.mesh)));
  return report;
}

}  // namespace egret::parallel
