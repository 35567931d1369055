// SPDX-License-Identifier: Apache-2.0
// LoopNest: a denotation lowered for a box of its output, with all sizes known.
//
// Index expressions become affine forms over loop variables. div and mod are decomposed:
//   - mod(a, d) is a - d*div(a, d). div(a, d) drops the multiples of d in `a`, and vanishes when
//     the remainder lies in [0, d). The flattening and unflattening of a reshape thus cancel, since
//     sums of affine forms collect equal symbols.
//   - Where a variable v of extent n occurs as div(v, d) and d divides n, v is split into digits
//     v = high*d + low (the channel groups of a convolution, depth_to_space, tile).
// The remaining expressions (div of sums, min, max, products, tensor elements used as indices)
// become symbols of their own. Guards that the ranges of their variables decide disappear, with
// everything that they exclude. Nested reductions of one kind become one reduction over a box.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "ir/core/denotation.h"
#include "ir/core/real_arithmetic.h"
#include "ir/core/tensor_type.h"
#include "ir/graph/operator.h"
#include "ir/nest/affine.h"
#include "ir/nest/term_graph.h"

namespace egret::ir {

using VariableSet = std::uint64_t;  // of loop variables, by ordinal
inline constexpr int kMaxVariables = 60;

// A loop variable, or an index expression that is not affine.
struct IndexSymbol {
  enum class Kind : std::uint8_t { kVariable, kDiv, kMod, kMul, kMin, kMax, kElement };

  Kind kind = Kind::kVariable;
  Affine a{}, b{};          // operands; kDiv and kMod: b is positive or fails at run time
  int element = -1;         // kElement: the node whose value is the index
  int ordinal = -1;         // kVariable
  std::int64_t extent = 0;  // kVariable: 0 <= v < extent
  Range range{};
  VariableSet depends = 0;
  bool from_data = false;  // depends on an element of a tensor
};

struct NestGuard {
  // kLe: form <= 0. kEq: form == 0. Comparisons of nodes a, b. kAnd, kOr, kNot: of guards a, b.
  enum class Kind : std::uint8_t {
    kTrue,
    kFalse,
    kLe,
    kEq,
    kScalarLt,
    kScalarLe,
    kScalarEq,
    kAnd,
    kOr,
    kNot
  };

  Kind kind = Kind::kTrue;
  Affine form{};
  int a = -1, b = -1;
  VariableSet depends = 0;
};

struct NestNode {
  // Scalar operations of ExprOp. kRead: of `input` at `form`; kScalarOf: of `form`.
  ExprOp op = ExprOp::kConst;
  Reduction reduction = Reduction::kSum;
  Function function = Function::kExp;
  DType type = DType::kF64;
  DType cast = DType::kF64;
  double real = 0;           // kConst of a real
  std::int64_t integer = 0;  // kConst of an integer
  int input = -1;
  Affine form{};
  std::vector<Affine> axes{};  // reads: the index of each axis; invalid after merge_variables()
  // Reads: axes whose index comes from data, to be checked one by one.
  struct CheckedAxis {
    Affine index;
    int axis;
    std::int64_t size;
  };
  std::vector<CheckedAxis> checked{};
  base::SmallVector<int, 2> kids{};
  int guard = -1;                // kSelect, kReduce
  std::vector<int> variables{};  // kReduce: symbols, outermost first
  VariableSet depends = 0;

  bool is_real() const { return type == DType::kF64; }
};

struct LoopNest {
  std::vector<IndexSymbol> symbols;
  std::vector<int> variables;  // symbols of all loop variables, by ordinal
  std::vector<NestNode> nodes;
  std::vector<NestGuard> guards;
  std::vector<int> output_variables;  // symbols, outermost first
  Affine output;                      // offset of the element in the output tensor
  int root = -1;
  // Values of output variables (of the whole output) at which a guard, min or max changes. Cutting
  // the output there gives boxes with fewer guards. Per output axis, ascending.
  std::vector<std::vector<std::int64_t>> cuts;

  const IndexSymbol& symbol(int id) const { return symbols[static_cast<std::size_t>(id)]; }
  const NestNode& node(int id) const { return nodes[static_cast<std::size_t>(id)]; }
  const NestGuard& guard(int id) const { return guards[static_cast<std::size_t>(id)]; }
  std::int64_t extent(int symbol_id) const { return symbol(symbol_id).extent; }
};

// An interval of each output axis.
struct OutputBox {
  Shape low, high;  // low <= i < high
};

// Errors: unsupported when there are more than kMaxVariables loops.
base::Result<LoopNest> loop_nest(const TermGraph& graph, std::span<const Shape> inputs,
                                 const Shape& output, const OutputBox& box, Precision precision);

}  // namespace egret::ir
