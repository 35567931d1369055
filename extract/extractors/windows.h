// SPDX-License-Identifier: Apache-2.0
// Improves an answer window by window (large neighbourhood search; Shaw, CP 1998). The choices of
// some classes that lie together are free, all others stay, and the best choice of the free ones is
// found exactly, under the side rows. Windows grow until none improves the answer.
//
// For problems in which an exact search of the whole ends far from its bound, but in which choices
// that lie far apart hardly concern each other, such as placements of a deep network's layers.
#pragma once

#include "extract/core/extractor.h"
#include "extract/extractors/side_rows.h"

namespace egret::extract {

// An answer that keeps to the rows and costs no more than `known`, which keeps to them; its bound
// is that of `known`. Where a window was the whole problem and was solved, the answer is optimal.
Solution improve_in_windows(const Problem& problem, std::span<const SideRow> rows,
                            const Options& options, Solution known);

}  // namespace egret::extract
