// SPDX-License-Identifier: Apache-2.0
// Sums of products of tensors as graphs:
//
//     target[T(v)] += coefficient * product of factor[F(v)]      for all v where the guards hold
//
// where v ranges over loop variables and T, F are affine indices of each axis. The indices alone
// determine the emitted operators:
//
//   - an axis that a box of variables covers is a slice and a reshape; its adjoint is a padding;
//   - a guard that bounds one variable narrows its range; one that equates a variable with an
//     expression removes the variable; "d divides t" makes t div d a variable of its own;
//   - an axis indexed by a*u + b*v + c, as in a convolution, is the window axis of a trilinear form
//     sum x[a*u + b*v + c] * y[u] * w[v]. The gradient of y or w is a convolution of x with the
//     other one (stride and dilation swap), that of x a transposed convolution of the two. A
//     product that depends on u and v together (max pooling) is added to x tap by tap;
//   - two remaining factors become a matrix product, one factor a sum over axes;
//   - any other index (from data, or of another form) is computed as an integer tensor and used in
//     a gather, or in a scatter with addition: correct for every index, and slower.
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

// Adds a node as a factor. Products are split into their factors, and reads become tensors with
// indices.
void add_factor(Emitter& emitter, SumOfProducts& sum, int node, bool divides = false);

}  // namespace egret::ir::autodiff
