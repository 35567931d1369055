// SPDX-License-Identifier: Apache-2.0
#include "parallel/placement/placement.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>

#include "ir/core/integer_arithmetic.h"

namespace egret::parallel {
namespace {

using Kind = AxisPlacement::Kind;

constexpr std::int64_t kMostDims = 1 << 20;
constexpr std::string_view kMinusInfinity = "(-inf)";

// Takes `prefix` and a number that is not negative from the front of the text.
bool take_number(std::string_view& text, std::string_view prefix, std::int64_t& number) {
  if (!text.starts_with(prefix)) return false;
  const std::string_view digits = text.substr(prefix.size());
  const auto read = std::from_chars(digits.begin(), digits.end(), number);
  if (read.ec != std::errc{} || number < 0) return false;
  text = digits.substr(static_cast<std::size_t>(read.ptr - digits.begin()));
  return true;
}

std::optional<AxisPlacement> parse_cut(std::string_view text) {
  std::int64_t dim = 0;
  Halo halo;
  if (!take_number(text, "S(", dim) || dim > kMostDims || !text.starts_with(")"))
    return std::nullopt;
  text.remove_prefix(1);
  if (!text.empty() &&
      (!take_number(text, "-", halo.before) || !take_number(text, "+", halo.after)))
    return std::nullopt;
  if (text == kMinusInfinity) {
    halo.beyond = Halo::Beyond::kMinusInfinity;
    text = {};
  }
  if (!text.empty() || (halo.is_empty() && halo != Halo{})) return std::nullopt;
  return AxisPlacement::split(static_cast<int>(dim), halo);
}

base::Result<AxisPlacement> parse_axis(std::string_view text) {
  if (text == "R") return AxisPlacement::copy();
  if (text == "P(sum)" || text == "P") return AxisPlacement::sum();
  if (text == "P(max)") return AxisPlacement::max();
  if (const auto cut = parse_cut(text)) return *cut;
  return base::usage_error("'" + std::string(text) +
                           "' is not a placement; placements are R, P(sum), P(max), S(DIMENSION) "
                           "and S(DIMENSION)-BEFORE+AFTER");
}

// Whether block_of() gives this rank the data of a partial sum: coordinate 0 along all sum axes.
bool is_first_of_sums(const Placement& placement, const Mesh& mesh, std::int64_t rank) {
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    if (placement.along(axis).kind == Kind::kSum && mesh.coordinate(rank, axis) != 0) return false;
  }
  return true;
}

// Whether the placement makes the two ranks hold copies of the same elements.
bool are_copies(const Placement& placement, const Mesh& mesh, std::int64_t a, std::int64_t b) {
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    const bool same = mesh.coordinate(a, axis) == mesh.coordinate(b, axis);
    if (!same && !placement.along(axis).is_copy()) return false;
  }
  return true;
}

}  // namespace

std::string to_string(AxisPlacement placement) {
  switch (placement.kind) {
    case Kind::kCopy: return "R";
    case Kind::kSum: return "P(sum)";
    case Kind::kMax: return "P(max)";
    case Kind::kSplit: {
      std::string text = "S(" + std::to_string(placement.dim) + ")";
      if (!placement.has_halo()) return text;
      text +=
          "-" + std::to_string(placement.halo.before) + "+" + std::to_string(placement.halo.after);
      const bool zero = placement.halo.beyond == Halo::Beyond::kZero;
      return zero ? text : text + std::string(kMinusInfinity);
    }
  }
  return "?";
}

double Halo::value_beyond() const {
  return beyond == Beyond::kZero ? 0 : -std::numeric_limits<double>::infinity();
}

base::Result<Placement> Placement::parse(std::string_view text, const Mesh& mesh) {
  Placement placement(mesh.axis_count());
  std::vector<bool> named(static_cast<std::size_t>(mesh.axis_count()));
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    const std::size_t colon = one.find(':');
    const int axis = mesh.find(one.substr(0, colon));
    if (colon == std::string_view::npos || axis < 0) {
      return base::usage_error("'" + std::string(one) + "' names no axis of the mesh " +
                               parallel::to_string(mesh) + "; write AXIS:PLACEMENT");
    }
    if (named[static_cast<std::size_t>(axis)])
      return base::usage_error("the axis '" + mesh.axis(axis).name + "' is named twice");
    named[static_cast<std::size_t>(axis)] = true;
    EGRET_ASSIGN_OR_RETURN(const AxisPlacement along, parse_axis(one.substr(colon + 1)));
    placement = placement.with(axis, along);
  }
  return placement;
}

