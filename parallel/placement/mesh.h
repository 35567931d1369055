// SPDX-License-Identifier: Apache-2.0
// A mesh: devices in a grid with named axes, one or more for each tier of bandwidth. Its text form
// is "nodes=4,gpus=8". Ranks are numbered row-major: the last axis varies fastest.
//
// Invariants: names are distinct, not empty and of letters, digits and '_'; sizes are at least 1;
// there are at most 2^20 ranks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace egret::parallel {

struct MeshAxis {
  std::string name;
  std::int64_t size = 1;
  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

class Mesh {
 public:
  // Errors: usage_error that names the axis at fault.
  static base::Result<Mesh> of(std::vector<MeshAxis> axes);
  static base::Result<Mesh> parse(std::string_view text);

  int axis_count() const { return static_cast<int>(axes_.size()); }
  const MeshAxis& axis(int i) const { return axes_[static_cast<std::size_t>(i)]; }
  std::int64_t size(int i) const { return axis(i).size; }
  int find(std::string_view name) const;  // -1: no such axis
  std::int64_t ranks() const { return ranks_; }

  // The coordinate of a rank along an axis.
  std::int64_t coordinate(std::int64_t rank, int axis) const;
  // The ranks that differ from this one along the axis alone, itself included, by coordinate.
  std::vector<std::int64_t> group(std::int64_t rank, int axis) const;

  friend bool operator==(const Mesh&, const Mesh&) = default;

 private:
  std::int64_t stride(int axis) const;

  std::vector<MeshAxis> axes_;
  std::int64_t ranks_ = 1;
};

std::string to_string(const Mesh& mesh);

}  // namespace egret::parallel
