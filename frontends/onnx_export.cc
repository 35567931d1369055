// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>

#include "base/system/file.h"
#include "frontends/nodes/onnx_writer.h"
#include "frontends/onnx.h"
#include "frontends/onnx.pb.h"
#include "frontends/program/onnx_program.h"
#include "frontends/wire/onnx_tensor.h"

namespace egret::frontends {
namespace {

constexpr std::int64_t kMaxModelBytes = std::numeric_limits<std::int32_t>::max();
constexpr int kDefaultOpset = 17;

// The IR version that came with each opset; version 4 is the first where initializers need not be
// inputs.
std::int64_t ir_version_for(std::int64_t opset) {
  struct Row {
    std::int64_t opset;
    std::int64_t ir_version;
  };
  constexpr std::array kRows = {Row{23, 11}, Row{21, 10}, Row{19, 9}, Row{15, 8},
                                Row{12, 7},  Row{11, 6},  Row{10, 5}};
  for (const Row& row : kRows) {
    if (opset >= row.opset) return row.ir_version;
  }
  return 4;
}

void fill_type(onnx::ValueInfoProto& info, const std::string& name, const ir::TensorType& type) {
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<std::int32_t>(ir::onnx_code(type.dtype)));
  tensor.mutable_shape();  // rank 0 has a shape too
  for (const ir::Index& size : type.dims) {
    auto& dim = *tensor.mutable_shape()->add_dim();
    if (size.is_constant()) {
      dim.set_dim_value(size.constant());
    } else if (size.node()->op == ir::ExprOp::kSymbol) {
      dim.set_dim_param(std::string(size.node()->name));  // not in the quotes of the text form
    } else {
      dim.set_dim_param(to_string(size));
    }
  }
}

void add_entry(google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>& entries,
               const std::string& key, const std::string& value) {
  auto& entry = *entries.Add();
  entry.set_key(key);
  entry.set_value(value);
}

using Initializers = std::vector<std::pair<std::string, ir::Tensor>>;

// Weights into the file beside the model, in order, each at a multiple of 64 bytes (large ones of
// 4096, so that they can be mapped into memory).
class ExternalFile {
 public:
  static base::Result<ExternalFile> create(const std::string& path) {
    EGRET_ASSIGN_OR_RETURN(base::AtomicFile file, base::AtomicFile::create(path));
    return ExternalFile(std::move(file), std::filesystem::path(path).filename().string());
  }

  base::Status add(onnx::TensorProto& proto, const ir::Tensor& tensor) {
    constexpr std::int64_t kLarge = std::int64_t{1} << 20;
    const std::int64_t alignment = tensor.bytes() >= kLarge ? 4096 : 64;
    const std::int64_t offset = (size_ + alignment - 1) / alignment * alignment;
    EGRET_RETURN_IF_ERROR(
        file_.append(std::string(static_cast<std::size_t>(offset - size_), '\0')));
    EGRET_RETURN_IF_ERROR(
        file_.append({reinterpret_cast<const char*>(tensor.data().data()), tensor.data().size()}));
    size_ = offset + tensor.bytes();
    proto.set_data_location(1);
    add_entry(*proto.mutable_external_data(), "location", name_);
    add_entry(*proto.mutable_external_data(), "offset", std::to_string(offset));
    add_entry(*proto.mutable_external_data(), "length", std::to_string(tensor.bytes()));
    return base::ok();
  }

  // Complete, under a temporary name.
  base::Result<base::AtomicFile> finish() && {
    EGRET_RETURN_IF_ERROR(file_.finish());
    return std::move(file_);
  }
  std::int64_t size() const { return size_; }

 private:
  ExternalFile(base::AtomicFile file, std::string name)
      : file_(std::move(file)), name_(std::move(name)) {}

