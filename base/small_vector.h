// SPDX-License-Identifier: Apache-2.0
// A vector that keeps a few elements in place: shapes, permutations, children.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>

namespace egret::base {

template <typename T, std::size_t kInline>
using SmallVector = boost::container::small_vector<T, kInline>;

}  // namespace egret::base
