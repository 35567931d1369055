// SPDX-License-Identifier: Apache-2.0
// JSON documents with a stable key order: members are written in the order they were set, numbers
// in the shortest form that reads back the same, infinities and NaN as null. So the same report is
// the same bytes. base/formats/json_stream.h reads; our own writer keeps doubles readable ("0.5",
// where Boost 1.81 prints 5E-1).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"

namespace egret::base {

class Json {
 public:
  using Member = std::pair<std::string, Json>;

  Json() = default;                                                  // null
  Json(bool value) : value_(value) {}                                // NOLINT: implicit
  Json(std::int64_t value) : value_(value) {}                        // NOLINT: implicit
  Json(std::uint64_t value) : value_(value) {}                       // NOLINT: implicit
  Json(int value) : Json(static_cast<std::int64_t>(value)) {}        // NOLINT: implicit
  Json(unsigned value) : Json(static_cast<std::uint64_t>(value)) {}  // NOLINT: implicit
  Json(double value) : value_(value) {}                              // NOLINT: implicit
  Json(std::string value) : value_(std::move(value)) {}              // NOLINT: implicit
  Json(std::string_view value) : value_(std::string(value)) {}       // NOLINT: implicit
  Json(const char* value) : value_(std::string(value)) {}            // NOLINT: implicit

  static Json object();
  static Json array();
  static Json array(std::span<const std::string> texts);
  // An object of many members in O(n log n), where set() searches each time. Of equal keys the last
  // value counts.
  static Json from_members(std::vector<Member> members);

  // Reads a document. MAX_DEPTH bounds nesting, so hostile input costs no stack. Bad input names
  // the byte offset. Of equal keys the last one counts.
  static Result<Json> parse(std::string_view text, std::size_t max_depth = 64);

  // Sets or replaces a member; a null value becomes an object first. Returns *this.
  Json& set(std::string_view key, Json value);
  // Appends an element; a null value becomes an array first. Returns *this.
  Json& push(Json value);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_number() const;

  // Member by key, or nullptr; nullptr too when this is no object. O(members).
  const Json* find(std::string_view key) const;
  const std::vector<Member>& members() const;  // of an object (checked)
  const std::vector<Json>& items() const;      // of an array (checked)

  // Typed reading; bad input that says what was found instead.
  Result<bool> as_bool() const;
  Result<std::int64_t> as_integer() const;
  Result<double> as_real() const;
  Result<std::string> as_string() const;
  // A string without quotes; everything else as dump() writes it.
  std::string scalar_text() const;

  // indent 0: one line. Otherwise one member or element per line, without a newline at the end.
  std::string dump(int indent = 0) const;

 private:
  using Object = std::vector<Member>;
  using Array = std::vector<Json>;

  void write(std::string& out, int indent, int depth) const;
  std::string_view kind() const;

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      value_;
};

// Every JSON document that Egret writes begins with the version of its layout.
inline constexpr std::int64_t kJsonSchemaVersion = 1;
Json versioned_json();  // {"schema_version": 1}
// Checks the version of a document; `what` names such documents, as in "plans of 1 are read".
// Errors: bad_input, also for a missing version.
Status check_schema_version(const Json& document, std::string_view what);

}  // namespace egret::base
