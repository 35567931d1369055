// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx_summary.h"

#include <map>
#include <set>

#include "frontends/nodes/onnx_node.h"
#include "frontends/onnx.pb.h"
#include "frontends/program/onnx_program.h"
#include "frontends/wire/onnx_file.h"
#include "frontends/wire/onnx_tensor.h"

namespace egret::frontends {
namespace {

constexpr std::size_t kMostText = 80;  // of a name
constexpr int kMostAxes = 64;

std::string type_text(const onnx::ValueInfoProto& value) {
  if (!value.type().has_tensor_type()) return "no tensor";
  const auto& tensor = value.type().tensor_type();
  const auto dtype = ir::dtype_from_onnx(tensor.elem_type());
  std::string text = dtype ? std::string(to_string(*dtype)) : onnx_type_name(tensor.elem_type());
  if (!tensor.has_shape()) return text;
  text += "[";
  for (int i = 0; i < tensor.shape().dim_size(); ++i) {
    if (i > 0) text += ",";
    if (i == kMostAxes) return text + "...]";
    const auto& dim = tensor.shape().dim(i);
    text += dim.has_dim_value()       ? std::to_string(dim.dim_value())
            : dim.dim_param().empty() ? "?"
                                      : dim.dim_param().substr(0, kMostText);
  }
  return text + "]";
}

// Counts nodes, those of branches and bodies too.
class OperatorCounts {
 public:
  explicit OperatorCounts(const onnx::ModelProto& model) {
    for (const onnx::FunctionProto& function : model.functions())
      functions_.insert(function_key(function));
    for (const onnx::FunctionProto& function : model.functions()) count(function.node());
    count(model.graph().node());
    while (!graphs_.empty()) {
      const onnx::GraphProto* graph = graphs_.back();
      graphs_.pop_back();
      count(graph->node());
    }
  }

  void write(OnnxSummary& summary) const {
    for (const auto& [name, entry] : counts_) {
      summary.operators.push_back(entry);
      summary.nodes += entry.nodes;
    }
  }

 private:
  template <typename Nodes>
  void count(const Nodes& nodes) {
    for (const onnx::NodeProto& node : nodes) {
      const std::string domain = canonical_domain(node.domain());
      std::string name = (domain.empty() ? "" : domain.substr(0, kMostText) + "::") +
                         node.op_type().substr(0, kMostText);
      OnnxSummary::Operator& entry = counts_[name];
      entry.name = std::move(name);
      ++entry.nodes;
      entry.supported = is_known_operator(node) || functions_.contains(function_key(node));
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) graphs_.push_back(&attribute.g());
        for (const onnx::GraphProto& graph : attribute.graphs()) graphs_.push_back(&graph);
      }
    }
  }

  std::set<std::string> functions_;
  std::vector<const onnx::GraphProto*> graphs_;  // still to be counted
  std::map<std::string, OnnxSummary::Operator> counts_;
};

OnnxSummary summary_of(const onnx::ModelProto& model) {
  OnnxSummary summary;
  summary.info = info_of(model);
  const onnx::GraphProto& graph = model.graph();
  summary.graph_name = graph.name();
  std::set<std::string_view> initialized;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    initialized.insert(tensor.name());
    double elements = 1;
    for (const std::int64_t size : tensor.dims()) elements *= static_cast<double>(size);
    summary.initializer_elements += elements > 0 ? elements : 0;
  }
  summary.initializers = graph.initializer_size();
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (!initialized.contains(input.name()))
      summary.inputs.push_back({input.name(), type_text(input)});
  }
  for (const onnx::ValueInfoProto& output : graph.output())
    summary.outputs.push_back({output.name(), type_text(output)});
  OperatorCounts(model).write(summary);
  return summary;
}

std::vector<NodeOrigin> origins_of(const onnx::ModelProto& model) {
  std::vector<NodeOrigin> all;
  for (const onnx::NodeProto& node : model.graph().node()) {
    NodeOrigin& origin = all.emplace_back();
    origin.type = full_type(node);
    origin.name = node.name();
    if (node.output_size() > 0) origin.output = node.output(0);
    for (const onnx::StringStringEntryProto& entry : node.metadata_props()) {
      if (entry.key() == kRuleKey) origin.rule = entry.value();
    }
  }
  return all;
}

}  // namespace

base::Result<std::vector<NodeOrigin>> read_node_origins(const std::string& path) {
  onnx::ModelProto model;
  EGRET_RETURN_IF_ERROR(parse_onnx_file(path, model));
  return origins_of(model);
}

base::Result<std::vector<NodeOrigin>> read_node_origins_bytes(std::span<const std::byte> bytes) {
  onnx::ModelProto model;
  EGRET_RETURN_IF_ERROR(parse_onnx(bytes, model));
  return origins_of(model);
}

base::Result<OnnxSummary> summarize_onnx(const std::string& path) {
  onnx::ModelProto model;
  EGRET_RETURN_IF_ERROR(parse_onnx_file(path, model));
  return summary_of(model);
}

base::Result<OnnxSummary> summarize_onnx_bytes(std::span<const std::byte> bytes) {
  onnx::ModelProto model;
  EGRET_RETURN_IF_ERROR(parse_onnx(bytes, model));
  return summary_of(model);
}

}  // namespace egret::frontends
