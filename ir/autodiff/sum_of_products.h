// SPDX-License-Identifier: Apache-2.0
// Sums of products of tensors as graphs:
//
//     target[T(v)] += coefficient * product of factor[F(v)]      for all v where the guards hold
//
// where v ranges over loop variables and T, F are affine indices of each axis. What becomes of it
// follows from the indices alone:
//
//   - an axis that a box of variables covers is a slice and a reshape, and its adjoint a padding;
//   - guards that bound one variable narrow its range; one that equates a variable with an
//     expression removes the variable; "d divides t" makes t div d a variable of its own;
//   - an axis indexed by a*u + b*v + c, as of a convolution, is the window axis of a trilinear form
//     sum x[a*u + b*v + c] * y[u] * w[v]: for y or w wanted it is a convolution of x with the other
//     (stride and dilation change places), for x a transposed convolution of the two; what depends
//     on u and v together (max pooling) is added to x tap by tap;
//   - what is left of two factors is a matrix product, of one a sum over axes;
//   - any other index (from data, or of no such form) is computed as an integer tensor and gathered
//     at, or scattered to with addition: right whatever the index, and slower.
#pragma once

#include <vector>

#include "ir/autodiff/expression_emission.h"

namespace egret::ir::autodiff {

struct Factor {
  Value tensor;
  std::vector<Affine> axes;
};

struct SumOfProducts {
  std::vector<Factor> factors;
  std::vector<Factor> divisors;
  double coefficient = 1;
  std::vector<int> guards;
  std::vector<int> variables;  // summed over, with those of the target
  std::vector<Affine> target;
  Shape target_shape;
};

// The target, of the emitter's real type.
Value emit(Emitter& emitter, SumOfProducts sum);

// Takes a node as a factor: products apart, with what each reads and where.
void add_factor(Emitter& emitter, SumOfProducts& sum, int node, bool divides = false);

}  // namespace egret::ir::autodiff
