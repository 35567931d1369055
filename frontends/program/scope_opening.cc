// SPDX-License-Identifier: Apache-2.0
#include "frontends/program/scope_opening.h"

#include <utility>

#include "frontends/onnx.pb.h"

namespace egret::frontends {
namespace {

constexpr int kMaxDepth = 64;  // of calls and branches

// Names say where a value comes from, for the first few levels.
std::string inner_prefix(const OnnxScope& outer, std::string_view label) {
  constexpr std::size_t kMaxPrefix = 100;
  if (outer.prefix.size() + label.size() > kMaxPrefix) return outer.prefix;
  return outer.prefix + std::string(label) + "/";
}

base::Result<ScopeToRead> open_call(int index, const onnx::FunctionProto& function,
                                    ProgramDraft& draft) {
  const OnnxProgramNode& node = draft.node(index);
  if (static_cast<int>(node.inputs.size()) > function.input_size() ||
      static_cast<int>(node.outputs.size()) > function.output_size()) {
    return base::bad_input(draft.program.place(node) +
                           ": has more inputs or outputs than its function");
  }
  EGRET_ASSIGN_OR_RETURN(const int opsets, add_opsets(draft, function));
  const OnnxScope& outer = draft.scope(node.scope);
  const std::string& label = node.proto->name().empty() ? function.name() : node.proto->name();
  const int inner = add_scope(draft, {.prefix = inner_prefix(outer, label),
                                      .depth = outer.depth + 1,
                                      .opener = node.proto,
                                      .opener_index = node.index,
                                      .opener_scope = node.scope,
                                      .opsets = opsets,
                                      .function = &function,
                                      .call = node.proto,
                                      .call_scope = node.scope});
  for (int i = 0; i < function.input_size(); ++i) {
    // An input that the call leaves out is an absent value in the body too.
    const auto at = static_cast<std::size_t>(i);
    const ValueId given = at < node.inputs.size() ? node.inputs[at] : draft.names.absent();
    if (!draft.names.bind(inner, function.input(i), given)) {
      return base::bad_input("function " + in_quotes(function.name()) + ": input " +
                             in_quotes(function.input(i)) + " is listed twice");
    }
  }
  return ScopeToRead{inner, index, nullptr};
}

// `which` is the attribute that holds the branch.
base::Result<ScopeToRead> open_branch(int index, const char* which, const char* role,
                                      ProgramDraft& draft) {
  const OnnxProgramNode& node = draft.node(index);
  const std::string place = draft.program.place(node);
  const onnx::GraphProto* graph = nullptr;
  for (const auto& attribute : node.proto->attribute()) {
    if (attribute.name() == which && attribute.has_g()) graph = &attribute.g();
  }
  if (graph == nullptr) return base::bad_input(place + ": has no " + which);
  if (graph->output_size() != static_cast<int>(node.outputs.size())) {
    return base::bad_input(place + ": " + which + " has " + std::to_string(graph->output_size()) +
                           " outputs, but the node has " + std::to_string(node.outputs.size()));
  }
  if (graph->input_size() > 0) return base::bad_input(place + ": " + which + " has inputs");
  OnnxScope inner = draft.scope(node.scope);
  inner.prefix = inner_prefix(inner, which);
  inner.opener = node.proto;
  inner.opener_index = node.index;
  inner.opener_scope = node.scope;
  inner.role = role;
  inner.parent = node.scope;
  ++inner.depth;
  return ScopeToRead{add_scope(draft, std::move(inner)), index, graph};
}

}  // namespace

base::Result<std::vector<ScopeToRead>> open_scopes(const ProgramSource& source, int node,
                                                   ProgramDraft& draft) {
  const OnnxProgramNode& opener = draft.node(node);
  const auto& functions = source.functions;
  const auto function =
      functions.empty() ? functions.end() : functions.find(function_key(*opener.proto));
  std::vector<ScopeToRead> opened;
  if (function == functions.end() && !is_if(*opener.proto)) return opened;
  if (opener.scope == 0 && source.closed.contains(opener.index)) return opened;
  if (draft.scope(opener.scope).depth >= kMaxDepth) {
    return base::bad_input(draft.program.place(opener) + ": calls and branches nest deeper than " +
                           std::to_string(kMaxDepth));
  }
  if (function != functions.end()) {
    EGRET_ASSIGN_OR_RETURN(const ScopeToRead body, open_call(node, *function->second, draft));
    opened.push_back(body);
    return opened;
  }
  for (const auto& [which, role] : {std::pair("then_branch", "in its then_branch: "),
                                    std::pair("else_branch", "in its else_branch: ")}) {
    EGRET_ASSIGN_OR_RETURN(const ScopeToRead branch, open_branch(node, which, role, draft));
    opened.push_back(branch);
  }
  return opened;
}

}  // namespace egret::frontends
