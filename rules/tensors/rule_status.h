// SPDX-License-Identifier: Apache-2.0
// What is known of the truth of rules, kept by the hash of their meaning: editing a rule voids it.
//
//   {"schema_version": 1, "definitions": "<hash>",
//    "rules": {"<hash>": {"name": ..., "status": "proven", "checks": 10000, "families": 12, "axes":
//    4}}}
//
// Proofs are of rules and of what the operators mean: `definitions` names the meaning of all
// operators when the proofs were made. With other definitions they are void.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/status.h"
#include "rules/tensors/rule_set.h"

namespace egret::rules {

// From the weakest to the strongest, refuted aside.
enum class RuleStatus : std::uint8_t {
  kRefuted,   // a counterexample is known
  kUntested,  // nothing is known
  kTested,    // held on thousands of random instances
  kBounded,   // proven for all sizes up to a bound
  kProven,    // proven for all sizes
};
std::string_view to_string(RuleStatus status);
std::optional<RuleStatus> parse_rule_status(std::string_view text);

class RuleStatuses {
 public:
  struct Entry {
    std::string name;  // of the rule when it was looked at
    RuleStatus status = RuleStatus::kUntested;
    std::int64_t checks = 0;    // random instances compared
    std::int64_t families = 0;  // proven, or checked up to the bound
    std::int64_t axes = -1;     // all small instances of so many axes hold
    std::int64_t bound = 0;     // of sizes and integer attributes; when bounded
  };

  RuleStatus of(const Rule& rule) const;
  const Entry* find(const base::ContentHash& hash) const;
  // What `checks` random instances showed: kTested, kRefuted, or kUntested for a rule that cannot
  // be tested. Replaces what was known but a proof, which only a counterexample ends.
  void record_tests(const Rule& rule, RuleStatus found, std::int64_t checks);
  // What a proof was found to cover.
  struct Scope {
    std::int64_t families = 0;
    std::int64_t axes = -1;
    std::int64_t bound = 0;
  };
  // kProven, kBounded or kRefuted; anything else leaves what tests found. The first proof of other
  // definitions than those known voids all proofs before it.
  void record_proof(const Rule& rule, RuleStatus found, const Scope& scope);
  // Forgets what it knows of other rules.
  void keep_only(const RuleSet& set);
  const std::string& definitions() const { return definitions_; }
  std::string to_json() const;  // sorted by hash; the same knowledge is the same bytes
  std::size_t size() const { return entries_.size(); }

 private:
  friend base::Result<RuleStatuses> parse_statuses(std::string_view json);
  static void void_proof(Entry& entry);

  std::string definitions_;               // in hex; empty without proofs
  std::map<std::string, Entry> entries_;  // by hash in hex
};

// Names what all operators mean: a hash, in hex, of their meanings as text
// (ir/graph/operator_docs.h).
std::string definitions_hash();

base::Result<RuleStatuses> parse_statuses(std::string_view json);
// Of a file; none where there is no file.
base::Result<RuleStatuses> read_statuses(const std::string& path);
// Those that come with Egret.
base::Result<RuleStatuses> builtin_statuses();

// Ok when every rule of the set is at least so certain; otherwise a usage error that names those
// that are not. Dynamic rules hold by construction.
base::Status require_status(const RuleSet& set, const RuleStatuses& statuses, RuleStatus at_least);

}  // namespace egret::rules
