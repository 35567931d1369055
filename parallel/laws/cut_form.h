// SPDX-License-Identifier: Apache-2.0
// What becomes of an operator's element when one of its index variables is cut into equal blocks.
//
// Let variable v of extent E be cut among p devices, e = E / p each: device r has v = r*e + u with
// 0 <= u < e. An index expression f *moves by m* when f(v + r*e) = f(v) + r*m for all r. Then
//
//   - a read of x at indices of which that of dimension d moves by (size of d) / p, and the others
//     do not move, stays within the block r of dimension d: x is cut there;
//   - if it leaves the block by so many rows, x is cut with a halo
//     (parallel/placement/placement.h). What lies beyond the ends of x is read there too. A
//     condition that only excludes such reads is left out where rows of 0, or of minus infinity, do
//     what the condition did: a term of a sum that is 0 then, one of a maximum that is minus
//     infinity, the other value of a choice;
//   - a read whose indices do not move needs all of x: a copy;
//   - comparisons and values of indices must not move, unless they are the same wherever v is.
//
// If all reads of each input agree, every device computes its part from its own blocks, by the same
// expression with u for v. Whether an operator on the local types *is* that expression is asked of
// the operator itself: its definition on those types is brought to the same normal form.
//
// Sizes are numbers. Sound, not complete: what is not recognized admits no cut.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph/definition.h"
#include "parallel/laws/form_table.h"
#include "parallel/placement/placement.h"

namespace egret::parallel {

// A variable to cut: one of the output, or that of a reduction.
struct Cut {
  const ir::ExprNode* variable = nullptr;   // kVar
  const ir::ExprNode* reduction = nullptr;  // the reduction that binds it; null: an output's
  std::int64_t extent = 0;
  std::int64_t parts = 1;
};

struct CutForm {
  std::vector<AxisPlacement> inputs;  // copy or split
  int form = 0;                       // of the element, on any device
};

// The element after the cut; nullopt where the operator admits none. `types` are the inputs'. The
// second function is for reads that leave their blocks: some input has a halo, at whose first row
// the indices of the form begin.
std::optional<CutForm> cut_form(const ir::Denotation& denotation,
                                std::span<const ir::TensorType> types, const Cut& cut,
                                FormTable& table);
std::optional<CutForm> cut_form_with_halo(const ir::Denotation& denotation,
                                          std::span<const ir::TensorType> types, const Cut& cut,
                                          FormTable& table);
// The element as it is; nullopt where it cannot be written.
std::optional<int> element_form(const ir::Denotation& denotation,
                                std::span<const ir::TensorType> types, FormTable& table);

// The reductions of the element, in the order of their definition.
std::vector<const ir::ExprNode*> reductions_of(const ir::Denotation& denotation);

}  // namespace egret::parallel
