// SPDX-License-Identifier: Apache-2.0
#include "base/formats/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>

namespace egret::base {
namespace {

struct Unit {
  std::string_view suffix;
  double factor;
};

constexpr double kKibi = 1024;
constexpr auto kByteUnits = std::to_array<Unit>({
    {"", 1},
    {"b", 1},
    {"k", kKibi},
    {"kb", kKibi},
    {"kib", kKibi},
    {"m", kKibi* kKibi},
    {"mb", kKibi* kKibi},
    {"mib", kKibi* kKibi},
    {"g", kKibi* kKibi* kKibi},
    {"gb", kKibi* kKibi* kKibi},
    {"gib", kKibi* kKibi* kKibi},
    {"t", kKibi* kKibi* kKibi* kKibi},
    {"tb", kKibi* kKibi* kKibi* kKibi},
    {"tib", kKibi* kKibi* kKibi* kKibi},
});
constexpr auto kTimeUnits = std::to_array<Unit>({
    {"", 1},
    {"s", 1},
    {"ms", 1e-3},
    {"us", 1e-6},
    {"ns", 1e-9},
    {"m", 60},
    {"min", 60},
    {"h", 3600},
    {"d", 86400},
});

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

// A number followed by one of the suffixes, not negative.
Result<double> parse_with_unit(std::string_view text, std::span<const Unit> units,
                               std::string_view expected) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto used = static_cast<std::size_t>(end - text.data());
  if (error == std::errc() && std::isfinite(number) && number >= 0) {
    std::string_view rest = text.substr(used);
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    const std::string suffix = lower(rest);
    for (const Unit& unit : units) {
      if (unit.suffix == suffix) return number * unit.factor;
    }
  }
  return usage_error(quoted(text) + " is not " + std::string(expected));
}

std::string printed(const char* form, double value, const char* unit) {
  std::array<char, 64> buffer;
  const int length = std::snprintf(buffer.data(), buffer.size(), form, value, unit);
  return {buffer.data(), static_cast<std::size_t>(length)};
}

// Three significant digits for values in [1, 1000).
std::string three_digits(double value, const char* unit) {
  return printed(value < 9.995 ? "%.2f %s" : value < 99.95 ? "%.1f %s" : "%.0f %s", value, unit);
}

}  // namespace

Result<std::int64_t> parse_integer(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = i > 0 && i + 1 < text.size() && text[i - 1] != '_';
    if (text[i] == '_' && between) continue;
    digits += text[i];
  }
  std::string_view rest = digits;
  if (rest.size() > 1 && rest[0] == '+' && rest[1] != '-') rest.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error == std::errc::result_out_of_range) {
    return usage_error(quoted(text) + " does not fit into 64 bits");
  }
  if (error != std::errc() || end != rest.data() + rest.size()) {
    return usage_error(quoted(text) + " is not a whole number");
  }
  return value;
}

Result<double> parse_real(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return usage_error(quoted(text) + " is not a finite number");
  }
  return value;
}

Result<std::int64_t> parse_bytes(std::string_view text) {
  EGRET_ASSIGN_OR_RETURN(const double bytes,
                         parse_with_unit(text, kByteUnits, "a size such as 64, 512MiB or 1.5GiB"));
  if (bytes >= 0x1p63) return usage_error(quoted(text) + " does not fit into 64 bits");
  return static_cast<std::int64_t>(bytes);
}

Result<double> parse_seconds(std::string_view text) {
  return parse_with_unit(text, kTimeUnits, "a time such as 30, 250ms, 1.5s, 5m or 2h");
}

std::string format_count(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string format_real(double value) {
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  EGRET_CHECK(error == std::errc());
  return {buffer.data(), end};
}

std::string format_short(double value) { return printed("%.3g%s", value, ""); }

std::string format_bytes(double bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 999.5 && unit + 1 < kUnits.size()) {
    bytes /= kKibi;
    ++unit;
  }
  if (unit == 0) return printed("%.0f %s", bytes, kUnits[0]);
  return three_digits(bytes, kUnits[unit]);
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return seconds > 0 ? "forever" : "unknown";
  if (seconds < 0) return "-" + format_seconds(-seconds);
  if (seconds == 0) return "0 s";
  if (seconds < 999.5e-9) return printed("%.0f %s", seconds * 1e9, "ns");
  if (seconds < 999.5e-6) return three_digits(seconds * 1e6, "us");
  if (seconds < 999.5e-3) return three_digits(seconds * 1e3, "ms");
  if (seconds < 99.95) return three_digits(seconds, "s");
  const auto whole = static_cast<std::int64_t>(std::min(std::round(seconds), 9e15));
  std::array<char, 64> buffer;
  if (whole < 3600) {
    std::snprintf(buffer.data(), buffer.size(), "%dm %02ds", static_cast<int>(whole / 60),
                  static_cast<int>(whole % 60));
  } else {
    std::snprintf(buffer.data(), buffer.size(), "%lldh %02dm", static_cast<long long>(whole / 3600),
                  static_cast<int>(whole % 3600 / 60));
  }
  return buffer.data();
}

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  const std::string number = format_count(count) + " ";
  if (count == 1) return number + std::string(one);
  return number + (many.empty() ? std::string(one) + "s" : std::string(many));
}

std::string format_percent(double fraction) { return printed("%.1f%s", fraction * 100, "%"); }

}  // namespace egret::base
