// SPDX-License-Identifier: Apache-2.0
#include "parallel/placement/mesh.h"

#include <algorithm>
#include <charconv>

namespace egret::parallel {
namespace {

constexpr std::int64_t kMostRanks = std::int64_t{1} << 20;
constexpr std::size_t kMostAxes = 64;  // those of more than one device are at most 20

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

base::Result<Mesh> Mesh::of(std::vector<MeshAxis> axes) {
  Mesh mesh;
  if (axes.empty()) return base::usage_error("a mesh needs an axis, such as x=4");
  if (axes.size() > kMostAxes)
    return base::usage_error("a mesh has at most " + std::to_string(kMostAxes) + " axes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const MeshAxis& axis = axes[i];
    if (!is_name(axis.name))
      return base::usage_error("'" + axis.name + "' is not a valid name of a mesh axis");
    const auto same = [&](const MeshAxis& other) { return other.name == axis.name; };
    if (std::any_of(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i), same))
      return base::usage_error("duplicate mesh axis '" + axis.name + "'");
    if (axis.size < 1 || axis.size > kMostRanks / mesh.ranks_) {
      return base::usage_error("mesh axis '" + axis.name + "' has size " +
                               std::to_string(axis.size) + "; a mesh has 1 to 2^20 devices");
    }
    mesh.ranks_ *= axis.size;
  }
  mesh.axes_ = std::move(axes);
  return mesh;
}

base::Result<Mesh> Mesh::parse(std::string_view text) {
  std::vector<MeshAxis> axes;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos)
      return base::usage_error("'" + std::string(one) + "' is not a mesh axis; write NAME=SIZE");
    MeshAxis axis{std::string(one.substr(0, equals))};
    const std::string_view digits = one.substr(equals + 1);
    const auto read = std::from_chars(digits.begin(), digits.end(), axis.size);
    if (read.ec != std::errc{} || read.ptr != digits.end())
      return base::usage_error("'" + std::string(digits) + "' is not a valid size of a mesh axis");
    axes.push_back(std::move(axis));
    if (comma == std::string_view::npos) return of(std::move(axes));
    text.remove_prefix(comma + 1);
  }
}

int Mesh::find(std::string_view name) const {
  const auto found = std::ranges::find(axes_, name, &MeshAxis::name);
  return found == axes_.end() ? -1 : static_cast<int>(found - axes_.begin());
}

// Ranks are numbers in mixed radix, the last axis fastest.
std::int64_t Mesh::stride(int axis) const {
  std::int64_t stride = 1;
  for (int i = axis + 1; i < axis_count(); ++i) stride *= size(i);
  return stride;
}

std::int64_t Mesh::coordinate(std::int64_t rank, int axis) const {
  return rank / stride(axis) % size(axis);
}

std::vector<std::int64_t> Mesh::group(std::int64_t rank, int axis) const {
  const std::int64_t step = stride(axis);
  const std::int64_t first = rank - coordinate(rank, axis) * step;
  std::vector<std::int64_t> ranks;
  for (std::int64_t i = 0; i < size(axis); ++i) ranks.push_back(first + i * step);
  return ranks;
}

std::string to_string(const Mesh& mesh) {
  std::string text;
  for (int i = 0; i < mesh.axis_count(); ++i) {
    text += (i > 0 ? "," : "") + mesh.axis(i).name + "=" + std::to_string(mesh.size(i));
  }
  return text;
}

}  // namespace egret::parallel
