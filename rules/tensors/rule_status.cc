// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/rule_status.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "ir/graph/operator_docs.h"

namespace egret::rules {

using base::Json;
using base::Result;
using base::Status;

namespace {

struct StatusName {
  RuleStatus status;
  std::string_view name;
};
constexpr StatusName kNames[] = {{RuleStatus::kRefuted, "refuted"},
                                 {RuleStatus::kUntested, "untested"},
                                 {RuleStatus::kTested, "tested"},
                                 {RuleStatus::kBounded, "bounded"},
                                 {RuleStatus::kProven, "proven"}};

constexpr std::size_t kNamedInMessages = 8;
constexpr std::string_view kAllOperators = "*";

std::string meaning_hash(const ir::Operator& op) {
  const auto meaning = ir::operator_meaning(op);
  return base::content_hash(meaning.ok() ? *meaning : meaning.status().message()).to_hex();
}

// The hashes of today's operators by name. An operator that is registered later is added then.
const std::string* current_definition(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(name);
  if (found != known.end()) return &found->second;
  const ir::Operator* op = ir::find_operator(name);
  return op != nullptr ? &known.emplace(name, meaning_hash(*op)).first->second : nullptr;
}

// A composite's body may call any operator, in ways that depend on its attributes.
std::vector<std::string> operators_of(const Rule& rule) {
  std::set<std::string> names;
  bool composite = false;
  const auto add = [&](const Term& term) {
    if (term.kind != Term::Kind::kApply) return;
    names.insert(term.op->name());
    composite = composite || term.op->is_composite();
  };
  for (const Binding& source : rule.sources) for_each_subterm(source.term, add);
  for (const Binding& target : rule.targets) for_each_subterm(target.term, add);
  for (const Rule::Let& let : rule.lets) {
    if (let.tensor >= 0) for_each_subterm(let.term, add);
  }
  if (composite) return {std::string(kAllOperators)};
  return {names.begin(), names.end()};
}

}  // namespace

std::string_view to_string(RuleStatus status) {
  return std::ranges::find(kNames, status, &StatusName::status)->name;
}

std::optional<RuleStatus> parse_rule_status(std::string_view text) {
  const auto found = std::ranges::find(kNames, text, &StatusName::name);
  return found != std::end(kNames) ? std::optional(found->status) : std::nullopt;
}

const RuleStatuses::Entry* RuleStatuses::find(const base::ContentHash& hash) const {
  const auto found = entries_.find(hash.to_hex());
  return found != entries_.end() ? &found->second : nullptr;
}

RuleStatus RuleStatuses::of(const Rule& rule) const {
  const Entry* entry = find(content_hash(rule));
  return entry != nullptr ? entry->status : RuleStatus::kUntested;
}

RuleLimit RuleStatuses::limit_of(const Rule& rule) const {
  const Entry* entry = find(content_hash(rule));
  return entry != nullptr && entry->status == RuleStatus::kProven ? entry->limit : RuleLimit();
}

void RuleStatuses::keep_only(const RuleSet& set) {
  std::map<std::string, Entry> kept;
  for (const Rule& rule : set.rules) {
    if (auto known = entries_.extract(content_hash(rule).to_hex())) kept.insert(std::move(known));
  }
  entries_ = std::move(kept);
}

void RuleStatuses::record_tests(const Rule& rule, RuleStatus found, std::int64_t checks) {
  Entry& entry = entries_[content_hash(rule).to_hex()];
  entry.name = rule.name;
  entry.checks = checks;
  if (found == RuleStatus::kRefuted || entry.status < RuleStatus::kBounded) entry.status = found;
}

void RuleStatuses::record_proof(const Rule& rule, RuleStatus found, const Scope& scope) {
  Entry& entry = entries_[content_hash(rule).to_hex()];
  entry.name = rule.name;
  const bool was_proven = entry.status == RuleStatus::kProven;
  if (found == RuleStatus::kRefuted) entry.status = RuleStatus::kRefuted;
  if (found != RuleStatus::kProven && found != RuleStatus::kBounded) {
    void_proof(entry);
    return;
  }
  entry.status = found;
  entry.bound = scope.bound;
  entry.families = scope.families;
  entry.axes = was_proven ? std::max(entry.axes, scope.axes) : scope.axes;
  entry.limit = scope.limit;
  entry.rests_on =
      scope.derived ? std::vector<std::string>{std::string(kAllOperators)} : operators_of(rule);
}

void RuleStatuses::void_proof(Entry& entry) {
  if (entry.status < RuleStatus::kBounded) return;
  entry.status = entry.checks > 0 ? RuleStatus::kTested : RuleStatus::kUntested;
  entry.bound = 0;
  entry.limit = {};
  entry.rests_on.clear();
}

void RuleStatuses::void_proofs_under(const std::map<std::string, std::string>& definitions) {
  std::set<std::string> changed;
  for (const auto& [name, hash] : definitions) {
    const std::string* now = current_definition(name);
    if (now == nullptr || *now != hash) changed.insert(name);
  }
  const auto holds = [&](const std::string& name) {
    if (name == kAllOperators) return changed.empty() && !definitions.empty();
    return definitions.contains(name) && !changed.contains(name);
  };
  for (auto& [hash, entry] : entries_) {
    if (entry.status < RuleStatus::kBounded) continue;
    if (!entry.rests_on.empty() && std::ranges::all_of(entry.rests_on, holds)) continue;
    void_proof(entry);
    voided_.push_back(entry.name);
  }
  std::ranges::sort(voided_);
}

void RuleStatuses::merge(const RuleStatuses& other) {
  for (const auto& [hash, entry] : other.entries_) {
    const auto [place, added] = entries_.emplace(hash, entry);
    if (added || place->second.status == RuleStatus::kRefuted) continue;
    if (entry.status == RuleStatus::kRefuted || entry.status > place->second.status)
      place->second = entry;
  }
}

std::string definitions_hash() {
  std::string all;
  for (const ir::Operator* op : ir::all_operators()) {
    const auto meaning = ir::operator_meaning(*op);
    all += op->name() + "\n" + (meaning.ok() ? *meaning : meaning.status().message()) + "\n";
  }
  return base::content_hash(all).to_hex();
}

std::string RuleStatuses::to_json() const {
  Json rules = Json::object();
  std::set<std::string> needed;
  for (const auto& [hash, entry] : entries_) {
    Json row = Json::object();
    row.set("name", entry.name).set("status", to_string(entry.status)).set("checks", entry.checks);
    if (entry.status == RuleStatus::kBounded) row.set("bound", entry.bound);
    if (entry.status >= RuleStatus::kBounded) {
      row.set("families", entry.families);
      if (entry.axes >= 0) row.set("axes", entry.axes);
      if (entry.limit.rank != RuleLimit::kAnyRank) row.set("rank", entry.limit.rank);
      if (!entry.limit.open.empty()) {
        Json open = Json::array();
        for (const std::vector<int>& ranks : entry.limit.open) open.push(text_of_ranks(ranks));
        row.set("open", std::move(open));
      }
      if (entry.limit.of_empty) row.set("of_empty", true);
      Json names = Json::array();
      for (const std::string& name : entry.rests_on) {
        names.push(name);
        needed.insert(name);
      }
      row.set("rests_on", std::move(names));
    }
    rules.set(hash, std::move(row));
  }
  if (needed.erase(std::string(kAllOperators)) > 0) {
    for (const ir::Operator* op : ir::all_operators()) needed.insert(op->name());
  }
  Json definitions = Json::object();
  for (const std::string& name : needed) {
    if (const std::string* hash = current_definition(name)) definitions.set(name, *hash);
  }
  Json document = base::versioned_json();
  if (!needed.empty()) document.set("definitions", std::move(definitions));
  return document.set("rules", std::move(rules)).dump(1) + "\n";
}

Result<RuleStatuses> parse_statuses(std::string_view json) {
  EGRET_ASSIGN_OR_RETURN(const Json document, Json::parse(json));
  const Json* rules = document.find("rules");
  RuleStatuses statuses;
  if (rules == nullptr) return statuses;
  std::map<std::string, std::string> definitions;
  // Earlier files have one hash of all operators; their proofs are void.
  if (const Json* written = document.find("definitions");
      written != nullptr && written->is_object()) {
    for (const auto& [name, hash] : written->members()) {
      EGRET_ASSIGN_OR_RETURN(definitions[name], hash.as_string());
    }
  }
  if (!rules->is_object()) return base::bad_input("rule statuses: 'rules' must be an object");
  for (const auto& [hash, row] : rules->members()) {
    const Json* name = row.find("name");
    const Json* status = row.find("status");
    const Json* checks = row.find("checks");
    if (name == nullptr || status == nullptr || checks == nullptr)
      return base::bad_input("rule statuses: '" + hash + "' lacks a member");
    RuleStatuses::Entry entry;
    EGRET_ASSIGN_OR_RETURN(entry.name, name->as_string());
    EGRET_ASSIGN_OR_RETURN(const std::string text, status->as_string());
    EGRET_ASSIGN_OR_RETURN(entry.checks, checks->as_integer());
    if (const Json* families = row.find("families"); families != nullptr) {
      EGRET_ASSIGN_OR_RETURN(entry.families, families->as_integer());
    }
    if (const Json* axes = row.find("axes"); axes != nullptr) {
      EGRET_ASSIGN_OR_RETURN(entry.axes, axes->as_integer());
    }
    if (const Json* bound = row.find("bound"); bound != nullptr) {
      EGRET_ASSIGN_OR_RETURN(entry.bound, bound->as_integer());
    }
    if (const Json* rank = row.find("rank"); rank != nullptr) {
      EGRET_ASSIGN_OR_RETURN(const std::int64_t largest, rank->as_integer());
      entry.limit.rank = static_cast<int>(largest);
    }
    if (const Json* of_empty = row.find("of_empty"); of_empty != nullptr) {
      EGRET_ASSIGN_OR_RETURN(entry.limit.of_empty, of_empty->as_bool());
    }
    if (const Json* open = row.find("open"); open != nullptr) {
      if (!open->is_array()) return base::bad_input("rule statuses: 'open' must be an array");
      for (const Json& ranks : open->items()) {
        EGRET_ASSIGN_OR_RETURN(const std::string ranks_text, ranks.as_string());
        EGRET_ASSIGN_OR_RETURN(std::vector<int> parsed_ranks, parse_ranks(ranks_text));
        entry.limit.open.push_back(std::move(parsed_ranks));
      }
    }
    if (const Json* names = row.find("rests_on"); names != nullptr) {
      if (!names->is_array()) return base::bad_input("rule statuses: 'rests_on' must be an array");
      for (const Json& one : names->items()) {
        EGRET_ASSIGN_OR_RETURN(std::string operator_name, one.as_string());
        entry.rests_on.push_back(std::move(operator_name));
      }
    }
    const auto parsed = parse_rule_status(text);
    if (!parsed) return base::bad_input("rule statuses: unknown status '" + text + "'");
    entry.status = *parsed;
    statuses.entries_[hash] = std::move(entry);
  }
  statuses.void_proofs_under(definitions);
  return statuses;
}

Result<RuleStatuses> read_statuses(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 24;
  if (!std::filesystem::exists(path)) return RuleStatuses();
  EGRET_ASSIGN_OR_RETURN(const std::string json, base::read_file(path, kMostBytes));
  auto statuses = parse_statuses(json);
  if (!statuses.ok()) return base::bad_input(path + ": " + statuses.status().message());
  return statuses;
}

Result<RuleStatuses> builtin_statuses() {
  RuleStatuses all;
  for (const std::string_view json : builtin_rule_statuses()) {
    EGRET_ASSIGN_OR_RETURN(const RuleStatuses statuses, parse_statuses(json));
    all.merge(statuses);
  }
  return all;
}

std::string status_file_of(const std::string& rule_file) { return rule_file + ".status.json"; }

Result<RuleStatuses> statuses_of(const RuleSet& set) {
  EGRET_ASSIGN_OR_RETURN(RuleStatuses all, builtin_statuses());
  for (const std::string& file : set.files) {
    EGRET_ASSIGN_OR_RETURN(const RuleStatuses statuses, read_statuses(status_file_of(file)));
    all.merge(statuses);
  }
  return all;
}

Status require_status(const RuleSet& set, const RuleStatuses& statuses, RuleStatus at_least) {
  std::vector<std::string> below;
  RuleStatus lowest = RuleStatus::kProven;
  for (const Rule& rule : set.rules) {
    const RuleStatus status = statuses.of(rule);
    if (status >= at_least) continue;
    below.push_back(rule.name + " (" + std::string(to_string(status)) + ")");
    lowest = std::min(lowest, status);
  }
  if (below.empty()) return base::ok();
  std::string names;
  for (std::size_t i = 0; i < std::min(below.size(), kNamedInMessages); ++i)
    names += (i > 0 ? ", " : "") + below[i];
  if (below.size() > kNamedInMessages)
    names += " and " + std::to_string(below.size() - kNamedInMessages) + " more";
  return base::usage_error(
      "these rules are not " + std::string(to_string(at_least)) + ": " + names +
      ". Remove them from --rules" +
      (lowest == RuleStatus::kRefuted ? "" : ", or use --allow " + std::string(to_string(lowest))));
}

}  // namespace egret::rules
