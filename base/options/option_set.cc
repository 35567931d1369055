// SPDX-License-Identifier: Apache-2.0
#include "base/options/option_set.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "base/did_you_mean.h"
#include "base/formats/json.h"
#include "base/formats/toml.h"
#include "base/formats/units.h"

namespace egret::base {
namespace {

using Unit = OptionDomain::Unit;

Result<bool> parse_switch(const std::string& text) {
  if (text == "true" || text == "1" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "0" || text == "no" || text == "off") return false;
  return usage_error("\"" + text + "\" is neither true nor false");
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += separator;
    text += words[i];
  }
  return text;
}

// A comma after a backslash is part of an item.
std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  bool ended = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::exchange(ended, false)) parts.emplace_back();
    if (text.substr(i, 2) == "\\,") {
      parts.back() += text[++i];
    } else if (text[i] == ',') {
      ended = true;
    } else {
      parts.back() += text[i];
    }
  }
  return parts;
}

std::string number_text(double value, Unit unit) {
  if (unit == Unit::kBytes) return format_bytes(value);
  if (unit == Unit::kSeconds) return format_seconds(value);
  const bool whole = std::abs(value) < 1e15 && std::floor(value) == value;
  return whole ? std::to_string(static_cast<std::int64_t>(value)) : format_real(value);
}

// What one would type: 4GiB, not 4294967296. It reads back the same.
std::string bytes_as_typed(std::int64_t bytes) {
  constexpr std::int64_t kKibi = 1024;
  std::string_view unit = "";
  for (const std::string_view larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (bytes == 0 || bytes % kKibi != 0) break;
    bytes /= kKibi;
    unit = larger;
  }
  return std::to_string(bytes) + std::string(unit);
}

std::string seconds_as_typed(double seconds) {
  if (seconds == 0) return "0";
  const bool minutes = seconds >= 60 && std::fmod(seconds, 60) == 0;
  return minutes ? format_real(seconds / 60) + "m" : format_real(seconds) + "s";
}

std::string text_with_unit(const BoundOption& option) {
  if (option.domain.unit == Unit::kBytes)
    return bytes_as_typed(*std::get<std::int64_t*>(option.slot));
  if (option.domain.unit == Unit::kSeconds)
    return seconds_as_typed(*std::get<double*>(option.slot));
  return option.value_text();
}

Status check_range(double value, const BoundOption& option) {
  if (value >= option.domain.low && value <= option.domain.high) return ok();
  return usage_error(number_text(value, option.domain.unit) +
                     " is out of range: " + option.limits());
}

Status check_choice(const std::string& text, const std::vector<std::string>& choices) {
  if (choices.empty() || std::find(choices.begin(), choices.end(), text) != choices.end()) {
    return ok();
  }
  return usage_error("\"" + text + "\" is not one of " + joined(choices, ", ") +
                     did_you_mean(text, choices));
}

// Writes a parsed value into each kind of slot.
struct Assign {
  const BoundOption& option;
  const std::vector<std::string>& texts;

  const std::string& last() const { return texts.back(); }

  Status operator()(bool* place) const {
    EGRET_ASSIGN_OR_RETURN(*place, parse_switch(last()));
    return ok();
  }
  Status operator()(std::int64_t* place) const {
    auto parsed = option.domain.unit == Unit::kBytes ? parse_bytes(last()) : parse_integer(last());
    if (!parsed.ok()) return parsed.status();
    EGRET_RETURN_IF_ERROR(check_range(static_cast<double>(*parsed), option));
    *place = *parsed;
    return ok();
  }
  Status operator()(double* place) const {
    auto parsed = option.domain.unit == Unit::kSeconds ? parse_seconds(last()) : parse_real(last());
    if (!parsed.ok()) return parsed.status();
    EGRET_RETURN_IF_ERROR(check_range(*parsed, option));
    *place = *parsed;
    return ok();
  }
  Status operator()(std::string* place) const {
    EGRET_RETURN_IF_ERROR(check_choice(last(), option.domain.choices));
    *place = last();
    return ok();
  }
  Status operator()(std::vector<std::string>* place) const {
    for (const std::string& text : texts) {
      EGRET_RETURN_IF_ERROR(check_choice(text, option.domain.choices));
    }
    *place = texts;
    return ok();
  }
  Status operator()(const EnumSlot& slot) const {
    const auto& choices = option.domain.choices;
    EGRET_RETURN_IF_ERROR(check_choice(last(), choices));
    slot.set(static_cast<std::size_t>(std::find(choices.begin(), choices.end(), last()) -
                                      choices.begin()));
    return ok();
  }
};

}  // namespace

