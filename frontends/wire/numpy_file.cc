// SPDX-License-Identifier: Apache-2.0
#include "frontends/wire/numpy_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "frontends/wire/zip_file.h"

namespace egret::frontends {
namespace {

using ir::DType;

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr int kMaxRank = 64;

// The head of an .npy file, a Python dictionary:
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
struct Header {
  DType dtype = DType::kF32;
  bool swapped = false;        // the highest byte of an element is first
  bool first_fastest = false;  // the order of axes: the first one changes fastest
  ir::Shape shape{};
};

// What follows the key in the dictionary.
std::optional<std::string_view> value_of(std::string_view text, std::string_view key) {
  const auto at = text.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size() + 2);
  const auto begin = text.find_first_not_of(" :");
  if (begin == std::string_view::npos) return std::nullopt;
  return text.substr(begin);
}

std::optional<DType> dtype_of(std::string_view code) {
  static constexpr std::array<std::pair<std::string_view, DType>, 12> kCodes = {
      {{"f2", DType::kF16},
       {"f4", DType::kF32},
       {"f8", DType::kF64},
       {"i1", DType::kI8},
       {"i2", DType::kI16},
       {"i4", DType::kI32},
       {"i8", DType::kI64},
       {"u1", DType::kU8},
       {"u2", DType::kU16},
       {"u4", DType::kU32},
       {"u8", DType::kU64},
       {"b1", DType::kBool}}};
  const auto found = std::ranges::find(kCodes, code, &std::pair<std::string_view, DType>::first);
  return found == kCodes.end() ? std::nullopt : std::optional(found->second);
}

base::Status read_element_type(std::string_view text, Header& header) {
  const auto descr = value_of(text, "descr");
  if (!descr) return base::bad_input("has no element type");
  const auto close = descr->empty() ? std::string_view::npos : descr->find(descr->front(), 1);
  if (descr->empty() || descr->front() != '\'' || close == std::string_view::npos)
    return base::unsupported("has a structure as elements");
  std::string_view code = descr->substr(1, close - 1);
  const char order = code.empty() ? ' ' : code.front();
  if (order == '<' || order == '>' || order == '|' || order == '=') code.remove_prefix(1);
  const auto dtype = dtype_of(code);
  if (!dtype) return base::unsupported("has elements of type '" + std::string(code) + "'");
  header.dtype = *dtype;
  header.swapped = order == '>';
  return base::ok();
}

base::Status read_shape(std::string_view text, Header& header) {
  const auto shape = value_of(text, "shape");
  const auto close = shape ? shape->find(')') : std::string_view::npos;
  if (!shape || shape->front() != '(' || close == std::string_view::npos)
    return base::bad_input("has no shape");
  std::string_view sizes = shape->substr(1, close - 1);
  while (true) {
    sizes.remove_prefix(std::min(sizes.find_first_not_of(" ,"), sizes.size()));
    if (sizes.empty()) return base::ok();
    std::int64_t size = 0;
    const auto read = std::from_chars(sizes.data(), sizes.data() + sizes.size(), size);
    if (read.ec != std::errc() || size < 0 || header.shape.size() == kMaxRank)
      return base::bad_input("has the impossible shape (" +
                             std::string(shape->substr(1, close - 1)) + ")");
    header.shape.push_back(size);
    sizes.remove_prefix(static_cast<std::size_t>(read.ptr - sizes.data()));
  }
}

base::Result<Header> parse_header(std::string_view text) {
  Header header;
  EGRET_RETURN_IF_ERROR(read_element_type(text, header));
  EGRET_RETURN_IF_ERROR(read_shape(text, header));
  const auto order = value_of(text, "fortran_order");
  header.first_fastest = order && order->starts_with("True");
  return header;
}

void swap_bytes(ir::Tensor& tensor) {
  const auto width = static_cast<std::ptrdiff_t>(ir::byte_size(tensor.dtype()));
  const auto data = tensor.mutable_data();
  for (auto at = data.begin(); at != data.end(); at += width) std::reverse(at, at + width);
}

// From an order in which the first axis changes fastest to one in which the last does.
ir::Tensor reordered(const ir::Tensor& tensor) {
  const ir::Shape shape = tensor.shape();
  const auto width = ir::byte_size(tensor.dtype());
  ir::Shape strides = shape;
  std::int64_t stride = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  ir::Tensor result = ir::Tensor::unfilled(tensor.type());
  std::byte* to = result.mutable_data().data();
  const std::byte* from = tensor.data().data();
  ir::Shape index(shape);
  std::fill(index.begin(), index.end(), 0);
  std::int64_t source = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i, to += width) {
    std::memcpy(to, from + static_cast<std::size_t>(source) * width, width);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      source += strides[axis];
      if (++index[axis] < shape[axis]) break;
      source -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return result;
}

}  // namespace

