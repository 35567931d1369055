// SPDX-License-Identifier: Apache-2.0
#include "base/formats/json_reader.h"

namespace egret::base {

void JsonReader::fail(std::string_view what) {
  if (status_.ok()) status_ = bad_input(place_ + ": " + std::string(what));
}

const std::vector<Json>& JsonReader::items(const Json& json, std::size_t least) {
  static const std::vector<Json> kNone;
  if (json.is_array() && json.items().size() >= least) return json.items();
  fail("not a list of " + std::to_string(least) + " items or more");
  return kNone;
}

std::int64_t JsonReader::number(const Json& json, std::int64_t low, std::size_t end) {
  const auto value = json.as_integer();
  if (value.ok() && *value >= low && *value < static_cast<std::int64_t>(end)) return *value;
  fail(json.scalar_text() + " is no number from " + std::to_string(low) + " to " +
       std::to_string(end) + ", exclusive");
  return low;
}

std::uint32_t JsonReader::index(const Json& json, std::size_t end) {
  return static_cast<std::uint32_t>(number(json, 0, end));
}

std::vector<std::uint32_t> JsonReader::indices(const Json& json, std::size_t end) {
  std::vector<std::uint32_t> all;
  for (const Json& item : items(json, 0)) all.push_back(index(item, end));
  return all;
}

std::string JsonReader::text(const Json* json) {
  if (json != nullptr && json->is_string()) return *json->as_string();
  fail("a text is missing");
  return {};
}

bool JsonReader::truth(const Json& json) {
  const auto value = json.as_bool();
  if (value.ok()) return *value;
  fail("not true or false");
  return false;
}

const Json& JsonReader::member(const Json& object, std::string_view key) {
  static const Json kNone;
  if (const Json* const found = object.find(key)) return *found;
  fail("'" + std::string(key) + "' is missing");
  return kNone;
}

const std::vector<Json::Member>& JsonReader::members(const Json& json) {
  static const std::vector<Json::Member> kNone;
  if (json.is_object()) return json.members();
  fail("not an object");
  return kNone;
}

}  // namespace egret::base
