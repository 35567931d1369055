// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx_program.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <functional>
#include <queue>
#include <set>
#include <utility>

#include "frontends/function_expansion.h"
#include "frontends/onnx.pb.h"

namespace egret::frontends {
namespace {

constexpr int kMaxDepth = 64;  // of calls and branches

using NodeProtos = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

std::string node_place(const onnx::NodeProto& node, int index) {
  std::string text = "node " + std::to_string(index) + " (";
  text += node.op_type().empty() ? "no operator" : std::string(node.op_type().substr(0, 80));
  if (!node.name().empty()) text += " " + in_quotes(node.name());
  return text + ")";
}

base::Result<Opsets> read_opsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  Opsets opsets;
  for (const auto& entry : imports) {
    const std::string domain = canonical_domain(entry.domain());
    if (entry.version() < 1) {
      return base::bad_input("imports version " + std::to_string(entry.version()) +
                             " of operator set " + in_quotes(entry.domain()));
    }
    if (!opsets.emplace(domain, entry.version()).second)
      return base::bad_input("imports operator set " + in_quotes(entry.domain()) + " twice");
  }
  return opsets;
}

// Walks the main graph, then every scope found on the way, breadth first.
class ProgramMaker {
 public:
  ProgramMaker(const onnx::ModelProto& model, std::int64_t max_nodes)
      : model_(model), max_nodes_(max_nodes) {}

  base::Result<OnnxProgram> run() {
    EGRET_RETURN_IF_ERROR(index_functions());
    EGRET_RETURN_IF_ERROR(check_expansion(model_, max_nodes_));
    EGRET_RETURN_IF_ERROR(main_graph());
    while (!pending_.empty()) {
      const Pending next = pending_.front();
      pending_.pop_front();
      EGRET_RETURN_IF_ERROR(next.graph != nullptr ? branch(next) : body(next));
    }
    resolve_aliases();
    EGRET_RETURN_IF_ERROR(sort());
    return std::move(program_);
  }

 private:
  using Names = boost::unordered_flat_map<std::string_view, ValueId>;

  struct Pending {  // a scope whose nodes are still to be read
    int scope;
    int caller;  // a function's body: index of the node it replaces; a branch: of the If
    const onnx::GraphProto* graph;
  };

  base::Status index_functions() {
    for (const onnx::FunctionProto& function : model_.functions()) {
      if (!functions_.emplace(function_key(function), &function).second)
        return base::bad_input("function " + in_quotes(function.name()) + " is defined twice");
    }
    return base::ok();
  }

  int new_scope(OnnxScope scope) {
    program_.scopes.push_back(std::move(scope));
    names_.emplace_back();
    return static_cast<int>(program_.scopes.size()) - 1;
  }
  OnnxScope& scope(int id) { return program_.scopes[static_cast<std::size_t>(id)]; }

  ValueId new_value(std::string name) {
    program_.value_names.push_back(std::move(name));
    return ValueId(program_.value_names.size() - 1);
  }

  base::Result<ValueId> define(int in, const std::string& name, const std::string& place) {
    const ValueId id = new_value(scope(in).prefix + name);
    if (!names_[static_cast<std::size_t>(in)].emplace(name, id).second)
      return base::bad_input(place + ": the name " + in_quotes(name) + " is defined twice");
    return id;
  }

  ValueId find(int in, std::string_view name) const {
    for (; in >= 0; in = program_.scopes[static_cast<std::size_t>(in)].parent) {
      const Names& names = names_[static_cast<std::size_t>(in)];
      if (const auto found = names.find(name); found != names.end()) return found->second;
    }
    return {};
  }

  base::Status main_graph() {
    EGRET_ASSIGN_OR_RETURN(Opsets opsets, read_opsets(model_.opset_import()));
    program_.opsets.push_back(std::move(opsets));
    new_scope({});
    const onnx::GraphProto& graph = model_.graph();
    EGRET_RETURN_IF_ERROR(initializers(0, graph));
    for (int i = 0; i < graph.input_size(); ++i) {
      const std::string& name = graph.input(i).name();
      const std::string place = "graph input " + std::to_string(i);
      if (name.empty()) return base::bad_input(place + " has no name");
      // Up to IR version 3 every initializer is listed as an input too; later ones that are have a
      // default value, and what is made of the model takes it.
      if (initializer_names_.contains(name)) {
        program_.inputs.emplace_back();
        continue;
      }
      EGRET_ASSIGN_OR_RETURN(const ValueId id, define(0, name, place));
      program_.inputs.push_back(id);
    }
    EGRET_RETURN_IF_ERROR(read_nodes(0, graph.node()));
    if (graph.output_size() == 0) return base::bad_input("the graph has no outputs");
    std::set<std::string_view> seen;
    for (const auto& output : graph.output()) {
      if (!seen.insert(output.name()).second)
        return base::bad_input("graph output " + in_quotes(output.name()) + " is listed twice");
      EGRET_ASSIGN_OR_RETURN(const ValueId id, output_of(0, output.name()));
      program_.outputs.push_back(id);
    }
    return base::ok();
  }

