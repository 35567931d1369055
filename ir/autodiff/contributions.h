// SPDX-License-Identifier: Apache-2.0
// The derivative of a definition, as sums of products over its loop nest.
//
// Let out[o] be the value of a nest, whose reads of inputs are r_1, r_2, ... With respect to input
// a
//
//     grad_a[i] = sum over reads r of a, over o and the variables k of the reductions around r,
//                 where r reads a[i] and the guards hold.  grad_out[o] * factor_1 * factor_2 * ...
//
// A reverse sweep over the nest's nodes collects the factors on the path from the root to each
// read: the other factor of a product, the derivative of a function, the guard of a select. The
// derivative of a sum of products is therefore again a set of sums of products, over the same
// tensors.
//
// At a tie max and min follow their second argument, so that relu has slope 0 at 0 and |x| slope
// -1; a reduction to the largest or smallest element shares its gradient equally among equals.
#pragma once

#include <vector>

#include "ir/nest/loop_nest.h"

namespace egret::ir::autodiff {

struct Contribution {
  int read = -1;  // the node
  double coefficient = 1;
  std::vector<int> factors;   // nodes
  std::vector<int> divisors;  // nodes
  std::vector<int> guards;    // all of which hold
  std::vector<int> scope;     // variables (symbols) of the reductions around the read
};

// The contributions to all wanted inputs, one or more for each read of them. Adds nodes to the
// nest.
std::vector<Contribution> contributions(LoopNest& nest, const std::vector<bool>& wanted);

}  // namespace egret::ir::autodiff
