// SPDX-License-Identifier: Apache-2.0
// The known truth statuses of rules, stored by the hash of their meaning: editing a rule voids its
// entry.
//
//   {"schema_version": 1, "definitions": {"add": "<hash>", ...},
//    "rules": {"<hash>": {"name": ..., "status": "proven", "checks": 10000, "families": 12,
//                         "axes": 4, "rank": 4, "open": ["4,1"], "of_empty": true,
//                         "rests_on": ["add", "relu"]}}}
//
// "rank", "open" and "of_empty" are the limit of a proof (rules/records/rule_limit.h); without them
// there is none.
//
// A proof depends on the rule and on the definitions of its operators ("rests_on"). If one of them
// is composite, or other rules were lemmas of the proof, it depends on all operators of that time
// ("*"). `definitions` has a hash of the meaning of each operator on which a proof depends. A proof
// is void if a meaning has changed or an operator is gone. New operators void nothing.
//
// The statuses of the rules of FILE.rules are kept in FILE.rules.status.json.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/status.h"
#include "rules/records/rule_limit.h"
#include "rules/tensors/rule_set.h"

namespace egret::rules {

// Ordered by certainty, except for kRefuted.
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
    std::string name;  // of the rule when the entry was made
    RuleStatus status = RuleStatus::kUntested;
    std::int64_t checks = 0;    // random instances compared
    std::int64_t families = 0;  // proven, or checked up to the bound
    std::int64_t axes = -1;     // all small instances of so many axes hold
    std::int64_t bound = 0;     // of sizes and integer attributes; when bounded
    RuleLimit limit{};          // of a proof
    // Of a proof: the operators whose definitions it depends on, sorted; {"*"}: all.
    std::vector<std::string> rests_on{};
  };

  RuleStatus of(const Rule& rule) const;
  // None if the rule is not proven.
  RuleLimit limit_of(const Rule& rule) const;
  const Entry* find(const base::ContentHash& hash) const;
  // Records the result of `checks` random instances: kTested, kRefuted, or kUntested for a rule
  // that cannot be tested. It replaces earlier results but not a proof; only a counterexample ends
  // a proof.
  void record_tests(const Rule& rule, RuleStatus found, std::int64_t checks);
  // The scope of a proof.
  struct Scope {
    std::int64_t families = 0;
    std::int64_t axes = -1;
    std::int64_t bound = 0;
    RuleLimit limit{};
    bool derived = false;  // from other rules
  };
  // Records kProven, kBounded or kRefuted; any other value falls back to the test results. Of two
  // proofs, the larger number of axes counts, and the later limit.
  void record_proof(const Rule& rule, RuleStatus found, const Scope& scope);
  // Removes the entries of other rules.
  void keep_only(const RuleSet& set);
  // Adds what other statuses know. Of two entries of a rule the more certain one counts, but a
  // refutation counts most.
  void merge(const RuleStatuses& other);
  // The names of rules whose proofs parse_statuses() found void, sorted.
  const std::vector<std::string>& voided() const { return voided_; }
  std::string to_json() const;  // sorted by hash; the same knowledge is the same bytes
  std::size_t size() const { return entries_.size(); }

 private:
  friend base::Result<RuleStatuses> parse_statuses(std::string_view json);
  static void void_proof(Entry& entry);
  void void_proofs_under(const std::map<std::string, std::string>& definitions);

  std::map<std::string, Entry> entries_;  // by hash in hex; proofs hold under today's definitions
  std::vector<std::string> voided_;
};

// A hash, in hex, of the meanings of all operators as text (ir/graph/operator_docs.h).
std::string definitions_hash();

// Proofs that rest on other definitions than today's are void: such a rule counts as tested.
base::Result<RuleStatuses> parse_statuses(std::string_view json);
// Reads a file; empty if there is no file. Errors name the file.
base::Result<RuleStatuses> read_statuses(const std::string& path);
// The statuses that come with Egret.
base::Result<RuleStatuses> builtin_statuses();
// FILE.status.json.
std::string status_file_of(const std::string& rule_file);
// The statuses that come with Egret, and those beside the files of the set.
base::Result<RuleStatuses> statuses_of(const RuleSet& set);

// Ok if every rule of the set has at least this status. Otherwise a usage error that names those
// that do not. Dynamic rules hold by construction.
base::Status require_status(const RuleSet& set, const RuleStatuses& statuses, RuleStatus at_least);

}  // namespace egret::rules
