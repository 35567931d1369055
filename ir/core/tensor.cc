// SPDX-License-Identifier: Apache-2.0
#include "ir/core/tensor.h"

#include <atomic>
#include <charconv>
#include <cmath>
#include <cstring>
#include <mutex>
#include <new>

#include "base/system/page_pool.h"
#include "ir/core/draw.h"

namespace egret::ir {
namespace {

constexpr std::size_t kAlignment = 64;

// Arrays from this size on have pages of their own. Sanitizers watch the ends of all of them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kLeastPaged = SIZE_MAX;
#else
constexpr std::size_t kLeastPaged = 128 << 10;
#endif

struct Memory {
  std::shared_ptr<std::byte[]> bytes;
  bool zeroed = false;
};

Memory allocate(std::size_t bytes) {
  if (bytes >= kLeastPaged) {
    const auto [data, zeroed] = base::page_pool().allocate(bytes);
    return {{data, [](std::byte* p) { base::page_pool().free(p); }}, zeroed};
  }
  // Kernels may read whole vectors at the end of a tensor. The address sanitizer shows who does
  // more than that, and does not see kernels that are not instrumented.
#if defined(__SANITIZE_ADDRESS__)
  const std::size_t padded = bytes;
#else
  const std::size_t padded =
      (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
#endif
  auto* memory = static_cast<std::byte*>(::operator new[](padded, std::align_val_t(kAlignment)));
  return {{memory, [](std::byte* p) { ::operator delete[](p, std::align_val_t(kAlignment)); }}};
}

template <typename T>
T load(const std::byte* base, std::int64_t i) {
  T value;
  std::memcpy(&value, base + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void store(std::byte* base, std::int64_t i, T value) {
  std::memcpy(base + i * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

// Real to 64-bit integer: truncated; NaN is 0; out of range saturates.
std::int64_t to_i64(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) {
    // The upper half of u64 keeps its bits.
    return value < 0x1p64 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(value))
                          : INT64_MAX;
  }
  return value < -0x1p63 ? INT64_MIN : static_cast<std::int64_t>(value);
}

}  // namespace

// The hash of a buffer's contents, once it was asked for, until they may change.
class Tensor::KnownHash {
 public:
  static constexpr std::int64_t kLeastBytes = 64 << 10;

  base::ContentHash of(std::span<const std::byte> contents) {
    const std::scoped_lock lock(mutex_);
    if (!known_) hash_ = base::content_hash(contents);
    known_ = true;
    return hash_;
  }
  // By the buffer's only owner, perhaps before each element that is written.
  void forget() {
    if (known_.load(std::memory_order_relaxed)) known_ = false;
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> known_{false};
  base::ContentHash hash_;
};

Tensor::Tensor(TensorType type) {
  if (!allocate_as(std::move(type)))
    std::memset(buffer_.get(), 0, static_cast<std::size_t>(bytes()));
}

Tensor Tensor::unfilled(TensorType type) {
  Tensor result;
  (void)result.allocate_as(std::move(type));
  return result;
}

Tensor Tensor::over(TensorType type, std::shared_ptr<std::byte[]> memory) {
  Tensor result;
  result.type_ = std::move(type);
  result.elements_ = result.type_.elements();
  EGRET_CHECK(may_borrow(memory.get(), result.bytes()), "memory that kernels may not read");
  result.buffer_ = std::move(memory);
  return result;
}

bool Tensor::may_borrow(const void* memory, std::int64_t bytes) {
  constexpr std::uintptr_t kLeastAlignment = 16;  // of emitted kernels' packs
  return reinterpret_cast<std::uintptr_t>(memory) % kLeastAlignment == 0 && bytes > 0 &&
         bytes % static_cast<std::int64_t>(kAlignment) == 0;
}

bool Tensor::allocate_as(TensorType type) {
  type_ = std::move(type);
  elements_ = type_.elements();
  Memory memory = allocate(static_cast<std::size_t>(bytes()));
  buffer_ = std::move(memory.bytes);
  if (bytes() >= KnownHash::kLeastBytes) known_hash_ = std::make_shared<KnownHash>();
  return memory.zeroed;
}

Tensor Tensor::of(DType dtype, std::span<const std::int64_t> shape,
                  std::span<const double> values) {
  Tensor result(dtype, shape);
  EGRET_CHECK(result.elements_ == static_cast<std::int64_t>(values.size()), "element count");
  for (std::int64_t i = 0; i < result.elements_; ++i)
    result.set_f64(i, values[static_cast<std::size_t>(i)]);
  return result;
}

Tensor Tensor::of_integers(std::span<const std::int64_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  Tensor result(TensorType(DType::kI64, {count}));
  for (std::int64_t i = 0; i < count; ++i) result.set_i64(i, values[static_cast<std::size_t>(i)]);
  return result;
}

Tensor Tensor::scalar(DType dtype, double value) {
  return filled(TensorType(dtype, Dims{}), value);
}

Tensor Tensor::filled(TensorType type, double value) {
  Tensor result(std::move(type));
  for (std::int64_t i = 0; i < result.elements_; ++i) result.set_f64(i, value);
  return result;
}

Tensor Tensor::random(TensorType type, base::Random& random) {
  const Draw draw = usual_draw(type.dtype);
  return drawn(std::move(type), draw, random);
}

// Copy on write: tensors share buffers, and a writer gets its own if there are other owners.
std::span<std::byte> Tensor::mutable_data() {
  if (buffer_.use_count() > 1) {
    auto copy = allocate(static_cast<std::size_t>(bytes())).bytes;
    std::memcpy(copy.get(), buffer_.get(), static_cast<std::size_t>(bytes()));
    buffer_ = std::move(copy);
    if (known_hash_ != nullptr) known_hash_ = std::make_shared<KnownHash>();
  } else if (known_hash_ != nullptr) {
    known_hash_->forget();
  }
  return {buffer_.get(), static_cast<std::size_t>(bytes())};
}

double Tensor::f64_at(std::int64_t i) const {
  const std::byte* p = buffer_.get();
  switch (type_.dtype) {
    case DType::kF32: return load<float>(p, i);
    case DType::kF64: return load<double>(p, i);
    case DType::kF16: return half_to_float(load<std::uint16_t>(p, i));
    case DType::kBF16: return bfloat16_to_float(load<std::uint16_t>(p, i));
    case DType::kU64: return static_cast<double>(load<std::uint64_t>(p, i));
    default: return static_cast<double>(i64_at(i));
  }
}

std::int64_t Tensor::i64_at(std::int64_t i) const {
  const std::byte* p = buffer_.get();
  switch (type_.dtype) {
    case DType::kI8: return load<std::int8_t>(p, i);
    case DType::kI16: return load<std::int16_t>(p, i);
    case DType::kI32: return load<std::int32_t>(p, i);
    case DType::kI64: return load<std::int64_t>(p, i);
    case DType::kU8: return load<std::uint8_t>(p, i);
    case DType::kU16: return load<std::uint16_t>(p, i);
    case DType::kU32: return load<std::uint32_t>(p, i);
    case DType::kU64: return static_cast<std::int64_t>(load<std::uint64_t>(p, i));
    case DType::kBool: return load<std::uint8_t>(p, i) != 0 ? 1 : 0;
    default: return to_i64(f64_at(i));
  }
}

void Tensor::set_f64(std::int64_t i, double value) {
  std::byte* p = mutable_data().data();
  switch (type_.dtype) {
    case DType::kF32: store(p, i, static_cast<float>(value)); break;
    case DType::kF64: store(p, i, value); break;
    case DType::kF16: store(p, i, float_to_half(static_cast<float>(value))); break;
    case DType::kBF16: store(p, i, float_to_bfloat16(static_cast<float>(value))); break;
    case DType::kBool: store<std::uint8_t>(p, i, value != 0 ? 1 : 0); break;
    default: set_i64(i, to_i64(value)); break;
  }
}

void Tensor::set_i64(std::int64_t i, std::int64_t value) {
  std::byte* p = mutable_data().data();
  switch (type_.dtype) {
    case DType::kI8: store(p, i, static_cast<std::int8_t>(value)); break;
    case DType::kI16: store(p, i, static_cast<std::int16_t>(value)); break;
    case DType::kI32: store(p, i, static_cast<std::int32_t>(value)); break;
    case DType::kI64: store(p, i, value); break;
    case DType::kU8: store(p, i, static_cast<std::uint8_t>(value)); break;
    case DType::kU16: store(p, i, static_cast<std::uint16_t>(value)); break;
    case DType::kU32: store(p, i, static_cast<std::uint32_t>(value)); break;
    case DType::kU64: store(p, i, static_cast<std::uint64_t>(value)); break;
    case DType::kBool: store<std::uint8_t>(p, i, value != 0 ? 1 : 0); break;
    default: set_f64(i, static_cast<double>(value)); break;
  }
}

Tensor Tensor::reshaped(std::span<const std::int64_t> shape) const {
  EGRET_CHECK(element_count(shape) == elements_, "reshape keeps the element count");
  Tensor result = *this;
  result.type_ = TensorType(type_.dtype, shape);
  return result;
}

base::ContentHash Tensor::content_hash() const {
  const base::ContentHash contents =
      known_hash_ != nullptr ? known_hash_->of(data()) : base::content_hash(data());
  return base::content_hash(to_string(type_) + contents.to_hex());
}

std::string to_string(const Tensor& tensor, std::int64_t max_elements) {
  std::string text = to_string(tensor.type()) + " {";
  for (std::int64_t i = 0; i < std::min(tensor.elements(), max_elements); ++i) {
    if (i > 0) text += ", ";
    if (is_float(tensor.dtype())) {
      char buffer[32];
      const auto end = std::to_chars(buffer, buffer + sizeof buffer, tensor.f64_at(i),
                                     std::chars_format::general, 7)
                           .ptr;
      text.append(buffer, end);
    } else {
      text += std::to_string(tensor.i64_at(i));
    }
  }
  if (tensor.elements() > max_elements) text += ", ...";
  return text + "}";
}

}  // namespace egret::ir
