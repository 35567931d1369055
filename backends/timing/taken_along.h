// SPDX-License-Identifier: Apache-2.0
// Whether plans compute an operator in the middle of a graph without a kernel of its own: small
// graphs around it are compiled, and their reports looked at. Nothing is run.
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

// One a type: inputs of the graph, and random constants.
std::vector<ir::Value> add_inputs(ir::GraphBuilder& builder, const Application& of,
                                  base::Random& random);

// Whether what computes its inputs writes them where they belong in its value: a concatenation.
// Parts of rank 4 come from convolutions, whose layouts then decide.
base::Result<bool> is_written_in_place(const Backend& backend, const Application& of,
                                       const PlanOptions& options);

// Whether the operator, which only moves elements, is taken along by what reads its value: by a
// product over its last axes, or a convolution by one pixel, which is computed by the same
// implementation as it is of an input. `type`: of its value.
base::Result<bool> is_read_in_place(const Backend& backend, const Application& of,
                                    const ir::TensorType& type, const PlanOptions& options);

}  // namespace egret::backends
