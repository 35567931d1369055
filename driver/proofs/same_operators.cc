// SPDX-License-Identifier: Apache-2.0
#include "driver/proofs/same_operators.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "ir/core/tensor_contents.h"

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
        what = "constant " + std::to_string(constant(node.data));
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
  // Numbers constants by content.
  std::size_t constant(const ir::Tensor& data) {
    auto& alike = by_hash_[data.content_hash()];
    const auto same = std::ranges::find_if(
        alike, [&](std::size_t one) { return ir::same_contents(constants_[one], data); });
    if (same != alike.end()) return *same;
    alike.push_back(constants_.size());
    constants_.push_back(data);
    return alike.back();
  }

  std::vector<ir::Tensor> constants_;
  std::map<base::ContentHash, std::vector<std::size_t>> by_hash_;  // into constants_
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

ir::Graph with_one_node_each(const ir::Graph& graph, const std::vector<std::size_t>& numbers) {
  ir::Graph result;
  result.copy_header(graph);
  std::map<std::size_t, ir::NodeId> made;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (made.contains(numbers[i])) continue;
    ir::Node node = graph.node(ir::NodeId(i));
    for (ir::NodeId& input : node.inputs) input = made.at(numbers[input.index()]);
    made.emplace(numbers[i], result.append(std::move(node)));
  }
  for (const auto& output : graph.outputs())
    result.add_output(output.name, made.at(numbers[output.node.index()]));
  return result;
}

}  // namespace egret::driver
