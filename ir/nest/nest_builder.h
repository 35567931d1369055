// SPDX-License-Identifier: Apache-2.0
// The lowering behind loop_nest(): one pass from terms to a LoopNest, with a fixed split of the
// variables into digits.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/nest/loop_nest.h"

namespace egret::ir {

// v = sum of weight * digit, 0 <= digit < extent; empty until the variable's extent is known.
struct Digit {
  std::int64_t extent;
  std::int64_t weight;
};
using VariableDigits = std::vector<Digit>;

// A request to split a digit, because div(digit, divisor) occurs.
struct SplitRequest {
  int var;
  std::size_t digit;
  std::int64_t divisor;
};

class NestBuilder {
 public:
  // `digits`, by variable number, are filled in where empty.
  NestBuilder(const TermGraph& graph, std::span<const Shape> inputs, Precision precision,
              std::vector<VariableDigits>& digits);

  base::Status build(const Shape& output, const OutputBox& box);
  const std::vector<SplitRequest>& splits() const { return splits_; }
  LoopNest take() { return std::move(nest_); }

 private:
  struct Origin {  // of a variable symbol
    int var = -1;
    std::size_t digit = 0;
    int output_axis = -1;
    std::int64_t output_low = 0;
  };

  // Index expressions.
  Affine index(TermId id);
  Affine lower_index(const Term& term);
  Affine quotient(const Affine& a, const Affine& b);
  Affine extremum(ExprOp op, const Affine& a, const Affine& b);
  Affine product(const Affine& a, const Affine& b);
  int intern(IndexSymbol symbol);
  Range range_of(const Affine& form) const;
  VariableSet depends_on(const Affine& form) const;
  bool from_data(const Affine& form) const;
  // Creates the loop variables (one a digit) of a TermGraph variable and returns its value as a
  // form.
  Affine bind(int var, std::int64_t extent, int output_axis, std::int64_t output_low,
              std::vector<int>& made);
  void note_cut(const Affine& form, bool equality);

  // Guards and scalars; ids in the nest.
  int guard(TermId id);
  int lower_guard(const Term& term);
  int comparison(NestGuard::Kind kind, const Affine& form);
  int conjunction(int a, int b);
  int add(NestGuard guard);
  int scalar(TermId id);
  int lower_scalar(const Term& term);
  int lower_read(const Term& term);
  int lower_cast(const Term& term);
  int lower_reduce(const Term& term);
  int identity_of(const Term& term);
  static bool is_identity(const NestNode& node, Reduction reduction);
  int add(NestNode node);

  const TermGraph& graph_;
  std::span<const Shape> inputs_;
  Precision precision_;
  std::vector<VariableDigits>& digits_;
  LoopNest nest_;
  std::vector<Origin> origins_;  // by symbol
  std::vector<SplitRequest> splits_;
  base::Status status_;
  // The lowered form of each term; -1 or nullopt until it is lowered.
  std::vector<std::optional<Affine>> indices_;
  std::vector<int> guards_;
  std::vector<int> scalars_;
  std::vector<std::vector<int>> bound_;  // symbols of each TermGraph variable
  std::vector<std::optional<Affine>> variables_;
};

}  // namespace egret::ir
