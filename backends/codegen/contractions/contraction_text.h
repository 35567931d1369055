// SPDX-License-Identifier: Apache-2.0
// What the writers of contractions share.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backends/codegen/contractions/contraction_form.h"
#include "backends/codegen/text/writer.h"
#include "ir/core/dtype.h"

namespace egret::backends::codegen {

std::string text_of(std::int64_t value);
std::int64_t ceil_div(std::int64_t a, std::int64_t b);
// The number of equal parts of `total` that are at most `most`, and the largest of these parts.
std::int64_t equal_part(std::int64_t total, std::int64_t most);

// The type of terms and sums. Integers wrap: unsigned arithmetic of at least the type's bits is
// exact in the bits that the type keeps.
std::string term_type(ir::DType sum, bool in_double);

// Whether the factor is a read of elements of this type, at an offset that is linear in its
// variables (where its bounds hold).
bool is_plain_read(const ContractionForm::Part& part, std::span<const ir::TensorType> inputs,
                   const std::string& type, int element);

// Whether neighbours along the last variable of the terms, and along the last of `own`, the rows or
// columns of a factor, are neighbours in memory in any of its reads.
struct Neighbours {
  bool along_depth = false, along_own = false;
};
Neighbours neighbours_in_memory(const ContractionForm::Part& part, const std::vector<int>& own);

// The number `flat` in mixed radix: the digit of weight `below`. The first digit has no bound.
std::string digit(const std::string& flat, std::int64_t below, std::int64_t extent, bool first);

using SymbolNames = std::map<int, std::string>;

// The form's value, but for the symbol `without`.
std::string affine_text(const ir::Affine& form, const SymbolNames& names, int without = -1);

// A scope that binds the symbols to the digits of `flat`, by names that begin with `prefix`.
Writer::GivenLoop numbered_loop(const ir::LoopNest& nest, const std::vector<int>& symbols,
                                const std::string& prefix, const std::string& flat,
                                std::string header, double times, const std::string& type = "i64");

struct ContractionText {
  std::string functions;  // micro-kernels; KERNEL stands for the kernel's name
  std::string body;       // of the kernel, with the same placeholder
  std::int64_t steps = 1;
  std::int64_t memory = 0;  // bytes of egret_work that it uses
  // As KernelSource has them.
  std::int64_t shared_memory = 0, packing_steps = 0, partial_steps = 0;
  double operations = 0;  // as Writer counts them
};

}  // namespace egret::backends::codegen
