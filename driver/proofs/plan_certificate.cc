// SPDX-License-Identifier: Apache-2.0
#include "driver/proofs/plan_certificate.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "parallel/placement/block_counts.h"
#include "parallel/replay/plan_replay.h"
#include "parallel/ring/table_rows.h"
#include "rules/certificates/certificate_json.h"
#include "rules/certificates/certificate_writer.h"
#include "rules/replay/rule_library.h"
#include "rules/tensors/constant_folding.h"
#include "rules/tensors/saturated_graph.h"

namespace egret::driver {

using base::Json;
using base::Result;
using base::Status;
using parallel::LawCache;
using parallel::LawStep;
using parallel::PlacedGraph;
using parallel::PlacedNode;
using parallel::PlanCertificate;
using parallel::PlanPrograms;
using Kind = PlacedNode::Kind;
using Reason = PlanCertificate::Reason;

namespace {

// Of the search for a proof, in which the whole program is saturated, not a few of its layers.
constexpr std::uint64_t kMostNodes = 500'000;
constexpr double kMostSeconds = 120;

// Each node's reason, and the laws that they share.
class Reasons {
 public:
  Reasons(const PlacedGraph& placed, LawCache& laws) : placed_(placed), laws_(laws) {}

  Status add_to(PlanCertificate& certificate) {
    for (const PlacedNode& node : placed_.nodes) {
      EGRET_ASSIGN_OR_RETURN(certificate.nodes.emplace_back(), of(node, certificate));
    }
    return base::ok();
  }

 private:
  Result<Reason> of(const PlacedNode& node, PlanCertificate& certificate) {
    if (node.kind == Kind::kCollective)
      return Reason{.kind = Reason::Kind::kExchange, .text = std::string(name_of(node.collective))};
    if (node.kind == Kind::kRing)
      return Reason{.kind = Reason::Kind::kRing, .text = hash_of(node.ring, placed_.mesh)};
    if (node.kind != Kind::kOperator) return Reason{};
    EGRET_ASSIGN_OR_RETURN(const std::vector<LawStep> steps, laws_of_node(placed_, node, laws_));
    Reason reason{.kind = Reason::Kind::kLaws};
    for (const LawStep& step : steps) {
      const std::string hash = hash_of(step);
      const auto [known, is_new] =
          numbers_.try_emplace(hash, static_cast<std::uint32_t>(certificate.laws.size()));
      if (is_new) certificate.laws.push_back({name_of(step), hash});
      reason.laws.push_back(known->second);
    }
    return reason;
  }

  const PlacedGraph& placed_;
  LawCache& laws_;
  std::map<std::string, std::uint32_t> numbers_;  // of laws, by hash
};

std::string to_json(const PlanCertificate& certificate, Json model) {
  Json laws = Json::array();
  for (const PlanCertificate::Law& law : certificate.laws)
    laws.push(Json::object().set("name", law.name).set("hash", law.hash));
  Json nodes = Json::array();
  for (const Reason& reason : certificate.nodes) {
    Json node = Json::array();
    node.push(name_of(reason.kind));
    for (const std::uint32_t law : reason.laws) node.push(law);
    if (!reason.text.empty()) node.push(reason.text);
    nodes.push(std::move(node));
  }
  Json document = base::versioned_json();
  document.set("format", PlanCertificate::kFormat).set("program", certificate.program);
  document.set("laws", std::move(laws)).set("nodes", std::move(nodes));
  return document.set("model", std::move(model)).dump() + "\n";
}

// Saturates an e-graph of both programs until all outputs are equal.
Result<verifier::Certificate> with_rules(const PlanPrograms& programs,
                                         const rules::AdmittedRules& admitted) {
  EGRET_ASSIGN_OR_RETURN(const ir::Graph folded, rules::fold_constants(programs.model));
  const std::vector<std::int64_t> counts = parallel::block_counts(programs.placed.mesh);
  rules::ConstructedRules constructed;
  for (const std::int64_t count : counts)
    constructed[parallel::name_of_table_rows(count)] = parallel::hash_of_lookup(count);

  rules::TensorEGraph* both = nullptr;
  std::vector<std::pair<egraph::ClassId, egraph::ClassId>> goals;
  Status added = base::ok();
  const auto begin = [&](rules::TensorEGraph& tensors) {
    tensors.egraph().enable_proofs();
    both = &tensors;
    const auto from = rules::add_terms(folded, tensors);
    const auto to = rules::add_terms(programs.sequential, tensors);
    for (const auto* const ids : {&from, &to}) {
      if (!ids->ok()) added = ids->status();
    }
    for (std::size_t i = 0; added.ok() && i < folded.outputs().size(); ++i) {
      goals.emplace_back((*from)[folded.outputs()[i].node.index()],
                         (*to)[programs.sequential.outputs()[i].node.index()]);
    }
    return parallel::rules_for_table_rows(tensors, counts);
  };
  rules::SaturateOptions options;
  options.limits.nodes = kMostNodes;
  options.limits.seconds = kMostSeconds;
  options.is_done = [&] {
    return std::ranges::all_of(goals, [&](const auto& goal) {
      return both->egraph().find(goal.first) == both->egraph().find(goal.second);
    });
  };
  EGRET_ASSIGN_OR_RETURN(const rules::SaturatedGraph saturated,
                         rules::saturate(folded, admitted, options, 0, begin));
  EGRET_RETURN_IF_ERROR(added);
  if (!options.is_done())
    return base::unsupported(
        "--certificate: no proof was found that the plan's operators compute what the model's do");
  return rules::write_certificate({.before = &programs.model,
                                   .extracted = &programs.sequential,
                                   .after = &programs.sequential,
                                   .folded = &folded},
                                  saturated.tensors.get(), admitted, constructed);
}

}  // namespace

Result<std::string> plan_certificate(const ir::Graph& model, const Json& given,
                                     const parallel::ParallelPlanOptions& options) {
  EGRET_ASSIGN_OR_RETURN(const Json plan, Json::parse(given.dump()));  // as a file has it
  LawCache laws;
  EGRET_ASSIGN_OR_RETURN(const PlanPrograms programs,
                         parallel::read_plan_programs(plan, model, laws));
  PlanCertificate certificate;
  EGRET_ASSIGN_OR_RETURN(certificate.program, parallel::program_hash(plan));
  EGRET_RETURN_IF_ERROR(Reasons(programs.placed, laws).add_to(certificate));
  EGRET_ASSIGN_OR_RETURN(const auto admitted,
                         rules::AdmittedRules::select(options.rules, options.allow));
  // Plans mostly differ from their model in nothing but bodies and folded constants.
  auto equal = rules::write_certificate({.before = &programs.model, .after = &programs.sequential},
                                        nullptr, admitted);
  if (!equal.ok()) equal = with_rules(programs, admitted);
  EGRET_RETURN_IF_ERROR(equal.status());
  EGRET_ASSIGN_OR_RETURN(Json proof, Json::parse(rules::to_json(*equal)));
  std::string json = to_json(certificate, std::move(proof));

  rules::RuleLibrary library;
  EGRET_ASSIGN_OR_RETURN(const rules::RuleProofs proofs,
                         rules::read_proofs(admitted.statuses().to_json()));
  library.add(admitted.set().rules, proofs);
  EGRET_ASSIGN_OR_RETURN(const PlanCertificate parsed, parallel::parse_plan_certificate(json));
  const auto accepted = parallel::replay_plan(parsed, plan, model, library);
  if (!accepted.ok()) {
    return base::unsupported("--certificate: the proof cannot be replayed: " +
                             accepted.status().message());
  }
  return json;
}

}  // namespace egret::driver
