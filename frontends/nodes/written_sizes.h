// SPDX-License-Identifier: Apache-2.0
// Open sizes in an ONNX graph: shape arithmetic, with few nodes where a value that is written
// already has such axes.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "frontends/nodes/onnx_writer.h"

namespace egret::frontends {

class OnnxGraphWriter::Sizes {
 public:
  // The nodes are appended to the graph of `writer`, which outlives this and owns it.
  explicit Sizes(OnnxGraphWriter& writer) : writer_(writer) {}

  // Later nodes can compute the sizes of this value from it.
  void note(const std::string& value, const ir::TensorType& type);
  // Nodes with these outputs are in the graph no longer.
  void forget(const std::set<std::string_view>& outputs);
  // The name of a tensor of rank 1 with the sizes. Errors: unsupported for a size that no written
  // value determines.
  base::Result<std::string> tensor_of(std::span<const ir::Index> sizes);

 private:
  // A value that was written and has open sizes.
  struct Shape {
    std::string value;
    ir::Dims dims;
    std::string node;  // the name of its sizes; empty: not computed yet
  };
  struct AxisRun {
    Shape* shape = nullptr;
    std::size_t first = 0;
    std::size_t count = 0;
  };

  base::Result<std::string> vector_of(ir::Index size);  // with one element
  AxisRun longest_run(std::span<const ir::Index> sizes);
  std::string axes_of(Shape& shape, std::size_t first, std::size_t count);
  // Returns the name of the node's output.
  std::string append(std::string_view op_type, std::vector<std::string> inputs);
  onnx::NodeProto& last_node();

  OnnxGraphWriter& writer_;
  std::vector<Shape> shapes_;                            // in the order of writing, inputs first
  std::map<const ir::ExprNode*, std::string> computed_;  // names of tensors with one size
};

}  // namespace egret::frontends
