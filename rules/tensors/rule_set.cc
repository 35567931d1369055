// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/rule_set.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <system_error>

#include "base/did_you_mean.h"
#include "base/system/file.h"
#include "rules/language/rule_names.h"
#include "rules/language/rule_parser.h"

namespace egret::rules {

using base::Result;
using base::Status;

namespace {

constexpr std::int64_t kMaxFileBytes = std::int64_t{16} << 20;
constexpr std::string_view kSuffix = ".rules";

// A name of a file is no statement about the meaning of its rules.
bool has_meaning(std::string_view tag) { return tag == "rounding"; }

void add_tag(std::vector<Rule>& rules, std::string_view tag) {
  for (Rule& rule : rules) {
    if (!rule.has_tag(tag)) rule.tags.emplace_back(tag);
  }
}

void tag_by_file(std::vector<Rule>& rules, std::string_view file) {
  const std::size_t slash = file.rfind('/');
  if (slash != std::string_view::npos) file.remove_prefix(slash + 1);
  if (file.ends_with(kSuffix)) file.remove_suffix(kSuffix.size());
  if (!has_meaning(file)) add_tag(rules, file);
}

// Whether a built-in rule belongs to a named set.
bool is_in(std::string_view set, const Rule& rule) {
  const bool extra = rule.has_tag("extra");
  if (set == "all") return true;
  if (set == "default") return !extra && !rule.has_tag("derived");
  if (set == "starter") return !extra && !rule.has_tag("generated");
  return false;
}
bool is_in(std::string_view set, const DynamicRule& rule) {
  return set == "all" || (rule.starter && (set == "default" || set == "starter"));
}

bool is_path(std::string_view item) {
  return item.find('/') != std::string_view::npos || item.ends_with(kSuffix);
}

bool matches(std::string_view pattern, const Rule& rule) {
  return matches_glob(pattern, rule.name) || matches_glob(pattern, name_in_file(rule.name)) ||
         std::ranges::any_of(rule.tags,
                             [&](const std::string& tag) { return matches_glob(pattern, tag); });
}
bool matches(std::string_view pattern, const DynamicRule& rule) {
  return matches_glob(pattern, rule.name) || matches_glob(pattern, "dynamic");
}

class Selector {
 public:
  Result<RuleSet> run(std::string_view selection) {
    EGRET_ASSIGN_OR_RETURN(builtin_, builtin_rules());
    const bool implied = selection.starts_with('-') || selection.starts_with('+');
    if (implied) EGRET_RETURN_IF_ERROR(add("default"));
    while (!selection.empty()) {
      const std::size_t comma = selection.find(',');
      const std::string_view item = selection.substr(0, comma);
      selection = comma == std::string_view::npos ? "" : selection.substr(comma + 1);
      if (item.empty()) continue;
      const char sign = item.front();
      EGRET_RETURN_IF_ERROR(sign == '-' || sign == '+' ? keep(item.substr(1), sign == '+')
                                                       : add(item));
    }
    return std::move(set_);
  }

 private:
  Status add(std::string_view item) {
    if (is_path(item)) return add_files(std::string(item));
    std::vector<Rule> chosen;
    const std::size_t before = set_.dynamic.size();
    for (const Rule& rule : builtin_) {
      if (is_in(item, rule) || matches(item, rule)) chosen.push_back(rule);
    }
    for (const DynamicRule& rule : dynamic_rules()) {
      if (std::ranges::find(set_.dynamic, &rule) != set_.dynamic.end()) continue;
      if (is_in(item, rule) || matches(item, rule)) set_.dynamic.push_back(&rule);
    }
    if (chosen.empty() && set_.dynamic.size() == before) {
      std::error_code error;
      if (std::filesystem::is_directory(item, error)) return add_files(std::string(item));
      return no_match(item);
    }
    add_rules(set_.rules, std::move(chosen), "");
    return base::ok();
  }

