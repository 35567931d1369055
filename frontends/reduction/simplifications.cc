// SPDX-License-Identifier: Apache-2.0
#include "frontends/reduction/simplifications.h"

#include <algorithm>
#include <set>
#include <utility>

#include "frontends/onnx.pb.h"
#include "frontends/reduction/submodel.h"
#include "frontends/wire/onnx_tensor.h"
#include "ir/core/tensor.h"
#include "ir/graph/onnx_binding.h"

namespace egret::frontends {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 31;
constexpr std::int64_t kShapeElements = 8;  // most of a constant that may be a shape

bool is_real(const onnx::TensorProto& tensor) {
  const auto dtype = ir::dtype_from_onnx(tensor.data_type());
  return dtype && ir::is_float(*dtype);
}

bool names_output(const onnx::GraphProto& graph, const std::string& name) {
  return std::ranges::any_of(graph.output(),
                             [&](const auto& output) { return output.name() == name; });
}

void forget_types(onnx::GraphProto& graph) {
  graph.clear_value_info();
  for (auto& output : *graph.mutable_output()) output.clear_type();
}

// The first elements along each axis.
ir::Tensor cropped(const ir::Tensor& tensor, const ir::Shape& shape) {
  ir::Tensor result(ir::TensorType(tensor.dtype(), std::span<const std::int64_t>(shape)));
  const ir::Shape strides = ir::row_major_strides(tensor.type().shape());
  const ir::Shape steps = ir::row_major_strides(shape);
  const bool real = ir::is_float(tensor.dtype());
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      from += i / steps[axis] % shape[axis] * strides[axis];
    if (real) {
      result.set_f64(i, tensor.f64_at(from));
    } else {
      result.set_i64(i, tensor.i64_at(from));
    }
  }
  return result;
}

bool shrink_weight(onnx::TensorProto& proto, std::int64_t size, std::int64_t smaller) {
  const auto tensor = read_tensor(proto, "", kMostBytes);
  if (!tensor.ok()) return false;
  ir::Shape shape = tensor->type().shape();
  std::ranges::replace(shape, size, smaller);
  const std::string name = proto.name();
  proto.Clear();
  fill_tensor_proto(proto, cropped(*tensor, shape), name);
  return true;
}

// A constant of a few integers may be a shape; its elements are then sizes.
bool shrink_shape(onnx::TensorProto& proto, std::int64_t size, std::int64_t smaller) {
  if (proto.data_type() != 7 || proto.dims_size() > 1) return true;
  auto tensor = read_tensor(proto, "", kMostBytes);
  if (!tensor.ok()) return false;
  if (tensor->elements() > kShapeElements) return true;
  for (std::int64_t i = 0; i < tensor->elements(); ++i) {
    if (tensor->i64_at(i) == size) tensor->set_i64(i, smaller);
  }
  const std::string name = proto.name();
  proto.Clear();
  fill_tensor_proto(proto, *tensor, name);
  return true;
}

bool shrink(onnx::ModelProto& model, std::int64_t size, std::int64_t smaller) {
  onnx::GraphProto& graph = *model.mutable_graph();
  for (auto& input : *graph.mutable_input()) {
    auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (auto& dim : *shape.mutable_dim()) {
      if (dim.has_dim_value() && dim.dim_value() == size) dim.set_dim_value(smaller);
    }
  }
  for (auto& tensor : *graph.mutable_initializer()) {
    const bool has = std::ranges::find(tensor.dims(), size) != tensor.dims().end();
    if (has && !shrink_weight(tensor, size, smaller)) return false;
    if (!shrink_shape(tensor, size, smaller)) return false;
  }
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t() && !shrink_shape(*attribute.mutable_t(), size, smaller)) return false;
    }
  }
  forget_types(graph);
  return true;
}

std::set<std::int64_t> smaller_than(std::int64_t size) {
  std::set<std::int64_t> found;
  for (const std::int64_t smaller : {std::int64_t{1}, std::int64_t{2}, size / 2, size - 1}) {
    if (smaller >= 1 && smaller < size) found.insert(smaller);
  }
  return found;
}

}  // namespace

std::vector<Simplification> texts_to_drop() {
  return {[](onnx::ModelProto& model) {
            onnx::GraphProto& graph = *model.mutable_graph();
            model.clear_doc_string();
            model.clear_metadata_props();
            graph.clear_doc_string();
            graph.clear_metadata_props();
            for (auto& node : *graph.mutable_node()) {
              node.clear_doc_string();
              node.clear_metadata_props();
            }
            return true;
          },
          [](onnx::ModelProto& model) {
            for (auto& node : *model.mutable_graph()->mutable_node()) node.clear_name();
            return true;
          },
          [](onnx::ModelProto& model) {
            model.mutable_graph()->clear_value_info();
            return true;
          }};
}

