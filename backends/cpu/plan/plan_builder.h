// SPDX-License-Identifier: Apache-2.0
// PlanBuilder: the plan under construction. Kernel makers ask it for the places of values and for
// memory, and add steps.
//
// Invariants:
//   1. Steps run in the order they were added. A buffer's lifetime spans the steps that touch it.
//   2. A node's homes all hold its value once its group is built. Nobody writes a buffer while a
//      group that is not built yet still reads a value in it (may_overwrite()).
//   3. A buffer may be placed inside another (place_inside()); lifetimes and pending reads are kept
//      at the outermost.
//   4. Constants that no group still to be built reads, and no step, hold no memory: what was only
//      needed to pack another form of it is gone (release_unread()).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/codegen/host_region.h"
#include "backends/cpu/plan/layout.h"
#include "backends/cpu/plan/step.h"
#include "backends/cpu/plan/winograd.h"
#include "backends/low_precision.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// The nodes of one kernel, in topological order. The first is the anchor, which names the kernel.
// Only the last one's value is visible outside.
struct Group {
  std::vector<ir::NodeId> nodes;
  ir::NodeId anchor() const { return nodes.front(); }
  ir::NodeId root() const { return nodes.back(); }
  bool emitted = false;  // no node has a kernel: one is emitted from their definitions
  int part = -1;         // PlanReport::Kernel::part
  std::optional<KernelLayouts> layouts{};  // that are asked for
};

enum class BufferKind : std::uint8_t { kArena, kWeights, kInput, kOutput };

struct Buffer {
  BufferKind kind = BufferKind::kArena;
  std::int64_t bytes = 0;
  int first = -1, last = -1;  // steps that touch it; -1: none
  int pending = 0;            // reads by groups not yet built, and by graph outputs
  BufferId outer{};           // the buffer that it was placed in
  std::int64_t offset = 0;    // its offset there in bytes
  int index = 0;              // of the graph's input or output
  ir::Tensor data{};          // weights
};

class PlanBuilder {
 public:
  // `constants` are the graph's, by node. The graph itself needs only the constants whose numbers
  // kernel makers read (see take_constants()).
  PlanBuilder(const ir::Graph& graph, std::vector<ir::Tensor> constants,
              const CompileOptions& options, int threads);

  const ir::Graph& graph() const { return graph_; }
  const ir::Node& node(ir::NodeId id) const { return graph_.node(id); }
  const CompileOptions& options() const { return options_; }
  int threads() const { return threads_; }
  // Preferred layout of 4-D activations for this graph; set once, before kernels are made.
  bool prefers_channels_last = false;
  // No kernels that trade scratch space for time; set once as well.
  bool least_scratch = false;
  bool may_take_winograd() const { return options_.blocked && !least_scratch; }
  WinogradBudget winograd_budget;  // of the graph
  // How contractions read their operands, by node (PreparedGraph::lowerings), and the forms in
  // which values are written (rounding.h); set once, empty: all in f32.
  std::vector<Lowering> lowerings{};
  // The form to which the graph itself rounds a contraction's operands.
  OperandForm given_form(ir::NodeId contraction) const {
    return lowerings.empty() ? OperandForm::kF32 : lowerings[contraction.index()].form;
  }
  std::vector<Lowering> written_as{};

  // Groups are built in order, between begin() and end(); reads are counted from `groups`.
  void count_reads(std::span<const Group> groups);
  void begin(const Group& group);
  void end(const Group& group);
  // Instead of end(): the group's kernel could not be made. The caller tries another kernel, or
  // replaces the group by `parts` and calls recount().
  void abandon(const Group& group);
  void recount(const Group& group, std::span<const Group> parts);

  // Where values lie.
  bool is_constant(ir::NodeId id) const;
  // The f32 value; widened if it was written only in another form.
  const Operand& home(ir::NodeId id);
  bool has_home(ir::NodeId id) const {
    return !homes_[id.index()].empty() || !rounded_[id.index()].empty();
  }
  // As home(), but possibly in another form.
  const Operand& place(ir::NodeId id) const {
    return homes_[id.index()].empty() ? rounded_[id.index()].front().operand
                                      : homes_[id.index()].front();
  }
  // The value in this layout. Adds a copy step if it does not exist in it yet.
  Operand in_layout(ir::NodeId id, const Layout& layout);
  Operand in_row_major(ir::NodeId id);
  const Operand* find_home(ir::NodeId id, const Layout& layout) const;
  // All operands that hold the f32 value.
  std::span<const Operand> places(ir::NodeId id) const { return homes_[id.index()]; }
  // Between groups: from now on home() is the value in this layout. A copy that it takes is of
  // this part. Returns the layout of home() before.
  Layout prefer(ir::NodeId id, const Layout& layout, int part);
  // What the steps of the group that was begun last read or write, without reorders.
  std::span<const Operand> touched() const { return touched_; }
  // The f32 value rounded to bf16 or integers, in this dense layout. Adds a rounding step if no
  // kernel has asked for it before.
  Operand rounded(ir::NodeId id, const Layout& layout, const Lowering& how);
  // Whether the group being built is the last reader of everything in the operand's buffer.
  bool may_overwrite(ir::NodeId id, const Operand& operand) const;

