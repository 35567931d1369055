// SPDX-License-Identifier: Apache-2.0
#include "ir/field.h"

#include <cmath>

#include "ir/domain_evaluation.h"

namespace egret::ir {
namespace {

constexpr PrimeField kField(kFieldPrime);
// The elements that stand for infinities: fixed, and not the image of anything that occurs.
constexpr std::uint64_t kPlusInfinity = 0x0b7e151628aed2a6;
constexpr std::uint64_t kMinusInfinity = kFieldPrime - kPlusInfinity;
static_assert(kPlusInfinity < kFieldPrime);

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
    return type == DType::kU64 ? kField.from_u64(static_cast<std::uint64_t>(value))
                               : kField.from_i64(value);
  }
  std::int64_t to_integer(DType type, Value value) const {
    return wrap(type, kField.to_i64(value));
  }
  Value round_to(DType, Value value) const { return value; }
  Value add(Value a, Value b) const { return kField.add(a, b); }
  Value sub(Value a, Value b) const { return kField.sub(a, b); }
  Value mul(Value a, Value b) const { return kField.mul(a, b); }
  base::Result<Value> div(Value a, Value b) const {
    if (b == 0) return base::bad_input("division by zero");
    return kField.mul(a, kField.inverse(b));
  }
  Value neg(Value a) const { return kField.neg(a); }
  Value min(Value a, Value b) const { return less(b, a) ? b : a; }
  Value max(Value a, Value b) const { return less(a, b) ? b : a; }
  bool less(Value a, Value b) const {
    if (a == b || a == kPlusInfinity || b == kMinusInfinity) return false;
    if (a == kMinusInfinity || b == kPlusInfinity) return true;
    return PrimeField::less(key_, a, b);
  }
  bool less_equal(Value a, Value b) const { return !less(b, a); }
  bool equal(Value a, Value b) const { return a == b; }
  Value empty(Reduction reduction) const {
    return reduction == Reduction::kMax ? kMinusInfinity : kPlusInfinity;
  }

  Value call(Function function, Value a, Value b) const {
    return kField.call(key_, function, a, b);
  }

 private:
  std::span<const FieldTensor> inputs_;
  std::uint64_t key_;
};

}  // namespace

std::uint64_t field_element(double value) {
  EGRET_CHECK(!std::isnan(value), "NaN is no element of the field");
  if (std::isinf(value)) return value > 0 ? kPlusInfinity : kMinusInfinity;
  return kField.from_double(value);
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
      value = random.below(kFieldPrime);
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
