// SPDX-License-Identifier: Apache-2.0
#include "frontends/wire/onnx_tensor.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "base/system/file.h"
#include "frontends/onnx.pb.h"
#include "frontends/program/onnx_program.h"
#include "frontends/wire/external_data.h"
#include "frontends/wire/numpy_file.h"
#include "frontends/wire/tensor_file.h"
#include "ir/graph/onnx_binding.h"

namespace egret::frontends {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

using ir::DType;
using ir::Tensor;

constexpr int kExternal = 1;  // TensorProto.DataLocation
constexpr int kMaxRank = 64;

base::Result<std::int64_t> parse_integer(const std::string& text, const char* what) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return base::bad_input(std::string("external data with ") + what + " '" + text + "'");
  }
  return value;
}

base::Result<ExternalRange> external_range(const onnx::TensorProto& proto) {
  ExternalRange range;
  std::set<std::string_view> given;
  for (const auto& entry : proto.external_data()) {
    if (!given.insert(entry.key()).second)
      return base::bad_input("external data with " + in_quotes(entry.key()) + " given twice");
    if (entry.key() == "location") {
      range.location = entry.value();
    } else if (entry.key() == "offset") {
      EGRET_ASSIGN_OR_RETURN(range.offset, parse_integer(entry.value(), "offset"));
    } else if (entry.key() == "length") {
      EGRET_ASSIGN_OR_RETURN(range.length, parse_integer(entry.value(), "length"));
    }
  }
  return range;
}

// One repeated field into a tensor: each element through `convert`, which fails by returning false.
template <typename Field, typename Convert>
base::Status fill_from(const Field& field, Tensor& tensor, const Convert& convert) {
  if (field.size() != tensor.elements()) {
    return base::bad_input("has " + std::to_string(field.size()) + " elements, but its dims need " +
                           std::to_string(tensor.elements()));
  }
  for (int i = 0; i < field.size(); ++i) {
    if (!convert(tensor, i, field.Get(i))) {
      return base::bad_input("element " + std::to_string(i) + " (" + std::to_string(field.Get(i)) +
                             ") does not fit its type");
    }
  }
  return base::ok();
}

template <typename T>
bool store(Tensor& tensor, std::int64_t i, T value) {
  std::memcpy(tensor.mutable_data().data() + i * static_cast<std::int64_t>(sizeof(T)), &value,
              sizeof(T));
  return true;
}

template <typename T, typename Wide>
bool store_narrow(Tensor& tensor, std::int64_t i, Wide value) {
  return std::in_range<T>(value) && store(tensor, i, static_cast<T>(value));
}

template <typename T>
base::Status fill_narrow(const onnx::TensorProto& proto, Tensor& tensor) {
  return fill_from(proto.int32_data(), tensor, [](Tensor& t, std::int64_t i, std::int32_t value) {
    return store_narrow<T>(t, i, value);
  });
}

// The field that holds elements of this type (see the comments of onnx.proto's data types).
base::Status fill_typed(const onnx::TensorProto& proto, Tensor& tensor) {
  const auto as_is = [](Tensor& t, std::int64_t i, auto value) { return store(t, i, value); };
  switch (tensor.dtype()) {
    case DType::kF32: return fill_from(proto.float_data(), tensor, as_is);
    case DType::kF64: return fill_from(proto.double_data(), tensor, as_is);
    case DType::kI64: return fill_from(proto.int64_data(), tensor, as_is);
    case DType::kU64: return fill_from(proto.uint64_data(), tensor, as_is);
    case DType::kU32:
      return fill_from(proto.uint64_data(), tensor,
                       [](Tensor& t, std::int64_t i, std::uint64_t value) {
                         return store_narrow<std::uint32_t>(t, i, value);
                       });
    case DType::kI32: return fill_narrow<std::int32_t>(proto, tensor);
    case DType::kI16: return fill_narrow<std::int16_t>(proto, tensor);
    case DType::kI8: return fill_narrow<std::int8_t>(proto, tensor);
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16: return fill_narrow<std::uint16_t>(proto, tensor);
    case DType::kU8: return fill_narrow<std::uint8_t>(proto, tensor);
    case DType::kBool:
      return fill_from(proto.int32_data(), tensor,
                       [](Tensor& t, std::int64_t i, std::int32_t value) {
                         return store<std::uint8_t>(t, i, value != 0 ? 1 : 0);
                       });
  }
  return base::internal_error("element type without a storage form");
}

