// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/field.h"

#include <cmath>

#include "ir/evaluate/domain_evaluation.h"

namespace egret::ir {
namespace {

// The elements that stand for infinities, this and its negative: fixed, and not the image of
// anything that occurs.
constexpr std::uint64_t kPlusInfinity = 0x0b7e151628aed2a6;
static_assert(kPlusInfinity < std::uint64_t{1} << 60);

std::uint64_t image(const PrimeField& field, double value) {
  EGRET_CHECK(!std::isnan(value), "NaN is not an element of the field");
  if (std::isinf(value)) return value > 0 ? kPlusInfinity : field.neg(kPlusInfinity);
  return field.from_double(value);
}

// Evaluates definitions over a prime field, in which unequal polynomials differ at random points
// with high probability (Schwartz, 1980; Zippel, 1979). Functions and the order are pseudo-random
// but fixed by the key; integers stay integers.
class FieldDomain {
 public:
  using Value = std::uint64_t;
  using TensorOf = FieldTensor;
  struct Key {
    std::uint64_t functions;
    PrimeField field;
  };

  FieldDomain(std::span<const FieldTensor> inputs, const Key& key)
      : inputs_(inputs),
        key_(key.functions),
        field_(key.field),
        minus_(field_.neg(kPlusInfinity)) {}

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
    if (std::isnan(value)) return base::unsupported("NaN is not an element of the field");
    return image(field_, value);
  }
  Value from_integer(DType type, std::int64_t value) const {
    return type == DType::kU64 ? field_.from_u64(static_cast<std::uint64_t>(value))
                               : field_.from_i64(value);
  }
  std::int64_t to_integer(DType type, Value value) const {
    return wrap(type, field_.to_i64(value));
  }
  Value round_to(DType, Value value) const { return value; }
  Value add(Value a, Value b) const { return field_.add(a, b); }
  Value sub(Value a, Value b) const { return field_.sub(a, b); }
  Value mul(Value a, Value b) const { return field_.mul(a, b); }
  base::Result<Value> div(Value a, Value b) const {
    if (b == 0) return base::bad_input("division by zero");
    return field_.mul(a, field_.inverse(b));
  }
  Value neg(Value a) const { return field_.neg(a); }
  Value min(Value a, Value b) const { return less(b, a) ? b : a; }
  Value max(Value a, Value b) const { return less(a, b) ? b : a; }
  // A field has no order that agrees with its arithmetic: this one is total and arbitrary, with the
  // two infinities at its ends.
  bool less(Value a, Value b) const {
    if (a == b || a == kPlusInfinity || b == minus_) return false;
    if (a == minus_ || b == kPlusInfinity) return true;
    return PrimeField::less(key_, a, b);
  }
  bool less_equal(Value a, Value b) const { return !less(b, a); }
  bool equal(Value a, Value b) const { return a == b; }
  Value empty(Reduction reduction) const {
    return reduction == Reduction::kMax ? minus_ : kPlusInfinity;
  }

  Value call(Function function, Value a, Value b) const {
    return field_.call(key_, function, a, b);
  }

 private:
  std::span<const FieldTensor> inputs_;
  std::uint64_t key_;
  PrimeField field_;
  Value minus_;  // infinity
};

}  // namespace

std::uint64_t field_element(double value) { return image(PrimeField(kFieldPrime), value); }

FieldTensor::FieldTensor(TensorType type)
    : type_(std::move(type)), values_(static_cast<std::size_t>(type_.elements()), 0) {}

FieldTensor::FieldTensor(TensorType type, std::vector<std::uint64_t> values)
    : type_(std::move(type)), values_(std::move(values)) {
  EGRET_CHECK(std::ssize(values_) == type_.elements(), "as many values as elements");
}

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
      value = random.below(kFieldPrime);
    } else {
      value = random.below(result.type_.dtype == DType::kBool ? 2 : 11);
    }
  }
  return result;
}

base::Result<FieldTensor> evaluate_field(const Operator& op, const Attrs& attrs,
                                         std::span<const FieldTensor> inputs, std::uint64_t key,
                                         const PrimeField& field) {
  return evaluate_in<FieldDomain>(op, attrs, types_of(inputs), inputs, {key, field});
}

base::Result<std::vector<FieldTensor>> interpret_field(const Graph& graph,
                                                       std::span<const FieldTensor> inputs,
                                                       std::uint64_t key) {
  EGRET_RETURN_IF_ERROR(check_input_types(graph, types_of(inputs), /*wide=*/false));
  return interpret_in<FieldDomain>(graph, inputs, {key, PrimeField(kFieldPrime)});
}

}  // namespace egret::ir
