// SPDX-License-Identifier: Apache-2.0
// Types of the results of nodes that stay as they are, where the model does not declare them: from
// the bodies of control flow, from what ONNX says of operators that Egret lacks, and from an import
// with sizes of an example for operators that need numbers. Most sizes of such results depend on
// data or are no expressions of sizes; they are symbols of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "frontends/nodes/onnx_node.h"

namespace egret::frontends {

struct ResultSize {
  std::optional<ir::Index> known{};       // otherwise nothing is known of the size,
  std::optional<std::int64_t> example{};  // but perhaps its value for the examples of the symbols
};

struct ResultType {
  ir::DType dtype = ir::DType::kF32;
  std::vector<ResultSize> sizes{};
};

// By output; nullopt, or no entry: unknown.
using ResultTypes = std::vector<std::optional<ResultType>>;

// `values` are those of the program, by ValueId; the types of those in `untyped` are not known.
// Builds nothing in the context's builder.
ResultTypes result_types(const OnnxImportContext& context, const OnnxProgramNode& node,
                         const std::vector<ir::Value>& values, const std::set<ir::NodeId>& untyped);

}  // namespace egret::frontends
