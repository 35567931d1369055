// SPDX-License-Identifier: Apache-2.0
// The equation of an einsum: "bij,bjk->bik", "...ij->...ji", "i,i".
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace egret::ir {

// Labels stand for axes: 0..51 are letters (A-Z, then a-z), labels from 52 on are the axes of the
// ellipsis, aligned at its right end.
struct EinsumEquation {
  std::vector<std::vector<int>> operands;  // the label of each axis
  std::vector<int> output;
  std::vector<int> contracted;  // labels that the output lacks, in order of appearance
};

// `ranks` are those of the operands. Without "->" the output has the ellipsis, then the labels that
// occur once, in alphabetical order. Errors: bad_input.
base::Result<EinsumEquation> parse_einsum(std::string_view equation, std::span<const int> ranks);

}  // namespace egret::ir