// Replaces what one axis does. Cuts of a dimension are numbered in order: removing one closes the
// gap, and a new one comes last.
Placement Placement::with(int axis, AxisPlacement placement) const {
  Placement result = *this;
  const auto at = static_cast<std::size_t>(axis);
  const AxisPlacement before = along(axis);
  if (before.is_split()) {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if (axes_[i].cuts(before.dim) && cuts_[i] > cuts_[at]) --result.cuts_[i];
    }
  }
  result.axes_[at] = AxisPlacement::copy();
  result.cuts_[at] =
      placement.is_split() ? static_cast<int>(result.cuts_of(placement.dim).size()) : 0;
  result.axes_[at] = placement;
  return result;
}

std::vector<int> Placement::cuts_of(int dim) const {
  std::vector<int> axes;
  for (int axis = 0; axis < axis_count(); ++axis) {
    if (along(axis).cuts(dim)) axes.push_back(axis);
  }
  std::ranges::sort(axes, {}, [&](int axis) { return cuts_[static_cast<std::size_t>(axis)]; });
  return axes;
}

bool Placement::is_last_cut(int axis) const {
  return along(axis).is_split() && cuts_of(along(axis).dim).back() == axis;
}

bool Placement::has_partial() const {
  return std::ranges::any_of(axes_, &AxisPlacement::is_partial);
}

bool Placement::has_halo() const { return std::ranges::any_of(axes_, &AxisPlacement::has_halo); }

bool Placement::is_copy() const { return std::ranges::all_of(axes_, &AxisPlacement::is_copy); }

std::string to_string(const Placement& placement, const Mesh& mesh) {
  std::vector<int> order;
  for (int axis = 0; axis < placement.axis_count(); ++axis) order.push_back(axis);
  const auto depth = [&](int axis) {
    if (!placement.along(axis).is_split()) return std::ptrdiff_t{0};
    const auto cuts = placement.cuts_of(placement.along(axis).dim);
    return std::ranges::find(cuts, axis) - cuts.begin();
  };
  std::ranges::stable_sort(order, {}, depth);
  std::string text;
  for (const int axis : order) {
    text +=
        (text.empty() ? "" : ",") + mesh.axis(axis).name + ":" + to_string(placement.along(axis));
  }
  return text;
}

namespace {

// Adds the halo to the size of a block.
base::Status widen(ir::Index& size, int axis, const Placement& placement, const Mesh& mesh,
                   ir::DType dtype) {
  const auto [kind, dim, halo] = placement.along(axis);
  const std::string where = " along the mesh axis '" + mesh.axis(axis).name + "'";
  // Copies, blocks and partial results of one device are the same. Rows beside its block are not,
  // and laws are derived for two devices or more.
  if (mesh.size(axis) == 1) return base::bad_input("a halo" + where + ", which has one device");
  if (placement.cuts_of(dim).size() > 1)
    return base::bad_input("a halo" + where + " of a dimension that another axis cuts");
  if (halo.before > size.constant() || halo.after > size.constant())
    return base::bad_input("a halo" + where + " that is wider than a block");
  if (halo.beyond != Halo::Beyond::kZero && !ir::is_float(dtype))
    return base::bad_input("a halo" + where + " of infinities, which the type lacks");
  for (int other = 0; other < axis; ++other) {
    const AxisPlacement along = placement.along(other);
    if (along.has_halo() && along.halo.beyond != halo.beyond)
      return base::bad_input("halos of zeros cannot be combined with halos of infinities");
  }
  size = size.constant() + halo.rows();
  return base::ok();
}

}  // namespace

// The type of a rank's part. All parts are of one type: dimensions must divide evenly.
base::Result<ir::TensorType> local_type(const ir::TensorType& whole, const Placement& placement,
                                        const Mesh& mesh) {
  EGRET_CHECK(placement.axis_count() == mesh.axis_count(), "a placement on another mesh");
  ir::TensorType local = whole;
  bool sum = false;
  bool max = false;
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    const AxisPlacement along = placement.along(axis);
    sum = sum || along.kind == Kind::kSum;
    max = max || along.kind == Kind::kMax;
    if (!along.is_split()) continue;
    if (along.dim >= whole.rank()) {
      return base::bad_input(ir::to_string(whole) + " has no dimension " +
                             std::to_string(along.dim));
    }
    ir::Index& size = local.dims[static_cast<std::size_t>(along.dim)];
    if (size.constant() % mesh.size(axis) != 0) {
      return base::bad_input(
          "dimension " + std::to_string(along.dim) + " of " + ir::to_string(whole) +
          " cannot be cut into equal blocks along the mesh axis '" + mesh.axis(axis).name + "'");
    }
    size = size.constant() / mesh.size(axis);
    if (along.has_halo()) EGRET_RETURN_IF_ERROR(widen(size, axis, placement, mesh, whole.dtype));
  }
  if (sum && max) return base::bad_input("partial sums cannot be combined with partial maxima");
  if ((sum || max) && whole.dtype == ir::DType::kBool)
    return base::bad_input("bool tensors cannot be partial sums or partial maxima");
  return local;
}

