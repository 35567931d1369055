// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/placement/mesh.h"

namespace egret::parallel {

// The numbers of blocks into which a mesh's axes may cut a dimension: all products of their sizes,
// ascending, without 1.
std::vector<std::int64_t> block_counts(const Mesh& mesh);

}  // namespace egret::parallel