  base::AtomicFile file_;
  std::string name_;
  std::int64_t size_ = 0;
};

// Adds the initializers to the graph, or to the external file of the result.
base::Status add_initializers(onnx::GraphProto& graph, const Initializers& initializers,
                              const ExportOptions& options, ExportedModel& result) {
  std::int64_t total = 0;
  for (const auto& [name, tensor] : initializers)
    total += tensor.bytes() + static_cast<std::int64_t>(name.size()) + 256;
  const std::int64_t rest = static_cast<std::int64_t>(graph.ByteSizeLong());
  const bool fits = total + rest <= kMaxModelBytes - (1 << 20);
  const bool external = !options.external_data_path.empty() && (options.always_external || !fits);
  if (!fits && !external) {
    return base::limit_hit(
        "the weights take " + std::to_string(total) +
        " bytes, more than the 2 GiB of one ONNX file; store them as external data");
  }
  if (!external) {
    for (const auto& [name, tensor] : initializers)
      fill_tensor_proto(*graph.add_initializer(), tensor, name);
    return base::ok();
  }
  EGRET_ASSIGN_OR_RETURN(ExternalFile file, ExternalFile::create(options.external_data_path));
  for (const auto& [name, tensor] : initializers) {
    onnx::TensorProto& proto = *graph.add_initializer();
    if (tensor.bytes() < options.external_minimum) {
      fill_tensor_proto(proto, tensor, name);
    } else {
      fill_tensor_header(proto, tensor, name);
      EGRET_RETURN_IF_ERROR(file.add(proto, tensor));
    }
  }
  result.external_bytes = file.size();
  EGRET_ASSIGN_OR_RETURN(result.external_file, std::move(file).finish());
  return base::ok();
}

void fill_model(onnx::ModelProto& model, const ir::Graph& graph, const OnnxModelInfo& info,
                const ExportOptions& options) {
  if (!info.producer_name.empty()) model.set_producer_name(info.producer_name);
  if (!info.producer_version.empty()) model.set_producer_version(info.producer_version);
  if (!info.domain.empty()) model.set_domain(info.domain);
  if (info.model_version != 0) model.set_model_version(info.model_version);
  if (!info.doc_string.empty()) model.set_doc_string(info.doc_string);
  std::map<std::string, std::string> metadata = graph.metadata;
  for (const auto& [key, value] : options.manifest) metadata[key] = value;
  for (const auto& [key, value] : metadata) add_entry(*model.mutable_metadata_props(), key, value);
}

void fill_interface(onnx::GraphProto& proto, const ir::Graph& graph, const OnnxModelInfo& info) {
  proto.set_name(graph.name.empty() ? "graph" : graph.name);
  if (!info.graph_doc_string.empty()) proto.set_doc_string(info.graph_doc_string);
  const auto add_foreign = [&] {  // those whose turn it is
    auto found = info.foreign_inputs.find(proto.input_size());
    for (; found != info.foreign_inputs.end(); found = info.foreign_inputs.find(proto.input_size()))
      (void)proto.add_input()->ParseFromString(found->second);
  };
  for (const ir::NodeId input : graph.inputs()) {
    add_foreign();
    fill_type(*proto.add_input(), graph.node(input).name, graph.node(input).type);
  }
  add_foreign();
  for (const auto& output : graph.outputs()) {
    onnx::ValueInfoProto& value = *proto.add_output();
    const auto declared = info.untyped_values.find(output.name);
    if (declared == info.untyped_values.end() || !value.ParseFromString(declared->second))
      fill_type(value, output.name, graph.node(output.node).type);
  }
}

// The types of inner values of which the model states them, among them those of opaque nodes.
void fill_value_types(onnx::GraphProto& proto, const ir::Graph& graph,
                      const std::vector<std::string>& names, const OnnxModelInfo& info) {
  std::set<std::string_view> outputs;
  for (const auto& output : graph.outputs()) outputs.insert(output.name);
  for (const ir::NodeId id : live_nodes(graph)) {
    const ir::Node& node = graph.node(id);
    const std::string& name = names[id.index()];
    if (node.kind != ir::NodeKind::kOperator || outputs.contains(name)) continue;
    if (!info.typed_values.contains(name)) continue;
    onnx::ValueInfoProto& value = *proto.add_value_info();
    const auto untyped = info.untyped_values.find(name);
    if (untyped == info.untyped_values.end() || !value.ParseFromString(untyped->second))
      fill_type(value, name, node.type);
  }
}

// The rule that made the node of the graph that each node was written for.
void put_rules(const std::map<ir::NodeId, std::string>& made_by,
               const std::map<std::string, ir::NodeId>& makers, onnx::GraphProto& proto) {
  for (onnx::NodeProto& node : *proto.mutable_node()) {
    auto& metadata = *node.mutable_metadata_props();
    for (const std::string& output : node.output()) {
      const auto maker = makers.find(output);
      const auto rule = maker == makers.end() ? made_by.end() : made_by.find(maker->second);
      if (rule == made_by.end()) continue;
      const auto old = std::ranges::find(metadata, kRuleKey, &onnx::StringStringEntryProto::key);
      onnx::StringStringEntryProto& entry = old != metadata.end() ? *old : *metadata.Add();
      entry.set_key(std::string(kRuleKey));
      entry.set_value(rule->second);
      break;
    }
  }
}

}  // namespace

