// SPDX-License-Identifier: Apache-2.0
// The laws that lead from an operator on wholes to the one on a rank's parts: along several axes of
// a mesh they apply one after the other, each to the parts, and with the attributes, that the
// previous axis leaves.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "parallel/laws/law_cache.h"
#include "parallel/placement/placement.h"

namespace egret::parallel {

// A law, of this application, along one axis.
struct LawStep {
  const ir::Operator* op = nullptr;
  ir::Attrs attrs;
  std::vector<ir::TensorType> types;
  int axis = 0;  // of the mesh
  std::int64_t devices = 1;
  Law law;
};

// The statement, without the axis:
// "reshape{shape=[4, 8]}(f32[32]) on 2: S(0) -> S(0), {shape=[2, 8]}".
std::string statement_of(const LawStep& step);

// For people: "reshape S(0) -> S(0)".
std::string name_of(const LawStep& step);

// The steps along the axes of more than one device, the mesh's first axis first. `types` are the
// wholes'. Where several axes cut one dimension, the mesh's first axis cuts first. Errors:
// unsupported, with the axis that has no such law; limit on a stop.
base::Result<std::vector<LawStep>> law_steps(const ir::Operator& op, const ir::Attrs& attrs,
                                             std::span<const ir::TensorType> types,
                                             std::span<const Placement> inputs,
                                             const Placement& output, const Mesh& mesh,
                                             LawCache& laws);

// part_attrs() of parallel/laws/laws.h, with a cache of laws.
base::Result<ir::Attrs> part_attrs(const ir::Operator& op, const ir::Attrs& attrs,
                                   std::span<const ir::TensorType> types,
                                   std::span<const Placement> inputs, const Placement& output,
                                   const Mesh& mesh, LawCache& laws);

}  // namespace egret::parallel
