// SPDX-License-Identifier: Apache-2.0
// A model that also puts out inner values, and is otherwise as its author wrote it.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "ir/core/tensor_type.h"

namespace egret::onnx {
class ModelProto;
}

namespace egret::frontends {

class ObservedModel {
 public:
  // Errors: those of import for files that are no ONNX models.
  static base::Result<ObservedModel> read(const std::string& path);
  static base::Result<ObservedModel> read_bytes(std::string_view bytes);
  ObservedModel(ObservedModel&&) noexcept;
  ObservedModel& operator=(ObservedModel&&) noexcept;
  ~ObservedModel();

  // Whether the nodes of the graph itself, not of its subgraphs, compute a value of this name.
  bool computes(const std::string& name) const { return computed_.contains(name); }
  bool has_external_data() const { return has_external_data_; }

  // The file with these values as outputs after its own. Each is computed(), and no output yet.
  using Value = std::pair<std::string, ir::TensorType>;
  std::string with_outputs(std::span<const Value> values) const;

 private:
  explicit ObservedModel(std::unique_ptr<onnx::ModelProto> model);

  std::unique_ptr<onnx::ModelProto> model_;
  std::set<std::string> computed_;
  bool has_external_data_ = false;
};

}  // namespace egret::frontends
