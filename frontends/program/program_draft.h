// SPDX-License-Identifier: Apache-2.0
// An OnnxProgram while its scopes are read: the program so far, the names that its scopes define,
// and what calls of functions stand for. The steps of make_program() take it and add to it.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/program/onnx_program.h"

namespace egret::onnx {
class GraphProto;
}  // namespace egret::onnx

namespace egret::frontends {

// What a program is made of. The model outlives it.
struct ProgramSource {
  const onnx::ModelProto& model;
  std::int64_t max_nodes;
  std::map<std::string, const onnx::FunctionProto*> functions;  // by function_key()
  std::set<int> closed{};  // nodes of the main graph that open no scope
};
// Errors: bad_input for a function that is defined twice.
base::Result<ProgramSource> make_source(const onnx::ModelProto& model, std::int64_t max_nodes);

// A scope whose nodes are still to be read.
struct ScopeToRead {
  int scope;
  int caller;                     // index of the node that opened it: a call, or an If
  const onnx::GraphProto* graph;  // of a branch; nullptr: a function's body
};

// The values of a program and the names by which scopes know them. Names are views: the model holds
// the text.
class ValueNames {
 public:
  // Scopes are numbered from 0. Names that a scope lacks are looked up in its parent; -1: in none.
  void open_scope(int parent);
  ValueId add(std::string full_name);
  // False: the scope has the name already.
  bool bind(int scope, std::string_view name, ValueId value);
  ValueId find(int scope, std::string_view name) const;  // invalid: nothing defines it

  // The one value that stands for "not given" in bodies of functions.
  ValueId absent();
  bool is_absent(ValueId value) const { return value == absent_; }

  std::size_t size() const { return full_names_.size(); }
  void rename(ValueId value, ValueId like) {
    full_names_[value.index()] = full_names_[like.index()];
  }
  std::vector<std::string> take() { return std::move(full_names_); }

 private:
  struct Scope {
    int parent;
    boost::unordered_flat_map<std::string_view, ValueId> values;
  };
  std::vector<Scope> scopes_;
  std::vector<std::string> full_names_;
  ValueId absent_;
};

struct ProgramDraft {
  OnnxProgram program;  // its value_names are empty: they are in `names`
  ValueNames names;
  // A value that a call defines, and the one in the function's body that it is.
  std::map<ValueId, ValueId> aliases;
  std::map<const onnx::FunctionProto*, int> function_opsets;  // index into program.opsets

  OnnxScope& scope(int id) { return program.scopes[static_cast<std::size_t>(id)]; }
  OnnxProgramNode& node(int id) { return program.nodes[static_cast<std::size_t>(id)]; }
};

int add_scope(ProgramDraft& draft, OnnxScope scope);

// Adds a value and names it in the scope. Errors: bad_input, at `place`, where the scope defines
// the name twice.
base::Result<ValueId> define(ProgramDraft& draft, int scope, std::string_view name,
                             const std::string& place);

// The index of the operator sets that the model or the function imports; a function without imports
// has the model's. Errors: bad_input for a version below 1, or a set that is imported twice.
base::Result<int> add_opsets(ProgramDraft& draft, const onnx::ModelProto& model);
base::Result<int> add_opsets(ProgramDraft& draft, const onnx::FunctionProto& function);

}  // namespace egret::frontends
