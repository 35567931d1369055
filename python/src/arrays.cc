// SPDX-License-Identifier: Apache-2.0
#include "python/src/arrays.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "python/src/call.h"

namespace egret::python {
namespace {

using Array = nb::ndarray<nb::ro, nb::device::cpu>;
using Code = nb::dlpack::dtype_code;

std::optional<ir::DType> dtype_of(const nb::dlpack::dtype& type) {
  if (type.lanes != 1) return std::nullopt;
  for (int i = 0; i < ir::kDTypeCount; ++i) {
    const auto dtype = static_cast<ir::DType>(i);
    Code code = Code::UInt;
    if (dtype == ir::DType::kBool) {
      code = Code::Bool;
    } else if (dtype == ir::DType::kBF16) {
      code = Code::Bfloat;
    } else if (ir::is_float(dtype)) {
      code = Code::Float;
    } else if (ir::is_signed_integer(dtype)) {
      code = Code::Int;
    }
    if (type.code == static_cast<std::uint8_t>(code) && type.bits == ir::bit_width(dtype))
      return dtype;
  }
  return std::nullopt;
}

bool is_contiguous(const Array& array) {
  std::int64_t step = 1;
  for (std::size_t axis = array.ndim(); axis-- > 0;) {
    const auto size = static_cast<std::int64_t>(array.shape(axis));
    if (size != 1 && array.stride(axis) != step) return false;
    step *= size;
  }
  return true;
}

// Row-major copies of an array of any strides, one run of the last axis at a time.
void copy_strided(const Array& array, std::size_t item, std::byte* to) {
  const std::size_t rank = array.ndim();
  const auto* from = static_cast<const std::byte*>(array.data());
  std::vector<std::int64_t> index(rank, 0);
  const auto count = static_cast<std::int64_t>(array.size());
  for (std::int64_t k = 0; k < count; ++k) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) offset += index[axis] * array.stride(axis);
    std::memcpy(to, from + offset * static_cast<std::int64_t>(item), item);
    to += item;
    for (std::size_t axis = rank; axis-- > 0;) {
      if (++index[axis] < static_cast<std::int64_t>(array.shape(axis))) break;
      index[axis] = 0;
    }
  }
}

const char* numpy_name(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::kF32: return "float32";
    case ir::DType::kF64: return "float64";
    case ir::DType::kF16: return "float16";
    case ir::DType::kBF16: return "bfloat16";
    case ir::DType::kI8: return "int8";
    case ir::DType::kI16: return "int16";
    case ir::DType::kI32: return "int32";
    case ir::DType::kI64: return "int64";
    case ir::DType::kU8: return "uint8";
    case ir::DType::kU16: return "uint16";
    case ir::DType::kU32: return "uint32";
    case ir::DType::kU64: return "uint64";
    case ir::DType::kBool: return "bool";
  }
  return "";
}

nb::object numpy_dtype(ir::DType dtype) {
  if (dtype != ir::DType::kBF16)
    return nb::module_::import_("numpy").attr("dtype")(numpy_name(dtype));
  try {
    return nb::module_::import_("ml_dtypes").attr("bfloat16");
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    raise(
        base::unavailable("arrays of bfloat16 need the package ml_dtypes: pip install ml_dtypes"));
  }
}

std::string text_of(const nb::object& object) {
  return nb::cast<std::string>(nb::str(nb::handle(object)));
}

ir::Tensor tensor_of(const Array& array, std::optional<ir::DType> dtype) {
  if (!dtype) {
    raise(
        base::unsupported("arrays of this element type: Egret takes floats of 16 to 64 bits, "
                          "integers of 8 to 64 bits and bool"));
  }
  ir::Shape shape;
  for (std::size_t axis = 0; axis < array.ndim(); ++axis)
    shape.push_back(static_cast<std::int64_t>(array.shape(axis)));
  const ir::TensorType type(*dtype, shape);
  const std::size_t item = ir::byte_size(*dtype);
  const bool contiguous = is_contiguous(array);
  if (contiguous &&
      ir::Tensor::may_borrow(array.data(), static_cast<std::int64_t>(array.size() * item))) {
    auto* held = new Array(array);
    // Only read: inputs of plans are constant.
    auto* data = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(array.data())));
    return ir::Tensor::over(type, std::shared_ptr<std::byte[]>(data, [held](std::byte*) {
                              const nb::gil_scoped_acquire locked;
                              delete held;
                            }));
  }
  ir::Tensor tensor = ir::Tensor::unfilled(type);
  std::byte* to = tensor.mutable_data().data();
  if (contiguous) {
    if (array.size() > 0) std::memcpy(to, array.data(), array.size() * item);
  } else {
    copy_strided(array, item, to);
  }
  return tensor;
}

}  // namespace

ir::Tensor tensor_of(nb::handle object) {
  // NumPy's bfloat16 comes from ml_dtypes, and exports neither DLPack nor a buffer of its type.
  if (nb::hasattr(object, "dtype") && text_of(object.attr("dtype")) == "bfloat16" &&
      nb::hasattr(object, "view")) {
    return tensor_of(nb::cast<Array>(object.attr("view")("uint16")), ir::DType::kBF16);
  }
  Array array;
  if (!nb::try_cast(object, array)) {
    raise(
        base::usage_error("an input must be an array on the CPU (NumPy, or any that exports "
                          "DLPack), not " +
                          text_of(object.type().attr("__name__"))));
  }
  return tensor_of(array, dtype_of(array.dtype()));
}

std::map<std::string, ir::Tensor> tensors_of(const nb::dict& arrays) {
  std::map<std::string, ir::Tensor> tensors;
  for (const auto& [name, array] : arrays)
    tensors.emplace(nb::cast<std::string>(name), tensor_of(array));
  return tensors;
}
nb::object array_of(ir::Tensor&& tensor) {
  auto* held = new ir::Tensor(std::move(tensor));
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<ir::Tensor*>(p); });
  void* data = const_cast<std::byte*>(held->data().data());
  const auto bytes = static_cast<std::size_t>(held->bytes());
  const nb::object flat = nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(data, {bytes}, owner));
  nb::list shape;
  for (const std::int64_t size : held->shape()) shape.append(size);
  return flat.attr("view")(numpy_dtype(held->dtype())).attr("reshape")(nb::tuple(shape));
}

nb::object array_of(const ir::Tensor& tensor) {
  nb::object array = array_of(ir::Tensor(tensor));
  array.attr("flags").attr("writeable") = false;
  return array;
}

}  // namespace egret::python
