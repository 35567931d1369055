// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/program.h"

#include <algorithm>
#include <boost/dynamic_bitset.hpp>
#include <utility>

#include "backends/memory_planner.h"

namespace egret::backends::codegen {
namespace {

// Decides where each value lies: in an input, an output or a constant, or at an offset of the
// arena.
class Placer {
 public:
  explicit Placer(Program& program)
      : program_(program),
        source_(program.graph.size()),
        parts_(program.graph.size()),
        writers_(program.graph.size()),
        last_(program.graph.size(), -1) {
    for (std::size_t i = 0; i < source_.size(); ++i) source_[i] = ir::NodeId(i);
  }

  // A view shares its source's place and needs no step.
  void drop_views() {
    std::erase_if(program_.steps, [&](const Region& step) {
      // Steps come in topological order. The source of a view's source is known by then, so chains
      // of views end at one place.
      const bool view = !step.empty && step.kernel.ok() && step.kernel->is_view;
      if (view) source_[step.root().index()] = source_[step.inputs[0].index()];
      return view || step.empty;
    });
  }

  // The parts of a concatenation lie in its value, which needs no step.
  void drop_joins() {
    std::erase_if(program_.steps, [&](const Region& step) {
      for (std::size_t i = 0; i < step.joined.size(); ++i)
        parts_[step.inputs[i].index()] = {step.root(), step.joined[i]};
      return !step.joined.empty();
    });
  }

  void place_leaves() {
    for (std::size_t i = 0; i < program_.graph.inputs().size(); ++i)
      place(program_.graph.inputs()[i]) = {Place::Kind::kInput, static_cast<std::int64_t>(i)};
    for (std::size_t i = 0; i < program_.graph.size(); ++i) {
      if (program_.graph.node(ir::NodeId(i)).kind == ir::NodeKind::kConstant)
        program_.places[i] = {Place::Kind::kConstant, static_cast<std::int64_t>(i)};
    }
  }

  // A step writes its output directly into the caller's tensor. A value that is an output twice is
  // copied.
  void place_outputs() {
    const auto& outputs = program_.graph.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const ir::NodeId value = source_[outputs[i].node.index()];
      if (program_.graph.node(value).type.elements() == 0) continue;
      if (place(value).kind == Place::Kind::kNone) {
        place(value) = {Place::Kind::kOutput, static_cast<std::int64_t>(i)};
      } else {
        // A view of an input, a constant or an earlier output already has a place.
        program_.copies.push_back({i, value});
      }
    }
  }

