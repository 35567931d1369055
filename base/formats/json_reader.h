// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formats/json.h"
#include "base/status.h"

namespace egret::base {

// Reads the items of one array or object of a document. The first error sticks, as bad_input; it
// begins with the place. What is read after it, or in its stead, is a value within the bounds.
class JsonReader {
 public:
  JsonReader(std::string place, Status& status) : place_(std::move(place)), status_(status) {}

  void fail(std::string_view what);
  // Empty for what is no list of so many items or more.
  const std::vector<Json>& items(const Json& json, std::size_t least);
  // A number from `low` to below `end`.
  std::int64_t number(const Json& json, std::int64_t low, std::size_t end);
  std::uint32_t index(const Json& json, std::size_t end);
  std::vector<std::uint32_t> indices(const Json& json, std::size_t end);
  // Null is an error, too.
  std::string text(const Json* json);
  bool truth(const Json& json);
  // The member of an object, or null, with an error that names it.
  const Json& member(const Json& object, std::string_view key);
  // Empty for what is no object.
  const std::vector<Json::Member>& members(const Json& json);

 private:
  std::string place_;
  Status& status_;
};

}  // namespace egret::base
