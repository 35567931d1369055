// SPDX-License-Identifier: Apache-2.0
#include "frontends/program/scope_reading.h"

#include <set>
#include <utility>

#include "frontends/onnx.pb.h"
#include "frontends/program/captured_names.h"
#include "frontends/program/scope_opening.h"

namespace egret::frontends {
namespace {

using NodeProtos = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

base::Status read_initializers(int scope, const onnx::GraphProto& graph, ProgramDraft& draft) {
  const OnnxProgram& program = draft.program;
  if (graph.sparse_initializer_size() > 0) {
    return base::unsupported(program.place_of_scope(scope) + "sparse initializers, such as " +
                             in_quotes(graph.sparse_initializer(0).values().name()) +
                             "; store them densely");
  }
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (tensor.name().empty())
      return base::bad_input(program.place_of_scope(scope) + "an initializer has no name");
    EGRET_ASSIGN_OR_RETURN(const ValueId id, define(draft, scope, tensor.name(),
                                                    program.place_of_scope(scope) + "initializer"));
    draft.program.constants.push_back({id, &tensor, scope});
  }
  return base::ok();
}

base::Status read_inputs(const onnx::GraphProto& graph, ProgramDraft& draft) {
  std::set<std::string_view> initializers;
  for (const onnx::TensorProto& tensor : graph.initializer()) initializers.insert(tensor.name());
  for (int i = 0; i < graph.input_size(); ++i) {
    const std::string& name = graph.input(i).name();
    const std::string place = "graph input " + std::to_string(i);
    if (name.empty()) return base::bad_input(place + " has no name");
    // Up to IR version 3 every initializer is listed as an input too. In later versions such an
    // input has a default value, and the program takes it.
    if (initializers.contains(name)) {
      draft.program.inputs.emplace_back();
      continue;
    }
    EGRET_ASSIGN_OR_RETURN(const ValueId id, define(draft, 0, name, place));
    draft.program.inputs.push_back(id);
  }
  return base::ok();
}

base::Result<ValueId> find_output(const ProgramDraft& draft, int scope, const std::string& name) {
  const ValueId id = draft.names.find(scope, name);
  if (!id.valid()) {
    return base::bad_input(draft.program.place_of_scope(scope) + "the output " + in_quotes(name) +
                           " is not produced by any node");
  }
  return id;
}

base::Status read_outputs(const onnx::GraphProto& graph, ProgramDraft& draft) {
  if (graph.output_size() == 0) return base::bad_input("the graph has no outputs");
  std::set<std::string_view> seen;
  for (const auto& output : graph.output()) {
    if (!seen.insert(output.name()).second)
      return base::bad_input("graph output " + in_quotes(output.name()) + " is listed twice");
    EGRET_ASSIGN_OR_RETURN(const ValueId id, find_output(draft, 0, output.name()));
    draft.program.outputs.push_back(id);
  }
  return base::ok();
}

base::Result<std::vector<ValueId>> define_outputs(const OnnxProgramNode& node,
                                                  ProgramDraft& draft) {
  std::vector<ValueId> outputs;
  for (const std::string& name : node.proto->output()) {
    if (name.empty()) {
      outputs.emplace_back();
      continue;
    }
    EGRET_ASSIGN_OR_RETURN(const ValueId id,
                           define(draft, node.scope, name, draft.program.place(node)));
    outputs.push_back(id);
  }
  return outputs;
}

// Absent inputs at the end are left out.
base::Result<std::vector<ValueId>> resolve_inputs(const OnnxProgramNode& node,
                                                  const ProgramDraft& draft) {
  std::vector<ValueId> inputs;
  for (int i = 0; i < node.proto->input_size(); ++i) {
    const std::string& name = node.proto->input(i);
    ValueId id;
    if (!name.empty()) {
      id = draft.names.find(node.scope, name);
      if (!id.valid()) {
        return base::bad_input(draft.program.place(node) + ": input " + std::to_string(i) + " " +
                               in_quotes(name) +
                               " is not produced by any node, initializer or graph input");
      }
    }
    inputs.push_back(id);
  }
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  return inputs;
}

// Defines the outputs of all nodes before it resolves inputs, so that their order does not matter.
base::Result<std::vector<ScopeToRead>> read_nodes(const ProgramSource& source, int scope,
                                                  const NodeProtos& protos, ProgramDraft& draft) {
  std::vector<OnnxProgramNode>& nodes = draft.program.nodes;
  if (static_cast<std::int64_t>(nodes.size()) + protos.size() > source.max_nodes)
    return base::bad_input("has more than " + std::to_string(source.max_nodes) + " nodes");
  const int first = static_cast<int>(nodes.size());
  for (int i = 0; i < protos.size(); ++i) {
    OnnxProgramNode made{&protos.Get(i), scope, i, {}, {}};
    EGRET_ASSIGN_OR_RETURN(made.outputs, define_outputs(made, draft));
    nodes.push_back(std::move(made));
  }
  std::vector<ScopeToRead> opened;
  for (int i = first; i < first + protos.size(); ++i) {
    EGRET_ASSIGN_OR_RETURN(draft.node(i).inputs, resolve_inputs(draft.node(i), draft));
    if (scope == 0) {
      for (const std::string& name : captured_names(*draft.node(i).proto))
        draft.node(i).captured.push_back(draft.names.find(scope, name));
    }
    EGRET_ASSIGN_OR_RETURN(const std::vector<ScopeToRead> inner, open_scopes(source, i, draft));
    opened.insert(opened.end(), inner.begin(), inner.end());
  }
  return opened;
}

}  // namespace

