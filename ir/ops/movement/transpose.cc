// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "ir/graph/builder.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

bool is_permutation_of(const Integers& perm, int rank) {
  Integers sorted = perm;
  std::ranges::sort(sorted);
  Integers identity(static_cast<std::size_t>(rank));
  std::iota(identity.begin(), identity.end(), 0);
  return sorted == identity;
}

void define(Definition& d) {
  const Integers& perm = d.axes("perm", d.rank(0));
  if (!is_permutation_of(perm, d.rank(0))) {
    d.fail("perm " + to_string(AttrValue(perm)) + " does not permute " + std::to_string(d.rank(0)) +
           " axes");
    return;
  }
  Dims dims;
  for (const std::int64_t axis : perm) dims.push_back(d.dim(0, static_cast<int>(axis)));
  const auto out = d.output(d.dtype(0), dims);
  std::vector<Index> in(out.size());
  for (std::size_t i = 0; i < out.size(); ++i) in[static_cast<std::size_t>(perm[i])] = out[i];
  d.value(d.read(0, in));
}

base::Result<std::vector<Value>> import(OnnxNode& node) {
  Integers reversed(static_cast<std::size_t>(node.type(node.input(0)).rank()));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const Integers perm = node.integers("perm", reversed);
  return std::vector<Value>{node.builder().add("transpose", {node.input(0)}, {{"perm", perm}})};
}

}  // namespace

Operator transpose() {
  return primitive("transpose", "Permutes axes: output axis i is input axis perm[i]", {"x"})
      .attr("perm", AttrKind::kIntegers, "a permutation of the axes")
      .shown_on({"f32[M,N,K]"}, {{"perm", Integers{2, 0, 1}}})
      .defined_by(define)
      .onnx_import("Transpose", import)
      .onnx_export(same_name_export("Transpose"));
}

}  // namespace egret::ir::ops
