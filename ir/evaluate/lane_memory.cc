// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/lane_memory.h"

#include <type_traits>

#include "ir/core/integer_arithmetic.h"

namespace egret::ir {
namespace {

// f16 and bf16 are stored in 16 bits that mean something else than an integer.
struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
struct Bool {
  std::uint8_t bits;
};

// Calls visit with a value of the type's storage.
template <typename Visit>
void with_storage(DType type, const Visit& visit) {
  switch (type) {
    case DType::kF32: return visit(float{});
    case DType::kF64: return visit(double{});
    case DType::kF16: return visit(Half{});
    case DType::kBF16: return visit(BFloat16{});
    case DType::kI8: return visit(std::int8_t{});
    case DType::kI16: return visit(std::int16_t{});
    case DType::kI32: return visit(std::int32_t{});
    case DType::kI64: return visit(std::int64_t{});
    case DType::kU8: return visit(std::uint8_t{});
    case DType::kU16: return visit(std::uint16_t{});
    case DType::kU32: return visit(std::uint32_t{});
    case DType::kU64: return visit(std::uint64_t{});
    case DType::kBool: return visit(Bool{});
  }
}

template <typename To, typename From>
To widen(From value) {
  if constexpr (std::is_same_v<From, Half>) {
    return static_cast<To>(half_to_float(value.bits));
  } else if constexpr (std::is_same_v<From, BFloat16>) {
    return static_cast<To>(bfloat16_to_float(value.bits));
  } else if constexpr (std::is_same_v<From, Bool>) {
    return static_cast<To>(value.bits != 0 ? 1 : 0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return real_to_integer(DType::kI64, static_cast<double>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <typename To, typename From>
To narrow([[maybe_unused]] DType type, From value) {
  if constexpr (std::is_same_v<To, Half>) {
    return {float_to_half(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return {float_to_bfloat16(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<std::uint8_t>(value != 0 ? 1 : 0)};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return static_cast<To>(real_to_integer(type, value));
  } else {
    return static_cast<To>(value);
  }
}

template <typename T>
// The type is dispatched once per array, outside of the loop. Stride 1 has a loop of its own, which
// compilers vectorize.
void load(DType type, const std::byte* data, std::int64_t first, std::int64_t stride,
          std::int64_t count, T* to) {
  with_storage(type, [&](auto storage) {
    using S = decltype(storage);
    const S* from = reinterpret_cast<const S*>(data) + first;
    if (stride == 1) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = widen<T>(from[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] = widen<T>(from[i * stride]);
    }
  });
}

template <typename T>
void gather(DType type, const std::byte* data, const std::int64_t* offsets,
            const std::uint8_t* mask, std::int64_t count, T* to) {
  with_storage(type, [&](auto storage) {
    const auto* from = reinterpret_cast<const decltype(storage)*>(data);
    for (std::int64_t i = 0; i < count; ++i) {
      if (mask == nullptr || mask[i] != 0) to[i] = widen<T>(from[offsets[i]]);
    }
  });
}

template <typename T>
void store(DType type, std::byte* data, std::int64_t first, std::int64_t stride, std::int64_t count,
           const T* from) {
  with_storage(type, [&](auto storage) {
    using S = decltype(storage);
    S* to = reinterpret_cast<S*>(data) + first;
    if (stride == 1) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = narrow<S>(type, from[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i * stride] = narrow<S>(type, from[i]);
    }
  });
}

}  // namespace

void load_lanes(DType type, const std::byte* data, std::int64_t first, std::int64_t stride,
                std::int64_t count, double* to) {
  load(type, data, first, stride, count, to);
}
void load_lanes(DType type, const std::byte* data, std::int64_t first, std::int64_t stride,
                std::int64_t count, std::int64_t* to) {
  load(type, data, first, stride, count, to);
}
void gather_lanes(DType type, const std::byte* data, const std::int64_t* offsets,
                  const std::uint8_t* mask, std::int64_t count, double* to) {
  gather(type, data, offsets, mask, count, to);
}
void gather_lanes(DType type, const std::byte* data, const std::int64_t* offsets,
                  const std::uint8_t* mask, std::int64_t count, std::int64_t* to) {
  gather(type, data, offsets, mask, count, to);
}
void store_lanes(DType type, std::byte* data, std::int64_t first, std::int64_t stride,
                 std::int64_t count, const double* from) {
  store(type, data, first, stride, count, from);
}
void store_lanes(DType type, std::byte* data, std::int64_t first, std::int64_t stride,
                 std::int64_t count, const std::int64_t* from) {
  store(type, data, first, stride, count, from);
}

}  // namespace egret::ir
