// SPDX-License-Identifier: Apache-2.0
#include "frontends/observed_model.h"

#include <span>

#include "frontends/nodes/node_parts.h"
#include "frontends/onnx.pb.h"
#include "frontends/wire/onnx_file.h"
#include "ir/graph/onnx_binding.h"

namespace egret::frontends {

ObservedModel::ObservedModel(std::unique_ptr<onnx::ModelProto> model) : model_(std::move(model)) {
  for (const onnx::NodeProto& node : model_->graph().node())
    computed_.insert(node.output().begin(), node.output().end());
  has_external_data_ = has_external_tensor(model_->graph());
}

ObservedModel::ObservedModel(ObservedModel&&) noexcept = default;
ObservedModel& ObservedModel::operator=(ObservedModel&&) noexcept = default;
ObservedModel::~ObservedModel() = default;

base::Result<ObservedModel> ObservedModel::read(const std::string& path) {
  auto model = std::make_unique<onnx::ModelProto>();
  EGRET_RETURN_IF_ERROR(parse_onnx_file(path, *model));
  return ObservedModel(std::move(model));
}

base::Result<ObservedModel> ObservedModel::read_bytes(std::string_view bytes) {
  auto model = std::make_unique<onnx::ModelProto>();
  EGRET_RETURN_IF_ERROR(parse_onnx(std::as_bytes(std::span(bytes)), *model));
  return ObservedModel(std::move(model));
}

std::string ObservedModel::with_outputs(std::span<const Value> values) const {
  onnx::ModelProto observed = *model_;
  for (const auto& [name, type] : values) {
    onnx::ValueInfoProto& output = *observed.mutable_graph()->add_output();
    output.set_name(name);
    onnx::TypeProto::Tensor& tensor = *output.mutable_type()->mutable_tensor_type();
    // Without a shape: that of a model with open sizes may be computed from them.
    tensor.set_elem_type(static_cast<int>(ir::onnx_code(type.dtype)));
  }
  return observed.SerializeAsString();
}

}  // namespace egret::frontends
