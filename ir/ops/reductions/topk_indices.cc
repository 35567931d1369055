// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/builder.h"
#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/topk_binding.h"

namespace egret::ir::ops {
namespace {

// The element at place p of the order is the one that p others precede; an element precedes those
// that it exceeds and its equals of higher index.
void define(Definition& d) {
  const std::int64_t axis = d.axis("axis", d.rank(0));
  if (!d.require_axis(axis, d.rank(0))) return;
  const auto along = static_cast<std::size_t>(axis);
  const bool largest = d.flag("largest");
  const Index extent = d.dim(0, static_cast<int>(axis));
  const Index k = d.size("k");
  if (!d.require(0 <= k && k <= extent, "k must be between 0 and the size of the axis")) return;
  Dims dims = d.dims(0);
  dims[along] = k;
  const auto out = d.output(DType::kI64, dims);
  const auto element = [&](Index position) {
    std::vector<Index> at(out.begin(), out.end());
    at[along] = position;
    return d.read(0, at);
  };
  const auto precedes = [&](Index i, Index j) {
    const Scalar a = element(i);
    const Scalar b = element(j);
    return (largest ? less(b, a) : less(a, b)) || (equal(a, b) && i < j);
  };
  const auto place = [&](Index j) {
    return d.sum(
        extent, [](Index) { return Scalar(1); }, [&](Index i) { return precedes(i, j); });
  };
  d.value(d.sum(
      extent, [](Index j) { return scalar_of(j); },
      [&](Index j) { return equal(place(j), scalar_of(out[along])); }));
}

// k is an attribute up to opset 9, an input afterwards.
base::Result<std::vector<Value>> import(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const Value x = node.input(0);
  std::int64_t k = node.integer("k", 0);
  if (node.opset() >= 10) {
    EGRET_ASSIGN_OR_RETURN(const Integers given, required_size_integers(node, 1, "k"));
    if (given.size() != 1) return base::bad_input("k must be one number");
    k = given.front();
  }
  node.integer("sorted", 1);  // 0 leaves the order open, so that sorted will do
  const Attrs attrs{{"axis", node.axis(node.integer("axis", -1), node.type(x).rank())},
                    {"k", k},
                    {"largest", node.integer("largest", 1)}};
  return std::vector<Value>{b.add("topk_values", {x}, attrs), b.add("topk_indices", {x}, attrs)};
}

}  // namespace

Operator topk_indices() {
  return primitive("topk_indices",
                   "Positions of the k largest elements along an axis, largest first, as i64; of "
                   "equals the first comes first",
                   {"x"})
      .attr("axis", AttrKind::kInteger, "the axis")
      .attr("k", AttrKind::kInteger, "how many")
      .attr("largest", std::int64_t{1}, "0: the smallest, smallest first")
      .shown_on({"f32[M,8]"}, {{"axis", std::int64_t{1}}, {"k", std::int64_t{2}}})
      .defined_by(define)
      .onnx_import("TopK", import)
      .onnx_export(topk_export(1), 10);
}

}  // namespace egret::ir::ops
