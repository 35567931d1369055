// SPDX-License-Identifier: Apache-2.0
#include "rules/proofs/rule_certificate.h"

#include <limits>
#include <memory>
#include <utility>

#include "base/formats/json_reader.h"
#include "rules/language/rule_parser.h"

namespace egret::rules {
namespace {

using base::Json;
using base::JsonReader;
using base::Result;
using base::Status;

constexpr std::string_view kKind = "rule proof";
constexpr std::size_t kEnd = std::numeric_limits<int>::max();  // of numbers in a certificate

Json json_of_claim(const ProvenClaim& claim) {
  Json open = Json::array();
  for (const std::vector<int>& ranks : claim.open_ranks) {
    Json list = Json::array();
    for (const int rank : ranks) list.push(rank);
    open.push(std::move(list));
  }
  return Json::object()
      .set("families", claim.families)
      .set("kinds", claim.kinds)
      .set("complete", claim.complete)
      .set("rank", claim.rank)
      .set("any_rank", claim.any_rank)
      .set("of_empty", claim.of_empty)
      .set("open_ranks", std::move(open));
}

ProvenClaim read_claim(const Json& json, Status& status) {
  JsonReader in("the claim", status);
  const auto number = [&](std::string_view key) {
    return static_cast<int>(in.number(in.member(json, key), -1, kEnd));
  };
  ProvenClaim claim{.families = number("families"),
                    .kinds = number("kinds"),
                    .complete = number("complete"),
                    .rank = number("rank"),
                    .any_rank = in.truth(in.member(json, "any_rank")),
                    .of_empty = in.truth(in.member(json, "of_empty"))};
  for (const Json& ranks : in.items(in.member(json, "open_ranks"), 0)) {
    std::vector<int> list;
    for (const Json& rank : in.items(ranks, 0))
      list.push_back(static_cast<int>(in.number(rank, 0, kEnd)));
    claim.open_ranks.insert(std::move(list));
  }
  return claim;
}

Json json_of_kind(const ProofTrace::Kind& kind) {
  Json exceptions = Json::array();
  for (const std::size_t exception : kind.exceptions) exceptions.push(std::uint64_t{exception});
  Json runs = Json::array();
  for (const ir::SymbolValues& numbers : kind.runs) {
    Json run = Json::object();
    for (const auto& [name, number] : numbers) run.set(name, number);
    runs.push(std::move(run));
  }
  return Json::object()
      .set("like", json_of(kind.like))
      .set("exceptions", std::move(exceptions))
      .set("runs", std::move(runs))
      .set("complete", kind.complete);
}

ProofTrace::Kind read_kind(const Json& json, std::size_t number, Status& status) {
  JsonReader in("kind " + std::to_string(number), status);
  ProofTrace::Kind kind;
  if (auto like = parse_recorded_choice(in.member(json, "like")); like.ok()) {
    kind.like = *std::move(like);
  } else {
    in.fail(like.status().message());
  }
  for (const Json& exception : in.items(in.member(json, "exceptions"), 0))
    kind.exceptions.push_back(in.index(exception, kEnd));
  kind.complete = in.truth(in.member(json, "complete"));
  for (const Json& run : in.items(in.member(json, "runs"), 0)) {
    ir::SymbolValues numbers;
    for (const auto& [name, value] : in.members(run)) {
      if (const auto integer = value.as_integer(); integer.ok()) {
        numbers[name] = *integer;
      } else {
        in.fail("'" + name + "' of a run is no integer");
      }
    }
    kind.runs.push_back(std::move(numbers));
  }
  return kind;
}

// Also takes the named contradictions for true.
class AssumingSolver final : public verifier::Solver {
 public:
  AssumingSolver(const RuleCertificate& certificate, bool assume,
                 verifier::CertifiedSolver::Findings& findings, std::size_t& assumed)
      : certificate_(certificate),
        assume_(assume),
        proofs_(certificate.contradictions, findings),
        assumed_(assumed) {}

  std::string_view name() const override { return "certificate"; }
  verifier::Answer ask(const verifier::Query& query, unsigned limit) override {
    if (assume_ && certificate_.solver.contains(verifier::contradiction_name(query))) {
      ++assumed_;
      return verifier::Answer::kUnsatisfiable;
    }
    return proofs_.ask(query, limit);
  }
  std::uint64_t work() const override { return 0; }

