// SPDX-License-Identifier: Apache-2.0
// Names, doc strings and metadata of nodes, from a model to the optimized model.
#pragma once

#include <map>
#include <string>

namespace egret::onnx {
class GraphProto;
}

namespace egret::frontends {

// By the name of the first output: each as a serialized onnx.NodeProto with its operator, name, doc
// string and metadata alone.
using NodeHeaders = std::map<std::string, std::string>;

// Of the nodes that have something beside their operator.
NodeHeaders headers_of(const onnx::GraphProto& graph);
// A node that computes an output of the same name by the same operator takes the header. The names
// of other nodes are made different from all others.
void put_headers(const NodeHeaders& headers, onnx::GraphProto& graph);

}  // namespace egret::frontends
