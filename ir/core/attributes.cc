// SPDX-License-Identifier: Apache-2.0
#include "ir/core/attributes.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "base/hash.h"
#include "ir/core/symbolic_scope.h"

namespace egret::ir {
namespace {

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// Of equal values equal: 0.0 and -0.0 are.
std::uint64_t hash_value(const AttrValue& value) {
  switch (kind_of(value)) {
    case AttrKind::kInteger:
      return base::mix(static_cast<std::uint64_t>(std::get<std::int64_t>(value)));
    case AttrKind::kReal: return std::bit_cast<std::uint64_t>(std::get<double>(value) + 0.0);
    case AttrKind::kText: return base::hash_string(std::get<std::string>(value));
    case AttrKind::kIntegers: break;
  }
  std::uint64_t hash = 0;
  for (const std::int64_t element : std::get<Integers>(value))
    hash = base::hash_combine(hash, static_cast<std::uint64_t>(element));
  return hash;
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<std::int64_t> whole_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

base::Result<AttrValue> parse_integers(std::string_view body) {
  Integers values;
  while (!trimmed(body).empty()) {
    const auto comma = body.find(',');
    const auto value = whole_integer(trimmed(body.substr(0, comma)));
    if (!value) return base::bad_input("a list must contain integers separated by commas");
    values.push_back(*value);
    if (comma == std::string_view::npos) break;
    body.remove_prefix(comma + 1);
  }
  return AttrValue(values);
}

}  // namespace

std::string_view to_string(AttrKind kind) {
  switch (kind) {
    case AttrKind::kInteger: return "integer";
    case AttrKind::kReal: return "real";
    case AttrKind::kText: return "text";
    case AttrKind::kIntegers: return "integers";
  }
  return "?";
}

std::string to_string(const AttrValue& value) {
  switch (kind_of(value)) {
    case AttrKind::kInteger: return to_string(index_of_integer(std::get<std::int64_t>(value)));
    case AttrKind::kReal: return real_text(std::get<double>(value));
    case AttrKind::kText: return in_quotes(std::get<std::string>(value));
    case AttrKind::kIntegers: break;
  }
  std::string text = "[";
  for (const std::int64_t element : std::get<Integers>(value)) {
    if (text.size() > 1) text += ", ";
    text += to_string(index_of_integer(element));
  }
  return text + "]";
}

base::Result<AttrValue> parse_attr_value(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return base::bad_input("an attribute value is missing");
  if (text.front() == '[') {
    if (text.back() != ']') return base::bad_input("']' expected at the end of a list");
    return parse_integers(text.substr(1, text.size() - 2));
  }
  if (text.front() == '"') {
    std::string value;
    std::size_t i = 1;
    for (; i < text.size() && text[i] != '"'; ++i) {
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      value += text[i];
    }
    if (i + 1 != text.size()) return base::bad_input("unterminated text value");
    return AttrValue(value);
  }
  if (const auto value = whole_integer(text)) return AttrValue(*value);
  double real = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), real);
  if (error != std::errc() || end != text.data() + text.size()) {
    return base::bad_input("'" + std::string(text) + "' is not a number, a list or a quoted text");
  }
  return AttrValue(real);
}

Attrs::Attrs(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) set(entry.name, entry.value);
}

void Attrs::set(std::string_view name, AttrValue value) {
  const auto at = std::ranges::lower_bound(entries_, name, {}, &Entry::name);
  if (at != entries_.end() && at->name == name) {
    at->value = std::move(value);
  } else {
    entries_.insert(at, Entry{std::string(name), std::move(value)});
  }
}

void Attrs::erase(std::string_view name) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.name == name; });
}

const AttrValue* Attrs::find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(entries_, name, {}, &Entry::name);
  return at != entries_.end() && at->name == name ? &at->value : nullptr;
}

namespace {
template <typename T>
const T& get(const Attrs& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  EGRET_CHECK(value != nullptr, "attribute not declared by its operator");
  const T* typed = std::get_if<T>(value);
  EGRET_CHECK(typed != nullptr, "attribute of another kind than its operator declares");
  return *typed;
}
}  // namespace

std::int64_t Attrs::integer(std::string_view name) const {
  return concrete_integer(get<std::int64_t>(*this, name));
}
std::int64_t Attrs::axis(std::string_view name, std::int64_t rank) const {
  return concrete_axis(get<std::int64_t>(*this, name), rank);
}
const Integers& Attrs::axes(std::string_view name, std::int64_t rank) const {
  return concrete_axes(get<Integers>(*this, name), rank);
}
bool Attrs::flag(std::string_view name) const {
  if (const auto is_zero = decided(size(name) == 0)) return !*is_zero;
  return integer(name) != 0;  // the scope notes that the example says it
}
double Attrs::real(std::string_view name) const { return get<double>(*this, name); }
const std::string& Attrs::text(std::string_view name) const {
  return get<std::string>(*this, name);
}
const Integers& Attrs::integers(std::string_view name) const {
  return concrete_integers(get<Integers>(*this, name));
}
const Integers& Attrs::as_written(std::string_view name) const {
  return get<Integers>(*this, name);
}
Index Attrs::size(std::string_view name) const {
  return index_of_integer(get<std::int64_t>(*this, name));
}
std::vector<Index> Attrs::sizes(std::string_view name) const {
  std::vector<Index> sizes;
  for (const std::int64_t integer : get<Integers>(*this, name))
    sizes.push_back(index_of_integer(integer));
  return sizes;
}

std::string to_string(const Attrs& attrs) {
  if (attrs.empty()) return "";
  std::string text = "{";
  for (const auto& [name, value] : attrs.entries()) {
    if (text.size() > 1) text += ", ";
    text += name + "=" + to_string(value);
  }
  return text + "}";
}

std::uint64_t hash_value(const Attrs& attrs) {
  std::uint64_t hash = 0;
  for (const auto& [name, value] : attrs.entries())
    hash = base::hash_combine(base::hash_string(name, hash), hash_value(value));
  return hash;
}

// Defaults are filled in, and integers become reals where a real is meant: equal applications then
// have equal attributes.
base::Result<Attrs> canonical_attrs(const std::vector<AttrSpec>& specs, const Attrs& given) {
  Attrs result;
  for (const AttrSpec& spec : specs) {
    const AttrValue* value = given.find(spec.name);
    if (value == nullptr && !spec.default_value) {
      return base::bad_input("attribute '" + spec.name + "' is missing");
    }
    AttrValue chosen = value != nullptr ? *value : *spec.default_value;
    if (spec.kind == AttrKind::kReal && kind_of(chosen) == AttrKind::kInteger) {
      chosen = static_cast<double>(std::get<std::int64_t>(chosen));
    }
    if (kind_of(chosen) != spec.kind) {
      return base::bad_input("attribute '" + spec.name + "' must be of kind " +
                             std::string(to_string(spec.kind)) + ", not " + to_string(chosen));
    }
    result.set(spec.name, std::move(chosen));
  }
  for (const auto& entry : given.entries()) {
    if (std::ranges::find(specs, entry.name, &AttrSpec::name) == specs.end()) {
      return base::bad_input("unknown attribute '" + entry.name + "'");
    }
  }
  return result;
}

}  // namespace egret::ir