 private:
  const RuleCertificate& certificate_;
  bool assume_;
  verifier::CertifiedSolver proofs_;
  std::size_t& assumed_;
};

}  // namespace

Json json_of(const RuleCertificate& certificate) {
  Json families = Json::array();
  for (const RecordedChoice& family : certificate.trace.families) families.push(json_of(family));
  Json kinds = Json::array();
  for (const ProofTrace::Kind& kind : certificate.trace.kinds) kinds.push(json_of_kind(kind));
  std::vector<Json::Member> proofs;
  for (const auto& [name, proof] : certificate.contradictions)
    proofs.emplace_back(name, verifier::json_of(proof));
  std::vector<Json::Member> solver;
  for (const auto& [name, query] : certificate.solver) solver.emplace_back(name, query);
  return base::versioned_json()
      .set("kind", kKind)
      .set("rule", certificate.text)
      .set("hash", certificate.hash)
      .set("claim", json_of_claim(certificate.claim))
      .set("on_scalars", certificate.trace.on_scalars)
      .set("families", std::move(families))
      .set("kinds", std::move(kinds))
      .set("contradictions", Json::from_members(std::move(proofs)))
      .set("solver", Json::from_members(std::move(solver)));
}

Result<RuleCertificate> parse_rule_certificate(const Json& json) {
  EGRET_RETURN_IF_ERROR(base::check_schema_version(json, "proofs of rules"));
  Status status = base::ok();
  JsonReader in("the certificate", status);
  if (in.text(json.find("kind")) != kKind) return base::bad_input("this is no proof of a rule");
  RuleCertificate made;
  made.text = in.text(json.find("rule"));
  made.hash = in.text(json.find("hash"));
  made.claim = read_claim(in.member(json, "claim"), status);
  made.trace.on_scalars = in.truth(in.member(json, "on_scalars"));
  for (const Json& family : in.items(in.member(json, "families"), 0)) {
    EGRET_ASSIGN_OR_RETURN(RecordedChoice choice, parse_recorded_choice(family));
    made.trace.families.push_back(std::move(choice));
  }
  for (const Json& kind : in.items(in.member(json, "kinds"), 0))
    made.trace.kinds.push_back(read_kind(kind, made.trace.kinds.size(), status));
  for (const auto& [name, proof] : in.members(in.member(json, "contradictions"))) {
    auto one = verifier::parse_contradiction_proof(proof);
    if (!one.ok()) return one.status().at("contradiction " + name);
    made.contradictions.emplace(name, *std::move(one));
  }
  for (const auto& [name, query] : in.members(in.member(json, "solver")))
    made.solver[name] = in.text(&query);
  EGRET_RETURN_IF_ERROR(status);
  return made;
}

Result<CheckedRule> check_rule(const RuleCertificate& certificate, bool assume_solver,
                               KnownOperators& known) {
  auto parsed = parse_rules("certificate", certificate.text);
  if (!parsed.ok()) return parsed.status();
  if (parsed->size() != 1) return base::mismatch("the certificate is about one rule");
  CheckedRule made{.rule = std::move(parsed->front()), .claim = {}};
  if (content_hash(made.rule).to_hex() != certificate.hash)
    return base::mismatch("the rule has another hash");
  if (!certificate.solver.empty() && !assume_solver)
    return base::limit_hit(std::to_string(certificate.solver.size()) +
                           " contradictions are known from the solver alone");
  verifier::CertifiedSolver::Findings findings;
  verifier::SolverSession session(
      {}, std::make_unique<AssumingSolver>(certificate, assume_solver, findings, made.assumed),
      nullptr);
  auto claim =
      replay_proof(made.rule, certificate.trace, certificate.claim.of_empty, session, known);
  if (!findings.wrong.empty())
    return base::mismatch("contradiction " + findings.wrong + " is not shown by its proof");
  if (!claim.ok()) return claim.status();
  if (!claim->same(certificate.claim))
    return base::mismatch("the proof shows something else than the certificate claims" +
                          (claim->open.empty() ? "" : ": " + claim->open));
  made.claim = *std::move(claim);
  made.shown = findings.shown;
  return made;
}

}  // namespace egret::rules
