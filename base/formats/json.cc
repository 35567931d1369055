// SPDX-License-Identifier: Apache-2.0
#include "base/formats/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/formats/json_stream.h"
#include "base/formats/units.h"

namespace egret::base {
namespace {

// Length of the well-formed UTF-8 sequence at the front of the text, 0 when there is none
// (Unicode 15, table 3-7).
std::size_t utf8_length(std::string_view text) {
  auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  auto tail = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const unsigned b0 = byte(0);
  const unsigned b1 = byte(1);
  if (b0 < 0x80) return 1;
  if (b0 >= 0xc2 && b0 <= 0xdf) return tail(1) ? 2 : 0;
  if (b0 >= 0xe0 && b0 <= 0xef) {
    const bool bad = (b0 == 0xe0 && b1 < 0xa0) || (b0 == 0xed && b1 > 0x9f);
    return !bad && tail(1) && tail(2) ? 3 : 0;
  }
  if (b0 >= 0xf0 && b0 <= 0xf4) {
    const bool bad = (b0 == 0xf0 && b1 < 0x90) || (b0 == 0xf4 && b1 > 0x8f);
    return !bad && tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

// Builds the document from its events.
class Builder : public JsonHandler {
 public:
  Status begin_object() override { return open(Json::object()); }
  Status begin_array() override { return open(Json::array()); }
  Status end_object() override {
    Open done = close();
    return add(Json::from_members(std::move(done.members)));
  }
  Status end_array() override { return add(close().value); }
  Status key(std::string_view text) override {
    open_.back().key = text;
    return ok();
  }
  Status string(std::string_view text) override { return add(text); }
  Status integer(std::int64_t value) override { return add(value); }
  Status large_integer(std::uint64_t value) override { return add(value); }
  Status real(double value) override { return add(value); }
  Status boolean(bool value) override { return add(value); }
  Status null() override { return add({}); }

  Json take() { return std::move(document_); }

 private:
  // An array or object whose end has not been read.
  struct Open {
    Json value;
    std::vector<Json::Member> members;
    std::string key;
  };

  Status open(Json empty) {
    open_.push_back({std::move(empty), {}, {}});
    return ok();
  }
  Open close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    return done;
  }
  Status add(Json value) {
    if (open_.empty()) {
      document_ = std::move(value);
    } else if (open_.back().value.is_array()) {
      open_.back().value.push(std::move(value));
    } else {
      open_.back().members.emplace_back(std::move(open_.back().key), std::move(value));
    }
    return ok();
  }

  Json document_;
  std::vector<Open> open_;
};

}  // namespace

// Names come from foreign files: bytes that are not UTF-8 become U+FFFD, so the document stays
// readable whatever they hold.
void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const char c = text.front();
    const auto code = static_cast<unsigned char>(c);
    const std::size_t length = utf8_length(text);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (code < 0x20 || code == 0x7f) {
      out += "\\u00";
      out += kHex[code >> 4];
      out += kHex[code & 15];
    } else if (length == 0) {
      out += "\\ufffd";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

void append_json_real(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const std::string text = format_real(value);
  out += text;
  // A real stays a real for typed readers.
  if (text.find_first_of(".e") == std::string::npos) out += ".0";
}

Json Json::object() {
  Json json;
  json.value_ = Object{};
  return json;
}

Json Json::array() {
  Json json;
  json.value_ = Array{};
  return json;
}

Json Json::array(std::span<const std::string> texts) {
  Json json = array();
  for (const std::string& text : texts) json.push(text);
  return json;
}

Json Json::from_members(std::vector<Member> members) {
  // The last of equal keys counts, at the place of the first. Sorted positions find them without
  // comparing all pairs, which a hostile file could make dear.
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return members[a].first < members[b].first;
  });
  std::vector<bool> dropped(members.size());
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (members[order[i - 1]].first != members[order[i]].first) continue;
    std::swap(members[order[i - 1]].second, members[order[i]].second);
    dropped[order[i]] = true;
    order[i] = order[i - 1];
  }
  Json json = Json::object();
  auto& kept = std::get<Object>(json.value_);
  kept.reserve(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!dropped[i]) kept.push_back(std::move(members[i]));
  }
  return json;
}

Result<Json> Json::parse(std::string_view text, std::size_t max_depth) {
  Builder builder;
  JsonStreamReader reader(builder, max_depth);
  EGRET_RETURN_IF_ERROR(reader.feed(text));
  EGRET_RETURN_IF_ERROR(reader.finish());
  return builder.take();
}

