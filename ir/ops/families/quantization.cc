// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/quantization.h"

#include <cmath>

#include "ir/core/size_reference.h"

namespace egret::ir {

Value converted(GraphBuilder& b, Value x, DType type) {
  if (b.type(x).dtype == type) return x;
  return b.add("cast", {x}, {{"to", std::string(to_string(type))}});
}

// Broadcasting aligns last axes. A vector along an earlier axis gets axes of size 1 behind it.
Value along_axis(GraphBuilder& b, Value vector, std::int64_t axis, int rank) {
  const TensorType& type = b.type(vector);
  if (type.rank() != 1 || axis == rank - 1) return vector;
  const bool one = type.dims[0].is_constant() && type.dims[0].constant() == 1;
  if (one || axis < 0 || axis >= rank) return vector;
  Integers shape(static_cast<std::size_t>(rank - axis), 1);
  shape[0] = target_of_axis(type, 0);
  return b.add("reshape", {vector}, {{"shape", shape}});
}

Value one_for_all(GraphBuilder& b, Value vector) {
  const TensorType& type = b.type(vector);
  const bool one = type.rank() == 1 && type.dims[0].is_constant() && type.dims[0].constant() == 1;
  return one ? b.add("reshape", {vector}, {{"shape", Integers{}}}) : vector;
}

Value centered_integers(GraphBuilder& b, Value integer, Value zero, std::int64_t axis) {
  const Value wide = converted(b, integer, DType::kI32);
  if (!zero.valid()) return wide;
  const Value offset = along_axis(b, converted(b, zero, DType::kI32), axis, b.type(integer).rank());
  return b.add("sub", {wide, offset});
}

Value rounded_to(GraphBuilder& b, Value x, Value zero, DType type) {
  const DType real = b.type(x).dtype;
  if (b.ok() && (!is_integer(type) || bit_width(type) > 16)) {
    return b.fail(base::unsupported("quantization to " + std::string(to_string(type))));
  }
  const int bits = bit_width(type);
  const double low = is_signed_integer(type) ? -std::exp2(bits - 1) : 0.0;
  const double high = low + std::exp2(bits) - 1;
  Value shifted = b.add("round", {x});
  if (zero.valid()) shifted = b.add("add", {shifted, converted(b, zero, real)});
  return converted(b, b.add("clip", {shifted}, {{"min", low}, {"max", high}}), type);
}

}  // namespace egret::ir
