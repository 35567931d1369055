// SPDX-License-Identifier: Apache-2.0
#include "ir/core/index_arithmetic.h"
#include "ir/core/symbolic_scope.h"
#include "ir/graph/onnx_arguments.h"
#include "ir/ops/families/scatter_definition.h"

namespace egret::ir::ops {
namespace {

// updates[p.., r..] goes to x[indices[p.., 0], indices[p.., 1], .., r..].
void define(Definition& d) {
  const std::string& reduction = d.text("reduction");
  if (!d.require_rank_at_least(1, 1) || !require_scatter_reduction(d, reduction) ||
      !d.require_dtype(1, is_integer(d.dtype(1)), "of integers") ||
      !d.require_dtype(2, d.dtype(2) == d.dtype(0), "of the type of x")) {
    return;
  }
  const int last = d.rank(1) - 1;
  const Index parts = concrete_index(d.dim(1, last));
  if (!d.require(parts.is_constant(), "the last axis of indices must have a known size") ||
      !d.require(parts.constant() <= d.rank(0), "indices have more parts than x has axes")) {
    return;
  }
  const int depth = static_cast<int>(parts.constant());
  if (!d.require_rank(2, last + d.rank(0) - depth)) return;
  std::vector<Index> extents;
  for (int k = 0; k < last; ++k) {
    extents.push_back(d.dim(1, k));
    d.require(d.dim(1, k) == d.dim(2, k),
              "indices and updates differ in axis " + std::to_string(k));
    if (!d.require(d.dim(1, k) >= 1, "there are no updates")) return;
  }
  for (int k = depth; k < d.rank(0); ++k) {
    if (!d.require(d.dim(0, k) == d.dim(2, last + k - depth),
                   "x and updates differ in axis " + std::to_string(k) + " of x")) {
      return;
    }
  }
  const auto out = d.output(d.dtype(0), d.dims(0));
  d.value(scattered(d, reduction,
                    {.x = d.read(0, out),
                     .extents = extents,
                     .hits =
                         [&](std::span<const Index> p) {
                           std::vector<Index> at(p.begin(), p.end());
                           at.emplace_back(0);
                           Guard hit = true;
                           for (int k = 0; k < depth; ++k) {
                             at.back() = k;
                             hit = hit && wrapped_index(d.read(1, at), d.dim(0, k)) ==
                                              out[static_cast<std::size_t>(k)];
                           }
                           return hit;
                         },
                     .update =
                         [&](std::span<const Index> p) {
                           std::vector<Index> at(p.begin(), p.end());
                           at.insert(at.end(), out.begin() + depth, out.end());
                           return d.read(2, at);
                         }}));
}

OnnxOutputs import(OnnxNode& node) {
  const Value x = node.input(0);
  for (const Index& size : node.type(node.input(1)).dims) {
    if (size.is_constant() && size.constant() == 0) return only_output(x);  // nothing to write
  }
  return only_output(node.builder().add("scatter_nd", {x, node.input(1), node.input(2)},
                                        {{"reduction", node.text("reduction", "none")}}));
}

}  // namespace

Operator scatter_nd() {
  return primitive("scatter_nd",
                   "x with slices of updates written at index tuples, which the last axis of "
                   "indices holds; an index counts modulo the size of its axis",
                   {"x", "indices", "updates"})
      .attr("reduction", std::string("none"),
            "what an update does: none replaces (the last one stays), add, mul, max, min combine")
      .one_of({"none", "add", "mul", "max", "min"})
      .shown_on({"f32[M,N]", "i64[3,1]", "f32[3,N]"})
      .defined_by(define)
      .onnx_import("ScatterND", import)
      .onnx_export([](OnnxWriter& writer) { return write_scatter(writer, "ScatterND", {}); }, 11);
}

}  // namespace egret::ir::ops