Json& Json::set(std::string_view key, Json value) {
  if (is_null()) value_ = Object{};
  EGRET_CHECK(is_object(), "set() needs an object");
  for (Member& member : std::get<Object>(value_)) {
    if (member.first == key) {
      member.second = std::move(value);
      return *this;
    }
  }
  std::get<Object>(value_).emplace_back(std::string(key), std::move(value));
  return *this;
}

Json& Json::push(Json value) {
  if (is_null()) value_ = Array{};
  EGRET_CHECK(is_array(), "push() needs an array");
  std::get<Array>(value_).push_back(std::move(value));
  return *this;
}

bool Json::is_number() const {
  return std::holds_alternative<std::int64_t>(value_) ||
         std::holds_alternative<std::uint64_t>(value_) || std::holds_alternative<double>(value_);
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  for (const Member& member : std::get<Object>(value_)) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

const std::vector<Json::Member>& Json::members() const {
  EGRET_CHECK(is_object());
  return std::get<Object>(value_);
}

const std::vector<Json>& Json::items() const {
  EGRET_CHECK(is_array());
  return std::get<Array>(value_);
}

std::string_view Json::kind() const {
  constexpr std::array<std::string_view, 8> kNames = {
      "null",          "a boolean", "a whole number", "a whole number",
      "a real number", "a string",  "an array",       "an object"};
  return kNames[value_.index()];
}

Result<bool> Json::as_bool() const {
  if (const bool* value = std::get_if<bool>(&value_)) return *value;
  return bad_input("expected a boolean, found " + std::string(kind()));
}

Result<std::int64_t> Json::as_integer() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  const auto* large = std::get_if<std::uint64_t>(&value_);
  if (large == nullptr) {
    return bad_input("expected a whole number, found " + std::string(kind()));
  }
  if (*large > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return bad_input("the number " + std::to_string(*large) + " does not fit into 64 bits");
  }
  return static_cast<std::int64_t>(*large);
}

Result<double> Json::as_real() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*value);
  return bad_input("expected a number, found " + std::string(kind()));
}

Result<std::string> Json::as_string() const {
  if (const auto* value = std::get_if<std::string>(&value_)) return *value;
  return bad_input("expected a string, found " + std::string(kind()));
}

std::string Json::scalar_text() const {
  if (const auto* value = std::get_if<std::string>(&value_)) return *value;
  return dump();
}

std::string Json::dump(int indent) const {
  std::string out;
  write(out, indent, 0);
  return out;
}

// Recursion is bounded by what our own code nests or the parser admits.
void Json::write(std::string& out, int indent, int depth) const {
  auto new_line = [&](int level) {
    if (indent == 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(level), ' ');
  };
  const std::string_view separator = indent == 0 ? ", " : ",";
  if (is_null()) {
    out += "null";
  } else if (const bool* truth = std::get_if<bool>(&value_)) {
    out += *truth ? "true" : "false";
  } else if (const auto* whole = std::get_if<std::int64_t>(&value_)) {
    out += std::to_string(*whole);
  } else if (const auto* natural = std::get_if<std::uint64_t>(&value_)) {
    out += std::to_string(*natural);
  } else if (const auto* real = std::get_if<double>(&value_)) {
    append_json_real(out, *real);
  } else if (const auto* text = std::get_if<std::string>(&value_)) {
    append_json_string(out, *text);
  } else if (is_array()) {
    out += '[';
    bool first = true;
    for (const Json& item : items()) {
      if (!first) out += separator;
      first = false;
      new_line(depth + 1);
      item.write(out, indent, depth + 1);
    }
    if (!first) new_line(depth);
    out += ']';
  } else {
    out += '{';
    bool first = true;
    for (const auto& [key, value] : members()) {
      if (!first) out += separator;
      first = false;
      new_line(depth + 1);
      append_json_string(out, key);
      out += ": ";
      value.write(out, indent, depth + 1);
    }
    if (!first) new_line(depth);
    out += '}';
  }
}

Json versioned_json() {
  Json json = Json::object();
  json.set("schema_version", kJsonSchemaVersion);
  return json;
}

Status check_schema_version(const Json& document, std::string_view what) {
  const Json* found = document.find("schema_version");
  if (found == nullptr) return bad_input("'schema_version' is missing");
  const auto version = found->as_integer();
  if (!version.ok()) return version.status().at("schema_version");
  if (*version == kJsonSchemaVersion) return ok();
  return bad_input("schema_version " + std::to_string(*version) + " is unknown; " +
                   std::string(what) + " of " + std::to_string(kJsonSchemaVersion) +
                   " can be read");
}

}  // namespace egret::base
