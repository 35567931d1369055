// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "ir/core/size_reference.h"
#include "ir/graph/builder.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/quantization.h"

namespace egret::ir::ops {
namespace {

// Broadcasts the leading (batch) axes of both inputs. Inputs of rank 1 are given their missing axis
// at import, so that both ranks are at least 2 here.
void define(Definition& d) {
  if (!d.require_same_dtype() || !d.require_rank_at_least(0, 2) || !d.require_rank_at_least(1, 2))
    return;
  const int rank_a = d.rank(0);
  const int rank_b = d.rank(1);
  const int rank = std::max(rank_a, rank_b);
  const Index inner = d.dim(0, rank_a - 1);
  if (!d.require(inner == d.dim(1, rank_b - 2), "inner sizes " + to_string(inner) + " and " +
                                                    to_string(d.dim(1, rank_b - 2)) + " differ")) {
    return;
  }

  Dims dims(static_cast<std::size_t>(rank), Index(1));
  const auto size_of = [&](int input, int axis) {
    return d.dim(input, axis - (rank - d.rank(input)));
  };
  for (int axis = 0; axis < rank - 2; ++axis) {
    const Index a = size_of(0, axis);
    const Index b = size_of(1, axis);
    dims[static_cast<std::size_t>(axis)] = d.broadcast_size(a, b, [&] {
      return "batch sizes " + to_string(a) + " and " + to_string(b) + " do not broadcast";
    });
    if (!d.ok()) return;
  }
  dims[static_cast<std::size_t>(rank - 2)] = d.dim(0, rank_a - 2);
  dims[static_cast<std::size_t>(rank - 1)] = d.dim(1, rank_b - 1);

  const auto out = d.output(d.dtype(0), dims);
  const auto batch = [&](int input) {
    std::vector<Index> at;
    for (int axis = rank - d.rank(input); axis < rank - 2; ++axis) {
      const auto k = static_cast<std::size_t>(axis);
      at.push_back(Definition::repeats(size_of(input, axis), dims[k]) ? Index(0) : out[k]);
    }
    return at;
  };
  d.value(d.sum(inner, [&](Index k) {
    std::vector<Index> a = batch(0);
    a.insert(a.end(), {out[static_cast<std::size_t>(rank - 2)], k});
    std::vector<Index> b = batch(1);
    b.insert(b.end(), {k, out[static_cast<std::size_t>(rank - 1)]});
    return d.read(0, a) * d.read(1, b);
  }));
}

// Rank 1 stands for a row on the left and a column on the right; the added axis is dropped again.
Value product_of(GraphBuilder& b, Value left, Value right) {
  const bool row = b.type(left).rank() == 1;
  const bool column = b.type(right).rank() == 1;
  if (row) {
    left = b.add("reshape", {left}, {{"shape", Integers{1, target_of_axis(b.type(left), 0)}}});
  }
  if (column) {
    right = b.add("reshape", {right}, {{"shape", Integers{target_of_axis(b.type(right), 0), 1}}});
  }
  const Value product = b.add("matmul", {left, right});
  if (!row && !column) return product;
  const TensorType& type = b.type(product);
  Integers kept;
  for (int axis = 0; axis < type.rank(); ++axis) {
    const bool added = (column && axis == type.rank() - 1) || (row && axis == type.rank() - 2);
    if (!added) kept.push_back(target_of_axis(type, axis));
  }
  return b.add("reshape", {product}, {{"shape", kept}});
}

base::Result<std::vector<Value>> import(OnnxNode& node) {
  return only_output(product_of(node.builder(), node.input(0), node.input(1)));
}

// A matrix whose axes are [.., rows, columns] after ONNX Runtime's FusedMatMul has moved them: the
// first axis becomes that of the rows, then rows and columns change places. A vector stays.
Value ordered(OnnxNode& node, int input, bool first_is_rows, bool transposed) {
  GraphBuilder& b = node.builder();
  const Value x = node.input(input);
  const int rank = b.type(x).rank();
  if (rank < 2 || (!first_is_rows && !transposed)) return x;
  Integers perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  if (first_is_rows) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (transposed) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return b.add("transpose", {x}, {{"perm", perm}});
}

// ONNX Runtime's FusedMatMul: alpha * A' * B'.
base::Result<std::vector<Value>> import_fused(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const bool batch_a = node.integer("transBatchA", 0) != 0;
  const bool batch_b = node.integer("transBatchB", 0) != 0;
  const int rank_a = node.type(node.input(0)).rank();
  const int rank_b = node.type(node.input(1)).rank();
  if ((batch_a || batch_b) && (rank_a < 3 || rank_a != rank_b))
    return base::bad_input("transBatchA and transBatchB need operands of one rank, at least 3");
  const Value left = ordered(node, 0, batch_a, node.integer("transA", 0) != 0);
  const Value right = ordered(node, 1, batch_b, node.integer("transB", 0) != 0);
  const Value product = product_of(b, left, right);
  const double alpha = node.real("alpha", 1);
  if (alpha == 1) return only_output(product);
  return only_output(b.add("mul", {product, b.scalar(b.type(product).dtype, alpha)}));
}

// Zero points of A may be per row, those of B per column.
Value integer_product(OnnxNode& node, int a, int a_zero, int b, int b_zero) {
  const auto centered = [&](int i, int zero, int axis_from_end) {
    const int rank = node.type(node.input(i)).rank();
    return centered_integers(node.builder(), node.input(i),
                             node.has_input(zero) ? node.input(zero) : Value{},
                             rank - axis_from_end);
  };
  return product_of(node.builder(), centered(a, a_zero, 2), centered(b, b_zero, 1));
}

base::Result<std::vector<Value>> import_integer(OnnxNode& node) {
  return only_output(integer_product(node, 0, 2, 1, 3));
}

// Inputs: a, its scale and zero point, the same of b, those of the result.
base::Result<std::vector<Value>> import_quantized(OnnxNode& node) {
  for (int i = 0; i < 8; ++i) {
    if (!node.has_input(i)) return base::bad_input("input " + std::to_string(i) + " is missing");
  }
  GraphBuilder& b = node.builder();
  const Value product = integer_product(node, 0, 2, 3, 5);
  const int rank = b.type(product).rank();
  const Value a_scale = along_axis(b, node.input(1), rank - 2, rank);
  const Value factor = b.add("div", {b.add("mul", {a_scale, node.input(4)}), node.input(6)});
  const Value real = b.add("mul", {converted(b, product, b.type(factor).dtype), factor});
  return only_output(rounded_to(b, real, node.input(7), b.type(node.input(7)).dtype));
}

}  // namespace

Operator matmul() {
  return primitive("matmul", "Batched matrix product; leading axes broadcast", {"a", "b"})
      .shown_on({"f32[M,K]", "f32[K,N]"})
      .defined_by(define)
      .onnx_import("MatMul", import)
      .onnx_import("FusedMatMul", import_fused, "com.microsoft")
      .onnx_import("TransposeMatMul", import_fused, "com.microsoft")  // its former name
      .onnx_import("MatMulInteger", import_integer)
      .onnx_import("QLinearMatMul", import_quantized)
      .onnx_export(same_name_export("MatMul"));
}

}  // namespace egret::ir::ops
