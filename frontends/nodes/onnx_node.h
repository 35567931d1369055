// SPDX-License-Identifier: Apache-2.0
// One node of an ONNX program, as the operator's import sees it (ir/graph/onnx_binding.h).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "frontends/nodes/constant_folder.h"
#include "frontends/nodes/shape_values.h"
#include "frontends/program/onnx_program.h"
#include "ir/graph/builder.h"
#include "ir/graph/onnx_binding.h"

namespace egret::onnx {
class AttributeProto;
class NodeProto;
}  // namespace egret::onnx

namespace egret::frontends {

// The state shared by all nodes of one import.
struct OnnxImportContext {
  const OnnxProgram& program;
  ir::GraphBuilder& builder;
  ConstantFolder& constants;
  ShapeValues& sizes;
  class OpaqueImport* opaque;  // null: such nodes are refused
  std::string folder;          // of external data
  std::int64_t max_value_bytes;
};

class ImportedNode final : public ir::OnnxNode {
 public:
  // `inputs` are parallel to node.inputs.
  ImportedNode(const OnnxImportContext& context, const OnnxProgramNode& node,
               std::vector<ir::Value> inputs);

  std::string_view op_type() const override;
  int opset() const override;
  int input_count() const override { return static_cast<int>(inputs_.size()); }
  int output_count() const override { return static_cast<int>(node_.outputs.size()); }
  bool has_output(int i) const override;
  bool has_input(int i) const override;
  ir::Value input(int i) const override;
  const ir::TensorType& type(ir::Value value) const override;
  std::optional<ir::Tensor> constant(int i) const override;
  std::optional<std::vector<ir::Index>> sizes(int i) const override;
  std::optional<std::vector<ir::SizeRatio>> size_ratios(int i) const override;

  bool has_attr(std::string_view name) const override;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const override;
  double real(std::string_view name, double otherwise) const override;
  std::string text(std::string_view name, std::string_view otherwise) const override;
  ir::Integers integers(std::string_view name, ir::Integers otherwise) const override;
  std::vector<double> reals(std::string_view name, std::vector<double> otherwise) const override;
  std::vector<std::string> texts(std::string_view name) const override;
  std::optional<ir::Tensor> tensor(std::string_view name) const override;

  ir::GraphBuilder& builder() const override { return context_.builder; }
  std::int64_t axis(std::int64_t value, int rank) const override;

  // Beyond the interface, for the frontend's own operators.
  const onnx::AttributeProto* attribute(std::string_view name) const;  // references followed
  void replace_input(int i, ir::Value value) { inputs_[static_cast<std::size_t>(i)] = value; }
  // The first error of a getter.
  const base::Status& status() const { return status_; }
  // Attributes that have not been read.
  std::vector<std::string> ignored_attributes() const;

 private:
  // The attribute if it is there and of ONNX's kind `type`; another kind is an error.
  const onnx::AttributeProto* find(std::string_view name, int type) const;
  void fail(base::Status status) const;

  const OnnxImportContext& context_;
  const OnnxProgramNode& node_;
  std::vector<ir::Value> inputs_;
  mutable base::Status status_;
  mutable std::set<std::string, std::less<>> asked_;
};

// Whether a value of this type takes at most that many bytes; true while its size is unknown.
bool within(const ir::TensorType& type, std::int64_t max_bytes);
// Whether Egret has the operator; a model's functions do not count.
bool is_known_operator(const onnx::NodeProto& node);
// Checks that every operator of the program is known; `unsupported` names all that are not.
base::Status check_operators(const OnnxProgram& program);
// Checks that Egret knows the node's form: the opset, and the attributes.
base::Status check_form(const OnnxProgram& program, const OnnxProgramNode& node);
// Builds the operators of a node of such a form, which is known, in its builder; returns its
// outputs.
base::Result<std::vector<ir::Value>> import_operator(ImportedNode& node,
                                                     const onnx::NodeProto& proto);
// Builds the program's nodes in the builder. See onnx.h for errors.
base::Status import_program(const OnnxImportContext& context, std::vector<ir::Value>& values,
                            std::vector<std::string>& notes);

}  // namespace egret::frontends
