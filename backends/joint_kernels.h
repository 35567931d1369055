// SPDX-License-Identifier: Apache-2.0
// Kernels that store several values, or compute one from several contractions: what a backend may
// have besides its interface.
#pragma once

#include "backends/backend.h"
#include "ir/graph/graph.h"

namespace egret::backends {

// A backend that has such kernels derives from it, too.
class JointKernels {
 public:
  virtual ~JointKernels() = default;

  // Whether one kernel computes all operators of this graph and stores each of its outputs, of
  // which there may be one. A part of CompileOptions::division may then be like it, and others may
  // read all of these values.
  virtual bool stores_together(const ir::Graph& graph, const CompileOptions& options) const = 0;
};

// nullptr where each kernel of the backend stores one value.
const JointKernels* joint_kernels_of(const Backend& backend);

}  // namespace egret::backends
