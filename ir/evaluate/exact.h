// SPDX-License-Identifier: Apache-2.0
// Exact evaluation over the rationals, for tests of rules and as a reference without rounding. A
// header of its own because arbitrary-precision numbers are heavy to compile; include it in few
// places.
//
// Reals of every type are rationals and never rounded (casts between real types do nothing); max,
// min, comparisons, floor, ceil, trunc, round and small integer powers are true. The other opaque
// functions are keyed pseudo-random functions of their argument that respect the range and parity
// they declare: equal arguments give equal values, and equality of two expressions for one key is
// strong evidence that they are equal whatever the functions are. Integer elements are as in the
// interpreter. Elements are evaluated one by one; meant for tensors of at most some thousands.
//
// An element without a value (a division by zero, an infinite constant) fails only what reads it:
// a slice that leaves it out does not. Errors, where a result would lack an element: bad_input for
// a division by zero; unsupported for infinite or NaN constants.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::ir {

using Rational = boost::multiprecision::cpp_rational;

// Row-major; elements of integer and bool types are integers within their type.
class ExactTensor {
 public:
  ExactTensor() = default;
  explicit ExactTensor(TensorType type);        // zeros; the type is concrete
  static ExactTensor of(const Tensor& tensor);  // without rounding; infinity and NaN are undefined
  Tensor to_tensor(DType dtype) const;          // rounded

  const TensorType& type() const { return type_; }
  std::int64_t elements() const { return static_cast<std::int64_t>(values_.size()); }
  const Rational& operator[](std::int64_t i) const { return values_[static_cast<std::size_t>(i)]; }
  Rational& operator[](std::int64_t i) { return values_[static_cast<std::size_t>(i)]; }
  // Why element i has no value; null where it has one.
  const base::Status* undefined(std::int64_t i) const {
    const auto at = undefined_.find(i);
    return at == undefined_.end() ? nullptr : &at->second;
  }
  void set_undefined(std::int64_t i, base::Status why) { undefined_[i] = std::move(why); }
  base::Status check_defined() const {  // why the first element without a value has none
    return undefined_.empty() ? base::ok() : undefined_.begin()->second;
  }
  friend bool operator==(const ExactTensor& a, const ExactTensor& b) {
    return a.type_ == b.type_ && a.values_ == b.values_;
  }

 private:
  TensorType type_{};
  std::vector<Rational> values_;
  std::map<std::int64_t, base::Status> undefined_;
};

base::Result<ExactTensor> evaluate_exact(const Operator& op, const Attrs& attrs,
                                         std::span<const ExactTensor> inputs,
                                         std::uint64_t key = 0);
base::Result<std::vector<ExactTensor>> interpret_exact(const Graph& graph,
                                                       std::span<const ExactTensor> inputs,
                                                       std::uint64_t key = 0);

}  // namespace egret::ir