  base::Status initializers(int in, const onnx::GraphProto& graph) {
    if (graph.sparse_initializer_size() > 0) {
      return base::unsupported(program_.place_of_scope(in) + "sparse initializers, such as " +
                               in_quotes(graph.sparse_initializer(0).values().name()) +
                               "; store them densely");
    }
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      if (tensor.name().empty())
        return base::bad_input(program_.place_of_scope(in) + "an initializer has no name");
      EGRET_ASSIGN_OR_RETURN(
          const ValueId id, define(in, tensor.name(), program_.place_of_scope(in) + "initializer"));
      if (in == 0) initializer_names_.insert(tensor.name());
      program_.constants.push_back({id, &tensor, in});
    }
    return base::ok();
  }

  base::Result<ValueId> output_of(int in, const std::string& name) {
    const ValueId id = find(in, name);
    if (!id.valid()) {
      return base::bad_input(program_.place_of_scope(in) + "the output " + in_quotes(name) +
                             " is not produced by any node");
    }
    return id;
  }

  // Defines all outputs of the nodes, then resolves their inputs, so that order does not matter.
  base::Status read_nodes(int in, const NodeProtos& nodes) {
    if (static_cast<std::int64_t>(program_.nodes.size()) + nodes.size() > max_nodes_) {
      return base::bad_input("has more than " + std::to_string(max_nodes_) + " nodes");
    }
    const std::size_t first = program_.nodes.size();
    for (int i = 0; i < nodes.size(); ++i) {
      OnnxProgramNode made{&nodes.Get(i), in, i, {}, {}};
      for (const std::string& name : made.proto->output()) {
        if (name.empty()) {
          made.outputs.emplace_back();
          continue;
        }
        EGRET_ASSIGN_OR_RETURN(const ValueId id, define(in, name, program_.place(made)));
        made.outputs.push_back(id);
      }
      program_.nodes.push_back(std::move(made));
    }
    for (std::size_t i = first; i < first + static_cast<std::size_t>(nodes.size()); ++i) {
      EGRET_RETURN_IF_ERROR(resolve_inputs(program_.nodes[i]));
      EGRET_RETURN_IF_ERROR(open_scopes(static_cast<int>(i)));
    }
    return base::ok();
  }

  base::Status resolve_inputs(OnnxProgramNode& node) {
    for (int i = 0; i < node.proto->input_size(); ++i) {
      const std::string& name = node.proto->input(i);
      ValueId id;
      if (!name.empty()) {
        id = find(node.scope, name);
        if (!id.valid()) {
          return base::bad_input(program_.place(node) + ": input " + std::to_string(i) + " " +
                                 in_quotes(name) +
                                 " is not produced by any node, initializer or graph input");
        }
      }
      node.inputs.push_back(id);
    }
    while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
    return base::ok();
  }

  // Calls of functions and branches become scopes of their own.
  base::Status open_scopes(int index) {
    const OnnxProgramNode node = program_.nodes[static_cast<std::size_t>(index)];
    const auto function =
        functions_.empty() ? functions_.end() : functions_.find(function_key(*node.proto));
    const bool is_if = node.proto->op_type() == "If" && node.proto->domain().empty();
    if (function == functions_.end() && !is_if) return base::ok();
    if (scope(node.scope).depth >= kMaxDepth) {
      return base::bad_input(program_.place(node) + ": calls and branches nest deeper than " +
                             std::to_string(kMaxDepth) + "");
    }
    if (function != functions_.end()) return open_call(index, *function->second);
    return open_branches(index);
  }

