// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/exact.h"

#include <boost/container_hash/hash.hpp>
#include <cmath>

#include "base/hash.h"
#include "ir/evaluate/domain_evaluation.h"

namespace egret::ir {
namespace {

using BigInt = boost::multiprecision::cpp_int;
using boost::multiprecision::denominator;
using boost::multiprecision::numerator;

constexpr int kLargestPower = 64;

// Floor of the quotient; the denominator of a rational is positive.
BigInt floor_of(const Rational& value) {
  const BigInt& n = numerator(value);
  const BigInt& d = denominator(value);
  BigInt quotient = n / d;  // truncates
  if (n < 0 && quotient * d != n) --quotient;
  return quotient;
}

BigInt truncated(const Rational& value) { return numerator(value) / denominator(value); }

// Ties go to the even neighbour, as in IEEE 754.
BigInt nearest_even(const Rational& value) {
  const BigInt below = floor_of(value);
  const Rational rest = value - Rational(below);
  const Rational half(1, 2);
  if (rest != half) return rest < half ? below : below + 1;
  return below % 2 == 0 ? below : below + 1;
}

std::uint64_t hash_of(const BigInt& value, std::uint64_t seed) {
  std::vector<unsigned char> bytes;
  export_bits(value, std::back_inserter(bytes), 8);  // of the magnitude
  return base::hash_bytes(std::as_bytes(std::span(bytes)), value < 0 ? ~seed : seed);
}

std::uint64_t hash_of(const Rational& value, std::uint64_t seed) {
  return hash_of(denominator(value), hash_of(numerator(value), seed));
}

// The lowest 64 bits as two's complement, saturated as ir/core/integer_arithmetic.h does for reals.
std::int64_t to_i64(const BigInt& value) {
  static const BigInt kTop = BigInt(1) << 63;
  if (value >= kTop) {
    return value < kTop * 2 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(value))
                            : INT64_MAX;
  }
  return value < -kTop ? INT64_MIN : static_cast<std::int64_t>(value);
}

base::Result<Rational> to_rational(double value) {
  if (std::isfinite(value)) return Rational(value);
  return base::unsupported("infinity and NaN are not rational numbers");
}

// Evaluates definitions over exact rational numbers. Functions without rational values (exp, sin)
// become opaque: a pseudo-random value that depends only on the key and the arguments, so that
// equal expressions stay equal.
class RationalDomain {
 public:
  using Value = Rational;
  using TensorOf = ExactTensor;

  using Key = std::uint64_t;

  RationalDomain(std::span<const ExactTensor> inputs, Key key) : inputs_(inputs), key_(key) {}

  static ExactTensor make(const TensorType& type) { return ExactTensor(type); }
  static ExactTensor of(const Tensor& tensor) { return ExactTensor::of(tensor); }
  void write(ExactTensor& out, std::int64_t i, Rational value) const { out[i] = std::move(value); }
  void write_integer(ExactTensor& out, std::int64_t i, std::int64_t value) const {
    out[i] = from_integer(out.type().dtype, value);
  }

  const base::Status* undefined(int input, std::int64_t i) const {
    return inputs_[static_cast<std::size_t>(input)].undefined(i);
  }
  void write_undefined(ExactTensor& out, std::int64_t i, base::Status why) const {
    out.set_undefined(i, std::move(why));
  }

  const Rational& read(int input, std::int64_t i) const {
    return inputs_[static_cast<std::size_t>(input)][i];
  }
  std::int64_t read_integer(int input, std::int64_t i) const {
    return to_i64(truncated(read(input, i)));
  }
  base::Result<Rational> constant(double value) const { return to_rational(value); }
  Rational from_integer(DType type, std::int64_t value) const {
    return type == DType::kU64 ? Rational(static_cast<std::uint64_t>(value)) : Rational(value);
  }
  std::int64_t to_integer(DType type, const Rational& value) const {
    return type == DType::kBool ? (value != 0 ? 1 : 0) : wrap(type, to_i64(truncated(value)));
  }
  const Rational& round_to(DType, const Rational& value) const { return value; }
  Rational add(const Rational& a, const Rational& b) const { return a + b; }
  Rational sub(const Rational& a, const Rational& b) const { return a - b; }
  Rational mul(const Rational& a, const Rational& b) const { return a * b; }
  base::Result<Rational> div(const Rational& a, const Rational& b) const {
    if (b == 0) return base::bad_input("division by zero");
    return Rational(a / b);
  }
  Rational neg(const Rational& a) const { return -a; }
  Rational min(const Rational& a, const Rational& b) const { return b < a ? b : a; }
  Rational max(const Rational& a, const Rational& b) const { return a < b ? b : a; }
  bool less(const Rational& a, const Rational& b) const { return a < b; }
  bool less_equal(const Rational& a, const Rational& b) const { return a <= b; }
  bool equal(const Rational& a, const Rational& b) const { return a == b; }
  base::Result<Rational> empty(Reduction) const {
    return base::bad_input("maximum or minimum over no element");
  }

