// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/join.h"

#include <algorithm>
#include <map>
#include <utility>

#include "backends/codegen/lowering.h"
#include "backends/memory_planner.h"

namespace egret::backends::cuda {
namespace {

using codegen::Region;
using ir::NestNode;
using ir::NodeId;

// Whether the cast preserves every value of `type`.
bool keeps(ir::DType cast, ir::DType type) {
  return cast == type || cast == ir::DType::kF64 ||
         (cast == ir::DType::kF32 && (type == ir::DType::kBF16 || type == ir::DType::kF16));
}

// Collects the reads that an element selects from unchanged. False for any other expression.
bool collect_reads(const ir::LoopNest& nest, int id, ir::DType type,
                   std::vector<const NestNode*>& reads) {
  const NestNode& node = nest.node(id);
  if (node.op == ir::ExprOp::kRead) {
    reads.push_back(&node);
    return true;
  }
  const bool passes =
      node.op == ir::ExprOp::kSelect || (node.op == ir::ExprOp::kCast && keeps(node.cast, type));
  return passes && std::ranges::all_of(
                       node.kids, [&](int kid) { return collect_reads(nest, kid, type, reads); });
}

// The place of a tensor of `elements` in the output, seen as `rows` rows of `pitch`; nullopt if it
// does not fit. Reads are in range wherever they are evaluated, so comparing affine forms suffices.
std::optional<OutputPart> part_of(const ir::LoopNest& nest, const NestNode& read,
                                  std::int64_t elements, std::int64_t rows, std::int64_t pitch) {
  if (elements % rows != 0) return std::nullopt;
  const OutputPart part{elements / rows, pitch, -read.form.constant};
  ir::Affine expected(-part.offset);
  for (const auto& of_output : nest.output.parts) {
    // Variables whose factor is a multiple of the pitch count rows of the output, and rows of the
    // part are `length` apart. The other variables move inside a row, by the same distance in both.
    const bool is_outer = of_output.factor % pitch == 0;
    expected =
        expected + ir::Affine::of_symbol(of_output.symbol) *
                       (is_outer ? of_output.factor / pitch * part.length : of_output.factor);
  }
  if (read.form != expected) return std::nullopt;
  return part;
}

// Rewrites the steps whose values a region concatenates.
class Joiner {
 public:
  Joiner(const ir::Graph& graph, const Storage& storage, std::span<const MakeStep> makers,
         std::vector<LibraryRegion>& steps)
      : storage_(storage), makers_(makers), uses_(use_counts(graph)) {
    for (LibraryRegion& step : steps) {
      step_of_[step.nodes.back()] = &step;
      for (const NodeId input : step.inputs) {
        if (!storage.is_read_stored(input, step.reads_stored, step.writes_stored))
          read_plain_.push_back(input);
      }
    }
  }

  // A region that only concatenates values of library steps disappears if each step can write its
  // value into its part of the result: the only reader, the same storage form, and an aligned
  // offset.
  void join(Region& region) {
    if (!region.kernel.ok() || region.inputs.size() < 2 || !lies_as_stored(region.root())) return;
    const auto is_part = [&](NodeId value) {
      const auto step = step_of_.find(value);
      return step != step_of_.end() && uses_[value.index()] == 1 && !storage_.is_output(value) &&
             storage_.has_stored(value) == storage_.has_stored(region.root()) &&
             step->second->writes_stored == storage_.has_stored(value) &&
             !step->second->part.has_value();
    };
    if (!std::ranges::all_of(region.inputs, is_part)) return;
    const auto definition = storage_.stored_definition(region.nodes);
    if (!definition.ok()) return;
    const auto parts = find_join(definition->denotation, definition->types);
    if (!parts) return;
    put_together(region, *definition, *parts);
  }

 private:
  // Whether the value keeps its storage form in memory: it has one, and no output or library step
  // needs the plain form.
  bool lies_as_stored(NodeId value) const {
    return !storage_.has_stored(value) ||
           (!storage_.is_output(value) &&
            std::ranges::find(read_plain_, value) == read_plain_.end());
  }

  void put_together(Region& region, const Storage::StoredDefinition& definition,
                    std::span<const OutputPart> parts) {
    const auto bytes = static_cast<std::int64_t>(byte_size(definition.denotation.type.dtype));
    std::vector<LibraryRegion> made;
    // All steps are made before any is replaced, so a refusal changes nothing.
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].offset * bytes % kArenaAlignment != 0) return;
      made.push_back(storage_.step_as(*step_of_.at(definition.inputs[i]), makers_, parts[i]));
      if (made.back().step == nullptr) return;
    }
    region.inputs = definition.inputs;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      *step_of_.at(definition.inputs[i]) = std::move(made[i]);
      region.joined.push_back(parts[i].offset * bytes);
    }
  }

  const Storage& storage_;
  std::span<const MakeStep> makers_;
  std::vector<int> uses_;
  std::map<NodeId, LibraryRegion*> step_of_;  // by root
  std::vector<NodeId> read_plain_;            // by library steps, though it has a stored form
};

}  // namespace

// Tries each axis as the concatenated one: the output is then `rows` rows, and each input a column
// block of them.
std::optional<std::vector<OutputPart>> find_join(const ir::Denotation& denotation,
                                                 std::span<const ir::TensorType> inputs) {
  std::int64_t elements = 0;
  for (const ir::TensorType& type : inputs) {
    if (type.dtype != denotation.type.dtype) return std::nullopt;
    elements += type.elements();
  }
  if (elements != denotation.type.elements() || elements == 0) return std::nullopt;
  const auto nest = codegen::lowered(denotation, inputs, ir::Precision::kF64);
  std::vector<const NestNode*> reads;
  if (!nest.ok() || !collect_reads(*nest, nest->root, denotation.type.dtype, reads) ||
      reads.size() != inputs.size())
    return std::nullopt;
  std::int64_t rows = 1;
  for (const std::int64_t size : denotation.type.shape()) {
    std::vector<OutputPart> parts(inputs.size());
    const bool found = std::ranges::all_of(reads, [&](const NestNode* read) {
      const auto input = static_cast<std::size_t>(read->input);
      const auto part = part_of(*nest, *read, inputs[input].elements(), rows, elements / rows);
      if (part) parts[input] = *part;
      return part.has_value();
    });
    // (Each input is read once, as they are as many and each has a place.)
    if (found && std::ranges::all_of(parts, [](const OutputPart& of) { return of.length > 0; }))
      return parts;
    rows *= size;
  }
  return std::nullopt;
}

void join_parts(const ir::Graph& graph, const Storage& storage, std::span<const MakeStep> makers,
                std::vector<LibraryRegion>& steps, std::vector<Region>& regions) {
  Joiner joiner(graph, storage, makers, steps);
  for (Region& region : regions) joiner.join(region);
}

}  // namespace egret::backends::cuda
