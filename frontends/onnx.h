// SPDX-License-Identifier: Apache-2.0
// ONNX models in and out.
//
// Import accepts opset 7 and up (older ones where the operator has not changed since), reads
// weights in all storage forms, folds static shape computations, inlines model-local functions and
// turns If into a selection. Symbolic dimensions stay symbols; those without a name get one ("x_0"
// for axis 0 of input x).
//
// Errors of import: bad_input names the file, the node or tensor, and what is wrong with it;
// unsupported names every operator that Egret lacks at once; usage for a `bind` that names no
// dimension; unavailable for a file that cannot be opened. Untrusted files are safe to read: no
// recursion, memory in proportion to the file, weights in other files only from the model's folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/system/file.h"
#include "frontends/nodes/node_headers.h"
#include "frontends/nodes/opaque_nodes.h"
#include "frontends/nodes/operator_names.h"
#include "frontends/wire/tensor_file.h"
#include "ir/core/tensor.h"
#include "ir/graph/graph.h"

namespace egret::frontends {

// The header data of an ONNX model, beside its graph. Graph::name and Graph::metadata hold the
// graph's name and the model's metadata_props.
struct OnnxModelInfo {
  std::int64_t ir_version = 8;
  std::map<std::string, std::int64_t> opsets = {{"", 17}};  // by domain; "" is ai.onnx
  std::string producer_name{};
  std::string producer_version{};
  std::string domain{};
  std::int64_t model_version = 0;
  std::string doc_string{};
  std::string graph_doc_string{};
  OpaqueNodes opaque_nodes{};
  // What the model states of values of unknown type (sequences, tensors of unknown rank), by name:
  // each as a serialized onnx.ValueInfoProto.
  std::map<std::string, std::string> untyped_values{};
  // Inputs of types that Egret lacks, by their position among all inputs: each as a serialized
  // onnx.ValueInfoProto. They are opaque nodes of the graph.
  std::map<int, std::string> foreign_inputs{};
  // Functions of the model, each as a serialized onnx.FunctionProto, if an opaque node may call
  // them.
  std::vector<std::string> functions{};
  NodeHeaders node_headers{};
  std::set<std::string> typed_values{};  // inner values of which the model states the type
};

struct ImportOptions {
  std::map<std::string, std::int64_t> bind{};  // sizes of symbolic dimensions
  // Keeps symbolic sizes through shape computations, as symbols of the current ir::SymbolicScope,
  // which must be one for all values and outlive the graph. The function gives the example of a
  // symbol, which first occurs at this axis;
  // at its first call it may open the scope.
  std::function<std::int64_t(std::string_view name, int axis)> example_of{};
  // Nodes with operators that Egret lacks, or in forms that it lacks, become opaque
  // (ir/ops/opaque.h) if the model declares the types of their outputs, as do those that read a
  // value of unknown type. Otherwise such a model is refused.
  bool opaque_nodes = false;
  // Beside these, nodes that count on rounding (frontends/nodes/rounding_dependence.h) are opaque,
  // with what they compute: no rule regroups them.
  bool keeps_rounding = true;
  bool allow_unknown_bind = false;  // a name that no dimension has is no error
  // Graph inputs that are constants for this import, such as a target shape: by name, of the
  // declared type. They are no inputs of the result.
  std::map<std::string, ir::Tensor> fixed_inputs{};
  // Limits; a model beyond them is refused.
  std::int64_t max_value_bytes = std::int64_t{1} << 36;  // of any one value in the graph
  std::int64_t max_nodes = 200'000;                      // after inlining of functions
  // The limits of constant folding; a value beyond them counts as unknown at import.
  std::int64_t max_folded_elements = std::int64_t{1} << 22;
};

struct ImportedModel {
  ir::Graph graph;
  OnnxModelInfo info;
  std::vector<std::string> notes;      // attributes that no operator's import read, and the like
  std::set<std::string> data_files{};  // paths of the files that initializers were read from
};

base::Result<ImportedModel> import_onnx(const std::string& path, const ImportOptions& options = {});
// `folder` is where external data may lie ("" allows none); `name` stands for the file in messages.
base::Result<ImportedModel> import_onnx_bytes(std::span<const std::byte> bytes,
                                              const std::string& folder,
                                              const ImportOptions& options = {},
                                              std::string_view name = "model");

struct ExportOptions {
  std::map<std::string, std::string> manifest{};  // added to the model's metadata
  // The file for weights that do not fit into the model (a model file holds at most 2 GiB). It must
  // lie in the model's folder; the model refers to it by its file name. Empty: no such file, and a
  // model that needs one is an error.
  std::string external_data_path{};
  bool always_external = false;          // put weights there also when the model would fit
  std::int64_t external_minimum = 1024;  // smaller tensors stay in the model, in bytes
  // The highest ai.onnx opset that the model may be raised to only to write a composite as one
  // node. 0: not at all.
  int opset_for_composites = 0;
  // The rules that made nodes of the graph, by their names: written into the metadata of the nodes
  // of the file, under kRuleKey. Others keep what an earlier export wrote there.
  std::map<ir::NodeId, std::string> made_by{};
};

inline constexpr std::string_view kRuleKey = "egret.rule";

struct ExportedModel {
  std::string bytes;
  std::map<std::string, std::int64_t> opsets;
  // The operator that raised the ai.onnx opset above the source's; empty if none did.
  std::string raised_for;
  // The node of the graph that each value of the file was written for, inner values of composites
  // included; inputs and initializers are not. By name.
  std::map<std::string, ir::NodeId> makers{};
  std::int64_t external_bytes = 0;  // of the file below; 0: there is none
  // The weights, written to disk but not yet at external_data_path; commit() moves them there. It
  // comes after the model itself is on disk, because a failure would otherwise leave an old model
  // with new weights. Null if there is no such file.
  std::optional<base::AtomicFile> external_file{};

