// SPDX-License-Identifier: Apache-2.0
// The structure of an ONNX model: the values that each node reads and writes, with names resolved,
// model-local functions inlined, branches of If appended, and nodes in topological order. This
// layer knows no operator's meaning.
//
// ONNX asks for sorted nodes; unsorted ones are sorted, stably. Refused as bad_input, with the
// place: a name that is defined twice, a name that nothing defines, a cycle, calls that nest
// endlessly or expand beyond the limit. Linear in nodes and names (sorting: times a logarithm); no
// recursion.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/status.h"

namespace egret::onnx {
class FunctionProto;
class ModelProto;
class NodeProto;
class TensorProto;
}  // namespace egret::onnx

namespace egret::frontends {

using ValueId = base::Id<struct OnnxValueTag>;
using Opsets = std::map<std::string, std::int64_t, std::less<>>;  // by domain; "" is ai.onnx

// A graph, an inlined call of a function, or a branch of an If.
struct OnnxScope {
  std::string prefix;  // put before names of values
  int parent = -1;     // where names are looked up next (branches)
  int depth = 0;
  // The node that opened it, for messages; none for the main graph.
  const onnx::NodeProto* opener = nullptr;
  int opener_index = 0;
  int opener_scope = -1;
  const char* role = "";  // "in its then_branch: "
  int opsets = 0;         // index into OnnxProgram::opsets
  // Of a function's body, and of the branches in it: where attribute references lead.
  const onnx::FunctionProto* function = nullptr;
  const onnx::NodeProto* call = nullptr;
  int call_scope = -1;
};

struct OnnxProgramNode {
  const onnx::NodeProto* proto;
  int scope;
  int index;                     // in its scope
  std::vector<ValueId> inputs;   // invalid: absent. If: the condition, then each branch's outputs
  std::vector<ValueId> outputs;  // invalid: unnamed
  // Of a node of the main graph: the values that its bodies read, in the order of captured_names().
  // They are operands of a node that stays as it is.
  std::vector<ValueId> captured{};
};

struct OnnxProgram {
  struct Constant {
    ValueId value;
    const onnx::TensorProto* tensor;
    int scope;
  };

  std::vector<Opsets> opsets;  // [0] is the model's
  std::vector<OnnxScope> scopes;
  std::vector<OnnxProgramNode> nodes;
  std::vector<std::string> value_names;
  // Parallel to the main graph's inputs; invalid where an initializer takes the input's place.
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;     // parallel to the main graph's outputs
  std::vector<Constant> constants;  // the main graph's initializers come first, in order

  // "node 3 (Conv 'conv1')", with the scope it is in.
  std::string place(const OnnxProgramNode& node) const;
  // The prefix of messages about this scope: "" for the main graph.
  std::string place_of_scope(int scope) const;
  // The node of the main graph, by index, that opened the scope or one around it. Not of scope 0.
  int outermost_opener(int scope) const;
  // Whether the scope is a branch of an If, or is called in one.
  bool in_branch(int scope) const;
  // The opset of the node's domain; 0 when the model does not import that domain.
  std::int64_t opset(const OnnxProgramNode& node) const;
};

// `closed`: nodes of the main graph, by index, whose branches or function body are not read.
base::Result<OnnxProgram> make_program(const onnx::ModelProto& model, std::int64_t max_nodes,
                                       const std::set<int>& closed = {});

// The identity of a function, and of the function that a node calls.
std::string function_key(const onnx::FunctionProto& function);
std::string function_key(const onnx::NodeProto& node);

// ONNX's conditional.
bool is_if(const onnx::NodeProto& node);

// A name from a file, in quotes, made printable and cut, for messages.
std::string in_quotes(std::string_view name);
// "ai.onnx" is written as "".
std::string canonical_domain(std::string_view domain);
// "Relu"; "com.example::SquaredRelu" for a node of another domain than ONNX's.
std::string full_type(const onnx::NodeProto& node);

}  // namespace egret::frontends
