// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/einsum_equation.h"

namespace egret::ir::ops {
namespace {

// The output's element is the sum over the contracted labels of the product of the operands.
void define(Definition& d) {
  if (!d.require_same_dtype()) return;
  std::vector<int> ranks;
  for (int i = 0; i < d.input_count(); ++i) ranks.push_back(d.rank(i));
  const auto equation = parse_einsum(d.text("equation"), ranks);
  if (!equation.ok()) {
    d.fail(equation.status().message());
    return;
  }
  std::map<int, Index> sizes;
  for (int i = 0; i < d.input_count(); ++i) {
    const auto& labels = equation->operands[static_cast<std::size_t>(i)];
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
      const Index size = d.dim(i, static_cast<int>(axis));
      const auto entry = sizes.emplace(labels[axis], size);
      if (entry.second) continue;
      Index& known = entry.first->second;
      known = d.broadcast_size(known, size, [&] {
        return "one axis has sizes " + to_string(known) + " and " + to_string(size);
      });
      if (!d.ok()) return;
    }
  }

  Dims dims;
  for (const int label : equation->output) dims.push_back(sizes.at(label));
  const auto out = d.output(d.dtype(0), dims);
  if (!d.ok()) return;
  std::map<int, Index> at;
  for (std::size_t i = 0; i < out.size(); ++i) at[equation->output[i]] = out[i];
  std::vector<Index> extents;
  for (const int label : equation->contracted) extents.push_back(sizes.at(label));
  d.value(d.reduce_box(Reduction::kSum, extents, [&](std::span<const Index> r) {
    for (std::size_t i = 0; i < r.size(); ++i) at[equation->contracted[i]] = r[i];
    Scalar product = 1;
    for (int i = 0; i < d.input_count(); ++i) {
      std::vector<Index> indices;
      for (const int label : equation->operands[static_cast<std::size_t>(i)]) {
        const Index size = d.dim(i, static_cast<int>(indices.size()));
        const bool repeated = Definition::repeats(size, sizes.at(label));
        indices.push_back(repeated ? Index(0) : at.at(label));
      }
      product = product * d.read(i, indices);
    }
    return product;
  }));
}

}  // namespace

Operator einsum() {
  return primitive("einsum",
                   "Sum over the axes that the equation's output lacks of the product of the "
                   "operands",
                   {"x"})
      .variadic(1)
      .attr("equation", AttrKind::kText, "such as \"bij,bjk->bik\"; ... stands for leading axes")
      .shown_on({"f32[B,M,K]", "f32[B,N,K]"}, {{"equation", std::string("bmk,bnk->bmn")}})
      .defined_by(define)
      .onnx("Einsum", 12);
}

}  // namespace egret::ir::ops
