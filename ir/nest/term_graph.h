// SPDX-License-Identifier: Apache-2.0
// TermGraph: the expression of one denotation as an array of typed terms, ready for evaluation.
//
// Expressions have no element types: a constant is 0 whether an i8 or an f64 meets it. Typing gives
// each scalar term a type: that of the tensor it reads, of a cast, or the join of its operands;
// constants and index values take the type of what they meet, at last that of the output. Reals
// (f32, f64, f16, bf16) are one type, kF64. Joining a real and an integer gives a real, two integer
// types the wider. Where an operand has another type than its operator, a cast is inserted.
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
  std::vector<Term> terms;  // operands before operators; a select or reduction guards its kids
  TermId root = -1;         // of the type that evaluation yields: kF64 or the output's
  std::vector<int> vars;    // numbers of the output's index variables
  int var_count = 0;        // all variable numbers are below

  const Term& operator[](TermId id) const { return terms[static_cast<std::size_t>(id)]; }
};

// The type in which an element of `type` is evaluated: kF64 for reals, else itself.
inline DType carrier(DType type) { return is_float(type) ? DType::kF64 : type; }

// `inputs` are the types of the tensors that will be read.
// Errors: unsupported when a size is still a symbol or expressions nest deeper than 3000 levels.
base::Result<TermGraph> term_graph(const Denotation& denotation, std::span<const DType> inputs);

}  // namespace egret::ir
