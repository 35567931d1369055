// SPDX-License-Identifier: Apache-2.0
// Which nodes one emitted kernel computes together.
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
  bool empty = false;  // there are no elements, and so no kernel
  // Its inputs are written where they belong in the result, each from so many bytes on: there is
  // nothing left to do, and no kernel. (Their steps know how.)
  std::vector<std::int64_t> joined = {};
  const char* layout = "row-major";  // of the result, for reports

  ir::NodeId root() const { return nodes.back(); }
};

struct RegionOptions {
  Target target = Target::kHost;
  bool fuse = true;
  // What other kernels compute: nodes, ascending, and the values that they read.
  struct Apart {
    std::vector<ir::NodeId> nodes, inputs;
  };
  std::vector<Apart> apart = {};
};

// These nodes, ascending, as one region. Errors, as the region's kernel: those of compose() and of
// emit_kernel(); the inputs are then those of the last node.
Region region_of(const ir::Graph& graph, std::vector<ir::NodeId> nodes, Target target);

// Partitions the primitive operators of `graph`, in an order in which they can be computed; what is
// apart becomes regions without a kernel. A region grows from its root towards its inputs: a value
// joins when nothing outside reads it and one kernel is expected to take no longer than two. The
// expectation comes from the emitted texts themselves: operations, bytes, threads at work and the
// cost of a launch. A region for which no kernel can be emitted is one node, with the reason. Time:
// at most 32 trials a region, each linear in its size.
std::vector<Region> find_regions(const ir::Graph& graph, const RegionOptions& options);

}  // namespace egret::backends::codegen
