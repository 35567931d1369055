// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/onnx_arguments.h"

#include "ir/core/symbolic_scope.h"

namespace egret::ir {

base::Result<std::optional<Tensor>> constant_argument(const OnnxNode& node, int i,
                                                      std::string_view what) {
  if (i < 0 || i >= node.input_count() || !node.has_input(i)) return std::optional<Tensor>{};
  std::optional<Tensor> tensor = node.constant(i);
  if (!tensor) {
    return base::unsupported("input " + std::to_string(i) + " (" + std::string(what) +
                             ") is computed at run time; it must be constant. If it follows from "
                             "symbolic sizes, bind them (--bind NAME=SIZE)");
  }
  return tensor;
}

base::Result<std::optional<Integers>> integers_argument(const OnnxNode& node, int i,
                                                        std::string_view attr) {
  EGRET_ASSIGN_OR_RETURN(const std::optional<Tensor> tensor, constant_argument(node, i, attr));
  if (tensor) return node.constant_integers(i);
  if (!node.has_attr(attr)) return std::optional<Integers>{};
  return std::optional<Integers>(node.integers(attr, {}));
}

base::Result<Integers> required_integers(const OnnxNode& node, int i, std::string_view attr) {
  EGRET_ASSIGN_OR_RETURN(std::optional<Integers> values, integers_argument(node, i, attr));
  if (!values) return base::bad_input("'" + std::string(attr) + "' is missing");
  return *std::move(values);
}

base::Result<std::optional<std::vector<Index>>> sizes_argument(const OnnxNode& node, int i,
                                                               std::string_view attr) {
  const bool given = i >= 0 && i < node.input_count() && node.has_input(i);
  if (given && SymbolicScope::current() != nullptr) {
    if (auto sizes = node.sizes(i)) return std::optional(*std::move(sizes));
  }
  EGRET_ASSIGN_OR_RETURN(const auto integers, integers_argument(node, i, attr));
  if (!integers) return std::optional<std::vector<Index>>{};
  return std::optional(std::vector<Index>(integers->begin(), integers->end()));
}

base::Result<std::vector<Index>> required_sizes(const OnnxNode& node, int i,
                                                std::string_view attr) {
  EGRET_ASSIGN_OR_RETURN(auto values, sizes_argument(node, i, attr));
  if (!values) return base::bad_input("'" + std::string(attr) + "' is missing");
  return *std::move(values);
}

base::Result<Integers> required_size_integers(const OnnxNode& node, int i, std::string_view attr) {
  EGRET_ASSIGN_OR_RETURN(const std::vector<Index> sizes, required_sizes(node, i, attr));
  return open_integers(sizes);
}

base::Result<Integers> open_integers(std::span<const Index> sizes) {
  Integers integers;
  for (const Index& size : sizes) {
    const auto integer = open_integer(size);
    if (!integer)
      return base::unsupported("the size " + to_string(size) +
                               " is open; bind it with --bind NAME=SIZE");
    integers.push_back(*integer);
  }
  return integers;
}

base::Result<std::int64_t> known_size(const OnnxNode& node, Value value, int axis) {
  const TensorType& type = node.type(value);
  if (axis < 0 || axis >= type.rank()) {
    return base::bad_input("there is no axis " + std::to_string(axis) + " in " + to_string(type));
  }
  const Index size = type.dims[static_cast<std::size_t>(axis)];
  if (size.is_constant()) return size.constant();
  return base::unsupported("the size " + to_string(size) + " of axis " + std::to_string(axis) +
                           " must be known here; bind its symbols (--bind NAME=SIZE)");
}

base::Status require_opset(OnnxWriter& writer, int since, std::string_view op_type) {
  if (writer.opset() >= since) return base::ok();
  writer.needs_opset(since);
  return base::unsupported(std::string(op_type) + " needs opset " + std::to_string(since) +
                           ", the model has " + std::to_string(writer.opset()));
}

}  // namespace egret::ir
