// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "ir/core/tensor.h"

namespace egret::ir {

// Whether two tensors have one type and the same bytes. Proofs ask this: content_hash() does not
// resist a forger (base/hash.h), and files of others may be forged. O(bytes), O(1) for copies.
inline bool same_contents(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return false;
  return a.data().data() == b.data().data() || std::ranges::equal(a.data(), b.data());
}

}  // namespace egret::ir
