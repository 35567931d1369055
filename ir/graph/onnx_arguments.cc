// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/onnx_arguments.h"

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
