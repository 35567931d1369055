// SPDX-License-Identifier: Apache-2.0
// The element of an operator after one of its index variables is cut into equal blocks.
//
// Let variable v of extent E be cut among p devices, e = E / p each: device r has v = r*e + u with
// 0 <= u < e. An index expression f *moves by m* when f(v + r*e) = f(v) + r*m for all r. Then
//
//   - a read of x whose index of dimension d moves by (size of d) / p, and whose other indices do
//     not move, stays within block r of dimension d: x is cut there;
//   - if it leaves the block by some rows, x is cut with a halo (parallel/placement/placement.h).
//     Such reads may go beyond the ends of x. A condition that only excludes them is dropped where
//     rows of 0, or of minus infinity, have the same effect: in a sum whose term is then 0, in a
//     maximum whose term is then minus infinity, or in a choice whose other value it is;
//   - a read whose indices do not move needs all of x: a copy;
//   - comparisons and values of indices must not move, unless they are constant over v.
//
// If all reads of each input agree, every device computes its part from its own blocks, by the same
// expression with u for v. It remains to check that the operator on the local types is that
// expression: its definition on those types is brought to the same normal form.
//
// Sizes are numbers. Sound, not complete: an unrecognized expression admits no cut.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph/definition.h"
#include "parallel/laws/form_table.h"
#include "parallel/placement/placement.h"

namespace egret::parallel {

// A variable to cut: an output variable or the variable of a reduction.
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

// The element after the cut; nullopt where the operator admits none. `types` are the inputs'.
// cut_form_with_halo() also handles reads that leave their blocks: some input has a halo, and the
// form's indices start at the halo's first row.
std::optional<CutForm> cut_form(const ir::Denotation& denotation,
                                std::span<const ir::TensorType> types, const Cut& cut,
                                FormTable& table);
std::optional<CutForm> cut_form_with_halo(const ir::Denotation& denotation,
                                          std::span<const ir::TensorType> types, const Cut& cut,
                                          FormTable& table);
// The element without a cut; nullopt where it has no normal form.
std::optional<int> element_form(const ir::Denotation& denotation,
                                std::span<const ir::TensorType> types, FormTable& table);

// The reductions of the element, in the order of their definition.
std::vector<const ir::ExprNode*> reductions_of(const ir::Denotation& denotation);

}  // namespace egret::parallel
