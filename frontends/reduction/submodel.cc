// SPDX-License-Identifier: Apache-2.0
#include "frontends/reduction/submodel.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "frontends/onnx.pb.h"
#include "frontends/program/captured_names.h"

namespace egret::frontends {
namespace {

using Names = std::set<std::string>;

// All values that a node reads.
Names operands(const onnx::NodeProto& node) {
  const std::vector<std::string> captured = captured_names(node);
  Names names(captured.begin(), captured.end());
  names.insert(node.input().begin(), node.input().end());
  names.erase("");
  return names;
}

template <typename List, typename Keep>
void keep_if(List& list, Keep keep) {
  int kept = 0;
  for (int i = 0; i < list.size(); ++i) {
    if (!keep(list.Get(i))) continue;
    if (i != kept) list.SwapElements(i, kept);
    ++kept;
  }
  list.DeleteSubrange(kept, list.size() - kept);
}

std::string function_key(const std::string& domain, const std::string& name) {
  return domain + "::" + name;
}

void collect_calls(const onnx::NodeProto& node, Names& calls) {
  calls.insert(function_key(node.domain(), node.op_type()));
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    std::vector<const onnx::GraphProto*> graphs;
    if (attribute.has_g()) graphs.push_back(&attribute.g());
    for (const onnx::GraphProto& graph : attribute.graphs()) graphs.push_back(&graph);
    for (const onnx::GraphProto* graph : graphs) {
      for (const onnx::NodeProto& inner : graph->node()) collect_calls(inner, calls);
    }
  }
}

// Functions that are called, by nodes or by functions that are.
void drop_unused_functions(onnx::ModelProto& model) {
  Names calls;
  for (const onnx::NodeProto& node : model.graph().node()) collect_calls(node, calls);
  for (std::size_t before = 0; before != calls.size();) {
    before = calls.size();
    for (const onnx::FunctionProto& function : model.functions()) {
      if (!calls.contains(function_key(function.domain(), function.name()))) continue;
      for (const onnx::NodeProto& node : function.node()) collect_calls(node, calls);
    }
  }
  keep_if(*model.mutable_functions(), [&](const onnx::FunctionProto& function) {
    return calls.contains(function_key(function.domain(), function.name()));
  });
}

}  // namespace

ValueFacts::ValueFacts() = default;
ValueFacts::~ValueFacts() = default;
ValueFacts::ValueFacts(ValueFacts&&) noexcept = default;
ValueFacts& ValueFacts::operator=(ValueFacts&&) noexcept = default;

std::optional<onnx::ModelProto> submodel(const onnx::ModelProto& model,
                                         const std::vector<std::size_t>& nodes,
                                         const ValueFacts& facts) {
  const onnx::GraphProto& graph = model.graph();
  Names known;  // inputs and initializers
  for (const auto& input : graph.input()) known.insert(input.name());
  for (const auto& tensor : graph.initializer()) known.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) known.insert(tensor.values().name());
  std::vector<bool> kept(static_cast<std::size_t>(graph.node_size()), false);
  for (const std::size_t node : nodes) kept[node] = true;
  Names made;
  Names read;
  Names read_elsewhere;
  for (int i = 0; i < graph.node_size(); ++i) {
    const bool here = kept[static_cast<std::size_t>(i)];
    (here ? read : read_elsewhere).merge(operands(graph.node(i)));
    if (here) made.insert(graph.node(i).output().begin(), graph.node(i).output().end());
  }
  made.erase("");
  onnx::ModelProto part;
  part = model;
  onnx::GraphProto& result = *part.mutable_graph();
  int position = 0;
  keep_if(*result.mutable_node(),
          [&](const onnx::NodeProto&) { return kept[static_cast<std::size_t>(position++)]; });
  for (const std::string& name : read) {
    if (made.contains(name) || known.contains(name)) continue;
    const auto constant = facts.constants.find(name);
    const auto type = facts.types.find(name);
    if (constant != facts.constants.end()) {
      *result.add_initializer() = constant->second;
    } else if (type != facts.types.end()) {
      *result.add_input() = type->second;
    } else {
      return std::nullopt;
    }
  }
  Names outputs;
  keep_if(*result.mutable_output(), [&](const onnx::ValueInfoProto& output) {
    return made.contains(output.name()) && outputs.insert(output.name()).second;
  });
  for (const onnx::NodeProto& node : result.node()) {
    for (const std::string& name : node.output()) {
      if (name.empty() || (read.contains(name) && !read_elsewhere.contains(name))) continue;
      if (!outputs.insert(name).second) continue;
      const auto type = facts.types.find(name);
      if (type != facts.types.end()) {
        *result.add_output() = type->second;
      } else {
        result.add_output()->set_name(name);
      }
    }
  }
  if (outputs.empty()) return std::nullopt;
  drop_unused(part);
  return part;
}

onnx::ModelProto with_outputs(const onnx::ModelProto& model,
                              const std::vector<std::size_t>& outputs) {
  onnx::ModelProto part = model;
  auto& all = *part.mutable_graph()->mutable_output();
  std::size_t position = 0;
  keep_if(all, [&](const onnx::ValueInfoProto&) {
    return std::ranges::binary_search(outputs, position++);
  });
  drop_unused(part);
  return part;
}

void drop_unused(onnx::ModelProto& model) {
  onnx::GraphProto& graph = *model.mutable_graph();
  Names needed;
  for (const auto& output : graph.output()) needed.insert(output.name());
  // Nodes may be in any order, so they are gone through until nothing more is needed.
  std::vector<bool> live(static_cast<std::size_t>(graph.node_size()), false);
  for (bool more = true; more;) {
    more = false;
    for (int i = graph.node_size() - 1; i >= 0; --i) {
      const onnx::NodeProto& node = graph.node(i);
      const auto is_needed = [&](const std::string& name) { return needed.contains(name); };
      if (live[static_cast<std::size_t>(i)] || std::ranges::none_of(node.output(), is_needed))
        continue;
      live[static_cast<std::size_t>(i)] = true;
      needed.merge(operands(node));
      more = true;
    }
  }
  int position = 0;
  keep_if(*graph.mutable_node(),
          [&](const onnx::NodeProto&) { return live[static_cast<std::size_t>(position++)]; });
  const auto named = [&](const auto& value) { return needed.contains(value.name()); };
  keep_if(*graph.mutable_initializer(), named);
  keep_if(*graph.mutable_input(), named);
  keep_if(*graph.mutable_value_info(), named);
  keep_if(*graph.mutable_sparse_initializer(), [&](const onnx::SparseTensorProto& tensor) {
    return needed.contains(tensor.values().name());
  });
  drop_unused_functions(model);
}

}  // namespace egret::frontends
