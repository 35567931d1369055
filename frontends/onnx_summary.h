// SPDX-License-Identifier: Apache-2.0
// A summary of a model file without importing it, for models that cannot be imported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "frontends/onnx.h"

namespace egret::frontends {

struct OnnxSummary {
  struct Value {
    std::string name;
    std::string type;  // as declared: "f32[N,3,224,224]"
  };
  struct Operator {
    std::string name;  // with its domain, where that is not ai.onnx: "com.example::Foo"
    std::int64_t nodes = 0;
    bool supported = true;  // Egret has it, or the model defines it as a function
  };

  OnnxModelInfo info;
  std::string graph_name;
  std::vector<Value> inputs;  // without initializers
  std::vector<Value> outputs;
  std::int64_t nodes = 0;  // of the graph, of branches and bodies in it, and of functions
  std::int64_t initializers = 0;
  double initializer_elements = 0;
  std::vector<Operator> operators;  // by name
};

// Linear in the file; no recursion. Errors: those of reading the file and of its wire form.
base::Result<OnnxSummary> summarize_onnx(const std::string& path);
base::Result<OnnxSummary> summarize_onnx_bytes(std::span<const std::byte> bytes);

// A node of a model's graph, in its order.
struct NodeOrigin {
  std::string type{};    // "Relu", "com.example::SquaredRelu"
  std::string name{};    // may be empty
  std::string output{};  // its first
  std::string rule{};    // that made it (kRuleKey); empty: none is known
};
// Errors: those of import for files that are no ONNX models.
base::Result<std::vector<NodeOrigin>> read_node_origins(const std::string& path);
base::Result<std::vector<NodeOrigin>> read_node_origins_bytes(std::span<const std::byte> bytes);

}  // namespace egret::frontends
