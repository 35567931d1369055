// SPDX-License-Identifier: Apache-2.0
// The program of an operator choice at concrete sizes: what each output element computes from its
// operands' elements, unrolled. Recorded once by running the operators' definitions
// (ir/evaluate/direct_evaluator.h) on symbols instead of numbers; run for thousands of terms in any
// of the domains of rules/generator/spaces/arithmetic.h.
//
// Four forms, from fast to general: moves (every element is an element of an operand), sums of
// products of two operands' elements, straight-line code; and what cannot be recorded, because it
// chooses by the value of an element (comparisons, where) or has elements that are integers, is
// evaluated by its definition each time (ir/evaluate/field.h). Integer elements are words that hold
// the bits of an int64.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "ir/core/tensor_type.h"
#include "rules/generator/spaces/arithmetic.h"
#include "rules/generator/spaces/space.h"

namespace egret::rules::generator {

class Program {
 public:
  // The choice on operands of these types in a world. Errors: the operators refuse them; limit_hit
  // beyond 4 million instructions.
  static base::Result<Program> record(const OperatorChoice& choice, World world,
                                      const std::vector<ir::TensorType>& operands);

  const ir::TensorType& type() const { return type_; }
  std::size_t elements() const { return elements_; }
  // Whether every element of every operand is read.
  bool reads_all() const { return reads_all_; }
  // Steps' attributes, canonical, in the order of the choice's steps.
  const std::vector<ir::Attrs>& attrs() const { return attrs_; }

  // All elements, in row-major order.
  template <typename Domain>
  void run(Domain& domain, std::span<const Word* const> operands, Word* out) const;
  // The elements at sample positions: the first, the last, and some between; sample_count() many.
  template <typename Domain>
  void run_samples(Domain& domain, std::span<const Word* const> operands, Word* out) const;
  static constexpr std::size_t kMostSamples = 4;
  static std::vector<std::uint32_t> sample_positions(std::size_t elements);
  std::size_t sample_count() const { return samples_.size(); }

 private:
  friend class Recorder;
  enum class Form : std::uint8_t { kMoves, kProducts, kCode, kDefinition };
  enum class Op : std::uint8_t { kConst, kRead, kAdd, kSub, kMul, kDiv, kNeg, kMin, kMax, kCall };
  struct Instruction {
    Op op;
    std::uint8_t input = 0;  // kRead: operand; kCall: function
    std::uint32_t a = 0;     // operand instruction, element read, or constant's number
    std::uint32_t b = 0;
  };
  struct Product {
    std::uint32_t a, b;  // elements of operands `left_` and `right_`
  };

  template <typename Domain>
  Word value(Domain& domain, const Instruction& instruction, std::span<const Word* const> operands,
             const Word* values) const;
  template <typename Domain>
  Word product_sum(Domain& domain, std::size_t element,
                   std::span<const Word* const> operands) const;
  template <typename Domain>
  void run_code(Domain& domain, std::span<const std::uint32_t> schedule,
                std::span<const Word* const> operands) const;
  base::Status infer(const OperatorChoice& choice, World world,
                     const std::vector<ir::TensorType>& operands);
  base::Status record_steps(const OperatorChoice& choice,
                            const std::vector<ir::TensorType>& operands);
  // By definition: the steps one after the other.
  void run_definition(Residues& domain, std::span<const Word* const> operands, Word* out) const;
  void run_definition(Numbers& domain, std::span<const Word* const> operands, Word* out) const;
  void run_definition(Masks& domain, std::span<const Word* const> operands, Word* out) const;
  base::Status evaluate_steps(Residues& domain, std::span<const Word* const> operands,
                              Word* out) const;
  void choose_samples();
  void choose_form();
  void forget_recording();

  ir::TensorType type_;
  std::size_t elements_ = 0;
  bool reads_all_ = false;
  std::vector<ir::Attrs> attrs_;

