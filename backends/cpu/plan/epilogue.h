// SPDX-License-Identifier: Apache-2.0
// Fused epilogues: chains of pointwise operators as oneDNN post-operations of convolution and
// matmul.
#pragma once

#include <optional>
#include <vector>

#include "backends/cpu/plan/onednn.h"
#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// One post-operation on the kernel's result r.
struct PostOperation {
  enum class Kind : std::uint8_t {
    kEltwise,  // r = algorithm(r; alpha, beta)
    kBinary,   // r = algorithm(r, operand)
  };
  Kind kind = Kind::kEltwise;
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0, beta = 0;
  ir::NodeId operand{};
};

// Whether the constant is so large that a sum of f32 with it keeps no fraction. What is computed
// with one counts on rounding (frontends/nodes/rounding_dependence.h) and is never folded.
bool leaves_no_fraction(double value);

// Whether `next`, the reader of the group's value, can be one more post-operation.
bool epilogue_takes(const ir::Graph& graph, const Group& group, ir::NodeId next);

// The post-operations of a group: first the anchor's own residual and activation (fused_conv,
// fused_matmul), then the chain. Errors: unsupported where the nodes are not a chain, for an
// operator without counterpart, and for two uses of one eltwise algorithm with different
// parameters: oneDNN 2.6.3 applies one set of parameters to both.
base::Result<std::vector<PostOperation>> post_operations(const ir::Graph& graph,
                                                         const Group& group);

// A kernel's view of its output. `shape` is that of the primitive's destination, to which operands
// of post-operations broadcast; `node_shape` is the graph's (matmul joins batch axes).
struct EpilogueTarget {
  ir::Shape shape;
  ir::Shape node_shape;
  Layout layout;  // of `shape`
};

// Post-operations bound to memory.
struct BoundEpilogue {
  dnnl::post_ops ops;
  std::vector<PrimitiveStep::Argument> arguments;
  std::optional<Operand> accumulated;  // the destination is this operand, which holds the addend
};

// The shape of an operand relative to the destination, before its memory is chosen.
struct OperandView {
  ir::Shape shape;  // rank of the target's shape, 1 where it repeats
  bool whole;       // the target's shape
};
// Errors: unsupported when the target's axes cannot express the operand's broadcast.
base::Result<OperandView> operand_view(const ir::Shape& operand, const EpilogueTarget& target);

// The post-ops without memory, for a primitive descriptor. `accumulate` is the index of the binary
// addition that accumulates into the destination, or -1.
base::Result<dnnl::post_ops> describe_epilogue(const ir::Graph& graph,
                                               const std::vector<PostOperation>& operations,
                                               const EpilogueTarget& target, int accumulate);
// Finds memory for the operands; may add reorders. Same arguments as describe_epilogue(). An addend
// that other kernels still read is copied first.
base::Result<BoundEpilogue> bind_epilogue(PlanBuilder& builder, const Group& group,
                                          const std::vector<PostOperation>& operations,
                                          const EpilogueTarget& target, int accumulate);
// The index of the addition to do by accumulation: its operand has the target's shape, and
// preferably dies here. -1: none.
int accumulated_operation(const PlanBuilder& builder, const Group& group,
                          const std::vector<PostOperation>& operations,
                          const EpilogueTarget& target, bool only_if_dying);

}  // namespace egret::backends::cpu
