// SPDX-License-Identifier: Apache-2.0
#include "driver/proofs/rank_difference.h"

#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "driver/measure/near_values.h"
#include "driver/measure/output_errors.h"
#include "ir/evaluate/input_draws.h"
#include "ir/evaluate/interpreter.h"
#include "parallel/ranks/rank_runs.h"

namespace egret::driver {
namespace {

constexpr double kNear = 1e-5;  // as in prove_equal(): constants are in f32
constexpr std::int64_t kMostElements = std::int64_t{1} << 27;  // as of all ranks together

base::Status check_size(const ir::Graph& graph) {
  std::int64_t elements = 0;
  for (const ir::Node& node : graph.nodes()) {
    elements += node.type.is_concrete() ? node.type.elements() : 0;
    if (elements > kMostElements) return base::unsupported("the model is too large for a run");
  }
  return base::ok();
}

// The output of this name. Null: the rank has none.
const ir::Tensor* output_called(const std::string& name, const ir::Graph& rank,
                                std::span<const ir::Tensor> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (rank.outputs()[i].name == name) return &values[i];
  }
  return nullptr;
}

}  // namespace

base::Result<std::optional<RankDifference>> difference_of_ranks(
    std::span<const parallel::RankProgram> ranks, const parallel::Mesh& mesh,
    const ir::Graph& sequential, const parallel::NamedPlacements& given, std::uint64_t seed,
    const std::function<bool()>& should_stop) {
  EGRET_ASSIGN_OR_RETURN(const parallel::RankInterface interface,
                         parallel::interface_of(ranks.front().graph, mesh, sequential, given));
  EGRET_RETURN_IF_ERROR(check_size(sequential));
  base::Random random(seed);
  const std::vector<ir::Tensor> inputs = ir::random_inputs(sequential, random);
  std::map<std::string, ir::Tensor> by_name;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    by_name.emplace(sequential.node(sequential.inputs()[i]).name, inputs[i]);
  EGRET_ASSIGN_OR_RETURN(const auto found,
                         parallel::run_ranks(ranks, mesh, interface, by_name, should_stop));
  EGRET_ASSIGN_OR_RETURN(const auto expected,
                         ir::interpret(sequential, inputs, {.should_stop = should_stop}));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::size_t rank = 0; rank < found.size(); ++rank) {
      const auto number = static_cast<std::int64_t>(rank);
      RankDifference differs{sequential.outputs()[i].name, number};
      const ir::Graph& program = ranks[ranks.size() == 1 ? 0 : rank].graph;
      const ir::Tensor* const got = output_called(differs.output, program, found[rank]);
      const ir::Tensor part = parallel::block_of(expected[i], interface.outputs[i], mesh, number);
      if (got != nullptr && are_near(part, *got, kNear)) continue;
      if (got != nullptr && got->shape() == part.shape()) differs.difference = spread(part, *got);
      return std::optional(std::move(differs));
    }
  }
  return std::optional<RankDifference>();
}

}  // namespace egret::driver
