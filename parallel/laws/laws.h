// SPDX-License-Identifier: Apache-2.0
// The placement laws of an operator along one axis of a mesh, derived from its definition:
//
//   place[output](op(x, w))  =  op'(place[inputs[0]] x, place[inputs[1]] w)
//
// where op' is the operator on the devices' parts; attributes that state sizes differ. No operator
// is named here. There are four sources of laws:
//
//   copies     every device computes everything;
//   cuts       an index variable of the output or of a reduction is cut (parallel/laws/cut_form.h);
//              that of a reduction gives a partial sum or maximum;
//   homogeneous laws
//              op(sum of x_r) = sum of op(x_r), likewise for max: partial results pass through the
//              operator (parallel/laws/homogeneous_laws.h);
//   bodies     a composite operator has the laws under which its body needs no communication, if
//              the body of op' equals the body's parts.
//
// On a mesh of several axes, the law of one axis applies to the operator on the types that the
// other axes leave.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph/operator.h"
#include "parallel/placement/placement.h"

namespace egret::parallel {

struct Law {
  std::vector<AxisPlacement> inputs;
  AxisPlacement output;
  ir::Attrs attrs;  // of the operator on the parts

  friend bool operator==(const Law&, const Law&) = default;
};

std::string to_string(const Law& law);  // "S(0), R -> S(0)"

// The type of a device's part; nullopt where it cannot be cut evenly.
std::optional<ir::TensorType> part_type(const ir::TensorType& whole, AxisPlacement placement,
                                        std::int64_t devices);

// All laws for `devices`, the copies first; only some of them when a stop is requested. Types are
// concrete, attributes canonical; the operator accepts them. Deterministic; sound (cut_form.h), not
// complete.
std::vector<Law> laws_of(const ir::Operator& op, const ir::Attrs& attrs,
                         std::span<const ir::TensorType> inputs, std::int64_t devices);

// The attributes of the operator on a rank's parts, where the placements follow a law along each
// mesh axis in turn. `types` are the wholes'. Where several axes cut one dimension, the mesh's
// first axis cuts first. Errors: unsupported, with the axis that has no such law; limit on a stop.
base::Result<ir::Attrs> part_attrs(const ir::Operator& op, const ir::Attrs& attrs,
                                   std::span<const ir::TensorType> types,
                                   std::span<const Placement> inputs, const Placement& output,
                                   const Mesh& mesh);
// Whether cuts of one dimension follow the order of the mesh's axes.
bool cuts_in_order(const Placement& placement);

}  // namespace egret::parallel
