// SPDX-License-Identifier: Apache-2.0
// Distinct 32-bit id types, so that a node's id is never taken for a class's.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace egret::base {

// An index into some table. Tag is an incomplete type that names the table:
//   using NodeId = base::Id<struct NodeIdTag>;
// A default-constructed id is invalid.
template <typename Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : index_(static_cast<std::uint32_t>(index)) {}

  constexpr bool valid() const { return index_ != kInvalid; }
  constexpr std::uint32_t index() const { return index_; }

  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  static constexpr std::uint32_t kInvalid = 0xffffffffU;
  std::uint32_t index_ = kInvalid;
};

}  // namespace egret::base

template <typename Tag>
struct std::hash<egret::base::Id<Tag>> {
  std::size_t operator()(egret::base::Id<Tag> id) const noexcept {
    return std::hash<std::uint32_t>{}(id.index());
  }
};
