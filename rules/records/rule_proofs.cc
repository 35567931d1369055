// SPDX-License-Identifier: Apache-2.0
#include "rules/records/rule_proofs.h"

#include <algorithm>
#include <cstdint>

#include "base/formats/json.h"
#include "base/hash.h"
#include "ir/graph/operator_docs.h"

namespace egret::rules {

using base::Json;
using base::Result;

namespace {

// Whether today's operator of that name has the meaning of that hash.
bool has_meaning(const std::string& name, const Json& hash) {
  const ir::Operator* op = ir::find_operator(name);
  if (op == nullptr) return false;
  const auto meaning = ir::operator_meaning(*op);
  const std::string& text = meaning.ok() ? *meaning : meaning.status().message();
  return hash.scalar_text() == base::content_hash(text).to_hex();
}

class Reader {
 public:
  explicit Reader(const Json& document) {
    const Json* definitions = document.find("definitions");
    if (definitions != nullptr && definitions->is_object()) definitions_ = definitions;
  }

  Result<RuleProof> read(const Json& row) {
    RuleProof proof;
    const Json* status = row.find("status");
    if (status == nullptr) return base::bad_input("the status is missing");
    EGRET_ASSIGN_OR_RETURN(proof.status, status->as_string());
    if (const Json* rank = row.find("rank")) {
      EGRET_ASSIGN_OR_RETURN(const std::int64_t largest, rank->as_integer());
      proof.limit.rank = static_cast<int>(largest);
    }
    if (const Json* of_empty = row.find("of_empty")) {
      EGRET_ASSIGN_OR_RETURN(proof.limit.of_empty, of_empty->as_bool());
    }
    if (const Json* open = row.find("open"); open != nullptr && open->is_array()) {
      for (const Json& ranks : open->items()) {
        EGRET_ASSIGN_OR_RETURN(proof.limit.open.emplace_back(), parse_ranks(ranks.scalar_text()));
      }
    }
    if (proof.status == "proven" && !rests_on_todays(row.find("rests_on")))
      proof.status = "proven only for operators as they were once defined";
    return proof;
  }

 private:
  // "*" stands for all operators.
  bool rests_on_todays(const Json* names) {
    if (names == nullptr || !names->is_array() || names->items().empty()) return false;
    return std::ranges::all_of(names->items(), [&](const Json& name) {
      if (definitions_ == nullptr) return false;
      if (name.scalar_text() != "*") return is_todays(name.scalar_text());
      return !definitions_->members().empty() &&
             std::ranges::all_of(definitions_->members(),
                                 [&](const auto& one) { return is_todays(one.first); });
    });
  }

  bool is_todays(const std::string& name) {
    const auto [known, is_new] = is_todays_.try_emplace(name, false);
    const Json* hash = is_new ? definitions_->find(name) : nullptr;
    if (hash != nullptr) known->second = has_meaning(name, *hash);
    return known->second;
  }

  const Json* definitions_ = nullptr;      // hashes of operators' meanings, by name
  std::map<std::string, bool> is_todays_;  // of operators asked for
};

int weight(const RuleProof& proof) {
  return proof.status == "refuted" ? 2 : proof.status == "proven" ? 1 : 0;
}

}  // namespace

Result<RuleProofs> read_proofs(std::string_view json,
                               const std::map<std::string, std::string>* only) {
  EGRET_ASSIGN_OR_RETURN(const Json document, Json::parse(json));
  RuleProofs proofs;
  const Json* rules = document.find("rules");
  if (rules == nullptr || !rules->is_object()) return proofs;
  Reader reader(document);
  for (const auto& [hash, row] : rules->members()) {
    if (only != nullptr && !only->contains(hash)) continue;
    auto proof = reader.read(row);
    if (!proof.ok()) return proof.status().at("rule " + hash);
    proofs.emplace(hash, *std::move(proof));
  }
  return proofs;
}

void add_proofs(RuleProofs& known, const RuleProofs& more) {
  for (const auto& [hash, proof] : more) {
    const auto [place, is_new] = known.emplace(hash, proof);
    if (!is_new && weight(proof) > weight(place->second)) place->second = proof;
  }
}

Result<RuleProofs> read_proofs(std::span<const std::string_view> documents,
                               const std::map<std::string, std::string>* only) {
  RuleProofs proofs;
  if (only != nullptr && only->empty()) return proofs;
  for (const std::string_view json : documents) {
    EGRET_ASSIGN_OR_RETURN(const RuleProofs more, read_proofs(json, only));
    add_proofs(proofs, more);
  }
  return proofs;
}

}  // namespace egret::rules
