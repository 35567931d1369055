// SPDX-License-Identifier: Apache-2.0
// The nodes that one emitted kernel computes together.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/codegen/kernel_source.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends::codegen {

struct Region {
  std::vector<ir::NodeId> nodes;   // ascending; the last one's value is the result
  std::vector<ir::NodeId> inputs;  // values from outside, as the kernel takes them
  base::Result<KernelSource> kernel = base::unsupported("a kernel that is not emitted");
  bool empty = false;  // no elements, hence no kernel
  // A concatenation in place: the steps of its inputs write directly into the result, each from
  // this byte on. There is no kernel.
  std::vector<std::int64_t> joined = {};
  const char* layout = "row-major";  // of the result, for reports

  ir::NodeId root() const { return nodes.back(); }
};

struct RegionOptions {
  Target target = Target::kHost;
  bool fuse = true;
  TensorCores tensor_cores = {};
  // Nodes of other kernels, ascending, and the values that they read.
  struct Apart {
    std::vector<ir::NodeId> nodes, inputs;
  };
  std::vector<Apart> apart = {};
};

// These nodes, ascending, as one region. The kernel's errors are those of compose() and
// emit_kernel(); the inputs are then those of the last node.
Region region_of(const ir::Graph& graph, std::vector<ir::NodeId> nodes, Target target,
                 const ContractionOptions& contractions = {});

// The same as one kernel, or, where none can be emitted, each node as a region of its own.
std::vector<Region> regions_of(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                               Target target, const ContractionOptions& contractions = {});

// Partitions the primitive operators of `graph`, in an order of computation. `apart` groups become
// regions without a kernel. A region grows from its root towards its inputs: a value joins when
// only the region reads it and one kernel is expected to take no longer than two. The estimate
// comes from the emitted texts: operations, bytes, active threads and the cost of a launch. A node
// for which no kernel can be emitted is a region of its own, with the reason. Time: at most 32
// trials a region, each linear in its size.
std::vector<Region> find_regions(const ir::Graph& graph, const RegionOptions& options);

}  // namespace egret::backends::codegen
