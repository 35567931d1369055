// SPDX-License-Identifier: Apache-2.0
#include "rules/proofs/rule_certificate.h"

#include <memory>
#include <set>
#include <utility>

#include "rules/language/rule_parser.h"

namespace egret::rules {
namespace {

using base::Json;
using base::Result;

constexpr std::string_view kKind = "rule proof";

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

// Reads members; the first error is kept.
class Members {
 public:
  explicit Members(const Json& json) : json_(json) {}

  int integer(std::string_view key) { return read<std::int64_t, int>(key, &Json::as_integer); }
  bool truth(std::string_view key) { return read<bool, bool>(key, &Json::as_bool); }
  std::string text(std::string_view key) {
    return read<std::string, std::string>(key, &Json::as_string);
  }
  const std::vector<Json>& items(std::string_view key) {
    static const std::vector<Json> kNone;
    const Json* found = json_.find(key);
    if (found != nullptr && found->is_array()) return found->items();
    fail(key);
    return kNone;
  }
  const std::vector<Json::Member>& members(std::string_view key) {
    static const std::vector<Json::Member> kNone;
    const Json* found = json_.find(key);
    if (found != nullptr && found->is_object()) return found->members();
    fail(key);
    return kNone;
  }
  const Json& child(std::string_view key) {
    static const Json kNone;
    const Json* found = json_.find(key);
    if (found != nullptr) return *found;
    fail(key);
    return kNone;
  }
  const base::Status& status() const { return status_; }

 private:
  template <typename Read, typename Value>
  Value read(std::string_view key, Result<Read> (Json::*as)() const) {
    const Json* found = json_.find(key);
    if (found != nullptr) {
      if (auto value = (found->*as)(); value.ok()) return static_cast<Value>(*std::move(value));
    }
    fail(key);
    return Value();
  }
  void fail(std::string_view key) {
    if (status_.ok())
      status_ = base::bad_input("'" + std::string(key) + "' is missing or malformed");
  }

  const Json& json_;
  base::Status status_;
};

Result<ProvenClaim> parse_claim(const Json& json) {
  Members in(json);
  ProvenClaim claim{.families = in.integer("families"),
                    .kinds = in.integer("kinds"),
                    .complete = in.integer("complete"),
                    .rank = in.integer("rank"),
                    .any_rank = in.truth("any_rank"),
                    .of_empty = in.truth("of_empty")};
  for (const Json& ranks : in.items("open_ranks")) {
    if (!ranks.is_array()) return base::bad_input("ranks are malformed");
    std::vector<int> list;
    for (const Json& rank : ranks.items()) {
      EGRET_ASSIGN_OR_RETURN(const std::int64_t number, rank.as_integer());
      list.push_back(static_cast<int>(number));
    }
    claim.open_ranks.insert(std::move(list));
  }
  EGRET_RETURN_IF_ERROR(in.status());
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

Result<ProofTrace::Kind> parse_kind(const Json& json) {
  Members in(json);
  ProofTrace::Kind kind;
  EGRET_ASSIGN_OR_RETURN(kind.like, parse_recorded_choice(in.child("like")));
  for (const Json& exception : in.items("exceptions")) {
    EGRET_ASSIGN_OR_RETURN(const std::int64_t number, exception.as_integer());
    kind.exceptions.push_back(static_cast<std::size_t>(number));
  }
  kind.complete = in.truth("complete");
  for (const Json& run : in.items("runs")) {
    if (!run.is_object()) return base::bad_input("a run is malformed");
    ir::SymbolValues numbers;
    for (const auto& [name, value] : run.members()) {
      EGRET_ASSIGN_OR_RETURN(numbers[name], value.as_integer());
    }
    kind.runs.push_back(std::move(numbers));
  }
  EGRET_RETURN_IF_ERROR(in.status());
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
  Members in(json);
  if (in.text("kind") != kKind) return base::bad_input("this is no proof of a rule");
  RuleCertificate made;
  made.text = in.text("rule");
  made.hash = in.text("hash");
  EGRET_ASSIGN_OR_RETURN(made.claim, parse_claim(in.child("claim")));
  made.trace.on_scalars = in.truth("on_scalars");
  for (const Json& family : in.items("families")) {
    EGRET_ASSIGN_OR_RETURN(RecordedChoice choice, parse_recorded_choice(family));
    made.trace.families.push_back(std::move(choice));
  }
  for (const Json& kind : in.items("kinds")) {
    EGRET_ASSIGN_OR_RETURN(ProofTrace::Kind one, parse_kind(kind));
    made.trace.kinds.push_back(std::move(one));
  }
  for (const auto& [name, proof] : in.members("contradictions")) {
    auto one = verifier::parse_contradiction_proof(proof);
    if (!one.ok()) return one.status().at("contradiction " + name);
    made.contradictions.emplace(name, *std::move(one));
  }
  for (const auto& [name, query] : in.members("solver")) {
    EGRET_ASSIGN_OR_RETURN(made.solver[name], query.as_string());
  }
  EGRET_RETURN_IF_ERROR(in.status());
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
