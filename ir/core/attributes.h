// SPDX-License-Identifier: Apache-2.0
// Attributes: the part of an operator's identity that is not a tensor (stride, axis, permutation).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"

namespace egret::ir {

class Index;

using Integers = std::vector<std::int64_t>;
using AttrValue = std::variant<std::int64_t, double, std::string, Integers>;

enum class AttrKind : std::uint8_t { kInteger, kReal, kText, kIntegers };  // order of AttrValue
std::string_view to_string(AttrKind kind);
inline AttrKind kind_of(const AttrValue& value) { return static_cast<AttrKind>(value.index()); }

// Deterministic text that parse_attr_value() reads back exactly: 3, 0.1, "SAME", [1, 2]. A real
// always has a '.', an exponent, or is inf or nan.
std::string to_string(const AttrValue& value);
base::Result<AttrValue> parse_attr_value(std::string_view text);

// Name-sorted attributes.
class Attrs {
 public:
  struct Entry {
    std::string name;
    AttrValue value;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  Attrs() = default;
  Attrs(std::initializer_list<Entry> entries);

  void set(std::string_view name, AttrValue value);
  void erase(std::string_view name);
  const AttrValue* find(std::string_view name) const;

  // The value, which must exist with that kind (the operator's declaration guarantees it).
  std::int64_t integer(std::string_view name) const;
  // Axes of a tensor of that rank (ir/core/symbolic_scope.h, concrete_axis()). Those outside of the
  // rank must be refused.
  std::int64_t axis(std::string_view name, std::int64_t rank) const;
  const Integers& axes(std::string_view name, std::int64_t rank) const;
  // Whether the integer is not 0.
  bool flag(std::string_view name) const;
  double real(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const Integers& integers(std::string_view name) const;
  // The value where integers may be symbolic (ir/core/symbolic_scope.h). integer() and integers()
  // return the example's value.
  Index size(std::string_view name) const;
  std::vector<Index> sizes(std::string_view name) const;
  const Integers& as_written(std::string_view name) const;  // may contain symbolic integers

  const std::vector<Entry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  friend bool operator==(const Attrs&, const Attrs&) = default;

 private:
  std::vector<Entry> entries_;
};

// "{axis=1, perm=[0, 2, 1]}", or "" when empty.
std::string to_string(const Attrs& attrs);
std::uint64_t hash_value(const Attrs& attrs);

// The declaration of one attribute of an operator.
struct AttrSpec {
  std::string name;
  AttrKind kind;
  std::optional<AttrValue> default_value;  // none: the attribute is mandatory
  std::string doc;
  std::vector<std::string> texts = {};  // the allowed texts; empty: any
};

// Checks kinds and names, fills defaults: the canonical form that is compared and hashed.
base::Result<Attrs> canonical_attrs(const std::vector<AttrSpec>& specs, const Attrs& given);

}  // namespace egret::ir