  base::Status open_call(int index, const onnx::FunctionProto& function) {
    const OnnxProgramNode node = program_.nodes[static_cast<std::size_t>(index)];
    const std::string place = program_.place(node);
    if (static_cast<int>(node.inputs.size()) > function.input_size() ||
        static_cast<int>(node.outputs.size()) > function.output_size()) {
      return base::bad_input(place + ": more inputs or outputs than its function has");
    }
    EGRET_ASSIGN_OR_RETURN(const int opsets, opsets_of(function));
    const OnnxScope& outer = scope(node.scope);
    const std::string& label = node.proto->name().empty() ? function.name() : node.proto->name();
    const int inner = new_scope({.prefix = inner_prefix(outer, label),
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
      const ValueId given = at < node.inputs.size() ? node.inputs[at] : absent();
      if (!names_.back().emplace(function.input(i), given).second) {
        return base::bad_input("function " + in_quotes(function.name()) + ": input " +
                               in_quotes(function.input(i)) + " is listed twice");
      }
    }
    pending_.push_back({inner, index, nullptr});
    return base::ok();
  }

  // Names say where a value comes from, for the first few levels.
  static std::string inner_prefix(const OnnxScope& outer, std::string_view label) {
    constexpr std::size_t kMaxPrefix = 100;
    if (outer.prefix.size() + label.size() > kMaxPrefix) return outer.prefix;
    return outer.prefix + std::string(label) + "/";
  }

  // One value that stands for "not given" in bodies of functions.
  ValueId absent() {
    if (!absent_.valid()) absent_ = new_value("");
    return absent_;
  }

  base::Result<int> opsets_of(const onnx::FunctionProto& function) {
    const auto known = function_opsets_.find(&function);
    if (known != function_opsets_.end()) return known->second;
    auto opsets = read_opsets(function.opset_import());
    if (!opsets.ok()) return opsets.status().at("function " + in_quotes(function.name()));
    if (opsets->empty()) *opsets = program_.opsets.front();
    program_.opsets.push_back(*std::move(opsets));
    const int index = static_cast<int>(program_.opsets.size()) - 1;
    function_opsets_.emplace(&function, index);
    return index;
  }

  base::Status body(const Pending& pending) {
    const onnx::FunctionProto& function = *scope(pending.scope).function;
    const std::size_t first_new = program_.value_names.size();
    EGRET_RETURN_IF_ERROR(read_nodes(pending.scope, function.node()));
    const auto outputs = program_.nodes[static_cast<std::size_t>(pending.caller)].outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].valid()) continue;
      EGRET_ASSIGN_OR_RETURN(const ValueId made,
                             output_of(pending.scope, function.output(static_cast<int>(i))));
      aliases_.emplace(outputs[i], made);
      // A value made in the body takes the name it has outside; one passed through keeps its own.
      if (made.index() >= first_new)
        program_.value_names[made.index()] = program_.value_names[outputs[i].index()];
    }
    program_.nodes[static_cast<std::size_t>(pending.caller)].proto = nullptr;  // replaced
    return base::ok();
  }

  base::Status open_branches(int index) {
    for (const auto& [which, role] : {std::pair("then_branch", "in its then_branch: "),
                                      std::pair("else_branch", "in its else_branch: ")}) {
      const OnnxProgramNode node = program_.nodes[static_cast<std::size_t>(index)];
      const std::string place = program_.place(node);
      const onnx::GraphProto* graph = nullptr;
      for (const auto& attribute : node.proto->attribute()) {
        if (attribute.name() == which && attribute.has_g()) graph = &attribute.g();
      }
      if (graph == nullptr) return base::bad_input(place + ": has no " + which);
      if (graph->output_size() != static_cast<int>(node.outputs.size())) {
        return base::bad_input(place + ": " + which + " has " +
                               std::to_string(graph->output_size()) + " outputs, the node " +
                               std::to_string(node.outputs.size()));
      }
      if (graph->input_size() > 0) return base::bad_input(place + ": " + which + " has inputs");
      OnnxScope inner = scope(node.scope);
      inner.prefix = inner_prefix(inner, which);
      inner.opener = node.proto;
      inner.opener_index = node.index;
      inner.opener_scope = node.scope;
      inner.role = role;
      inner.parent = node.scope;
      ++inner.depth;
      pending_.push_back({new_scope(std::move(inner)), index, graph});
    }
    return base::ok();
  }

  base::Status branch(const Pending& pending) {
    EGRET_RETURN_IF_ERROR(initializers(pending.scope, *pending.graph));
    EGRET_RETURN_IF_ERROR(read_nodes(pending.scope, pending.graph->node()));
    for (const auto& output : pending.graph->output()) {
      EGRET_ASSIGN_OR_RETURN(const ValueId made, output_of(pending.scope, output.name()));
      program_.nodes[static_cast<std::size_t>(pending.caller)].inputs.push_back(made);
    }
    return base::ok();
  }

  // Values that a call defines are those its body defines. A chain of aliases is as long as calls
  // nest.
  void resolve_aliases() {
    for (OnnxProgramNode& node : program_.nodes) {
      for (ValueId& input : node.inputs) input = resolved(input);
      while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
    }
    for (ValueId& output : program_.outputs) output = resolved(output);
    std::erase_if(program_.nodes,
                  [](const OnnxProgramNode& node) { return node.proto == nullptr; });
  }

  ValueId resolved(ValueId value) const {
    for (auto found = aliases_.find(value); found != aliases_.end(); found = aliases_.find(value)) {
      value = found->second;
    }
    return value == absent_ ? ValueId() : value;
  }

  // Kahn's algorithm; among the nodes that are ready, the first in the file comes first.
  base::Status sort() {
    const std::size_t count = program_.nodes.size();
    std::vector<int> producer(program_.value_names.size(), -1);
    for (std::size_t i = 0; i < count; ++i) {
      for (const ValueId output : program_.nodes[i].outputs) {
        if (output.valid()) producer[output.index()] = static_cast<int>(i);
      }
    }
    std::vector<int> missing(count, 0);
    std::vector<std::vector<int>> readers(count);
    for (std::size_t i = 0; i < count; ++i) {
      for (const ValueId input : program_.nodes[i].inputs) {
        if (!input.valid() || producer[input.index()] < 0) continue;
        readers[static_cast<std::size_t>(producer[input.index()])].push_back(static_cast<int>(i));
        ++missing[i];
      }
    }
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (std::size_t i = 0; i < count; ++i) {
      if (missing[i] == 0) ready.push(static_cast<int>(i));
    }
    std::vector<OnnxProgramNode> sorted;
    sorted.reserve(count);
    while (!ready.empty()) {
      const auto i = static_cast<std::size_t>(ready.top());
      ready.pop();
      for (const int reader : readers[i]) {
        if (--missing[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
      }
      sorted.push_back(program_.nodes[i]);
    }
    if (sorted.size() < count) return cycle(producer, missing);
    program_.nodes = std::move(sorted);
    return base::ok();
  }

  // Among nodes that never became ready, going back to a producer that did not either must come
  // around to a cycle.
  base::Status cycle(const std::vector<int>& producer, const std::vector<int>& missing) const {
    std::vector<bool> seen(missing.size(), false);
    auto at = static_cast<std::size_t>(std::ranges::find_if(missing, [](int m) { return m > 0; }) -
                                       missing.begin());
    while (!seen[at]) {
      seen[at] = true;
      for (const ValueId input : program_.nodes[at].inputs) {
        if (!input.valid() || producer[input.index()] < 0) continue;
        const auto back = static_cast<std::size_t>(producer[input.index()]);
        if (missing[back] == 0) continue;
        at = back;
        break;
      }
    }
    return base::bad_input(program_.place(program_.nodes[at]) +
                           ": depends on its own output (the graph has a cycle)");
  }

  const onnx::ModelProto& model_;
  std::int64_t max_nodes_;
  OnnxProgram program_;
  std::vector<Names> names_;  // by scope
  std::set<std::string_view> initializer_names_;
  std::map<std::string, const onnx::FunctionProto*> functions_;
  std::map<const onnx::FunctionProto*, int> function_opsets_;  // looked up, never walked
  std::deque<Pending> pending_;
  std::map<ValueId, ValueId> aliases_;
  ValueId absent_;
};

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

std::int64_t OnnxProgram::opset(const OnnxProgramNode& node) const {
  const Opsets& known =
      opsets[static_cast<std::size_t>(scopes[static_cast<std::size_t>(node.scope)].opsets)];
  const auto found = known.find(canonical_domain(node.proto->domain()));
  return found != known.end() ? found->second : 0;
}

base::Result<OnnxProgram> make_program(const onnx::ModelProto& model, std::int64_t max_nodes) {
  return ProgramMaker(model, max_nodes).run();
}

std::string function_key(const onnx::FunctionProto& function) {
  return canonical_domain(function.domain()) + '\n' + function.name() + '\n' + function.overload();
}

std::string function_key(const onnx::NodeProto& node) {
  return canonical_domain(node.domain()) + '\n' + node.op_type() + '\n' + node.overload();
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

}  // namespace egret::frontends