// All combinations of copies and cuts over the axes: at most (1 + rank)^axes.
std::vector<Placement> whole_placements(const ir::TensorType& whole, const Mesh& mesh) {
  std::vector<Placement> all{Placement(mesh.axis_count())};
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    if (mesh.size(axis) == 1) continue;
    const std::size_t before = all.size();
    for (std::size_t i = 0; i < before; ++i) {
      for (int dim = 0; dim < whole.rank(); ++dim) {
        Placement cut = all[i].with(axis, AxisPlacement::split(dim));
        if (local_type(whole, cut, mesh).ok()) all.push_back(std::move(cut));
      }
    }
  }
  return all;
}

namespace {

// A rank's rows of one dimension, starting at `first`; the first and last of them may be a halo.
struct HeldRows {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t size = 0;  // of the whole
  Halo halo{};
};

std::vector<HeldRows> rows_held(const ir::TensorType& whole, const Placement& placement,
                                const Mesh& mesh, std::int64_t rank) {
  const auto local = local_type(whole, placement, mesh);
  EGRET_CHECK(local.ok(), "a placement that does not fit");
  std::vector<HeldRows> all;
  for (int dim = 0; dim < whole.rank(); ++dim) {
    HeldRows rows;
    rows.size = whole.dims[static_cast<std::size_t>(dim)].constant();
    rows.count = local->dims[static_cast<std::size_t>(dim)].constant();
    std::int64_t block = 0;
    for (const int axis : placement.cuts_of(dim)) {
      // Several cuts of one dimension are mixed radix: the first cut is the most significant digit.
      block = block * mesh.size(axis) + mesh.coordinate(rank, axis);
      rows.halo = placement.along(axis).halo;
    }
    // The block without its halo gives the stride. The first row may lie before the tensor.
    rows.first = block * (rows.count - rows.halo.rows()) - rows.halo.before;
    all.push_back(rows);
  }
  return all;
}

// Whether each held element belongs to a halo. Elements are in row-major order, so `inner` is the
// stride of the dimension in the part.
std::vector<char> is_of_halo(const std::vector<HeldRows>& rows, std::size_t elements) {
  std::vector<char> result(elements, 0);
  std::int64_t inner = 1;
  for (std::size_t dim = rows.size(); dim-- > 0; inner *= rows[dim].count) {
    const auto& [first, count, size, halo] = rows[dim];
    if (halo.is_empty()) continue;
    for (std::size_t i = 0; i < elements; ++i) {
      const std::int64_t row = static_cast<std::int64_t>(i) / inner % count;
      if (row < halo.before || row >= count - halo.after) result[i] = 1;
    }
  }
  return result;
}

}  // namespace

// The offset in the whole tensor of each element of a rank's part; kBeyond for halo rows outside.
std::vector<std::int64_t> elements_held(const ir::TensorType& whole, const Placement& placement,
                                        const Mesh& mesh, std::int64_t rank) {
  const std::vector<HeldRows> rows = rows_held(whole, placement, mesh, rank);
  const ir::Shape strides = ir::row_major_strides(whole.shape());
  // Row by row, from the outermost dimension: of each prefix of coordinates, the offset.
  std::vector<std::int64_t> elements{0}, next;
  for (std::size_t dim = 0; dim < rows.size(); ++dim) {
    next.clear();
    next.reserve(elements.size() * static_cast<std::size_t>(rows[dim].count));
    for (const std::int64_t before : elements) {
      for (std::int64_t i = 0; i < rows[dim].count; ++i) {
        const std::int64_t row = rows[dim].first + i;
        const bool beyond = row < 0 || row >= rows[dim].size || before == kBeyond;
        next.push_back(beyond ? kBeyond : before + row * strides[dim]);
      }
    }
    std::swap(elements, next);
  }
  return elements;
}

namespace {

// Calls COPY(held offset, offset in the part, elements) for each run of neighbouring elements; what
// lies beyond the tensor is left out.
template <typename Copy>
void for_runs(std::span<const std::int64_t> held, const Copy& copy) {
  for (std::size_t begin = 0; begin < held.size();) {
    if (held[begin] == kBeyond) {
      ++begin;
      continue;
    }
    std::size_t end = begin + 1;
    while (end < held.size() && held[end] == held[end - 1] + 1) ++end;
    copy(static_cast<std::size_t>(held[begin]), begin, end - begin);
    begin = end;
  }
}

bool holds_equal_data(const ir::Tensor& a, const ir::Tensor& b) {
  return a.data().data() == b.data().data() || std::ranges::equal(a.data(), b.data());
}

}  // namespace