// Bytes of bool tensors other than 0 and 1 would be values that no operator makes.
void normalize_bools(Tensor& tensor) {
  for (std::uint8_t& value : tensor.mutable_as<std::uint8_t>()) value = value != 0 ? 1 : 0;
}

// The size of the tensor is checked before anything is allocated. The division keeps the product of
// count and element size from overflowing.
base::Result<ir::TensorType> declared_type(const onnx::TensorProto& proto, std::int64_t max_bytes) {
  const auto dtype = ir::dtype_from_onnx(proto.data_type());
  if (!dtype) {
    if (proto.data_type() <= 0) return base::bad_input("has no element type");
    return base::unsupported("elements of type " + onnx_type_name(proto.data_type()));
  }
  if (proto.dims_size() > kMaxRank) {
    return base::bad_input("has " + std::to_string(proto.dims_size()) + " axes; at most " +
                           std::to_string(kMaxRank) + " are allowed");
  }
  ir::Shape shape;
  for (const std::int64_t size : proto.dims()) {
    if (size < 0) return base::bad_input("has the negative size " + std::to_string(size));
    shape.push_back(size);
  }
  const auto count = ir::element_count(shape);
  if (!count || *count > max_bytes / static_cast<std::int64_t>(ir::byte_size(*dtype))) {
    return base::bad_input("of shape " + ir::to_string(std::span<const std::int64_t>(shape)) +
                           " is larger than the limit of " + std::to_string(max_bytes) + " bytes");
  }
  return ir::TensorType(*dtype, shape);
}

int storage_forms(const onnx::TensorProto& proto) {
  return int{proto.has_raw_data() && !proto.raw_data().empty()} + int{proto.float_data_size() > 0} +
         int{proto.int32_data_size() > 0} + int{proto.int64_data_size() > 0} +
         int{proto.double_data_size() > 0} + int{proto.uint64_data_size() > 0} +
         int{proto.data_location() == kExternal};
}

// The number of elements in the typed fields, of which at most one is used.
std::int64_t typed_elements(const onnx::TensorProto& proto) {
  return std::int64_t{proto.float_data_size()} + proto.int32_data_size() + proto.int64_data_size() +
         proto.double_data_size() + proto.uint64_data_size();
}

}  // namespace

std::string onnx_type_name(std::int64_t code) {
  static constexpr std::array<std::string_view, 24> kNames = {
      "undefined",      "float",      "uint8",          "int8",       "uint16",   "int16",
      "int32",          "int64",      "string",         "bool",       "float16",  "double",
      "uint32",         "uint64",     "complex64",      "complex128", "bfloat16", "float8e4m3fn",
      "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",      "int4",     "float4e2m1"};
  if (code >= 0 && code < static_cast<std::int64_t>(kNames.size()))
    return std::string(kNames[static_cast<std::size_t>(code)]);
  return "number " + std::to_string(code);
}

bool is_external(const onnx::TensorProto& proto) { return proto.data_location() == kExternal; }

std::string external_location(const onnx::TensorProto& proto) {
  if (!is_external(proto)) return "";
  const auto range = external_range(proto);
  return range.ok() ? range->location : "";
}

