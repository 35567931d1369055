// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/rule_score.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

#include "base/system/file.h"

namespace egret::rules {
namespace {

int operators(const Rule& rule) {
  int count = 0;
  const auto add = [&](const Term& term) { count += term.kind == Term::Kind::kApply ? 1 : 0; };
  for (const Binding& source : rule.sources) for_each_subterm(source.term, add);
  for (const Binding& target : rule.targets) for_each_subterm(target.term, add);
  return count;
}

// Attributes that must have one value, and places where a variable stands again.
int special(const Rule& rule) {
  int count = 0;
  std::set<int> seen;
  for (const Binding& source : rule.sources) {
    for_each_subterm(source.term, [&](const Term& term) {
      if (term.kind == Term::Kind::kTensor) count += seen.insert(term.slot).second ? 0 : 1;
      for (const Term::Attr& attr : term.attrs)
        count += attr.value.kind == Expr::Kind::kLiteral ? 1 : 0;
    });
  }
  return count;
}

double cost_by_size(const Rule& rule, const RuleUses&) {
  return 100.0 * operators(rule) + 10.0 * special(rule) +
         static_cast<double>(rule.conditions.size());
}
double cost_by_generality(const Rule& rule, const RuleUses&) {
  return 100.0 * (special(rule) + static_cast<double>(rule.conditions.size())) + operators(rule);
}
// Those that models use, by how often; then those that they do not.
double cost_by_usefulness(const Rule& rule, const RuleUses& uses) {
  const auto found = uses.find(rule.name);
  const double count = found != uses.end() ? static_cast<double>(found->second) : 0;
  return 1e6 / (1 + count) + cost_by_size(rule, uses);
}

std::vector<RuleScore>& registry() {
  static std::vector<RuleScore> scores{
      {"size", "few operators, then few fixed attributes and conditions", cost_by_size},
      {"generality", "few fixed attributes and conditions, then few operators", cost_by_generality},
      {"usefulness", "many uses in models (--uses), then size", cost_by_usefulness},
  };
  return scores;
}

}  // namespace

std::span<const RuleScore> rule_scores() { return registry(); }

const RuleScore* find_rule_score(std::string_view name) {
  const auto found = std::ranges::find(registry(), name, &RuleScore::name);
  return found != registry().end() ? &*found : nullptr;
}

void register_rule_score(RuleScore score) {
  const auto found = std::ranges::find(registry(), score.name, &RuleScore::name);
  if (found != registry().end()) {
    *found = std::move(score);
  } else {
    registry().push_back(std::move(score));
  }
}

base::Result<RuleUses> parse_rule_uses(std::string_view csv) {
  RuleUses uses;
  for (std::size_t line = 1; !csv.empty(); ++line) {
    const std::size_t end = csv.find('\n');
    const std::string_view row = csv.substr(0, end);
    csv = end == std::string_view::npos ? "" : csv.substr(end + 1);
    if (row.empty() || line == 1) continue;  // the header
    const std::size_t first = row.find(',');
    const std::size_t last = row.rfind(',');
    std::uint64_t count = 0;
    const char* const row_end = row.data() + row.size();
    if (first == last || std::from_chars(row.data() + last + 1, row_end, count).ptr != row_end)
      return base::bad_input("rule uses, line " + std::to_string(line) +
                             ": not of the form rule,model,count");
    uses[std::string(row.substr(0, first))] += count;
  }
  return uses;
}

base::Result<RuleUses> read_rule_uses(const std::string& path) {
  constexpr std::int64_t kMostBytes = std::int64_t{16} << 20;
  EGRET_ASSIGN_OR_RETURN(const std::string csv, base::read_file(path, kMostBytes));
  return parse_rule_uses(csv);
}

}  // namespace egret::rules