std::string_view to_string(OptionOrigin origin) {
  switch (origin) {
    case OptionOrigin::kDefault: return "default";
    case OptionOrigin::kUserFile: return "user file";
    case OptionOrigin::kConfigFile: return "configuration file";
    case OptionOrigin::kEnvironment: return "environment";
    case OptionOrigin::kFlag: return "flag";
  }
  return "unknown";
}

std::string BoundOption::variable() const {
  std::string text = "EGRET_" + name;
  for (char& c : text) {
    if (c == '-') c = '_';
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::string BoundOption::key() const { return section + "." + name; }

std::string BoundOption::value_name() const {
  if (is_switch()) return "";
  if (!domain.choices.empty()) return joined(domain.choices, "|");
  switch (domain.unit) {
    case Unit::kBytes: return "SIZE";
    case Unit::kSeconds: return "TIME";
    case Unit::kPath:
    case Unit::kOutput: return "FILE";
    case Unit::kOutputFolder: return "FOLDER";
    case Unit::kPlain: break;
  }
  if (std::holds_alternative<std::int64_t*>(slot)) return "N";
  return std::holds_alternative<double*>(slot) ? "X" : "TEXT";
}

std::string BoundOption::limits() const {
  const bool below = std::isfinite(domain.low) && !(domain.low == 0 && domain.unit != Unit::kPlain);
  const bool above = std::isfinite(domain.high);
  const std::string low = number_text(domain.low, domain.unit);
  if (below && above) return low + " to " + number_text(domain.high, domain.unit);
  if (below) return "at least " + low;
  if (above) return "at most " + number_text(domain.high, domain.unit);
  return "";
}

std::string BoundOption::value_text() const {
  return std::visit(
      [this](const auto& place) -> std::string {
        using T = std::decay_t<decltype(place)>;
        if constexpr (std::is_same_v<T, bool*>) {
          return *place ? "true" : "false";
        } else if constexpr (std::is_same_v<T, std::int64_t*>) {
          return std::to_string(*place);
        } else if constexpr (std::is_same_v<T, double*>) {
          return format_real(*place);
        } else if constexpr (std::is_same_v<T, std::string*>) {
          return *place;
        } else if constexpr (std::is_same_v<T, EnumSlot>) {
          return domain.choices.at(place.get());
        } else {
          return joined(*place, ",");
        }
      },
      slot);
}

std::string BoundOption::value_toml() const {
  // TOML's basic strings take the escapes of JSON; its numbers and booleans are ours.
  if (is_list()) {
    Json list = Json::array();
    for (const std::string& item : *std::get<std::vector<std::string>*>(slot)) list.push(item);
    return list.dump();
  }
  const bool text =
      std::holds_alternative<std::string*>(slot) || std::holds_alternative<EnumSlot>(slot);
  return text ? Json(value_text()).dump() : value_text();
}

Status BoundOption::assign(const std::vector<std::string>& texts) {
  if (texts.empty() && !is_list()) return usage_error("a value is missing");
  return std::visit(Assign{*this, texts}, slot);
}

void OptionSet::add(BoundOption option) {
  EGRET_CHECK(find(option.name) == nullptr, "two options of one command share a name");
  EGRET_CHECK(!std::holds_alternative<EnumSlot>(option.slot) || !option.domain.choices.empty(),
              "an enum option needs choices");
  option.default_text = text_with_unit(option);
  options_.push_back(std::move(option));
}

const BoundOption* OptionSet::find(std::string_view name) const {
  const auto found = std::find_if(options_.begin(), options_.end(),
                                  [&](const BoundOption& option) { return option.name == name; });
  return found == options_.end() ? nullptr : &*found;
}

std::vector<std::string> OptionSet::names() const {
  std::vector<std::string> result;
  for (const BoundOption& option : options_) result.push_back(option.name);
  return result;
}

Status OptionSet::set(std::string_view name, const std::vector<std::string>& texts,
                      OptionOrigin origin, std::string_view place) {
  const auto found = std::find_if(options_.begin(), options_.end(),
                                  [&](const BoundOption& option) { return option.name == name; });
  if (found == options_.end()) {
    return usage_error("unknown option \"" + std::string(name) + "\"" + did_you_mean(name, names()))
        .at(place);
  }
  if (origin < found->origin) {
    // Overruled, but still checked: a wrong value is wrong even where it does not count.
    const std::vector<std::string> present = found->is_list()
                                                 ? *std::get<std::vector<std::string>*>(found->slot)
                                                 : std::vector<std::string>{found->value_text()};
    Status status = found->assign(texts).at(place);
    const Status restored = found->assign(present);
    EGRET_CHECK(restored.ok());
    return status;
  }
  EGRET_RETURN_IF_ERROR(found->assign(texts).at(place));
  found->origin = origin;
  return ok();
}

Status OptionSet::apply_environment(FunctionRef<const char*(const std::string&)> getter) {
  for (const BoundOption& option : options_) {
    const char* text = getter(option.variable());
    if (text == nullptr) continue;
    const std::vector<std::string> texts =
        option.is_list() ? split_at_commas(text) : std::vector<std::string>{text};
    EGRET_RETURN_IF_ERROR(set(option.name, texts, OptionOrigin::kEnvironment, option.variable()));
  }
  return ok();
}

Status OptionSet::apply_config(const std::vector<TomlEntry>& entries, OptionOrigin origin,
                               std::string_view file, const std::vector<std::string>& known_keys) {
  for (const TomlEntry& entry : entries) {
    const std::string place = std::string(file) + ":" + std::to_string(entry.line);
    const auto found =
        std::find_if(options_.begin(), options_.end(), [&](const BoundOption& option) {
          return option.section != kInvocationSection && option.key() == entry.key;
        });
    if (found == options_.end()) {
      if (std::find(known_keys.begin(), known_keys.end(), entry.key) != known_keys.end()) continue;
      return bad_input("unknown key \"" + entry.key + "\"" + did_you_mean(entry.key, known_keys))
          .at(place);
    }
    std::vector<std::string> texts;
    if (entry.value.is_array()) {
      if (!found->is_list()) {
        return bad_input("the key \"" + entry.key + "\" takes one value, not a list").at(place);
      }
      for (const Json& item : entry.value.items()) texts.push_back(item.scalar_text());
    } else {
      texts.push_back(entry.value.scalar_text());
    }
    const Status status = set(found->name, texts, origin, place + ": " + entry.key);
    if (!status.ok()) return bad_input(status.message());
  }
  return ok();
}

std::string OptionSet::print_config() const {
  std::vector<std::string> sections;
  for (const BoundOption& option : options_) {
    if (option.section == kInvocationSection) continue;
    if (std::find(sections.begin(), sections.end(), option.section) == sections.end()) {
      sections.push_back(option.section);
    }
  }
  std::string text;
  for (const std::string& section : sections) {
    if (!text.empty()) text += "\n";
    text += "[" + section + "]\n";
    for (const BoundOption& option : options_) {
      if (option.section != section) continue;
      text += "# " + option.help + " (" + std::string(to_string(option.origin)) + ")\n";
      text += option.name + " = " + option.value_toml() + "\n";
    }
  }
  return text;
}

}  // namespace egret::base
