// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/library_step.h"

#include <algorithm>
#include <set>
#include <utility>

#include "backends/codegen/composition.h"
#include "backends/cuda/convolution.h"
#include "backends/cuda/gemm.h"

namespace egret::backends::cuda {
namespace {

constexpr int kMostMoves = 8;
constexpr int kMostReaders = 6;

class Finder {
 public:
  Finder(const ir::Graph& graph, std::span<const MakeStep> makers)
      : graph_(graph),
        makers_(makers),
        uses_(use_counts(graph)),
        reader_(graph.size()),
        taken_(graph.size(), false) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
      for (const ir::NodeId input : graph.node(ir::NodeId(i)).inputs)
        reader_[input.index()] = ir::NodeId(i);
    }
  }

  std::vector<LibraryRegion> run() {
    std::vector<LibraryRegion> found;
    for (std::size_t i = graph_.size(); i-- > 0;) {
      if (taken_[i] || graph_.node(ir::NodeId(i)).kind != ir::NodeKind::kOperator) continue;
      LibraryRegion region = made({ir::NodeId(i)});
      if (region.step == nullptr) continue;
      found.push_back(with_readers(with_moves(std::move(region))));
      for (const ir::NodeId id : found.back().nodes) taken_[id.index()] = true;
    }
    return found;
  }

 private:
  LibraryRegion made(std::vector<ir::NodeId> nodes) const {
    auto composition = codegen::compose(graph_, nodes);
    if (!composition.ok()) return {};
    std::vector<ir::TensorType> types;
    std::vector<const ir::Tensor*> constants;
    for (const ir::NodeId id : composition->inputs) {
      const ir::Node& node = graph_.node(id);
      types.push_back(node.type);
      constants.push_back(node.kind == ir::NodeKind::kConstant ? &node.data : nullptr);
    }
    for (const MakeStep& make : makers_) {
      auto step = make({composition->denotation, types, constants});
      if (step != nullptr)
        return {std::move(nodes), std::move(composition->inputs), std::move(step)};
    }
    return {};
  }

  // A step multiplies two inputs and adds up, and does so no more with what joins it: so what joins
  // moves elements on their way.
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
      LibraryRegion larger = made(std::move(nodes));
      if (larger.step == nullptr) continue;
      region = std::move(larger);
      candidates.insert(region.inputs.begin(), region.inputs.end());
    }
    return region;
  }

  // What reads its value and nothing else does, as long as the library computes that along.
  LibraryRegion with_readers(LibraryRegion region) const {
    for (int readers = 0; readers < kMostReaders; ++readers) {
      const ir::NodeId root = region.nodes.back();
      const ir::NodeId reader = reader_[root.index()];
      if (uses_[root.index()] != 1 || !reader.valid() || taken_[reader.index()]) break;
      std::vector<ir::NodeId> nodes = region.nodes;
      nodes.push_back(reader);
      LibraryRegion larger = made(std::move(nodes));
      if (larger.step == nullptr) break;
      region = std::move(larger);
    }
    return region;
  }

  const ir::Graph& graph_;
  std::span<const MakeStep> makers_;
  std::vector<int> uses_;
  std::vector<ir::NodeId> reader_;  // by node: the last one
  std::vector<bool> taken_;
};

}  // namespace

std::vector<LibraryRegion> find_library_steps(const ir::Graph& graph,
                                              std::span<const MakeStep> makers) {
  return Finder(graph, makers).run();
}

LibraryHandles open_libraries(const Libraries& libraries, Stream stream) {
  LibraryHandles handles;
  if (LtHandle made = nullptr; libraries.has_lt.ok() && libraries.lt.create(&made) == 0)
    handles.lt = {made, libraries.lt.destroy};
  if (DnnHandle made = nullptr; libraries.has_dnn.ok() && libraries.dnn.create(&made) == 0) {
    handles.dnn = {made, libraries.dnn.destroy};
    if (libraries.dnn.set_stream(made, stream) != 0) handles.dnn = {};
  }
  return handles;
}

std::vector<MakeStep> step_makers(const Libraries& libraries, const LibraryHandles& handles,
                                  Precision precision) {
  std::vector<MakeStep> makers;
  if (LtHandle handle = handles.lt.get(); handle != nullptr) {
    makers.emplace_back([&libraries, handle, precision](const StepDefinition& definition) {
      const auto gemm = find_gemm(definition);
      return gemm ? make_gemm_step(libraries.lt, handle, *gemm, precision) : nullptr;
    });
  }
  if (DnnHandle handle = handles.dnn.get(); handle != nullptr) {
    makers.emplace_back([&libraries, handle, precision](const StepDefinition& definition) {
      const auto convolution = find_convolution(definition);
      return convolution ? make_convolution_step(libraries.dnn, handle, *convolution, precision)
                         : nullptr;
    });
  }
  return makers;
}

}  // namespace egret::backends::cuda
