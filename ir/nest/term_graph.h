// SPDX-License-Identifier: Apache-2.0
// TermGraph: the expression of one denotation as an array of typed terms, ready for evaluation.
//
// Expressions have no element types: the constant 0 fits an i8 and an f64. Typing gives each scalar
// term a type: that of the tensor it reads, that of a cast, or the join of its operands' types.
// Constants and index values take the type of the other operand, or that of the output at the root.
// Reals (f32, f64, f16, bf16) are one type, kF64. The join of a real and an integer is a real; the
// join of two integer types is the wider one. A cast is inserted where an operand has another type
// than its operator.
#pragma once

#include <span>
#include <vector>

#include "base/small_vector.h"
#include "base/status.h"
#include "ir/core/tensor_type.h"
#include "ir/graph/definition.h"

namespace egret::ir {

using TermId = int;

struct Term {
  ExprOp op;
  Reduction reduction = Reduction::kSum;
  Function function = Function::kExp;
  DType type = DType::kF64;  // scalars: kF64 for reals, else the integer type or bool
  DType cast = DType::kF64;  // kCast: the type it names
  std::int64_t integer = 0;  // as in ExprNode
  double real = 0;
  base::SmallVector<TermId, 3> kids{};

  bool is_real() const { return type == DType::kF64; }
};

struct TermGraph {
  // operands before operators; select and reduce evaluate guarded kids only
  std::vector<Term> terms;
  TermId root = -1;       // has type kF64 or the output's type
  std::vector<int> vars;  // numbers of the output's index variables
  int var_count = 0;      // all variable numbers are below

  const Term& operator[](TermId id) const { return terms[static_cast<std::size_t>(id)]; }
};

// The type in which an element of `type` is evaluated: kF64 for reals, else itself.
inline DType carrier(DType type) { return is_float(type) ? DType::kF64 : type; }

// `inputs` are the types of the tensors that will be read.
// Errors: unsupported when a size is still a symbol or expressions nest deeper than 3000 levels.
base::Result<TermGraph> term_graph(const Denotation& denotation, std::span<const DType> inputs);

}  // namespace egret::ir
