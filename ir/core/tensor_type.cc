// SPDX-License-Identifier: Apache-2.0
#include "ir/core/tensor_type.h"

#include <algorithm>

#include "base/hash.h"

namespace egret::ir {

std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 62;
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      empty = true;
      continue;
    }
    if (count > kLimit / size) return std::nullopt;
    count *= size;
  }
  return empty ? 0 : count;
}

Shape row_major_strides(std::span<const std::int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::string to_string(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

bool TensorType::is_concrete() const {
  return std::ranges::all_of(dims, [](const Index& dim) { return dim.is_constant(); });
}

Shape TensorType::shape() const {
  Shape sizes;
  for (const Index& dim : dims) sizes.push_back(dim.constant());
  return sizes;
}

std::int64_t TensorType::elements() const {
  const auto count = element_count(shape());
  EGRET_CHECK(count.has_value(), "element count overflows");
  return *count;
}

std::int64_t TensorType::bytes() const {
  return elements() * static_cast<std::int64_t>(byte_size(dtype));
}

bool operator==(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.dims.size() == b.dims.size() &&
         std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(),
                    [](const Index& x, const Index& y) { return x.same(y); });
}

std::string to_string(const TensorType& type) {
  std::string text(to_string(type.dtype));
  text += '[';
  for (std::size_t i = 0; i < type.dims.size(); ++i) {
    if (i > 0) text += ',';
    text += to_string(type.dims[i]);
  }
  return text + "]";
}

std::uint64_t hash_value(const TensorType& type) {
  std::uint64_t hash = base::mix(static_cast<std::uint64_t>(type.dtype));
  for (const Index& dim : type.dims) {
    const std::uint64_t part = dim.is_constant() ? static_cast<std::uint64_t>(dim.constant())
                                                 : base::hash_string(to_string(dim), 1);
    hash = base::hash_combine(hash, part);
  }
  return hash;
}

}  // namespace egret::ir
