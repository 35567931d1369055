// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace egret::frontends {

// The nodes that the importer left as they are, by the key in ir::OpaqueOutput::node: each as a
// serialized onnx.NodeProto.
using OpaqueNodes = std::map<std::string, std::string>;

}  // namespace egret::frontends
