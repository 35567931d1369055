// SPDX-License-Identifier: Apache-2.0
#include "driver/proofs/same_operators.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace egret::driver {
namespace {

class Numbers {
 public:
  std::vector<std::size_t> of(const ir::Graph& graph) {
    std::vector<std::size_t> numbers;
    std::size_t input = 0;
    for (const ir::Node& node : graph.nodes()) {
      std::vector<std::size_t> operands;
      for (const ir::NodeId operand : node.inputs) operands.push_back(numbers[operand.index()]);
      std::string what;
      if (node.kind == ir::NodeKind::kInput) {
        what = "input " + std::to_string(input++);
      } else if (node.kind == ir::NodeKind::kConstant) {
        what = "constant " + node.data.content_hash().to_hex();
      } else {
        what = node.op->name() + ir::to_string(node.attrs);
      }
      const auto [known, is_new] =
          known_.try_emplace({std::move(what), ir::to_string(node.type), operands}, known_.size());
      numbers.push_back(known->second);
    }
    return numbers;
  }

 private:
  std::map<std::tuple<std::string, std::string, std::vector<std::size_t>>, std::size_t> known_;
};

}  // namespace

SameOperators SameOperators::of(const ir::Graph& a, const ir::Graph& b) {
  Numbers numbers;
  SameOperators same;
  same.a = numbers.of(a);
  same.b = numbers.of(b);
  return same;
}

bool SameOperators::outputs_agree(const ir::Graph& graph_a, const ir::Graph& graph_b) const {
  return std::ranges::equal(graph_a.outputs(), graph_b.outputs(),
                            [&](const auto& one, const auto& other) {
                              return a[one.node.index()] == b[other.node.index()];
                            });
}

}  // namespace egret::driver
