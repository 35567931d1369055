// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/decision_log.h"

#include <cstdio>
#include <filesystem>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "rules/language/rule_parser.h"
#include "rules/records/rule_limit.h"

namespace egret::rules::generator {

using base::Json;
using base::Result;

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
using Status = Verdict::Status;
constexpr Status kStatuses[] = {Status::kProven,    Status::kBounded, Status::kRefuted,
                                Status::kUndecided, Status::kVacuous, Status::kTrivial,
                                Status::kDisputed};

Json to_json(const std::string& candidate, const std::optional<Generalized>& made) {
  Json json = Json::object().set("candidate", candidate);
  if (!made) return json;
  Json open = Json::array();
  for (const std::vector<int>& ranks : made->verdict.cover.open_ranks)
    open.push(text_of_ranks(ranks));
  return json.set("rule", to_string(made->rule))
      .set("status", to_string(made->verdict.status))
      .set("reason", made->verdict.reason)
      .set("families", made->verdict.families)
      .set("members", made->verdict.members)
      .set("axes", made->verdict.axes)
      .set("any_rank", made->verdict.any_rank)
      .set("of_empty", made->verdict.of_empty)
      .set("rank", made->verdict.cover.rank)
      .set("open", std::move(open))
      .set("queries", made->verdict.solver.queries)
      .set("conditional", made->conditional)
      .set("cpu_s", made->cpu_seconds);
}

std::string text_of(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  return value != nullptr ? value->as_string().value_or("") : "";
}
int integer_of(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  return value != nullptr ? static_cast<int>(value->as_integer().value_or(0)) : 0;
}

bool flag_of(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  return value != nullptr && value->as_bool().value_or(false);
}

// nullopt for a line that is not a decision of ours.
std::optional<DecisionLog::Decision> to_decision(const Json& json) {
  if (json.find("rule") == nullptr) return DecisionLog::Decision{};
  auto rules = parse_rules("decisions", text_of(json, "rule"));
  if (!rules.ok() || rules->size() != 1) return std::nullopt;
  Generalized made;
  made.rule = std::move(rules->front());
  const std::string status = text_of(json, "status");
  for (const Status known : kStatuses) {
    if (to_string(known) == status) made.verdict.status = known;
  }
  made.verdict.reason = text_of(json, "reason");
  made.verdict.families = integer_of(json, "families");
  made.verdict.members = integer_of(json, "members");
  made.verdict.axes = integer_of(json, "axes");
  made.verdict.any_rank = flag_of(json, "any_rank");
  made.verdict.of_empty = flag_of(json, "of_empty");
  made.verdict.cover.rank = integer_of(json, "rank");
  if (const Json* open = json.find("open"); open != nullptr && open->is_array()) {
    for (const Json& text : open->items()) {
      auto ranks = parse_ranks(text.as_string().value_or(""));
      if (!ranks.ok()) return std::nullopt;
      made.verdict.cover.open_ranks.insert(*std::move(ranks));
    }
  }
  made.verdict.solver.queries = integer_of(json, "queries");
  made.conditional = flag_of(json, "conditional");
  const Json* seconds = json.find("cpu_s");
  made.cpu_seconds = seconds != nullptr ? seconds->as_real().value_or(0) : 0;
  return DecisionLog::Decision{std::move(made)};
}

}  // namespace

Result<DecisionLog> DecisionLog::open(std::string path, const std::string& key) {
  DecisionLog log;
  log.path_ = std::move(path);
  log.text_ = Json::object().set("key", key).dump() + "\n";
  if (log.path_.empty() || !std::filesystem::exists(log.path_)) return log;
  EGRET_ASSIGN_OR_RETURN(const std::string text, base::read_file(log.path_, kMostBytes));
  if (!text.starts_with(log.text_)) return log;
  for (std::size_t begin = log.text_.size(); begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const auto json = Json::parse(line);
    if (!json.ok()) break;
    auto decision = to_decision(*json);
    if (!decision) break;
    log.decisions_[text_of(*json, "candidate")] = *std::move(decision);
    log.text_ += line + "\n";
  }
  return log;
}

const DecisionLog::Decision* DecisionLog::find(const std::string& candidate) const {
  const auto found = decisions_.find(candidate);
  return found != decisions_.end() ? &found->second : nullptr;
}

void DecisionLog::record(const std::string& candidate, const std::optional<Generalized>& made) {
  if (path_.empty()) return;
  text_ += to_json(candidate, made).dump() + "\n";
  decisions_[candidate] = {made};
  changed_ = true;
}

base::Status DecisionLog::save() {
  if (path_.empty() || !changed_) return base::ok();
  changed_ = false;
  return base::write_file(path_, text_);
}

void DecisionLog::remove() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace egret::rules::generator
