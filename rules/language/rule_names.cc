// SPDX-License-Identifier: Apache-2.0
#include "rules/language/rule_names.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <utility>

namespace egret::rules {
namespace {

constexpr std::string_view kReversed = "-reversed";

// Rule names consist of these characters, so that a renamed rule can be written and read.
std::string in_name_characters(std::string text) {
  std::ranges::replace_if(
      text,
      [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_';
      },
      '_');
  return text;
}

// "mine" and "rules" of "/home/rules/mine.rules": its name first, then its folders.
std::vector<std::string> parts_of(const std::string& path) {
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  std::vector<std::string> parts;
  for (const auto& part : normal) {
    const std::string text = part.string();
    if (!text.empty() && text != "/" && text != "." && text != "..") parts.push_back(text);
  }
  std::ranges::reverse(parts);
  if (parts.empty()) return {"rules"};
  parts[0] = std::filesystem::path(parts[0]).replace_extension().string();
  for (std::string& part : parts) part = in_name_characters(std::move(part));
  return parts;
}

// The prefixes of a path's rules, in the order in which they are tried.
std::string prefix(const std::vector<std::string>& parts, std::size_t attempt) {
  if (attempt == 0) return "";
  if (attempt > parts.size())
    return parts[0] + "-" + std::to_string(attempt - parts.size() + 1) + "/";
  std::string text;
  for (std::size_t i = attempt; i-- > 0;) text += parts[i] + "/";
  return text;
}

std::string place_of(const Rule& rule) { return rule.file + ":" + std::to_string(rule.at.line); }

class Additions {
 public:
  explicit Additions(std::vector<Rule>& all) : all_(all) {
    for (std::size_t i = 0; i < all.size(); ++i) places_.emplace(all[i].name, i);
  }

  // Adds NAME, NAME-reversed or both.
  void add(std::vector<Rule> pair, const std::string& path) {
    const std::vector<std::string> parts = parts_of(path.empty() ? pair.front().file : path);
    std::size_t attempt = 0;
    for (; !pair.empty(); ++attempt) {
      const std::string before = prefix(parts, attempt);
      std::erase_if(pair, [&](const Rule& rule) { return is_there(before + rule.name, rule); });
      const bool is_free = std::ranges::none_of(
          pair, [&](const Rule& rule) { return places_.contains(before + rule.name); });
      if (is_free) break;
    }
    for (Rule& rule : pair) {
      if (attempt > 0) rename(rule, prefix(parts, attempt) + rule.name);
      places_.emplace(rule.name, all_.size());
      all_.push_back(std::move(rule));
    }
  }

  std::vector<std::string> notes;

 private:
  bool is_there(const std::string& name, const Rule& rule) {
    const auto found = places_.find(name);
    if (found == places_.end() || !is_same_rule(all_[found->second], rule)) return false;
    notes.push_back("rule " + name + " of " + place_of(rule) + " is that of " +
                    place_of(all_[found->second]));
    return true;
  }

  void rename(Rule& rule, std::string name) {
    std::string note = "rule " + rule.name + " of " + place_of(rule) + " is called " + name;
    if (const auto taken = places_.find(rule.name); taken != places_.end())
      note += "; " + place_of(all_[taken->second]) + " has another rule of its name";
    notes.push_back(std::move(note));
    rule.name = std::move(name);
  }

  std::vector<Rule>& all_;
  std::map<std::string, std::size_t, std::less<>> places_;  // by name
};

}  // namespace

bool is_same_rule(const Rule& a, const Rule& b) {
  const auto with_heuristics = [](Rule rule) {
    rule.conditions.insert(rule.conditions.end(), rule.heuristics.begin(), rule.heuristics.end());
    return content_hash(rule);
  };
  return content_hash(a) == content_hash(b) && with_heuristics(a) == with_heuristics(b);
}

std::vector<std::string> add_rules(std::vector<Rule>& all, std::vector<Rule> more,
                                   const std::string& path) {
  Additions additions(all);
  std::vector<Rule> pair;
  for (Rule& rule : more) {
    const bool belongs = !pair.empty() && pair.front().file == rule.file &&
                         name_of_pair(pair.front().name) == name_of_pair(rule.name);
    if (!pair.empty() && !belongs) additions.add(std::exchange(pair, {}), path);
    pair.push_back(std::move(rule));
  }
  if (!pair.empty()) additions.add(std::move(pair), path);
  return std::move(additions.notes);
}

std::string_view name_in_file(std::string_view name) { return name.substr(name.rfind('/') + 1); }

std::string_view name_of_pair(std::string_view name) {
  if (name.ends_with(kReversed)) name.remove_suffix(kReversed.size());
  return name;
}

}  // namespace egret::rules
