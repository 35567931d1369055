// SPDX-License-Identifier: Apache-2.0
#include "frontends/program/function_expansion.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "frontends/onnx.pb.h"
#include "frontends/program/onnx_program.h"

namespace egret::frontends {
namespace {

using NodeProtos = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

struct Function {
  std::string name;
  std::int64_t nodes = 0;  // its own; then, once done, with all that it calls
  std::vector<std::size_t> calls{};
  enum : std::uint8_t { kNew, kOpen, kDone } state = kNew;
};

class Expansion {
 public:
  Expansion(const onnx::ModelProto& model, std::int64_t max_nodes) : max_nodes_(max_nodes) {
    for (const auto& function : model.functions()) {
      functions_.push_back({function.name()});
      by_key_.emplace(function_key(function), functions_.size() - 1);
    }
    for (int i = 0; i < model.functions_size(); ++i)
      collect(model.functions(i).node(), functions_[static_cast<std::size_t>(i)]);
    functions_.push_back({"the graph"});
    collect(model.graph().node(), functions_.back());
  }

  // Post-order over calls with a stack of our own.
  // The nodes are counted without inlining: each function is counted once, and a call adds the
  // count of what it calls. The counts can grow exponentially in the depth of calls, so each sum
  // saturates just above the limit. The open functions are exactly those on the current path of
  // calls, so a call of an open one is a recursion.
  base::Status run() {
    std::vector<std::size_t> stack{functions_.size() - 1};
    while (!stack.empty()) {
      Function& at = functions_[stack.back()];
      if (at.state == Function::kDone) {
        stack.pop_back();
        continue;
      }
      if (at.state == Function::kOpen) {  // all it calls is done
        for (const std::size_t called : at.calls)
          at.nodes = std::min(at.nodes + functions_[called].nodes, max_nodes_ + 1);
        at.state = Function::kDone;
        stack.pop_back();
        continue;
      }
      at.state = Function::kOpen;
      for (const std::size_t called : at.calls) {
        if (functions_[called].state == Function::kOpen)
          return base::bad_input("function " + in_quotes(functions_[called].name) +
                                 " calls itself");
        if (functions_[called].state == Function::kNew) stack.push_back(called);
      }
    }
    if (functions_.back().nodes <= max_nodes_) return base::ok();
    return base::bad_input("has more than " + std::to_string(max_nodes_) +
                           " nodes after its functions are inlined");
  }

 private:
  // Nodes and calls, those in branches too; branches nest no deeper than the parser allows, but
  // there is no need to recurse.
  void collect(const NodeProtos& nodes, Function& into) const {
    std::vector<const NodeProtos*> open{&nodes};
    while (!open.empty()) {
      const NodeProtos& list = *open.back();
      open.pop_back();
      into.nodes += list.size();
      for (const auto& node : list) {
        if (!by_key_.empty()) {
          const auto found = by_key_.find(function_key(node));
          if (found != by_key_.end()) into.calls.push_back(found->second);
        }
        for (const auto& attribute : node.attribute()) {
          if (attribute.has_g()) open.push_back(&attribute.g().node());
        }
      }
    }
  }

  std::int64_t max_nodes_;
  std::vector<Function> functions_;  // the main graph last
  std::map<std::string, std::size_t> by_key_;
};

}  // namespace

base::Status check_expansion(const onnx::ModelProto& model, std::int64_t max_nodes) {
  return Expansion(model, max_nodes).run();
}

}  // namespace egret::frontends
