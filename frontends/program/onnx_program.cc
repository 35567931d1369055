// SPDX-License-Identifier: Apache-2.0
#include "frontends/program/onnx_program.h"

#include <deque>
#include <utility>

#include "frontends/onnx.pb.h"
#include "frontends/program/function_expansion.h"
#include "frontends/program/node_order.h"
#include "frontends/program/program_draft.h"
#include "frontends/program/scope_reading.h"

namespace egret::frontends {
namespace {

std::string node_place(const onnx::NodeProto& node, int index) {
  std::string text = "node " + std::to_string(index) + " (";
  text += node.op_type().empty() ? "no operator" : std::string(node.op_type().substr(0, 80));
  if (!node.name().empty()) text += " " + in_quotes(node.name());
  return text + ")";
}

// What a value that calls define is outside of them. A chain of aliases is as long as calls nest.
ValueId resolved(const ProgramDraft& draft, ValueId value) {
  const auto& aliases = draft.aliases;
  for (auto found = aliases.find(value); found != aliases.end(); found = aliases.find(value))
    value = found->second;
  return draft.names.is_absent(value) ? ValueId() : value;
}

// Replaces values that calls define by those that the bodies do, and drops the calls.
void resolve_aliases(ProgramDraft& draft) {
  OnnxProgram& program = draft.program;
  for (OnnxProgramNode& node : program.nodes) {
    for (ValueId& input : node.inputs) input = resolved(draft, input);
    while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
    for (ValueId& value : node.captured) value = resolved(draft, value);
  }
  for (ValueId& output : program.outputs) output = resolved(draft, output);
  std::erase_if(program.nodes, [](const OnnxProgramNode& node) { return node.proto == nullptr; });
}

}  // namespace

std::string OnnxProgram::place(const OnnxProgramNode& node) const {
  return place_of_scope(node.scope) + node_place(*node.proto, node.index);
}

std::string OnnxProgram::place_of_scope(int scope) const {
  std::string text;
  while (true) {
    const OnnxScope& at = scopes[static_cast<std::size_t>(scope)];
    if (at.opener == nullptr) return text;
    text = node_place(*at.opener, at.opener_index) + ": " + at.role + text;
    scope = at.opener_scope;
  }
}

int OnnxProgram::outermost_opener(int scope) const {
  const auto at = [&](int id) -> const OnnxScope& { return scopes[static_cast<std::size_t>(id)]; };
  while (at(scope).opener_scope != 0) scope = at(scope).opener_scope;
  return at(scope).opener_index;
}

bool OnnxProgram::in_branch(int scope) const {
  while (scope > 0) {
    const OnnxScope& at = scopes[static_cast<std::size_t>(scope)];
    if (at.opener != nullptr && is_if(*at.opener)) return true;
    scope = at.opener_scope;
  }
  return false;
}

std::int64_t OnnxProgram::opset(const OnnxProgramNode& node) const {
  const Opsets& known =
      opsets[static_cast<std::size_t>(scopes[static_cast<std::size_t>(node.scope)].opsets)];
  const auto found = known.find(canonical_domain(node.proto->domain()));
  return found != known.end() ? found->second : 0;
}

// Reads the main graph, then every scope that nodes open, breadth first.
// check_expansion has refused recursion and too many nodes before, so the loop ends.
base::Result<OnnxProgram> make_program(const onnx::ModelProto& model, std::int64_t max_nodes,
                                       const std::set<int>& closed) {
  EGRET_ASSIGN_OR_RETURN(ProgramSource source, make_source(model, max_nodes));
  source.closed = closed;
  EGRET_RETURN_IF_ERROR(check_expansion(model, max_nodes));
  ProgramDraft draft;
  EGRET_ASSIGN_OR_RETURN(const std::vector<ScopeToRead> first, read_main_graph(source, draft));
  std::deque<ScopeToRead> pending(first.begin(), first.end());
  while (!pending.empty()) {
    const ScopeToRead next = pending.front();
    pending.pop_front();
    EGRET_ASSIGN_OR_RETURN(
        const std::vector<ScopeToRead> opened,
        next.graph != nullptr ? read_branch(source, next, draft) : read_body(source, next, draft));
    pending.insert(pending.end(), opened.begin(), opened.end());
  }
  resolve_aliases(draft);
  OnnxProgram program = std::move(draft.program);
  program.value_names = draft.names.take();
  EGRET_RETURN_IF_ERROR(sort_nodes(program));
  return program;
}

std::string function_key(const onnx::FunctionProto& function) {
  return canonical_domain(function.domain()) + '\n' + function.name() + '\n' + function.overload();
}

std::string function_key(const onnx::NodeProto& node) {
  return canonical_domain(node.domain()) + '\n' + node.op_type() + '\n' + node.overload();
}

bool is_if(const onnx::NodeProto& node) {
  return node.op_type() == "If" && canonical_domain(node.domain()).empty();
}

std::string in_quotes(std::string_view name) {
  constexpr std::size_t kShown = 100;
  std::string text = "'";
  for (const char c : name.substr(0, kShown)) {
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return text + (name.size() > kShown ? "...'" : "'");
}

std::string canonical_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string() : std::string(domain);
}

std::string full_type(const onnx::NodeProto& node) {
  const std::string domain = canonical_domain(node.domain());
  return (domain.empty() ? "" : domain + "::") + node.op_type();
}

}  // namespace egret::frontends