  // Puts the weights and then the model in place, neither before both are on the disk.
  base::Status write(const std::string& path);
};

// Reads a model that is not on the disk yet, with its weights from their temporary file. Errors:
// those of import_onnx(); unsupported for a file of weights that is no regular file.
base::Result<ImportedModel> import_written(const ExportedModel& written,
                                           const ImportOptions& options = {});

// Whether opaque nodes of the same key mean the same in both models: they have the same attributes,
// bodies and fixed inputs, in an opset that reads them alike, and the same functions and versions
// of domains surround them. Errors: mismatch that names the node, function or domain.
base::Status check_same_nodes(const OnnxModelInfo& a, const OnnxModelInfo& b);

// The opset up to which optimized models rise for composites: one that programs of 2022 read.
inline constexpr int kComposedOpset = 17;

// Deterministic: the same graph gives the same bytes. Composites that have no ONNX form are
// expanded, the source's opset is kept where every operator allows it and raised elsewhere.
// Errors: unsupported, naming an operator that cannot be written as ONNX; limit when 2 GiB do not
// suffice and there is no external_data_path; unavailable when that cannot be written.
base::Result<ExportedModel> export_onnx(const ir::Graph& graph, const OnnxModelInfo& info,
                                        const ExportOptions& options = {});

// The names of a model's inputs, initializers not counted, without importing it.
base::Result<std::vector<std::string>> read_input_names(const std::string& path);

// The inputs of a model as it declares them, initializers not counted, without importing it.
// Dimensions without a name have the name that import gives them.
struct DeclaredInput {
  std::string name{};
  std::optional<ir::TensorType> type{};  // none: one that Egret lacks
};
base::Result<std::vector<DeclaredInput>> read_declared_inputs(const std::string& path);
base::Result<std::vector<DeclaredInput>> read_declared_inputs(std::span<const std::byte> bytes);

// The symbolic dimensions of a model's inputs, by name, with the axis of their first occurrence and
// in that order, without importing it. Those without a name in the file have the name that import
// gives them. Errors: those of inputs that import refuses.
using OpenSize = std::pair<std::string, int>;
base::Result<std::vector<OpenSize>> read_open_sizes(const std::string& path);
base::Result<std::vector<OpenSize>> read_open_sizes(std::span<const std::byte> bytes);

// How many ONNX nodes of each type ("Relu", "com.example::SquaredRelu") export_onnx() would write.
// Weights are not touched.
base::Result<std::map<std::string, int>> count_onnx_operators(const ir::Graph& graph);

}  // namespace egret::frontends
