// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "ir/graph/operator.h"
#include "parallel/laws/law_cache.h"
#include "parallel/placement/placement.h"

namespace egret::parallel {

struct WholeOperator {
  ir::Attrs attrs;  // of the operator on the wholes
  ir::TensorType type;
  Placement placement;  // of its result
};

// The operators on wholes whose parts are this operator on parts, by laws along each axis of the
// mesh in turn. Their attributes differ from the part's by the axes' sizes, in one number for each
// axis. Several may fit: a reshape of (1, 4) to (1, 2) is a part of one to (1, 4) and to (2, 2).
// Along an axis on which all operands are copies the results are copies, too, unless they are
// wanted as blocks: a rank broadcasts a copy to the size of its block. `output`: null, or the
// placement that the result must have.
std::vector<WholeOperator> whole_operators(const ir::Operator& op, const ir::Attrs& part_attrs,
                                           std::span<const ir::TensorType> wholes,
                                           std::span<const Placement> placements,
                                           const ir::TensorType& part, const Mesh& mesh,
                                           LawCache& laws, const Placement* output = nullptr);

}  // namespace egret::parallel