bool is_npy(std::string_view bytes) { return bytes.starts_with(kMagic); }
bool is_npz(std::string_view bytes) { return bytes.starts_with("PK"); }

base::Result<ir::Tensor> read_npy(std::string_view bytes, std::int64_t limit_bytes) {
  if (!is_npy(bytes) || bytes.size() < 12) return base::bad_input("is not a NumPy array");
  const auto byte = [&](std::size_t at) {
    return std::size_t{static_cast<unsigned char>(bytes[at])};
  };
  // From version 2 on, the length of the header has four bytes.
  const bool is_long = byte(6) > 1;
  std::size_t length = byte(8) | byte(9) << 8;
  if (is_long) length |= byte(10) << 16 | byte(11) << 24;
  const std::size_t begin = is_long ? 12 : 10;
  if (length > bytes.size() - begin) return base::bad_input("is cut short");
  EGRET_ASSIGN_OR_RETURN(const Header header, parse_header(bytes.substr(begin, length)));
  const std::string_view data = bytes.substr(begin + length);
  const auto count = ir::element_count(header.shape);
  const auto width = static_cast<std::int64_t>(ir::byte_size(header.dtype));
  if (!count || *count > limit_bytes / width)
    return base::bad_input("is larger than " + std::to_string(limit_bytes) + " bytes");
  if (static_cast<std::int64_t>(data.size()) != *count * width) {
    return base::bad_input("has " + std::to_string(data.size()) + " bytes of data, but shape " +
                           ir::to_string(std::span<const std::int64_t>(header.shape)) + " needs " +
                           std::to_string(*count * width));
  }
  ir::Tensor tensor = ir::Tensor::unfilled(ir::TensorType(header.dtype, header.shape));
  if (!data.empty()) std::memcpy(tensor.mutable_data().data(), data.data(), data.size());
  if (header.swapped) swap_bytes(tensor);
  if (header.dtype == DType::kBool) {
    for (std::uint8_t& value : tensor.mutable_as<std::uint8_t>()) value = value != 0 ? 1 : 0;
  }
  return header.first_fastest ? reordered(tensor) : tensor;
}

base::Result<ir::Tensor> read_npz(std::string_view bytes, std::string_view name,
                                  std::int64_t limit_bytes) {
  EGRET_ASSIGN_OR_RETURN(const ZipFile file, ZipFile::open(bytes));
  const std::vector<std::string>& members = file.names();
  std::size_t chosen = members.size() == 1 ? 0 : members.size();
  std::string known;
  for (std::size_t i = 0; i < members.size(); ++i) {
    std::string_view title = members[i];
    if (title.ends_with(".npy")) title.remove_suffix(4);
    if (title == name && !name.empty()) chosen = i;
    known += (known.empty() ? "'" : ", '") + std::string(title) + "'";
  }
  if (chosen == members.size()) {
    return base::bad_input("has no array '" + std::string(name) + "'; its arrays are " +
                           (known.empty() ? "none" : known));
  }
  EGRET_ASSIGN_OR_RETURN(const std::string array, file.read(chosen, limit_bytes));
  auto tensor = read_npy(array, limit_bytes);
  return tensor.ok() ? tensor : tensor.status().at("member '" + members[chosen] + "'");
}

}  // namespace egret::frontends
