// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/library_step.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "backends/codegen/composition.h"
#include "backends/cuda/steps/any_step.h"
#include "backends/cuda/steps/attention.h"
#include "backends/cuda/steps/convolution.h"
#include "backends/cuda/steps/gemm.h"
#include "backends/cuda/steps/product.h"
#include "backends/cuda/steps/unrolled_convolution.h"

namespace egret::backends::cuda {
namespace {

constexpr int kMostMoves = 16;
constexpr std::size_t kMostAttention = 16;  // nodes
constexpr int kMostReaders = 12;
constexpr int kMostRefused = 2;  // one after the other

// Grows library steps greedily from the last node of the graph upward: a node that some library can
// compute, then the scores of an attention, moving operators in front, and readers as an epilogue.
class Finder {
 public:
  Finder(const ir::Graph& graph, const MakeRegion& make)
      : graph_(graph),
        make_(make),
        uses_(use_counts(graph)),
        readers_(graph.size()),
        taken_(graph.size(), false) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
      for (const ir::NodeId input : graph.node(ir::NodeId(i)).inputs)
        readers_[input.index()].push_back(ir::NodeId(i));
    }
  }

  std::vector<LibraryRegion> run() {
    std::vector<LibraryRegion> found;
    for (std::size_t i = graph_.size(); i-- > 0;) {
      if (taken_[i] || graph_.node(ir::NodeId(i)).kind != ir::NodeKind::kOperator) continue;
      LibraryRegion region = make_({ir::NodeId(i)});
      if (region.step == nullptr) continue;
      found.push_back(with_readers(with_moves(with_scores(std::move(region)))));
      for (const ir::NodeId id : found.back().nodes) taken_[id.index()] = true;
    }
    return found;
  }

 private:
  // Whether the larger region is a step too, and does not force stored values into another form.
  static bool is_as_good(const LibraryRegion& larger, const LibraryRegion& smaller) {
    return larger.step != nullptr && (larger.reads_stored || !smaller.reads_stored);
  }

  // Attention: extends a product by everything that computes one of its operands for it alone, back
  // to another product, where a library supports the whole as one step.
  LibraryRegion with_scores(LibraryRegion region) const {
    if (region.step->prefers_channels_last()) return region;  // a convolution
    for (const ir::NodeId operand : region.inputs) {
      std::vector<ir::NodeId> nodes = region.nodes;
      if (!add_from_product(operand, nodes)) continue;
      // Engines restrict the operands' layouts, so not every moving operator fits. They are left
      // out one after the other; with_moves() absorbs again those that fit.
      std::vector<ir::NodeId> moves = moves_of(nodes);
      // `moves` is ascending, so each turn drops the earliest operator, which is the farthest from
      // the products. At most moves + 1 regions are tried.
      for (auto first = moves.begin();; ++first) {
        std::vector<ir::NodeId> with = nodes;
        with.insert(with.end(), first, moves.end());
        std::ranges::sort(with);
        LibraryRegion larger = make_(std::move(with));
        if (is_as_good(larger, region)) return larger;
        if (first == moves.end()) break;
      }
    }
    return region;
  }

  // Adds the nodes that compute the value for `nodes` alone, back to products; whether it found
  // one.
  bool add_from_product(ir::NodeId value, std::vector<ir::NodeId>& nodes) const {
    bool found = false;
    // Latest first: all its readers have been tried before it.
    for (std::set<ir::NodeId> open{value}; !open.empty() && nodes.size() < kMostAttention;) {
      const ir::NodeId id = *open.rbegin();
      open.erase(id);
      if (!may_join(id, nodes)) continue;
      nodes.insert(std::ranges::lower_bound(nodes, id), id);
      // The search stops at a product: its operands stay outside.
      if (make_({id}).step != nullptr) {
        found = true;
      } else {
        const auto& inputs = graph_.node(id).inputs;
        open.insert(inputs.begin(), inputs.end());
      }
    }
    return found;
  }

  // The operators that only move elements into `nodes`, ascending.
  std::vector<ir::NodeId> moves_of(std::vector<ir::NodeId> nodes) const {
    std::set<ir::NodeId> open;
    std::vector<ir::NodeId> moves;
    const auto look_at_inputs = [&](ir::NodeId id) {
      const auto& inputs = graph_.node(id).inputs;
      open.insert(inputs.begin(), inputs.end());
    };
    for (const ir::NodeId id : nodes) look_at_inputs(id);
    while (!open.empty()) {
      const ir::NodeId id = *open.rbegin();
      open.erase(id);
      if (!may_join(id, nodes) || !is_move(id)) continue;
      nodes.insert(std::ranges::lower_bound(nodes, id), id);
      moves.push_back(id);
      look_at_inputs(id);
    }
    std::ranges::sort(moves);
    return moves;
  }

