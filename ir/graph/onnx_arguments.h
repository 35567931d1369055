// SPDX-License-Identifier: Apache-2.0
// Arguments of ONNX nodes that Egret needs at import. ONNX turned many attributes into inputs over
// its versions; these functions read either form. Errors: unsupported for a value that is known
// only at run time.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/graph/builder.h"
#include "ir/graph/onnx_binding.h"

namespace egret::ir {

using OnnxOutputs = base::Result<std::vector<Value>>;

// The constant at input i; nullopt when the input is absent.
base::Result<std::optional<Tensor>> constant_argument(const OnnxNode& node, int i,
                                                      std::string_view what);
// The integers at input i, else those in attribute `attr`; nullopt when both are absent. i < 0:
// only the attribute exists.
base::Result<std::optional<Integers>> integers_argument(const OnnxNode& node, int i,
                                                        std::string_view attr);
// As above for one that the operator needs.
base::Result<Integers> required_integers(const OnnxNode& node, int i, std::string_view attr);

// As integers_argument() and required_integers(), for integers that may be sizes: elements that are
// not constant are expressions over symbols. Only within a SymbolicScope for all values.
base::Result<std::optional<std::vector<Index>>> sizes_argument(const OnnxNode& node, int i,
                                                               std::string_view attr);
base::Result<std::vector<Index>> required_sizes(const OnnxNode& node, int i, std::string_view attr);
// The same as integers of attributes.
base::Result<Integers> required_size_integers(const OnnxNode& node, int i, std::string_view attr);

// Sizes as integers of attributes. Errors: unsupported for open sizes outside of a SymbolicScope
// for all values.
base::Result<Integers> open_integers(std::span<const Index> sizes);

// The size of an axis that must be known at import.
base::Result<std::int64_t> known_size(const OnnxNode& node, Value value, int axis);

// Requires opset `since` for `op_type`. When the exported model's opset is lower, this returns an
// error, and the exporter writes the model again with opset `since`.
base::Status require_opset(OnnxWriter& writer, int since, std::string_view op_type);

}  // namespace egret::ir
