// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/einsum_equation.h"

#include <gtest/gtest.h>

#include "ir/graph/operator.h"

namespace egret::ir {
namespace {

std::string einsum(const char* equation, std::vector<TensorType> types) {
  const auto d = denote(get_operator("einsum"), {{"equation", std::string(equation)}}, types);
  if (!d.ok()) return d.status().message();
  const std::string names[] = {"a", "b"};
  return to_string(d->type) + " " + to_string(*d, names);
}

const TensorType kMatrix(DType::kF32, Dims{symbolic_dim("M"), symbolic_dim("K")});
const TensorType kOther(DType::kF32, Dims{symbolic_dim("N"), symbolic_dim("K")});

TEST(Einsum, ContractsWhatTheOutputLacks) {
  EXPECT_EQ(einsum("mk,nk->mn", {kMatrix, kOther}),
            "f32[M,N] out[i0, i1] = sum i2 < K. a[i0, i2]*b[i1, i2]");
  EXPECT_EQ(einsum("mk->km", {kMatrix}), "f32[K,M] out[i0, i1] = a[i1, i0]");
}

TEST(Einsum, ImplicitOutputIsAlphabetical) {
  EXPECT_EQ(einsum("ba", {kMatrix}), "f32[K,M] out[i0, i1] = a[i1, i0]");
  EXPECT_EQ(einsum("mk, nk", {kMatrix, kOther}),
            "f32[M,N] out[i0, i1] = sum i2 < K. a[i0, i2]*b[i1, i2]");
}

TEST(Einsum, EllipsesAlignAtTheirRightEnd) {
  const TensorType wide(DType::kF32, Dims{7, 1, 2, 3});
  const TensorType narrow(DType::kF32, Dims{5, 3, 4});
  EXPECT_EQ(einsum("...ij,...jk->...ik", {wide, narrow}),
            "f32[7,5,2,4] out[i0, i1, i2, i3] = sum i4 < 3. a[i0, 0, i2, i4]*b[i1, i4, i3]");
}

TEST(Einsum, ReadsDiagonals) {
  EXPECT_EQ(einsum("ii->i", {TensorType(DType::kF32, {3, 3})}), "f32[3] out[i0] = a[i0, i0]");
}

TEST(Einsum, RefusesMalformedEquations) {
  EXPECT_EQ(einsum("mk,nk->mn", {kMatrix}),
            "einsum: equation 'mk,nk->mn' has 2 operands, but the operator has 1");
  EXPECT_EQ(einsum("mkn->mn", {kMatrix}), "einsum: term 'mkn' does not fit an operand of rank 2");
  EXPECT_EQ(einsum("m1->m", {kMatrix}), "einsum: '1' is not valid in an einsum equation");
  EXPECT_EQ(einsum("mk->mz", {kMatrix}),
            "einsum: the output of 'mk->mz' repeats an axis or has a new one");
  EXPECT_EQ(einsum("ij,ij->i", {TensorType(DType::kF32, {2, 3}), TensorType(DType::kF32, {2, 4})}),
            "einsum: one axis has sizes 3 and 4");
}

}  // namespace
}  // namespace egret::ir
