// SPDX-License-Identifier: Apache-2.0
// The placement of a tensor on a mesh. For each axis of the mesh:
//
//   R        every device along the axis holds the same
//   P(sum)   the tensor is the sum of what they hold
//   P(max)   it is their largest, element by element
//   S(d)     dimension d is cut into equal blocks, the first device holding the first
//   S(d)-1+2 the same, and each device holds a halo: the last row of the block before its own and
//            the first two of the block after. Beyond the ends of the tensor rows are 0, or
//            minus infinity: S(d)-1+2(-inf)
//
// Copies and partial sums differ: a value held twice is not half of one held once. Where several
// axes cut one dimension, the first one written cuts first: "x:S(0),y:S(0)" gives each x a block of
// adjacent blocks of its ys, "y:S(0),x:S(0)" the converse. Sums and maxima do not mix in one
// placement, because their order would matter. A dimension with halos is cut by one axis only, and
// a halo is no wider than a block.
//
// Meaning (gamma): whole_of(locals) is the represented tensor.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/core/tensor.h"
#include "ir/core/tensor_type.h"
#include "parallel/placement/mesh.h"

namespace egret::parallel {

// The rows that a device holds besides its block, and the contents of rows beyond the tensor's
// ends.
struct Halo {
  enum class Beyond : std::uint8_t { kZero, kMinusInfinity };
  std::int64_t before = 0;
  std::int64_t after = 0;
  Beyond beyond = Beyond::kZero;  // kZero where there are none

  std::int64_t rows() const { return before + after; }
  double value_beyond() const;
  bool is_empty() const { return rows() == 0; }
  friend auto operator<=>(const Halo&, const Halo&) = default;
};

// Along one axis of a mesh.
struct AxisPlacement {
  enum class Kind : std::uint8_t { kCopy, kSplit, kSum, kMax };
  Kind kind = Kind::kCopy;
  int dim = 0;  // the dimension that is cut; 0 unless kSplit
  Halo halo{};  // empty unless kSplit

  static AxisPlacement copy() { return {}; }
  static AxisPlacement sum() { return {Kind::kSum}; }
  static AxisPlacement max() { return {Kind::kMax}; }
  static AxisPlacement split(int dim, Halo halo = {}) { return {Kind::kSplit, dim, halo}; }

  bool is_copy() const { return kind == Kind::kCopy; }
  bool is_split() const { return kind == Kind::kSplit; }
  bool has_halo() const { return !halo.is_empty(); }
  bool cuts(int dimension) const { return is_split() && dim == dimension; }
  bool is_partial() const { return kind == Kind::kSum || kind == Kind::kMax; }
  friend auto operator<=>(const AxisPlacement&, const AxisPlacement&) = default;
};

std::string to_string(AxisPlacement placement);  // "R", "P(sum)", "P(max)", "S(1)", "S(1)-1+1"

class Placement {
 public:
  Placement() = default;
  // Copies on all axes.
  explicit Placement(int axes) : axes_(static_cast<std::size_t>(axes)), cuts_(axes_.size()) {}

  // "x:S(0),y:R"; axes that are not named are R. Errors: usage_error.
  static base::Result<Placement> parse(std::string_view text, const Mesh& mesh);

  int axis_count() const { return static_cast<int>(axes_.size()); }
  AxisPlacement along(int axis) const { return axes_[static_cast<std::size_t>(axis)]; }
  // This placement with another one along the axis. A cut comes after all other cuts of its
  // dimension.
  Placement with(int axis, AxisPlacement placement) const;
  // The axes that cut dimension `dim`, the first cut first.
  std::vector<int> cuts_of(int dim) const;
  // Whether no other axis cuts this axis' dimension after it: it can be undone alone.
  bool is_last_cut(int axis) const;
  bool has_partial() const;
  bool has_halo() const;
  bool is_copy() const;

  friend auto operator<=>(const Placement&, const Placement&) = default;

 private:
  std::vector<AxisPlacement> axes_;
  std::vector<int> cuts_;  // of a split: how many axes cut its dimension before it; else 0
};

std::string to_string(const Placement& placement, const Mesh& mesh);  // "x:S(0),y:R"

// The type of each device's share of a tensor. Errors: bad_input where a dimension does not exist,
// is cut unevenly or has a halo that does not fit, or where sums and maxima mix or apply to truth
// values.
base::Result<ir::TensorType> local_type(const ir::TensorType& whole, const Placement& placement,
                                        const Mesh& mesh);

// All placements without partial results and halos that fit the type, copies first. Of several cuts
// of one dimension the mesh's first axis cuts first.
std::vector<Placement> whole_placements(const ir::TensorType& whole, const Mesh& mesh);

// The row-major numbers, in the whole tensor, of a rank's elements; kBeyond for halo elements
// beyond its ends. The placement fits the type. O(elements held).
inline constexpr std::int64_t kBeyond = -1;
std::vector<std::int64_t> elements_held(const ir::TensorType& whole, const Placement& placement,
                                        const Mesh& mesh, std::int64_t rank);

// A rank's share of a known whole: its block. For a partial sum the first devices hold everything
// and the others 0; a partial maximum is held by all.
ir::Tensor block_of(const ir::Tensor& whole, const Placement& placement, const Mesh& mesh,
                    std::int64_t rank);

// The whole, of type `type`, from all ranks' shares. Errors: mismatch where copies differ.
base::Result<ir::Tensor> whole_of(std::span<const ir::Tensor> locals, const ir::TensorType& type,
                                  const Placement& placement, const Mesh& mesh);

}  // namespace egret::parallel
