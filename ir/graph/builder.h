// SPDX-License-Identifier: Apache-2.0
// GraphBuilder: checked construction of graphs. Errors stick: after the first one every call is
// ignored, and finish() returns it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"

namespace egret::ir {

// A value in the graph being built; invalid after an error.
struct Value {
  NodeId id;
  bool valid() const { return id.valid(); }
};

class GraphBuilder {
 public:
  GraphBuilder() = default;

  Value input(std::string name, TensorType type);
  Value constant(Tensor data, std::string name = "");
  // Applies an operator; attributes are canonicalized, the type is inferred.
  Value add(const Operator& op, std::span<const Value> inputs, Attrs attrs = {},
            std::string name = "");
  Value add(std::string_view op, std::initializer_list<Value> inputs, Attrs attrs = {});
  Value add(std::string_view op, std::span<const Value> inputs, Attrs attrs = {});
  // The constant `value` of type dtype and rank 0.
  Value scalar(DType dtype, double value) { return constant(Tensor::scalar(dtype, value)); }

  const TensorType& type(Value value) const;  // f32[] for an invalid value
  const Graph& graph() const { return graph_; }
  void set_name(Value value, std::string name);
  void output(std::string name, Value value);

  bool ok() const { return status_.ok(); }
  const base::Status& status() const { return status_; }
  Value fail(base::Status status);  // records the error; always an invalid value
  // Forgets the error, and gives it back: what was being built is left out.
  base::Status take_error() { return std::exchange(status_, base::Status()); }

  // The graph, dead nodes included. The builder is empty afterwards.
  base::Result<Graph> finish();

 private:
  Graph graph_;
  base::Status status_;
};

}  // namespace egret::ir
