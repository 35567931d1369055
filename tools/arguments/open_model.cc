// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/open_model.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

#include "base/formats/units.h"
#include "tools/arguments/sized_runs.h"

namespace egret::tools {
namespace {

struct Range {
  std::int64_t low = 1;
  std::int64_t high = 1;
};

// "NAME=REST".
base::Result<std::pair<std::string, std::string>> named(const std::string& flag,
                                                        const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return base::usage_error(flag + " takes NAME=..., not '" + text + "'");
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

base::Result<std::int64_t> positive(std::string_view text) {
  EGRET_ASSIGN_OR_RETURN(const std::int64_t size, base::parse_integer(text));
  if (size < 1) return base::usage_error("a size must be at least 1");
  return size;
}

base::Result<std::map<std::string, Range>> parse_ranges(const std::vector<std::string>& texts) {
  std::map<std::string, Range> ranges;
  for (const std::string& text : texts) {
    EGRET_ASSIGN_OR_RETURN(const auto parts, named("--range", text));
    const auto dots = parts.second.find("..");
    if (dots == std::string::npos)
      return base::usage_error("--range takes NAME=LOW..HIGH, not '" + text + "'");
    const auto low = positive(parts.second.substr(0, dots));
    if (!low.ok()) return low.status().at("--range " + text);
    const auto high = positive(parts.second.substr(dots + 2));
    if (!high.ok()) return high.status().at("--range " + text);
    if (*high < *low) return base::usage_error("--range " + text + ": no size is in it");
    ranges[parts.first] = {*low, *high};
  }
  return ranges;
}

// The sizes of given inputs, which --bind does not fix, become part of all profiles.
base::Status add_given(const ModelOptions& options, const InputFiles& files,
                       const std::map<std::string, Range>& ranges,
                       std::vector<rules::SizeProfile>& profiles) {
  EGRET_RETURN_IF_ERROR(bind_given(options.bind, files).status());
  EGRET_ASSIGN_OR_RETURN(const auto bound, frontends::parse_bindings(options.bind));
  for (const auto& [name, given] : files.sizes) {
    if (bound.contains(name)) continue;
    const std::string what =
        ", but the size is " + std::to_string(given.size) + " by " + given.from;
    if (given.size < 1) {
      return base::usage_error(given.from + ": size '" + name +
                               "' would be 0; an open size is at least 1");
    }
    const auto range = ranges.find(name);
    if (range != ranges.end() &&
        (given.size < range->second.low || given.size > range->second.high)) {
      return base::usage_error("--range " + name + "=" + std::to_string(range->second.low) + ".." +
                               std::to_string(range->second.high) + what);
    }
    if (profiles.empty()) profiles.emplace_back();
    for (rules::SizeProfile& profile : profiles) {
      const auto [known, is_new] = profile.sizes.try_emplace(name, given.size);
      if (!is_new && known->second != given.size)
        return base::usage_error("--at " + name + "=" + std::to_string(known->second) + what);
    }
  }
  return base::ok();
}

// The profiles with a value for each symbol, the weights in proportion.
base::Result<std::vector<rules::SizeProfile>> complete(std::vector<rules::SizeProfile> given,
                                                       const ir::SymbolValues& usual) {
  double sum = 0;
  for (rules::SizeProfile& profile : given) {
    for (const auto& [name, size] : profile.sizes) {
      if (!usual.contains(name))
        return base::usage_error("--at: the model has no open size '" + name + "'");
    }
    profile.sizes.insert(usual.begin(), usual.end());
    sum += profile.weight;
  }
  for (rules::SizeProfile& profile : given) profile.weight /= sum;
  return given;
}

}  // namespace

const base::OptionTable<SizeOptions>& SizeOptions::table() {
  using S = SizeOptions;
  static const base::OptionTable<S> rows{
      "sizes",
      {{"at", &S::at, kAtHelp},
       {"range", &S::range,
        "The sizes that a symbolic dimension may have, as NAME=LOW..HIGH; the result need not be "
        "right beyond"}}};
  return rows;
}

base::Result<std::vector<rules::SizeProfile>> parse_profiles(const std::vector<std::string>& at) {
  std::vector<rules::SizeProfile> profiles;
  bool ended = true;
  std::vector<std::string> all;
  for (const std::string& text : at) {
    for (const auto part : std::views::split(text, ',')) all.emplace_back(part.begin(), part.end());
  }
  for (const std::string& text : all) {
    EGRET_ASSIGN_OR_RETURN(const auto parts, named("--at", text));
    if (ended || profiles.back().sizes.contains(parts.first)) profiles.emplace_back();
    rules::SizeProfile& profile = profiles.back();
    const auto star = parts.second.find('*');
    const auto size = positive(parts.second.substr(0, star));
    if (!size.ok()) return size.status().at("--at " + text);
    profile.sizes[parts.first] = *size;
    ended = star != std::string::npos;
    if (!ended) continue;
    const auto weight = base::parse_real(parts.second.substr(star + 1));
    if (!weight.ok() || *weight <= 0)
      return base::usage_error("--at " + text + ": a weight must be a positive number");
    profile.weight = *weight;
  }
  return profiles;
}

base::Result<frontends::ImportedModel> read_open_model(const std::string& path,
                                                       const ModelOptions& options,
                                                       const SizeOptions& sizes,
                                                       const InputOptions& inputs,
                                                       std::optional<rules::OpenSizes>& open,
                                                       ir::GivenInputs& given, Console& console) {
  EGRET_ASSIGN_OR_RETURN(std::vector<rules::SizeProfile> profiles, parse_profiles(sizes.at));
  EGRET_ASSIGN_OR_RETURN(const auto ranges, parse_ranges(sizes.range));
  EGRET_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, bytes_of_standard_input(path));
  EGRET_ASSIGN_OR_RETURN(InputFiles files, read_input_files(path, bytes, inputs));
  EGRET_RETURN_IF_ERROR(add_given(options, files, ranges, profiles));
  given = std::move(files.values);
  const ir::SymbolValues first = profiles.empty() ? ir::SymbolValues() : profiles.front().sizes;
  ir::SymbolValues usual;
  const auto number_of = [&](std::string_view name, int axis) {
    const std::string symbol(name);
    const auto range = ranges.find(symbol);
    std::int64_t number = usual_size(name, axis);
    if (range != ranges.end()) number = std::clamp(number, range->second.low, range->second.high);
    usual.emplace(symbol, number);
    const auto chosen = first.find(symbol);
    return chosen != first.end() ? chosen->second : number;
  };
  const auto example_of = [&](std::string_view name, int axis) {
    if (!open) open.emplace();
    const auto range = ranges.find(std::string(name));
    if (range != ranges.end() && !usual.contains(name))
      open->assume_range(name, range->second.low, range->second.high);
    return number_of(name, axis);
  };
  frontends::ImportOptions import;
  import.opaque_nodes = true;
  import.example_of = example_of;
  EGRET_ASSIGN_OR_RETURN(frontends::ImportedModel model,
                         import_model(path, bytes, options, console, std::move(import)));
  for (const auto& [name, range] : ranges) {
    if (!usual.contains(name))
      return base::usage_error("--range: the model has no open size '" + name + "'");
  }
  EGRET_ASSIGN_OR_RETURN(profiles, complete(std::move(profiles), usual));
  if (open && !profiles.empty()) open->set_profiles(std::move(profiles));
  return model;
}

}  // namespace egret::tools
