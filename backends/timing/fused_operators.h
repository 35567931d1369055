// SPDX-License-Identifier: Apache-2.0
// Whether plans fuse an operator in the middle of a graph, that is, compute it without a kernel of
// its own. Small graphs around it are compiled and their reports inspected; nothing is run.
#pragma once

#include <span>
#include <vector>

#include "backends/backend.h"
#include "base/random.h"
#include "base/status.h"
#include "ir/graph/builder.h"

namespace egret::backends {

// An operator on inputs of these types. `constant_mask` is empty or has one entry an input.
struct Application {
  const ir::Operator& op;
  const ir::Attrs& attrs;
  std::span<const ir::TensorType> types;
  const std::vector<bool>& constant_mask;

  bool is_constant(std::size_t input) const {
    return input < constant_mask.size() && constant_mask[input];
  }
};

// One value for each input type: an input of the graph, or a random constant.
std::vector<ir::Value> add_inputs(ir::GraphBuilder& builder, const Application& of,
                                  base::Random& random);

// Whether the kernels of its inputs write directly into its value: a concatenation. Parts of rank 4
// come from convolutions, whose layouts then decide.
base::Result<bool> is_written_in_place(const Backend& backend, const Application& of,
                                       const CompileOptions& options);

// Whether the reader of its value fuses the operator, which only moves elements: a product over its
// last axes, or a 1x1 convolution. It does if the reader has the same implementation as on a plain
// input. `type` is that of the operator's value.
base::Result<bool> is_read_in_place(const Backend& backend, const Application& of,
                                    const ir::TensorType& type, const CompileOptions& options);

}  // namespace egret::backends