  // Whether `nodes` are its only readers, so that it can be computed inside.
  bool may_join(ir::NodeId id, const std::vector<ir::NodeId>& nodes) const {
    const auto is_inside = [&](ir::NodeId reader) {
      return std::ranges::binary_search(nodes, reader);
    };
    return graph_.node(id).kind == ir::NodeKind::kOperator && !taken_[id.index()] &&
           !is_inside(id) &&
           static_cast<std::size_t>(uses_[id.index()]) == readers_[id.index()].size() &&
           std::ranges::all_of(readers_[id.index()], is_inside);
  }

  bool is_move(ir::NodeId id) const {
    const ir::NodeId nodes[] = {id};
    const auto composition = codegen::compose(graph_, nodes);
    if (!composition.ok()) return false;
    const ir::Denotation& denotation = composition->denotation;
    return denotation.pool->node_of(denotation.value)->op == ir::ExprOp::kRead;
  }

  // Absorbs operators in front of the step that only move elements. Others would change the sum of
  // products and are refused by the makers.
  LibraryRegion with_moves(LibraryRegion region) const {
    std::set<ir::NodeId> candidates(region.inputs.begin(), region.inputs.end());
    for (int moves = 0; !candidates.empty() && moves < kMostMoves; ++moves) {
      const ir::NodeId id = *candidates.rbegin();
      candidates.erase(id);
      if (graph_.node(id).kind != ir::NodeKind::kOperator || taken_[id.index()] ||
          uses_[id.index()] != 1)
        continue;
      std::vector<ir::NodeId> nodes = region.nodes;
      nodes.insert(std::ranges::lower_bound(nodes, id), id);
      LibraryRegion larger = make_(std::move(nodes));
      if (!is_as_good(larger, region)) continue;
      region = std::move(larger);
      candidates.insert(region.inputs.begin(), region.inputs.end());
    }
    return region;
  }

  // Fuses the readers of its value as far as the library supports them. It may accept a sum with a
  // relu and not the sum alone, so up to kMostRefused refusals are skipped. Where several nodes
  // read a value, the region grows until a single value leaves it.
  LibraryRegion with_readers(LibraryRegion region) const {
    std::vector<ir::NodeId> nodes = region.nodes;
    for (int readers = 0, refused = 0; readers < kMostReaders && refused < kMostRefused;
         ++readers) {
      const auto reader = first_reader(nodes);
      if (!reader || taken_[reader->index()]) break;
      nodes.insert(std::ranges::lower_bound(nodes, *reader), *reader);
      if (!leaves_one_value(nodes)) continue;
      LibraryRegion larger = make_(nodes);
      const bool good = is_as_good(larger, region);
      refused = good ? 0 : refused + 1;
      if (good) region = std::move(larger);
    }
    return region;
  }

  // The first reader of a value of `nodes` outside of them.
  std::optional<ir::NodeId> first_reader(const std::vector<ir::NodeId>& nodes) const {
    std::optional<ir::NodeId> first;
    for (const ir::NodeId id : nodes) {
      for (const ir::NodeId reader : readers_[id.index()]) {
        if (!std::ranges::binary_search(nodes, reader) && (!first || reader < *first))
          first = reader;
      }
    }
    return first;
  }

  // Whether only the last node's value has readers outside.
  bool leaves_one_value(const std::vector<ir::NodeId>& nodes) const {
    return std::ranges::all_of(std::span(nodes).first(nodes.size() - 1), [&](ir::NodeId id) {
      const auto& readers = readers_[id.index()];
      return static_cast<std::size_t>(uses_[id.index()]) == readers.size() &&
             std::ranges::all_of(readers, [&](ir::NodeId reader) {
               return std::ranges::binary_search(nodes, reader);
             });
    });
  }

  const ir::Graph& graph_;
  const MakeRegion& make_;
  std::vector<int> uses_;
  std::vector<std::vector<ir::NodeId>> readers_;  // by node, an entry for each input
  std::vector<bool> taken_;
};

}  // namespace

base::Result<bool> LibraryStep::is_right(const Device& device, const TrialMemory& memory) const {
  if (!enqueue(memory.inputs, memory.output, memory.workspace, device.stream()).ok()) return false;
  EGRET_RETURN_IF_ERROR(device.wait());
  return true;
}

bool OutputPart::put(std::span<const std::int64_t> sizes,
                     std::span<std::int64_t* const> strides) const {
  // Axes with strides below `length` lie inside a row; the others count whole rows and get the
  // pitch.
  std::int64_t within = 0;  // a row
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;
    if (*strides[i] < length) {
      within += (sizes[i] - 1) * *strides[i];
    } else if (*strides[i] % length != 0) {
      return false;
    }
  }
  if (within >= length) return false;
  for (std::int64_t* const stride : strides) {
    if (*stride >= length) *stride = *stride / length * pitch;
  }
  return true;
}