base::Result<std::vector<ScopeToRead>> read_main_graph(const ProgramSource& source,
                                                       ProgramDraft& draft) {
  OnnxScope main;
  EGRET_ASSIGN_OR_RETURN(main.opsets, add_opsets(draft, source.model));
  const int scope = add_scope(draft, std::move(main));
  const onnx::GraphProto& graph = source.model.graph();
  EGRET_RETURN_IF_ERROR(read_initializers(scope, graph, draft));
  EGRET_RETURN_IF_ERROR(read_inputs(graph, draft));
  EGRET_ASSIGN_OR_RETURN(std::vector<ScopeToRead> opened,
                         read_nodes(source, scope, graph.node(), draft));
  EGRET_RETURN_IF_ERROR(read_outputs(graph, draft));
  return opened;
}

// A call is inlined by aliases: each output of the call stands for the value that the body makes
// for it, and the call's node is marked as dropped (no proto). Nodes that read an output of the
// call before the body was read need no update, because resolve_aliases rewrites all inputs at the
// end.
base::Result<std::vector<ScopeToRead>> read_body(const ProgramSource& source,
                                                 const ScopeToRead& body, ProgramDraft& draft) {
  const onnx::FunctionProto& function = *draft.scope(body.scope).function;
  const std::size_t first_new = draft.names.size();
  EGRET_ASSIGN_OR_RETURN(std::vector<ScopeToRead> opened,
                         read_nodes(source, body.scope, function.node(), draft));
  OnnxProgramNode& call = draft.node(body.caller);
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (!call.outputs[i].valid()) continue;
    EGRET_ASSIGN_OR_RETURN(const ValueId made,
                           find_output(draft, body.scope, function.output(static_cast<int>(i))));
    draft.aliases.emplace(call.outputs[i], made);
    // A value made in the body takes the name it has outside; one passed through keeps its own.
    if (made.index() >= first_new) draft.names.rename(made, call.outputs[i]);
  }
  call.proto = nullptr;
  return opened;
}

// The outputs of a branch become further inputs of the If node. Its nodes join the program as
// ordinary nodes, and sort_nodes places them before the If.
base::Result<std::vector<ScopeToRead>> read_branch(const ProgramSource& source,
                                                   const ScopeToRead& branch, ProgramDraft& draft) {
  EGRET_RETURN_IF_ERROR(read_initializers(branch.scope, *branch.graph, draft));
  EGRET_ASSIGN_OR_RETURN(std::vector<ScopeToRead> opened,
                         read_nodes(source, branch.scope, branch.graph->node(), draft));
  for (const auto& output : branch.graph->output()) {
    EGRET_ASSIGN_OR_RETURN(const ValueId made, find_output(draft, branch.scope, output.name()));
    draft.node(branch.caller).inputs.push_back(made);
  }
  return opened;
}

}  // namespace egret::frontends
