// SPDX-License-Identifier: Apache-2.0
#include "frontends/program/program_draft.h"

#include <utility>

#include "frontends/onnx.pb.h"

namespace egret::frontends {
namespace {

base::Result<Opsets> read_opsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  Opsets opsets;
  for (const auto& entry : imports) {
    const std::string domain = canonical_domain(entry.domain());
    if (entry.version() < 1) {
      return base::bad_input("imports version " + std::to_string(entry.version()) +
                             " of operator set " + in_quotes(entry.domain()));
    }
    // Some exporters list a set twice.
    const auto [known, is_new] = opsets.emplace(domain, entry.version());
    if (!is_new && known->second != entry.version()) {
      return base::bad_input("imports operator set " + in_quotes(entry.domain()) +
                             " in two versions");
    }
  }
  return opsets;
}

int append_opsets(OnnxProgram& program, Opsets opsets) {
  program.opsets.push_back(std::move(opsets));
  return static_cast<int>(program.opsets.size()) - 1;
}

}  // namespace

base::Result<ProgramSource> make_source(const onnx::ModelProto& model, std::int64_t max_nodes) {
  ProgramSource source{model, max_nodes, {}};
  for (const onnx::FunctionProto& function : model.functions()) {
    if (!source.functions.emplace(function_key(function), &function).second)
      return base::bad_input("function " + in_quotes(function.name()) + " is defined twice");
  }
  return source;
}

void ValueNames::open_scope(int parent) { scopes_.push_back({parent, {}}); }

ValueId ValueNames::add(std::string full_name) {
  full_names_.push_back(std::move(full_name));
  return ValueId(full_names_.size() - 1);
}

bool ValueNames::bind(int scope, std::string_view name, ValueId value) {
  return scopes_[static_cast<std::size_t>(scope)].values.emplace(name, value).second;
}

ValueId ValueNames::find(int scope, std::string_view name) const {
  while (scope >= 0) {
    const Scope& at = scopes_[static_cast<std::size_t>(scope)];
    if (const auto found = at.values.find(name); found != at.values.end()) return found->second;
    scope = at.parent;
  }
  return {};
}

ValueId ValueNames::absent() {
  if (!absent_.valid()) absent_ = add("");
  return absent_;
}

int add_scope(ProgramDraft& draft, OnnxScope scope) {
  draft.names.open_scope(scope.parent);
  draft.program.scopes.push_back(std::move(scope));
  return static_cast<int>(draft.program.scopes.size()) - 1;
}

base::Result<ValueId> define(ProgramDraft& draft, int scope, std::string_view name,
                             const std::string& place) {
  const ValueId id = draft.names.add(draft.scope(scope).prefix + std::string(name));
  if (!draft.names.bind(scope, name, id))
    return base::bad_input(place + ": the name " + in_quotes(name) + " is defined twice");
  return id;
}

base::Result<int> add_opsets(ProgramDraft& draft, const onnx::ModelProto& model) {
  EGRET_ASSIGN_OR_RETURN(Opsets opsets, read_opsets(model.opset_import()));
  return append_opsets(draft.program, std::move(opsets));
}

base::Result<int> add_opsets(ProgramDraft& draft, const onnx::FunctionProto& function) {
  const auto known = draft.function_opsets.find(&function);
  if (known != draft.function_opsets.end()) return known->second;
  auto opsets = read_opsets(function.opset_import());
  if (!opsets.ok()) return opsets.status().at("function " + in_quotes(function.name()));
  if (opsets->empty()) *opsets = draft.program.opsets.front();
  const int index = append_opsets(draft.program, *std::move(opsets));
  draft.function_opsets.emplace(&function, index);
  return index;
}

}  // namespace egret::frontends
