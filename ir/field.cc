// SPDX-License-Identifier: Apache-2.0
#include "ir/field.h"

#include <cmath>

#include "base/hash.h"
#include "ir/domain_evaluation.h"

namespace egret::ir {
namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr std::uint64_t kP = kFieldPrime;
constexpr std::uint64_t kLargestPower = 64;
// The elements that stand for infinities: fixed, and not the image of anything that occurs.
constexpr std::uint64_t kPlusInfinity = 0x0b7e151628aed2a6;
constexpr std::uint64_t kMinusInfinity = kP - kPlusInfinity;
static_assert(kPlusInfinity < kP);

// 2^61 = 1, so the high part of a number adds to its low part.
std::uint64_t reduced(std::uint64_t a) {
  a = (a & kP) + (a >> 61);
  return a >= kP ? a - kP : a;
}
std::uint64_t field_add(std::uint64_t a, std::uint64_t b) { return reduced(a + b); }
std::uint64_t field_neg(std::uint64_t a) { return a == 0 ? 0 : kP - a; }
std::uint64_t field_mul(std::uint64_t a, std::uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return reduced(static_cast<std::uint64_t>(product & kP) +
                 static_cast<std::uint64_t>(product >> 61));
}
std::uint64_t field_power(std::uint64_t a, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = field_mul(result, a);
    a = field_mul(a, a);
  }
  return result;
}
std::uint64_t from_i64(std::int64_t value) {
  if (value >= 0) return reduced(static_cast<std::uint64_t>(value));
  return field_neg(reduced(static_cast<std::uint64_t>(-(value + 1)) + 1));
}
// The representative of smallest magnitude.
std::int64_t to_i64(std::uint64_t value) {
  return value <= kP / 2 ? static_cast<std::int64_t>(value)
                         : -static_cast<std::int64_t>(kP - value);
}

class FieldDomain {
 public:
  using Value = std::uint64_t;
  using TensorOf = FieldTensor;

  FieldDomain(std::span<const FieldTensor> inputs, std::uint64_t key)
      : inputs_(inputs), key_(key) {}

  static FieldTensor make(const TensorType& type) { return FieldTensor(type); }
  static FieldTensor of(const Tensor& tensor) { return FieldTensor::of(tensor); }
  void write(FieldTensor& out, std::int64_t i, Value value) const {
    out.values()[static_cast<std::size_t>(i)] = value;
  }
  void write_integer(FieldTensor& out, std::int64_t i, std::int64_t value) const {
    out.values()[static_cast<std::size_t>(i)] = static_cast<std::uint64_t>(value);
  }

  Value read(int input, std::int64_t i) const {
    return inputs_[static_cast<std::size_t>(input)].values()[static_cast<std::size_t>(i)];
  }
  std::int64_t read_integer(int input, std::int64_t i) const {
    return static_cast<std::int64_t>(read(input, i));
  }
  base::Result<Value> constant(double value) const {
    if (std::isnan(value)) return base::unsupported("NaN is no element of the field");
    return field_element(value);
  }
  Value from_integer(DType type, std::int64_t value) const {
    return type == DType::kU64 ? reduced(static_cast<std::uint64_t>(value)) : from_i64(value);
  }
  std::int64_t to_integer(DType type, Value value) const { return wrap(type, to_i64(value)); }
  Value round_to(DType, Value value) const { return value; }
  Value add(Value a, Value b) const { return field_add(a, b); }
  Value sub(Value a, Value b) const { return field_add(a, field_neg(b)); }
  Value mul(Value a, Value b) const { return field_mul(a, b); }
  base::Result<Value> div(Value a, Value b) const {
    if (b == 0) return base::bad_input("division by zero");
    return field_mul(a, field_power(b, kP - 2));
  }
  Value neg(Value a) const { return field_neg(a); }
  Value min(Value a, Value b) const { return less(b, a) ? b : a; }
  Value max(Value a, Value b) const { return less(a, b) ? b : a; }
  bool less(Value a, Value b) const {
    if (a == b || a == kPlusInfinity || b == kMinusInfinity) return false;
    if (a == kMinusInfinity || b == kPlusInfinity) return true;
    // mix() is a bijection, so this is a total order.
    return base::mix(a ^ key_) < base::mix(b ^ key_);
  }
  bool less_equal(Value a, Value b) const { return !less(b, a); }
  bool equal(Value a, Value b) const { return a == b; }
  Value empty(Reduction reduction) const {
    return reduction == Reduction::kMax ? kMinusInfinity : kPlusInfinity;
  }

  Value call(Function function, Value a, Value b) const {
    if (function == Function::kPow && b <= kLargestPower) return field_power(a, b);
    if (function == Function::kPow && kP - b <= kLargestPower && a != 0) {
      return field_power(field_power(a, kP - 2), kP - b);
    }
    const FunctionFacts& fact = facts(function);
    const bool negative = a > kP / 2;
    const Value magnitude = negative && fact.parity != Parity::kNone ? kP - a : a;
    std::uint64_t hash = base::hash_combine(key_, static_cast<std::uint64_t>(function));
    hash = base::hash_combine(hash, magnitude);
    if (fact.arity > 1) hash = base::hash_combine(hash, b);
    const Value result = reduced(hash);
    if (fact.parity != Parity::kOdd) return result;
    return a == 0 ? 0 : (negative ? field_neg(result) : result);
  }

 private:
  std::span<const FieldTensor> inputs_;
  std::uint64_t key_;
};

}  // namespace

std::uint64_t field_element(double value) {
  EGRET_CHECK(!std::isnan(value), "NaN is no element of the field");
  if (std::isinf(value)) return value > 0 ? kPlusInfinity : kMinusInfinity;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const auto digits = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  // digits * 2^(exponent - 53), and 2^61 = 1.
  const int shift = ((exponent - 53) % 61 + 61) % 61;
  return field_mul(from_i64(digits), std::uint64_t{1} << shift);
}

FieldTensor::FieldTensor(TensorType type)
    : type_(std::move(type)), values_(static_cast<std::size_t>(type_.elements()), 0) {}

FieldTensor FieldTensor::of(const Tensor& tensor) {
  FieldTensor result(tensor.type());
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    result.values_[static_cast<std::size_t>(i)] =
        is_float(tensor.dtype()) ? field_element(tensor.f64_at(i))
                                 : static_cast<std::uint64_t>(tensor.i64_at(i));
  }
  return result;
}

FieldTensor FieldTensor::random(TensorType type, base::Random& random) {
  FieldTensor result(std::move(type));
  for (std::uint64_t& value : result.values_) {
    if (is_float(result.type_.dtype)) {
      value = random.below(kP);
    } else {
      value = random.below(result.type_.dtype == DType::kBool ? 2 : 11);
    }
  }
  return result;
}

base::Result<FieldTensor> evaluate_field(const Operator& op, const Attrs& attrs,
                                         std::span<const FieldTensor> inputs, std::uint64_t key) {
  return evaluate_in<FieldDomain>(op, attrs, types_of(inputs), inputs, key);
}

base::Result<std::vector<FieldTensor>> interpret_field(const Graph& graph,
                                                       std::span<const FieldTensor> inputs,
                                                       std::uint64_t key) {
  EGRET_RETURN_IF_ERROR(check_input_types(graph, types_of(inputs), /*wide=*/false));
  return interpret_in<FieldDomain>(graph, inputs, key);
}

}  // namespace egret::ir
