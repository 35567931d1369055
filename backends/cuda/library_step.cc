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

class Finder {
 public:
  Finder(const ir::Graph& graph, std::span<const MakeStep> makers)
      : graph_(graph), makers_(makers), uses_(use_counts(graph)), taken_(graph.size(), false) {}

  std::vector<LibraryRegion> run() {
    std::vector<LibraryRegion> found;
    for (std::size_t i = graph_.size(); i-- > 0;) {
      if (taken_[i] || graph_.node(ir::NodeId(i)).kind != ir::NodeKind::kOperator) continue;
      LibraryRegion region = made({ir::NodeId(i)});
      if (region.step != nullptr) found.push_back(grown(std::move(region)));
    }
    return found;
  }

 private:
  LibraryRegion made(std::vector<ir::NodeId> nodes) const {
    auto composition = codegen::compose(graph_, nodes);
    if (!composition.ok()) return {};
    std::vector<ir::TensorType> types;
    for (const ir::NodeId id : composition->inputs) types.push_back(graph_.node(id).type);
    for (const MakeStep& make : makers_) {
      auto step = make(composition->denotation, types);
      if (step != nullptr)
        return {std::move(nodes), std::move(composition->inputs), std::move(step)};
    }
    return {};
  }

  // A step multiplies two inputs and adds up, and does so no more with what joins it: so what joins
  // moves elements on their way.
  LibraryRegion grown(LibraryRegion region) {
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
    for (const ir::NodeId id : region.nodes) taken_[id.index()] = true;
    return region;
  }

  const ir::Graph& graph_;
  std::span<const MakeStep> makers_;
  std::vector<int> uses_;
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

std::vector<MakeStep> step_makers(const Libraries& libraries, const LibraryHandles& handles) {
  std::vector<MakeStep> makers;
  if (LtHandle handle = handles.lt.get(); handle != nullptr) {
    makers.emplace_back([&libraries, handle](const ir::Denotation& denotation,
                                             std::span<const ir::TensorType> inputs) {
      const auto gemm = find_gemm(denotation, inputs);
      return gemm ? make_gemm_step(libraries.lt, handle, *gemm) : nullptr;
    });
  }
  if (DnnHandle handle = handles.dnn.get(); handle != nullptr) {
    makers.emplace_back([&libraries, handle](const ir::Denotation& denotation,
                                             std::span<const ir::TensorType> inputs) {
      const auto convolution = find_convolution(denotation, inputs);
      return convolution ? make_convolution_step(libraries.dnn, handle, *convolution) : nullptr;
    });
  }
  return makers;
}

}  // namespace egret::backends::cuda