std::vector<Simplification> nodes_to_bypass(const onnx::ModelProto& model) {
  std::vector<Simplification> found;
  for (int i = model.graph().node_size() - 1; i >= 0; --i) {
    for (int operand = 0; operand < model.graph().node(i).input_size(); ++operand) {
      found.emplace_back([i, operand](onnx::ModelProto& changed) {
        onnx::GraphProto& graph = *changed.mutable_graph();
        if (i >= graph.node_size() || operand >= graph.node(i).input_size()) return false;
        const std::string from = graph.node(i).output(0);
        const std::string to = graph.node(i).input(operand);
        if (from.empty() || to.empty() || names_output(graph, from)) return false;
        for (auto& node : *graph.mutable_node()) {
          for (auto& name : *node.mutable_input()) {
            if (name == from) name = to;
          }
        }
        graph.mutable_node()->DeleteSubrange(i, 1);
        forget_types(graph);
        drop_unused(changed);
        return true;
      });
    }
  }
  return found;
}

std::vector<Simplification> attributes_to_drop(const onnx::ModelProto& model) {
  std::vector<Simplification> found;
  for (int i = 0; i < model.graph().node_size(); ++i) {
    // From the last on, so that positions stay valid when one went.
    for (int k = model.graph().node(i).attribute_size() - 1; k >= 0; --k) {
      found.emplace_back([i, k](onnx::ModelProto& changed) {
        auto& attributes = *changed.mutable_graph()->mutable_node(i)->mutable_attribute();
        if (k >= attributes.size()) return false;
        attributes.DeleteSubrange(k, 1);
        forget_types(*changed.mutable_graph());
        return true;
      });
    }
    for (int k = model.graph().node(i).input_size() - 1; k >= 1; --k) {
      found.emplace_back([i, k](onnx::ModelProto& changed) {
        auto& inputs = *changed.mutable_graph()->mutable_node(i)->mutable_input();
        if (k >= inputs.size() || inputs.Get(k).empty()) return false;
        if (k + 1 == inputs.size()) {
          inputs.DeleteSubrange(k, 1);
        } else {
          inputs.Mutable(k)->clear();
        }
        drop_unused(changed);
        return true;
      });
    }
  }
  return found;
}

std::vector<Simplification> weights_to_level(const onnx::ModelProto& model) {
  std::vector<Simplification> found;
  for (int i = 0; i < model.graph().initializer_size(); ++i) {
    if (!is_real(model.graph().initializer(i))) continue;
    for (const double level : {0.0, 1.0}) {
      found.emplace_back([i, level](onnx::ModelProto& changed) {
        onnx::TensorProto& proto = *changed.mutable_graph()->mutable_initializer(i);
        auto tensor = read_tensor(proto, "", kMostBytes);
        if (!tensor.ok()) return false;
        bool differs = false;
        bool zero = true;
        for (std::int64_t k = 0; k < tensor->elements(); ++k) {
          differs = differs || tensor->f64_at(k) != level;
          zero = zero && tensor->f64_at(k) == 0;
          tensor->set_f64(k, level);
        }
        if (!differs || zero) return false;  // zeros are as simple as ones
        const std::string name = proto.name();
        proto.Clear();
        fill_tensor_proto(proto, *tensor, name);
        return true;
      });
    }
  }
  return found;
}

std::vector<Simplification> sizes_to_shrink(const onnx::ModelProto& model) {
  std::set<std::int64_t, std::greater<>> sizes;
  for (const auto& input : model.graph().input()) {
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      if (dim.has_dim_value() && dim.dim_value() > 1) sizes.insert(dim.dim_value());
    }
  }
  for (const auto& tensor : model.graph().initializer()) {
    for (const std::int64_t size : tensor.dims()) {
      if (size > 1) sizes.insert(size);
    }
  }
  std::vector<Simplification> found;
  for (const std::int64_t size : sizes) {
    for (const std::int64_t smaller : smaller_than(size)) {
      found.emplace_back(
          [size, smaller](onnx::ModelProto& changed) { return shrink(changed, size, smaller); });
    }
  }
  // Sizes that are equal by chance.
  for (int i = 0; i < model.graph().input_size(); ++i) {
    const auto& shape = model.graph().input(i).type().tensor_type().shape();
    for (int axis = 0; axis < shape.dim_size(); ++axis) {
      if (!shape.dim(axis).has_dim_value()) continue;
      for (const std::int64_t smaller : smaller_than(shape.dim(axis).dim_value())) {
        found.emplace_back([i, axis, smaller](onnx::ModelProto& changed) {
          onnx::GraphProto& graph = *changed.mutable_graph();
          auto& size = *graph.mutable_input(i)
                            ->mutable_type()
                            ->mutable_tensor_type()
                            ->mutable_shape()
                            ->mutable_dim(axis);
          if (size.dim_value() <= smaller) return false;
          size.set_dim_value(smaller);
          forget_types(graph);
          return true;
        });
      }
    }
  }
  return found;
}

Simplification fixed_sizes(std::int64_t size) {
  return [size](onnx::ModelProto& model) {
    bool open = false;
    for (auto& input : *model.mutable_graph()->mutable_input()) {
      if (!input.type().has_tensor_type()) continue;
      auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
      for (auto& dim : *shape.mutable_dim()) {
        if (dim.has_dim_value() && dim.dim_value() >= 0) continue;
        dim.clear_dim_param();
        dim.set_dim_value(size);
        open = true;
      }
    }
    if (open) forget_types(*model.mutable_graph());
    return open;
  };
}

}  // namespace egret::frontends