  Form form_ = Form::kCode;
  std::vector<Instruction> code_;  // kMoves: by element, a read
  std::vector<double> constants_;
  std::vector<std::uint32_t> roots_;     // by element: an instruction
  std::vector<std::uint32_t> samples_;   // elements
  std::vector<std::uint32_t> schedule_;  // instructions that the samples need, in order
  std::vector<std::uint32_t> everything_;
  std::vector<Product> products_;  // kProducts; of element i: [begin_[i], begin_[i + 1])
  std::vector<std::uint32_t> begin_;
  std::size_t left_ = 0, right_ = 0;
  const OperatorChoice* choice_ = nullptr;     // kDefinition
  std::vector<ir::TensorType> operand_types_;  // kDefinition
  mutable std::vector<Word> values_;           // of instructions; reused from run to run
};

template <typename Domain>
Word Program::value(Domain& domain, const Instruction& i, std::span<const Word* const> operands,
                    const Word* v) const {
  switch (i.op) {
    case Op::kConst: return domain.constant(constants_[i.a]);
    case Op::kRead: return operands[i.input][i.a];
    case Op::kAdd: return domain.add(v[i.a], v[i.b]);
    case Op::kSub: return domain.sub(v[i.a], v[i.b]);
    case Op::kMul: return domain.mul(v[i.a], v[i.b]);
    case Op::kDiv: return domain.div(v[i.a], v[i.b]);
    case Op::kNeg: return domain.neg(v[i.a]);
    case Op::kMin: return domain.min(v[i.a], v[i.b]);
    case Op::kMax: return domain.max(v[i.a], v[i.b]);
    case Op::kCall: return domain.call(static_cast<ir::Function>(i.input), v[i.a], v[i.b]);
  }
  return 0;
}

template <typename Domain>
Word Program::product_sum(Domain& domain, std::size_t element,
                          std::span<const Word* const> operands) const {
  typename Domain::Accumulator sum(domain);
  const Word* left = operands[left_];
  const Word* right = operands[right_];
  for (std::uint32_t k = begin_[element]; k < begin_[element + 1]; ++k)
    sum.add_product(left[products_[k].a], right[products_[k].b]);
  return sum.value();
}

template <typename Domain>
void Program::run_code(Domain& domain, std::span<const std::uint32_t> schedule,
                       std::span<const Word* const> operands) const {
  values_.resize(code_.size());
  for (const std::uint32_t i : schedule)
    values_[i] = value(domain, code_[i], operands, values_.data());
}

template <typename Domain>
void Program::run(Domain& domain, std::span<const Word* const> operands, Word* out) const {
  switch (form_) {
    case Form::kMoves:
      for (std::size_t i = 0; i < elements_; ++i) {
        out[i] = operands[code_[i].input][code_[i].a];
      }
      return;
    case Form::kProducts:
      for (std::size_t i = 0; i < elements_; ++i) out[i] = product_sum(domain, i, operands);
      return;
    case Form::kCode:
      run_code(domain, everything_, operands);
      for (std::size_t i = 0; i < elements_; ++i) out[i] = values_[roots_[i]];
      return;
    case Form::kDefinition: run_definition(domain, operands, out);
  }
}

template <typename Domain>
void Program::run_samples(Domain& domain, std::span<const Word* const> operands, Word* out) const {
  if (form_ == Form::kDefinition) {
    values_.resize(elements_);
    run_definition(domain, operands, values_.data());
    for (std::size_t s = 0; s < samples_.size(); ++s) out[s] = values_[samples_[s]];
    return;
  }
  if (form_ == Form::kCode) run_code(domain, schedule_, operands);
  for (std::size_t s = 0; s < samples_.size(); ++s) {
    const std::size_t i = samples_[s];
    if (form_ == Form::kProducts) {
      out[s] = product_sum(domain, i, operands);
    } else if (form_ == Form::kMoves) {
      out[s] = operands[code_[i].input][code_[i].a];
    } else {
      out[s] = values_[roots_[i]];
    }
  }
}

// Random elements of a tensor: residues, small integers, truth values.
std::vector<Word> random_elements(const ir::TensorType& type, Word prime, base::Random& random);

}  // namespace egret::rules::generator