// The region's composed definition is offered to each maker. Constants come with their data: a
// maker may need the value of a factor.
LibraryRegion make_step(const ir::Graph& graph, std::vector<ir::NodeId> nodes,
                        std::span<const MakeStep> makers, const OutputPart* part) {
  auto composition = codegen::compose(graph, nodes);
  if (!composition.ok()) return {};
  std::vector<ir::TensorType> types;
  std::vector<const ir::Tensor*> constants;
  for (const ir::NodeId id : composition->inputs) {
    const ir::Node& node = graph.node(id);
    types.push_back(node.type);
    constants.push_back(node.kind == ir::NodeKind::kConstant ? &node.data : nullptr);
  }
  std::vector<std::unique_ptr<LibraryStep>> made;
  for (const MakeStep& make : makers) {
    auto step = make({composition->denotation, types, constants, part});
    if (step != nullptr) made.push_back(std::move(step));
  }
  if (made.empty()) return {};
  LibraryRegion region{std::move(nodes), std::move(composition->inputs), any_step(std::move(made))};
  if (part != nullptr) region.part = *part;
  return region;
}

std::vector<LibraryRegion> find_library_steps(const ir::Graph& graph, const MakeRegion& make) {
  return Finder(graph, make).run();
}

std::shared_ptr<LibraryHandles> open_libraries(Device& device, Precision precision) {
  std::shared_ptr<LibraryHandles>& handles = device.handles(precision);
  if (handles != nullptr) return handles;
  const Libraries& libraries = device.libraries();
  handles = std::make_shared<LibraryHandles>();
  if (LtHandle made = nullptr; libraries.has_lt.ok() && libraries.lt.create(&made) == 0)
    handles->lt = {made, libraries.lt.destroy};
  if (DnnHandle made = nullptr; libraries.has_dnn.ok() && libraries.dnn.create(&made) == 0) {
    handles->dnn = std::make_shared<Dnn>(libraries.dnn,
                                         Owned<DnnHandle>{made, libraries.dnn.destroy}, precision);
  }
  return handles;
}

std::vector<MakeStep> step_makers(const Libraries& libraries, const LibraryHandles& handles,
                                  Precision precision, const Contested& taken) {
  using Step = std::unique_ptr<LibraryStep>;
  // Steps that failed in an earlier plan are not made again.
  const auto usable = [&handles](Step step) {
    return step != nullptr && handles.refused.contains(step->description()) ? nullptr
                                                                            : std::move(step);
  };
  std::vector<MakeStep> makers;
  if (LtHandle handle = handles.lt.get(); handle != nullptr) {
    makers.emplace_back([&libraries, usable, handle, precision](const StepDefinition& definition) {
      auto gemm = find_gemm(definition);
      if (gemm && definition.part != nullptr && !put(*gemm, *definition.part)) return Step();
      return gemm ? usable(make_gemm_step(libraries.lt, handle, *gemm, precision)) : nullptr;
    });
  }
  Dnn* const dnn = handles.dnn.get();
  if (dnn != nullptr) {
    makers.emplace_back([dnn, usable](const StepDefinition& definition) {
      const auto attention = definition.part == nullptr ? find_attention(definition) : std::nullopt;
      return attention ? usable(make_attention_step(*dnn, *attention)) : nullptr;
    });
  }
  makers.emplace_back(
      [&libraries, &handles, usable, dnn, precision, taken](const StepDefinition& definition) {
        auto convolution = find_convolution(definition, taken.tails);
        if (!convolution || (convolution->is_depthwise() && !taken.depthwise)) return Step();
        std::vector<Step> made;
        if (LtHandle handle = handles.lt.get(); handle != nullptr) {
          made.push_back(usable(
              make_unrolled_convolution(libraries, handle, *convolution, definition, precision)));
        }
        const bool lies_so = definition.part == nullptr || put(*convolution, *definition.part);
        if (dnn != nullptr && lies_so)
          made.insert(made.begin(), usable(make_convolution_step(*dnn, *convolution)));
        return any_step(std::move(made));
      });
  if (dnn != nullptr && taken.tails) {
    makers.emplace_back([dnn, usable](const StepDefinition& definition) {
      const auto product = definition.part == nullptr ? find_product(definition) : std::nullopt;
      return product ? usable(make_product_step(*dnn, *product)) : nullptr;
    });
  }
  return makers;
}

}  // namespace egret::backends::cuda
