// SPDX-License-Identifier: Apache-2.0
// Evaluation over the prime field of 2^61 - 1 elements: fingerprints of graphs and quick tests of
// rules. Two expressions built from + - * / alone that are equal as rational functions agree for
// all inputs; two that differ agree on random inputs with probability at most degree / 2^61
// (Schwartz 1980, Zippel 1979). The other operations are keyed pseudo-random functions, so terms
// that are equal whatever those functions are stay equal:
//   - Opaque functions, of their argument; odd and even ones respect their parity, and a power with
//     a small integer exponent is a true power.
//   - max, min and comparisons follow a pseudo-random total order of the field, so that max and min
//     are commutative, associative, idempotent and absorb each other, but do not commute with
//     arithmetic. One max picks one of its two operands; use several elements for a fingerprint.
// Integer elements are true integers, as in the interpreter.
//
// Errors: bad_input for a division by zero; unsupported for NaN constants. Infinities are two
// elements of their own, greatest and least in the order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "ir/evaluate/prime_field.h"
#include "ir/graph/graph.h"

namespace egret::ir {

inline constexpr std::uint64_t kFieldPrime = PrimeField::kMersenne;

// Row-major. Real elements are in [0, kFieldPrime); integers hold the bits of their int64.
class FieldTensor {
 public:
  FieldTensor() = default;
  explicit FieldTensor(TensorType type);  // zeros; the type is concrete
  FieldTensor(TensorType type, std::vector<std::uint64_t> values);
  // Reals become the field's image of their exact dyadic value.
  static FieldTensor of(const Tensor& tensor);
  // Reals uniform in the field; integers in [0, 10], bools fair.
  static FieldTensor random(TensorType type, base::Random& random);

  const TensorType& type() const { return type_; }
  std::int64_t elements() const { return static_cast<std::int64_t>(values_.size()); }
  std::span<const std::uint64_t> values() const { return values_; }
  std::span<std::uint64_t> values() { return values_; }
  friend bool operator==(const FieldTensor&, const FieldTensor&) = default;

 private:
  TensorType type_{};
  std::vector<std::uint64_t> values_;
};

// The image of a finite double, or of an infinity; NaN is our own bug.
std::uint64_t field_element(double value);

// `field` may be another prime field; the elements of the inputs are then elements of that field.
base::Result<FieldTensor> evaluate_field(const Operator& op, const Attrs& attrs,
                                         std::span<const FieldTensor> inputs, std::uint64_t key = 0,
                                         const PrimeField& field = PrimeField(kFieldPrime));
base::Result<std::vector<FieldTensor>> interpret_field(const Graph& graph,
                                                       std::span<const FieldTensor> inputs,
                                                       std::uint64_t key = 0);

}  // namespace egret::ir