  // Memory.
  Operand output(ir::NodeId id, const Layout& layout);  // of the value of `id`
  // The same in the form that written_as says.
  Operand rounded_output(ir::NodeId id, const Layout& layout);
  void set_home(ir::NodeId id, const Operand& operand);  // the value is already there
  Operand temporary(const ir::TensorType& type, const Layout& layout);
  Operand bytes(std::int64_t size);  // raw scratch space
  Operand weights(ir::Tensor data);
  // The value of a constant that a group still to be built, or being built, reads.
  const ir::Tensor& constant(ir::NodeId id) const;
  std::byte* weights_data(const Operand& operand);
  // Moves out a constant's tensor, for a transformation in place, if no other group or step needs
  // it and the group being built reads it once; else empty. The group must not fail afterwards.
  ir::Tensor take_weights(ir::NodeId id);
  // The packed forms of constants, by source and name of the form.
  const Operand* find_packed(const Operand& source, const std::string& form) const;
  void remember_packed(const Operand& source, const std::string& form, const Operand& packed);
  // Whether `part` lies directly behind `before` in one outermost buffer, or, where `before` is
  // null, begins its outermost buffer.
  bool follows(const Operand* before, const Operand& part) const;
  // Makes the buffer that the first of `parts` fill in sequence a part of `outer` at `offset`
  // bytes, and returns how many parts fill it. 0 if it holds other things or is not an arena buffer
  // of its own.
  std::size_t place_inside(std::span<const Operand> parts, const Operand& outer,
                           std::int64_t offset);

  // Steps. `touched` are all operands it reads or writes.
  void add(std::unique_ptr<Step> step, std::span<const Operand> touched, std::string name,
           std::string implementation);
  // Records that the interpreter computes `id` in this step.
  void fall_back(std::size_t step, ir::NodeId id, std::string reason);
  // Runs a step whose operands are all weights, now.
  base::Status run_now(Step& step);
  std::int64_t steps_added() const { return static_cast<std::int64_t>(steps_.size()); }

  // Steps that emitted kernels may compute, in order. They are compiled together when all groups
  // are built (emitted_kernel.h).
  struct EmittedStep {
    std::size_t step;
    ir::NodeId root;
    codegen::HostRegion* region;  // of that step
    base::Result<codegen::KernelSource> kernel;
    std::string reason;  // why no other kernel takes it
  };
  std::vector<EmittedStep> emitted_steps;
  std::string missing;                 // for PlanReport
  std::vector<KernelLayouts> layouts;  // the same

  // The finished plan. `origin` maps nodes of the graph to those the caller knows.
  base::Result<std::unique_ptr<ExecutablePlan>> finish(const ir::Graph& original,
                                                       std::span<const ir::NodeId> origin,
                                                       std::int64_t folded_nodes);

 private:
  BufferId new_buffer(Buffer buffer);
  BufferId outermost(BufferId id) const;
  std::int64_t offset_in_outermost(const Operand& operand) const;
  void touch(const Operand& operand, int step);
  void release_unread(const Group& built);
  void place_outputs();
  struct Rounded {
    Operand operand;
    float scale = 1;  // of integers
  };
  // Of all operands that hold the node's value, in any form.
  template <typename Body>
  void for_each_place(ir::NodeId id, const Body& body) {
    for (const Operand& operand : homes_[id.index()]) body(operand);
    for (const Rounded& rounded : rounded_[id.index()]) body(rounded.operand);
  }
  void count_reads_of(ir::NodeId id, const Operand& operand);
  void add_rounded(ir::NodeId id, const Rounded& rounded);

  const ir::Graph& graph_;
  std::vector<ir::Tensor> constants_;  // by node, until count_reads() makes them buffers
  CompileOptions options_;
  int threads_;
  std::vector<Buffer> buffers_;
  std::size_t settled_ = 0;                    // number of buffers after the last group
  std::vector<std::vector<Operand>> homes_;    // by node
  std::vector<std::vector<Rounded>> rounded_;  // the same in bf16 and integers
  std::vector<int> reads_left_;                // by node
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<PlanReport::Kernel> notes_;  // one a step; node labels of the graph being built
  std::vector<PlanReport::Fallback> fallbacks_;
  std::map<std::pair<std::pair<BufferId, std::int64_t>, std::string>, Operand> packed_;
  const Group* current_ = nullptr;
  int part_between_ = -1;  // of steps between groups
  std::vector<Operand> touched_;
};

}  // namespace egret::backends::cpu
