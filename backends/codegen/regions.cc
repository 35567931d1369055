// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/regions.h"

#include <algorithm>
#include <set>

#include "backends/codegen/composition.h"

namespace egret::backends::codegen {
namespace {

constexpr int kMostTrials = 32;

// Rates for the choice between one kernel and two. Only their ratios matter.
struct Speeds {
  double thread_operations;  // a second, of one thread
  double operations;         // of all
  double bytes;
  double launch_s;
};
constexpr Speeds kHostSpeeds{2e9, 4e9, 1e10, 2e-6};
constexpr Speeds kCudaSpeeds{3e8, 1e13, 2e12, 2e-6};

// Roofline with launch overhead: operations at the rate of the active threads, or memory traffic.
double seconds(const KernelSource& kernel, Target target) {
  const Speeds& speeds = target == Target::kCuda ? kCudaSpeeds : kHostSpeeds;
  const double threads = static_cast<double>(kernel.blocks) * kernel.threads * kernel.width;
  // A kernel with few threads cannot reach the peak rate. This stops fusions that would leave most
  // of the device idle.
  const double rate = std::min(speeds.thread_operations * threads, speeds.operations);
  return speeds.launch_s +
         std::max(kernel.work.operations / rate, kernel.work.bytes / speeds.bytes);
}

// Greedy fusion: regions grow from the last node of the graph upward. A node joins a region if all
// its readers are inside and the estimated time of one kernel is not above that of two. Each node
// is in one region, and values that leave a region are computed once.
class Grower {
 public:
  Grower(const ir::Graph& graph, const RegionOptions& options)
      : graph_(graph),
        options_(options),
        readers_(graph.size()),
        is_output_(graph.size(), false),
        taken_(graph.size(), false) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
      const ir::Node& node = graph.node(ir::NodeId(i));
      for (const ir::NodeId input : node.inputs) readers_[input.index()].insert(ir::NodeId(i));
      if (node.kind != ir::NodeKind::kOperator) taken_[i] = true;
    }
    for (const RegionOptions::Apart& apart : options.apart) {
      for (const ir::NodeId id : apart.nodes) taken_[id.index()] = true;
    }
    for (const auto& output : graph.outputs()) is_output_[output.node.index()] = true;
  }

  std::vector<Region> run() && {
    std::vector<Region> regions;
    for (std::size_t i = graph_.size(); i-- > 0;) {
      if (!taken_[i]) regions.push_back(grown(ir::NodeId(i)));
    }
    for (const RegionOptions::Apart& apart : options_.apart) {
      Region& region = regions.emplace_back();
      region.nodes = apart.nodes;
      region.inputs = apart.inputs;
      region.empty = graph_.node(region.root()).type.elements() == 0;
    }
    std::ranges::sort(regions, {}, &Region::root);
    return regions;
  }

 private:
  Region made(std::vector<ir::NodeId> nodes) const {
    return region_of(graph_, std::move(nodes), options_.target,
                     {.tensor_cores = options_.tensor_cores});
  }

  // At most kMostTrials candidates are emitted for a region, since emitting is what takes time.
  Region grown(ir::NodeId root) {
    Region region = made({root});
    taken_[root.index()] = true;
    std::set<ir::NodeId> candidates(region.inputs.begin(), region.inputs.end());
    if (!options_.fuse || !region.kernel.ok()) candidates.clear();
    for (int trials = 0; !candidates.empty() && trials < kMostTrials;) {
      // Latest first: all its readers have been tried before it.
      const ir::NodeId id = *candidates.rbegin();
      candidates.erase(id);
      if (!may_join(region, id)) continue;
      ++trials;
      std::vector<ir::NodeId> nodes = region.nodes;
      nodes.insert(std::ranges::lower_bound(nodes, id), id);
      Region larger = made(std::move(nodes));
      // The comparison counts work that fusion would repeat: a value that several elements of the
      // root read is recomputed for each of them, unless the writer can hoist it.
      const Region alone = made({id});
      if (!larger.kernel.ok() || !alone.kernel.ok() ||
          seconds(*larger.kernel, options_.target) >
              seconds(*region.kernel, options_.target) + seconds(*alone.kernel, options_.target))
        continue;
      region = std::move(larger);
      taken_[id.index()] = true;
      const auto& inputs = graph_.node(id).inputs;
      candidates.insert(inputs.begin(), inputs.end());
    }
    return region;
  }

  // An output has a step of its own, and a reader outside would need the value, which exists in no
  // memory once the node has joined.
  bool may_join(const Region& region, ir::NodeId id) const {
    if (taken_[id.index()] || is_output_[id.index()]) return false;
    // A kernel with an f32 root would compute this f64 value in f32.
    const ir::DType root = graph_.node(region.root()).type.dtype;
    if (graph_.node(id).type.dtype == ir::DType::kF64 && root != ir::DType::kF64) return false;
    return std::ranges::all_of(readers_[id.index()], [&](ir::NodeId reader) {
      return std::ranges::binary_search(region.nodes, reader);
    });
  }

  const ir::Graph& graph_;
  const RegionOptions& options_;
  std::vector<std::set<ir::NodeId>> readers_;
  std::vector<bool> is_output_, taken_;
};

}  // namespace

// A region that has no kernel is a single node, which reads its inputs as the graph has them.
Region region_of(const ir::Graph& graph, std::vector<ir::NodeId> nodes, Target target,
                 const ContractionOptions& contractions) {
  Region region;
  region.nodes = std::move(nodes);
  const ir::Node& root = graph.node(region.root());
  region.empty = root.type.elements() == 0;
  auto composition = compose(graph, region.nodes);
  if (!composition.ok()) {
    region.kernel = composition.status();
    region.inputs = root.inputs;
    return region;
  }
  region.inputs = std::move(composition->inputs);
  if (region.empty) return region;
  std::vector<ir::TensorType> types;
  ContractionOptions options = contractions;
  for (const ir::NodeId id : region.inputs) {
    types.push_back(graph.node(id).type);
    const bool is_constant = graph.node(id).kind == ir::NodeKind::kConstant;
    options.constants.push_back(is_constant ? 1 : 0);
    options.sizes.push_back(is_constant ? ir::constant_size(graph.node(id).data)
                                        : ir::ConstantSize::kUsual);
  }
  region.kernel = emit_kernel(composition->denotation, types, target, {}, options);
  if (!region.kernel.ok()) region.inputs = root.inputs;
  return region;
}

std::vector<Region> regions_of(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                               Target target, const ContractionOptions& contractions) {
  std::vector<Region> regions;
  regions.push_back(region_of(graph, nodes, target, contractions));
  if (nodes.size() == 1 || regions[0].kernel.ok() || regions[0].empty) return regions;
  regions.clear();
  for (const ir::NodeId id : nodes) regions.push_back(region_of(graph, {id}, target, contractions));
  return regions;
}

std::vector<Region> find_regions(const ir::Graph& graph, const RegionOptions& options) {
  return Grower(graph, options).run();
}

}  // namespace egret::backends::codegen
