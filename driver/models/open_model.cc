// SPDX-License-Identifier: Apache-2.0
#include "driver/models/open_model.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/formats/units.h"
#include "driver/models/sized_runs.h"
#include "ir/ops/opaque.h"

namespace egret::driver {
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
base::Status add_given(const ModelOptions& options, const InputValues& given,
                       const std::map<std::string, Range>& ranges,
                       std::vector<rules::SizeProfile>& profiles) {
  EGRET_RETURN_IF_ERROR(bind_given(options.bind, given).status());
  EGRET_ASSIGN_OR_RETURN(const auto bound, frontends::parse_bindings(options.bind));
  for (const auto& [name, size] : given.sizes) {
    if (bound.contains(name)) continue;
    const std::string what = ", but the size is " + std::to_string(size.size) + " by " + size.from;
    if (size.size < 1) {
      return base::usage_error(size.from + ": size '" + name +
                               "' would be 0; an open size is at least 1");
    }
    const auto range = ranges.find(name);
    if (range != ranges.end() &&
        (size.size < range->second.low || size.size > range->second.high)) {
      return base::usage_error("--range " + name + "=" + std::to_string(range->second.low) + ".." +
                               std::to_string(range->second.high) + what);
    }
    if (profiles.empty()) profiles.emplace_back();
    for (rules::SizeProfile& profile : profiles) {
      const auto [known, is_new] = profile.sizes.try_emplace(name, size.size);
      if (!is_new && known->second != size.size)
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
    for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      all.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
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

base::Result<frontends::ImportedModel> read_open_model(
    const ModelSource& source, const ModelOptions& options, const SizeOptions& sizes,
    const InputValues& given, std::optional<rules::OpenSizes>& open, bool keeps_rounding) {
  EGRET_ASSIGN_OR_RETURN(std::vector<rules::SizeProfile> profiles, parse_profiles(sizes.at));
  EGRET_ASSIGN_OR_RETURN(const auto ranges, parse_ranges(sizes.range));
  EGRET_RETURN_IF_ERROR(add_given(options, given, ranges, profiles));
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
  import.keeps_rounding = keeps_rounding;
  import.example_of = example_of;
  EGRET_ASSIGN_OR_RETURN(frontends::ImportedModel model,
                         read_model(source, options, std::move(import)));
  for (const auto& [name, range] : ranges) {
    if (!usual.contains(name))
      return base::usage_error("--range: the model has no open size '" + name + "'");
  }
  EGRET_ASSIGN_OR_RETURN(profiles, complete(std::move(profiles), usual));
  if (open && !profiles.empty()) open->set_profiles(std::move(profiles));
  return model;
}

base::Status check_defined(const ir::Graph& graph) {
  std::set<std::string> types;
  for (const ir::Node& node : graph.nodes()) {
    const bool undefined = node.op == &ir::opaque_operator() && ir::body_of(graph, node) == nullptr;
    if (undefined) types.insert(node.attrs.text("type"));
  }
  if (types.empty()) return base::ok();
  std::string text;
  for (const std::string& type : types)
    text += (text.empty() ? "" : ", ") + (type.empty() ? "a value that is no known tensor" : type);
  return base::unsupported("--strict: Egret cannot express " + text + " (-v gives the reasons)");
}

}  // namespace egret::driver