  Status add_files(const std::string& path) {
    EGRET_ASSIGN_OR_RETURN(const std::vector<std::string> files, rule_files_of(path));
    EGRET_ASSIGN_OR_RETURN(std::vector<Rule> loaded, load_rules(path));
    set_.files.insert(set_.files.end(), files.begin(), files.end());
    for (std::string& note : add_rules(set_.rules, std::move(loaded), path))
      set_.notes.push_back(std::move(note));
    return base::ok();
  }

  Status keep(std::string_view pattern, bool matching) {
    const std::size_t before = set_.size();
    std::size_t hits = 0;
    std::erase_if(set_.rules, [&](const Rule& rule) {
      const bool match = matches(pattern, rule);
      hits += match ? 1 : 0;
      return match != matching;
    });
    std::erase_if(set_.dynamic, [&](const DynamicRule* rule) {
      const bool match = matches(pattern, *rule);
      hits += match ? 1 : 0;
      return match != matching;
    });
    return hits > 0 || before == 0 ? base::ok() : no_match(pattern);
  }

  Status no_match(std::string_view pattern) const {
    std::vector<std::string> known{"default", "starter", "all"};
    std::set<std::string> tags;
    for (const Rule& rule : builtin_) {
      known.push_back(rule.name);
      tags.insert(rule.tags.begin(), rule.tags.end());
    }
    for (const Rule& rule : set_.rules) known.push_back(rule.name);
    for (const DynamicRule& rule : dynamic_rules()) known.emplace_back(rule.name);
    known.insert(known.end(), tags.begin(), tags.end());
    return base::usage_error("no rule, tag or file matches '" + std::string(pattern) +
                             "' (`egret rules list` lists rules and files)" +
                             base::did_you_mean(pattern, known));
  }

  std::vector<Rule> builtin_;
  RuleSet set_;
};

}  // namespace

bool matches_glob(std::string_view pattern, std::string_view text) {
  // Greedy matching with one backtracking point: the last '*'. On a mismatch, its match grows by
  // one character.
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last '*' and where its match may end
  std::size_t star_end = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_end = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_end;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<std::vector<Rule>> builtin_rules() {
  std::vector<Rule> all;
  for (const RuleFile& file : builtin_rule_files()) {
    EGRET_ASSIGN_OR_RETURN(std::vector<Rule> rules, parse_rules(file.name, file.text));
    tag_by_file(rules, file.name);
    if (const std::size_t slash = file.name.find('/'); slash != std::string_view::npos)
      add_tag(rules, file.name.substr(0, slash));
    add_rules(all, std::move(rules), std::string(file.name));
  }
  return all;
}

Result<std::vector<std::string>> rule_files_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector{path};
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == kSuffix) files.push_back(entry->path().string());
  }
  if (error) return base::unavailable(path + ": " + error.message());
  if (files.empty()) return base::bad_input(path + ": the folder contains no *.rules file");
  std::ranges::sort(files);
  return files;
}

Result<std::vector<Rule>> load_rules(const std::string& path) {
  EGRET_ASSIGN_OR_RETURN(const std::vector<std::string> files, rule_files_of(path));
  std::vector<Rule> all;
  for (const std::string& file : files) {
    EGRET_ASSIGN_OR_RETURN(const std::string text, base::read_file(file, kMaxFileBytes));
    EGRET_ASSIGN_OR_RETURN(std::vector<Rule> rules, parse_rules(file, text));
    tag_by_file(rules, file);
    add_rules(all, std::move(rules), file);
  }
  return all;
}

base::ContentHash RuleSet::hash() const {
  std::set<std::string> parts;
  for (const Rule& rule : rules) parts.insert(content_hash(rule).to_hex());
  for (const DynamicRule* rule : dynamic) parts.insert(std::string(rule->name));
  std::string text;
  for (const std::string& part : parts) text += part + "\n";
  return base::content_hash(text);
}

Result<RuleSet> select_rules(std::string_view selection) { return Selector().run(selection); }

}  // namespace egret::rules