base::Result<std::map<std::string, int>> count_onnx_operators(const ir::Graph& graph) {
  onnx::GraphProto proto;
  OnnxGraphWriter writer(proto, kDefaultOpset);
  EGRET_RETURN_IF_ERROR(writer.write(graph));
  if (writer.needed_opset() > kDefaultOpset) {
    proto.Clear();
    OnnxGraphWriter newer(proto, writer.needed_opset());
    EGRET_RETURN_IF_ERROR(newer.write(graph));
  }
  std::map<std::string, int> counts;
  for (const onnx::NodeProto& node : proto.node()) ++counts[full_type(node)];
  return counts;
}

// Writes with the source's opset; an operator that needs a newer one raises it, and the graph is
// written again. The needed opset only grows, so the loop ends.
base::Result<ExportedModel> export_onnx(const ir::Graph& graph, const OnnxModelInfo& info,
                                        const ExportOptions& options) {
  const auto source = info.opsets.find("");
  int opset = source != info.opsets.end() ? static_cast<int>(source->second) : kDefaultOpset;
  ExportedModel result;
  onnx::ModelProto model;
  while (true) {
    onnx::GraphProto& proto = *model.mutable_graph();
    proto.Clear();
    OnnxGraphWriter writer(proto, opset, options.opset_for_composites, &info.opaque_nodes);
    EGRET_RETURN_IF_ERROR(writer.write(graph));
    if (writer.needed_opset() > opset) {
      opset = writer.needed_opset();
      result.raised_for = writer.needed_by();
      continue;
    }
    fill_interface(proto, graph, info);
    fill_value_types(proto, graph, writer.names(), info);
    put_headers(info.node_headers, proto);
    result.makers = writer.makers();
    put_rules(options.made_by, result.makers, proto);
    result.opsets = {{"", opset}};
    for (const std::string& domain : writer.domains()) {
      const auto known = info.opsets.find(domain);
      result.opsets[domain] = known != info.opsets.end() ? known->second : 1;
    }
    EGRET_RETURN_IF_ERROR(add_initializers(proto, writer.initializers(), options, result));
    break;
  }
  model.set_ir_version(std::max(info.ir_version, ir_version_for(opset)));
  for (const auto& [domain, version] : result.opsets) {
    auto& entry = *model.add_opset_import();
    entry.set_domain(domain);
    entry.set_version(version);
  }
  for (const std::string& function : info.functions) {
    if (!model.add_functions()->ParseFromString(function))
      return base::internal_error("a function of the model cannot be read again");
  }
  fill_model(model, graph, info, options);
  if (static_cast<std::int64_t>(model.ByteSizeLong()) > kMaxModelBytes)
    return base::limit_hit("the model takes more than the 2 GiB of one ONNX file");
  result.bytes = model.SerializeAsString();
  return result;
}

// Weights are committed before the model that refers to them.
base::Status ExportedModel::write(const std::string& path) {
  EGRET_ASSIGN_OR_RETURN(base::AtomicFile model, base::AtomicFile::create(path));
  EGRET_RETURN_IF_ERROR(model.append(bytes));
  EGRET_RETURN_IF_ERROR(model.finish());
  if (external_file) EGRET_RETURN_IF_ERROR(external_file->commit());
  external_file.reset();
  return model.commit();
}

}  // namespace egret::frontends
