// SPDX-License-Identifier: Apache-2.0
// Import of nodes that stay as they are.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "frontends/nodes/onnx_node.h"
#include "frontends/onnx.h"

namespace egret::onnx {
class GraphProto;
}

namespace egret::frontends {

class OpaqueImport {
 public:
  // `graph` declares types of values by name (value_info, outputs). `example_of` as in
  // ImportOptions: open sizes of results need it.
  OpaqueImport(const onnx::GraphProto& graph,
               const std::function<std::int64_t(std::string_view)>& example_of);

  // The node as opaque operators, one for each named output. Errors: unsupported, with `reason`, if
  // an output has no declared type.
  base::Result<std::vector<ir::Value>> import(const OnnxImportContext& context,
                                              const OnnxProgramNode& node,
                                              const std::vector<ir::Value>& inputs,
                                              const std::string& reason);

  const OpaqueNodes& nodes() const { return nodes_; }

 private:
  std::optional<ir::TensorType> declared_type(const std::string& value) const;
  base::Result<ir::Integers> shape_of(const ir::TensorType& type);

  std::map<std::string, ir::TensorType, std::less<>> declared_;  // sizes without a name: -1
  const std::function<std::int64_t(std::string_view)>& example_of_;
  OpaqueNodes nodes_;
};

}  // namespace egret::frontends