base::Result<Tensor> read_tensor(const onnx::TensorProto& proto, const std::string& folder,
                                 std::int64_t max_bytes) {
  EGRET_ASSIGN_OR_RETURN(ir::TensorType type, declared_type(proto, max_bytes));
  if (storage_forms(proto) > 1)
    return base::bad_input("stores its elements in more than one field");
  const std::int64_t bytes = type.bytes();

  if (proto.data_location() == kExternal) {
    EGRET_ASSIGN_OR_RETURN(const ExternalRange range, external_range(proto));
    // The file is checked before the tensor is allocated: a model of a few bytes could otherwise
    // ask for a large allocation with no file behind it.
    EGRET_RETURN_IF_ERROR(check_external(folder, range, bytes));
    Tensor tensor(std::move(type));
    EGRET_RETURN_IF_ERROR(read_external(folder, range, tensor.mutable_data()));
    if (tensor.dtype() == DType::kBool) normalize_bools(tensor);
    return tensor;
  }
  const std::int64_t elements = type.elements();
  if (proto.has_raw_data() && typed_elements(proto) == 0) {
    const auto given = static_cast<std::int64_t>(proto.raw_data().size());
    if (given != bytes) {
      return base::bad_input("has " + std::to_string(given) + " bytes of data, but shape " +
                             ir::to_string(std::span<const std::int64_t>(type.shape())) +
                             " and type need " + std::to_string(bytes));
    }
    Tensor tensor(std::move(type));
    if (bytes > 0) {
      std::memcpy(tensor.mutable_data().data(), proto.raw_data().data(),
                  static_cast<std::size_t>(bytes));
    }
    if (tensor.dtype() == DType::kBool) normalize_bools(tensor);
    return tensor;
  }
  // For the same reason, the number of elements is compared before the allocation.
  if (typed_elements(proto) != elements) {
    return base::bad_input("has " + std::to_string(typed_elements(proto)) +
                           " elements, but its dims need " + std::to_string(elements));
  }
  Tensor tensor(std::move(type));
  EGRET_RETURN_IF_ERROR(fill_typed(proto, tensor));
  return tensor;
}

void fill_tensor_header(onnx::TensorProto& proto, const Tensor& tensor, std::string_view name) {
  for (const std::int64_t size : tensor.shape()) proto.add_dims(size);
  proto.set_data_type(static_cast<std::int32_t>(ir::onnx_code(tensor.dtype())));
  if (!name.empty()) proto.set_name(std::string(name));
}

void fill_tensor_proto(onnx::TensorProto& proto, const Tensor& tensor, std::string_view name) {
  fill_tensor_header(proto, tensor, name);
  // set_raw_data(pointer, size) would copy twice.
  proto.mutable_raw_data()->assign(reinterpret_cast<const char*>(tensor.data().data()),
                                   tensor.data().size());
}

namespace {

constexpr std::int64_t kFileLimit = std::numeric_limits<std::int32_t>::max();

base::Result<Tensor> parse_tensor_proto(const std::string& bytes, const std::string& path) {
  onnx::TensorProto proto;
  if (!proto.ParseFromString(bytes))
    return base::bad_input(path + ": is not an ONNX tensor (malformed protobuf)");
  auto tensor = read_tensor(proto, "", kFileLimit);
  if (!tensor.ok()) return tensor.status().at(path + ": the tensor " + in_quotes(proto.name()));
  return tensor;
}

}  // namespace

base::Result<Tensor> read_tensor_proto(const std::string& path) {
  EGRET_ASSIGN_OR_RETURN(const std::string bytes, base::read_file(path, kFileLimit));
  return parse_tensor_proto(bytes, path);
}

base::Result<Tensor> read_tensor_file(const std::string& path, std::string_view name) {
  EGRET_ASSIGN_OR_RETURN(const std::string bytes, base::read_file(path, kFileLimit));
  const bool array = is_npy(bytes) || path.ends_with(".npy");
  if (!array && !is_npz(bytes) && !path.ends_with(".npz")) return parse_tensor_proto(bytes, path);
  auto tensor = array ? read_npy(bytes, kFileLimit) : read_npz(bytes, name, kFileLimit);
  return tensor.ok() ? tensor : tensor.status().at(path);
}

std::string write_tensor_proto(const Tensor& tensor, std::string_view name) {
  onnx::TensorProto proto;
  fill_tensor_proto(proto, tensor, name);
  return proto.SerializeAsString();
}

}  // namespace egret::frontends