  void place_rest(std::int64_t most_apart) {
    for (std::size_t s = 0; s < program_.steps.size(); ++s) {
      const Region& step = program_.steps[s];
      // Steps run in order of their number, and a value lives from its first writer to its last
      // reader.
      const auto now = static_cast<int>(s);
      // A concatenation's value lives from its first part on.
      const std::size_t root = lies_in(step.root()).index();
      writers_[root].push_back(now);
      last_[root] = now;
      for (const ir::NodeId input : step.inputs) last_[source_[input.index()].index()] = now;
    }
    std::vector<std::size_t> values;
    for (std::size_t i = 0; i < writers_.size(); ++i) {
      if (!writers_[i].empty() && program_.places[i].kind == Place::Kind::kNone)
        values.push_back(i);
    }
    ArenaLayout arena;
    // Prefer places that allow parallel steps; fall back to the sequential ones where they take too
    // much.
    if (most_apart > 0) arena = placed_by_dependence(values);
    if (most_apart == 0 || arena.bytes > most_apart) arena = placed_in_order(values);
    program_.arena_bytes = arena.bytes;
    for (std::size_t k = 0; k < values.size(); ++k)
      program_.places[values[k]] = {Place::Kind::kArena, 0, arena.offsets[k]};
    for (std::size_t i = 0; i < source_.size(); ++i)
      program_.places[i] = program_.places[source_[i].index()];
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!parts_[i].whole.valid()) continue;
      program_.places[i] = place(parts_[i].whole);
      program_.places[i].offset += parts_[i].offset;
      program_.places[i].whole = parts_[i].whole;
    }
  }

 private:
  struct Part {
    ir::NodeId whole;
    std::int64_t offset = 0;
  };

  using Steps = boost::dynamic_bitset<>;

  // For steps that run one after the other: values share memory if their lifetimes, in steps, are
  // disjoint.
  ArenaLayout placed_in_order(const std::vector<std::size_t>& values) const {
    std::vector<Lifetime> lifetimes;
    for (const std::size_t i : values)
      lifetimes.push_back({bytes_of(i), writers_[i].front(), last_[i]});
    return plan_arena(lifetimes);
  }

  // For steps that may run in parallel: values share memory only if the dependences order all uses
  // of one before the other is written. Reuse then adds no order between steps. `before` is the
  // transitive closure of the dependences, one bit set per step.
  ArenaLayout placed_by_dependence(const std::vector<std::size_t>& values) const {
    std::vector<Steps> touch(writers_.size());  // by value: steps that write or read it
    std::vector<Steps> before;                  // by step: those that it depends on
    for (std::size_t s = 0; s < program_.steps.size(); ++s) {
      const Region& step = program_.steps[s];
      before.emplace_back(program_.steps.size());
      const auto touches = [&](std::size_t value) {
        touch[value].resize(program_.steps.size());
        touch[value].set(s);
      };
      // Steps come in topological order, so the sets of all writers are complete when they are
      // merged: O(steps^2) bits in total.
      touches(lies_in(step.root()).index());
      for (const ir::NodeId input : step.inputs) {
        const std::size_t value = lies_in(source_[input.index()]).index();
        touches(value);
        for (const int writer : writers_[value]) {
          if (static_cast<std::size_t>(writer) >= s) continue;
          before[s] |= before[static_cast<std::size_t>(writer)];
          before[s].set(static_cast<std::size_t>(writer));
        }
      }
    }
    // Whether all steps that touch the first value are ordered before every writer of the second.
    const auto precedes = [&](std::size_t first, std::size_t second) {
      return std::ranges::all_of(writers_[second], [&](int writer) {
        return touch[first].is_subset_of(before[static_cast<std::size_t>(writer)]);
      });
    };
    std::vector<std::int64_t> bytes;
    for (const std::size_t i : values) bytes.push_back(bytes_of(i));
    return plan_arena(bytes, [&](std::size_t a, std::size_t b) {
      return !precedes(values[a], values[b]) && !precedes(values[b], values[a]);
    });
  }

  std::int64_t bytes_of(std::size_t value) const {
    return program_.graph.node(ir::NodeId(value)).type.bytes();
  }
  ir::NodeId lies_in(ir::NodeId id) const {
    const Part& part = parts_[id.index()];
    return part.whole.valid() ? part.whole : id;
  }
  Place& place(ir::NodeId id) { return program_.places[id.index()]; }

  Program& program_;
  std::vector<ir::NodeId> source_;         // by node: whose storage its value has
  std::vector<Part> parts_;                // by node
  std::vector<std::vector<int>> writers_;  // by node: steps, several where they write parts
  std::vector<int> last_;                  // by node: the last step that touches it
};

}  // namespace

Program make_program(PreparedGraph prepared, std::vector<Region> regions, std::int64_t most_apart) {
  Program program;
  program.graph = std::move(prepared.graph);
  program.origin = std::move(prepared.origin);
  program.folded_nodes = prepared.folded_nodes;
  program.places.resize(program.graph.size());
  program.steps = std::move(regions);
  Placer placer(program);
  placer.drop_views();
  placer.drop_joins();
  placer.place_leaves();
  placer.place_outputs();
  placer.place_rest(most_apart);
  return program;
}

std::string source_of(const Program& program, Target target) {
  std::vector<const KernelSource*> kernels;
  for (const Region& step : program.steps) {
    if (step.kernel.ok()) kernels.push_back(&*step.kernel);
  }
  return source_of(kernels, target);
}

PlanReport report_of(const Program& program, const ir::Graph& original,
                     const std::string& implementation) {
  PlanReport report;
  for (const Region& step : program.steps) {
    PlanReport::Kernel kernel;
    const bool emitted = step.kernel.ok();
    kernel.name = emitted ? "generated" : "";
    kernel.implementation = emitted ? implementation : "";
    kernel.layout = step.layout;
    for (const ir::NodeId id : step.nodes) {
      const ir::NodeId origin = program.origin[id.index()];
      if (!origin.valid() || std::ranges::find(kernel.ids, origin) != kernel.ids.end()) continue;
      kernel.ids.push_back(origin);
      kernel.nodes.push_back(node_label(original, origin));
    }
    report.kernels.push_back(std::move(kernel));
  }
  report.arena_bytes = program.arena_bytes;
  report.folded_nodes = program.folded_nodes;
  return report;
}

}  // namespace egret::backends::codegen
