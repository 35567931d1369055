// SPDX-License-Identifier: Apache-2.0
// Random applications of every operator, of small types that it accepts.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "ir/graph/operator.h"
#include "rules/testing/attribute_sampler.h"

namespace egret::parallel {

struct Application {
  const ir::Operator* op = nullptr;
  ir::Attrs attrs;
  std::vector<ir::TensorType> types;
};

inline std::string to_string(const Application& call) {
  std::string text = call.op->name() + to_string(call.attrs) + "(";
  for (const ir::TensorType& type : call.types)
    text += (text.ends_with('(') ? "" : ", ") + to_string(type);
  return text + ")";
}

inline std::vector<ir::TensorType> some_types(std::size_t count, base::Random& random) {
  static constexpr std::int64_t kSizes[] = {1, 2, 2, 3, 4, 4, 6};
  std::vector<ir::TensorType> types;
  const std::uint64_t kind = random.below(10);
  const ir::DType dtype =
      kind < 8 ? ir::DType::kF32 : (kind < 9 ? ir::DType::kI64 : ir::DType::kBool);
  const std::uint64_t rank = random.below(5);
  for (std::size_t i = 0; i < count; ++i) {
    ir::TensorType type(dtype, ir::Dims{});
    if (random.chance(0.1)) type.dtype = random.chance(0.5) ? ir::DType::kBool : ir::DType::kI64;
    if (i > 0 && random.chance(0.5)) {
      type.dims = types[random.below(i)].dims;
    } else {
      const std::uint64_t own = random.chance(0.7) ? rank : random.below(5);
      for (std::uint64_t axis = 0; axis < own; ++axis)
        type.dims.emplace_back(kSizes[random.below(std::size(kSizes))]);
    }
    types.push_back(std::move(type));
  }
  return types;
}

// For each operator and number of operands, visits up to `times` small random applications that the
// operator accepts (fewer where they are rare). `visit` receives the application and random numbers
// of its own.
template <typename Visit>
void for_all_operators(int times, const Visit& visit) {
  constexpr std::int64_t kMostElements = 300;
  for (const ir::Operator* op : ir::all_operators()) {
    const auto most = std::min<std::size_t>(op->max_inputs(), op->min_inputs() + 2);
    for (auto operands = static_cast<std::size_t>(op->min_inputs()); operands <= most; ++operands) {
      int found = 0;
      for (std::uint64_t attempt = 0; found < times && attempt < 3000; ++attempt) {
        base::Random random = base::Random(base::hash_string(op->name(), operands)).split(attempt);
        Application call{op, {}, some_types(operands, random)};
        for (const ir::AttrSpec* spec : rules::sampling_order(*op))
          call.attrs.set(spec->name, rules::sample_attr(*spec, call.attrs, call.types, random));
        const auto type = ir::infer_type(*op, call.attrs, call.types);
        if (!type.ok() || type->elements() > kMostElements) continue;
        ++found;
        visit(call, random);
      }
    }
  }
}

}  // namespace egret::parallel