  // Functions that map rationals to rationals are computed. A power with a large exponent would
  // have too many digits, so it is opaque like the others.
  base::Result<Rational> call(Function function, const Rational& a, const Rational& b) const {
    switch (function) {
      case Function::kFloor: return Rational(floor_of(a));
      case Function::kCeil: return Rational(-floor_of(-a));
      case Function::kTrunc: return Rational(truncated(a));
      case Function::kRoundEven: return Rational(nearest_even(a));
      case Function::kPow:
        if (denominator(b) == 1 && abs(b) <= kLargestPower && (a != 0 || b >= 0))
          return power(a, b);
        break;
      default: break;
    }
    return opaque(function, a, b);
  }

 private:
  static Rational power(const Rational& a, const Rational& b) {
    const auto exponent = static_cast<int>(numerator(b));
    Rational result = 1;
    for (int i = 0; i < std::abs(exponent); ++i) result *= a;
    return exponent < 0 ? Rational(1 / result) : result;
  }

  // The facts about a function hold for its stand-in: parity, range, and an odd function's zero and
  // sign.
  Rational opaque(Function function, const Rational& a, const Rational& b) const {
    const FunctionFacts& fact = facts(function);
    const bool symmetric = fact.parity != Parity::kNone;
    if (fact.parity == Parity::kOdd && a == 0) return 0;
    std::uint64_t hash = base::hash_combine(key_, static_cast<std::uint64_t>(function));
    hash = hash_of(symmetric ? Rational(abs(a)) : a, hash);
    if (fact.arity > 1) hash = hash_of(b, hash);
    Rational unit(1 + (hash >> 44), 1 + (std::uint64_t{1} << 20));  // in (0, 1)
    if (fact.parity == Parity::kOdd) {                              // bounds are symmetric
      const Rational magnitude = std::isfinite(fact.high) ? unit * Rational(fact.high) : unit * 4;
      return a < 0 ? Rational(-magnitude) : magnitude;
    }
    if (!std::isfinite(fact.low)) return Rational(unit * 8 - 4);
    const double width = std::isfinite(fact.high) ? fact.high - fact.low : 8;
    return Rational(Rational(fact.low) + unit * Rational(width));
  }

  std::span<const ExactTensor> inputs_;
  std::uint64_t key_;
};

}  // namespace

ExactTensor::ExactTensor(TensorType type)
    : type_(std::move(type)), values_(static_cast<std::size_t>(type_.elements())) {}

ExactTensor ExactTensor::of(const Tensor& tensor) {
  ExactTensor result(tensor.type());
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    if (is_float(tensor.dtype())) {
      const auto value = to_rational(tensor.f64_at(i));
      if (value.ok()) {
        result[i] = *value;
      } else {
        result.set_undefined(i, value.status());
      }
    } else if (tensor.dtype() == DType::kU64) {
      result[i] = Rational(static_cast<std::uint64_t>(tensor.i64_at(i)));
    } else {
      result[i] = Rational(tensor.i64_at(i));
    }
  }
  return result;
}

Tensor ExactTensor::to_tensor(DType dtype) const {
  Tensor result(dtype, type_.shape());
  for (std::int64_t i = 0; i < elements(); ++i) {
    if (is_float(dtype)) {
      result.set_f64(i, static_cast<double>((*this)[i]));
    } else {
      result.set_i64(i, to_i64(truncated((*this)[i])));
    }
  }
  return result;
}

base::Result<ExactTensor> evaluate_exact(const Operator& op, const Attrs& attrs,
                                         std::span<const ExactTensor> inputs, std::uint64_t key) {
  EGRET_ASSIGN_OR_RETURN(ExactTensor result,
                         evaluate_in<RationalDomain>(op, attrs, types_of(inputs), inputs, key));
  EGRET_RETURN_IF_ERROR(result.check_defined());
  return result;
}

base::Result<std::vector<ExactTensor>> interpret_exact(const Graph& graph,
                                                       std::span<const ExactTensor> inputs,
                                                       std::uint64_t key) {
  EGRET_RETURN_IF_ERROR(check_input_types(graph, types_of(inputs), /*wide=*/false));
  EGRET_ASSIGN_OR_RETURN(auto results, interpret_in<RationalDomain>(graph, inputs, key));
  for (const ExactTensor& result : results) EGRET_RETURN_IF_ERROR(result.check_defined());
  return results;
}

}  // namespace egret::ir