// A partial sum is the whole on the first rank and zeros elsewhere. A partial maximum is the whole
// on every rank.
ir::Tensor block_of(const ir::Tensor& whole, const Placement& placement, const Mesh& mesh,
                    std::int64_t rank) {
  if (placement.is_copy()) return whole;
  const auto type = local_type(whole.type(), placement, mesh);
  EGRET_CHECK(type.ok(), "a placement that does not fit");
  ir::Tensor block(*type);
  if (!is_first_of_sums(placement, mesh, rank)) return block;
  const std::vector<std::int64_t> held = elements_held(whole.type(), placement, mesh, rank);
  const std::size_t size = ir::byte_size(whole.dtype());
  const auto from = whole.data();
  const auto to = block.mutable_data();
  double beyond = 0;
  for (int axis = 0; axis < placement.axis_count(); ++axis)
    beyond = std::min(beyond, placement.along(axis).halo.value_beyond());
  for_runs(held, [&](std::size_t whole_at, std::size_t at, std::size_t count) {
    std::memcpy(to.data() + at * size, from.data() + whole_at * size, count * size);
  });
  for (std::size_t i = 0; beyond != 0 && i < held.size(); ++i) {
    if (held[i] == kBeyond) block.set_f64(static_cast<std::int64_t>(i), beyond);
  }
  return block;
}

// Assembles the parts, adding or maximizing partial results; copies must be equal bit by bit. Of
// each set of copies, the rank with the lowest number contributes, and the others are compared with
// it. Halos do not contribute. They are compared at the end with the assembled tensor. O(ranks^2 +
// elements held).
base::Result<ir::Tensor> whole_of(std::span<const ir::Tensor> locals, const ir::TensorType& type,
                                  const Placement& placement, const Mesh& mesh) {
  EGRET_CHECK(static_cast<std::int64_t>(locals.size()) == mesh.ranks(), "a tensor for each rank");
  const bool is_copy = placement.is_copy();
  ir::Tensor whole;
  if (!is_copy) whole = ir::Tensor(ir::TensorType(locals.front().dtype(), type.shape()));
  const bool adds = placement.has_partial();
  std::vector<char> seen(adds ? static_cast<std::size_t>(whole.elements()) : 0, 0);
  bool largest = false;
  for (int axis = 0; axis < mesh.axis_count(); ++axis)
    largest = largest || placement.along(axis).kind == Kind::kMax;
  for (std::int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    const ir::Tensor& local = locals[static_cast<std::size_t>(rank)];
    std::int64_t first = 0;  // of the copies of this rank's part
    while (!are_copies(placement, mesh, first, rank)) ++first;
    if (first != rank) {
      if (!holds_equal_data(local, locals[static_cast<std::size_t>(first)])) {
        return base::mismatch("ranks " + std::to_string(first) + " and " + std::to_string(rank) +
                              " hold different values of one block");
      }
      continue;
    }
    if (is_copy) {
      whole = local;
      continue;
    }
    const std::vector<std::int64_t> held = elements_held(type, placement, mesh, rank);
    EGRET_CHECK(static_cast<std::int64_t>(held.size()) == local.elements(), "a local's size");
    if (!adds && !placement.has_halo()) {
      const std::size_t size = ir::byte_size(whole.dtype());
      const auto from = local.data();
      const auto to = whole.mutable_data();
      for_runs(held, [&](std::size_t whole_at, std::size_t at, std::size_t count) {
        std::memcpy(to.data() + whole_at * size, from.data() + at * size, count * size);
      });
      continue;
    }
    const std::vector<char> halo = is_of_halo(rows_held(type, placement, mesh, rank), held.size());
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (halo[i] != 0) continue;
      const auto at = static_cast<std::size_t>(held[i]);
      const auto here = static_cast<std::int64_t>(i);
      if (!adds || seen[at] == 0) {
        ir::is_float(whole.dtype()) ? whole.set_f64(held[i], local.f64_at(here))
                                    : whole.set_i64(held[i], local.i64_at(here));
      } else if (ir::is_float(whole.dtype())) {
        const double a = whole.f64_at(held[i]);
        const double b = local.f64_at(here);
        whole.set_f64(held[i], largest ? std::max(a, b) : a + b);
      } else {
        const std::int64_t a = whole.i64_at(held[i]);
        const std::int64_t b = local.i64_at(here);
        const std::int64_t larger = ir::integer_less(whole.dtype(), a, b) ? b : a;
        whole.set_i64(held[i], largest ? larger : ir::wrapping_add(a, b));
      }
      if (adds) seen[at] = 1;
    }
  }
  for (std::int64_t rank = 0; placement.has_halo() && rank < mesh.ranks(); ++rank) {
    const ir::Tensor& local = locals[static_cast<std::size_t>(rank)];
    if (!std::ranges::equal(local.data(), block_of(whole, placement, mesh, rank).data()))
      return base::mismatch("rank " + std::to_string(rank) +
                            " has a halo that differs from its neighbours' values");
  }
  return whole;
}

}  // namespace egret::parallel
