// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/text/transposition.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "backends/codegen/text/nest_facts.h"

namespace egret::backends::codegen {
namespace {

constexpr std::int64_t kBlock = 16;  // neighbours: a line of the cache in f32
// Fewer elements stay in the first cache.
constexpr std::int64_t kLeastElements = 1 << 13;

// Whether a read steps from line to line in the innermost variable, and along lines in this one.
bool is_read_along(const ir::LoopNest& nest, int symbol) {
  const int inner = nest.output_variables.back();
  return std::ranges::any_of(nest.nodes, [&](const ir::NestNode& node) {
    return node.op == ir::ExprOp::kRead && std::abs(node.form.factor(inner)) >= kBlock &&
           node.form.factor(symbol) == 1;
  });
}

}  // namespace

std::optional<Transposition> transposition(const ir::LoopNest& nest) {
  const std::vector<int>& variables = nest.output_variables;
  const auto is_reduction = [](const ir::NestNode& node) { return node.op == ir::ExprOp::kReduce; };
  if (variables.size() < 2 || extents(nest, variables) < kLeastElements ||
      nest.extent(variables.back()) < kBlock || nest.output.factor(variables.back()) != 1 ||
      std::ranges::any_of(nest.nodes, is_reduction))
    return std::nullopt;
  for (std::size_t i = 0; i + 1 < variables.size(); ++i) {
    const std::int64_t extent = nest.extent(variables[i]);
    if (extent < kBlock || !is_read_along(nest, variables[i])) continue;
    Transposition how{.along = variables[i], .blocks = (extent + kBlock - 1) / kBlock};
    how.steps = how.blocks;
    for (std::size_t k = 0; k + 1 < variables.size(); ++k)
      how.steps *= k == i ? 1 : nest.extent(variables[k]);
    return how;
  }
  return std::nullopt;
}

std::string transposed_body(const ir::LoopNest& nest, const Transposition& how, Writer& writer) {
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  const std::int64_t extent = nest.extent(how.along);
  const int inner = nest.output_variables.back();
  Writer::GivenLoop steps{.header = "for (i64 step = low; step < high; ++step) {",
                          .times = static_cast<double>(how.steps)};
  steps.lines.push_back("const i64 b0 = step % " + text(how.blocks) + " * " + text(kBlock) +
                        ", b1 = least<i64>(b0 + " + text(kBlock) + ", " + text(extent) + ");");
  // The other variables in mixed radix, the last one fastest.
  std::int64_t below = how.blocks;
  for (std::size_t i = nest.output_variables.size() - 1; i-- > 0;) {
    const int symbol = nest.output_variables[i];
    if (symbol == how.along) continue;
    const std::string name = "o" + text(symbol);
    steps.lines.push_back("const i64 " + name + " = step / " + text(below) + " % " +
                          text(nest.extent(symbol)) + ";");
    steps.symbols.emplace_back(symbol, name);
    below *= nest.extent(symbol);
  }
  Writer::GivenLoop rows{.header = "for (i64 l = 0; l < " + text(nest.extent(inner)) + "; ++l) {",
                         .symbols = {{inner, "l"}},
                         .times = static_cast<double>(nest.extent(inner))};
  Writer::GivenLoop block{.header = "for (i64 b = b0; b < b1; ++b) {",
                          .symbols = {{how.along, "b"}},
                          .times = static_cast<double>(extent) / static_cast<double>(how.blocks)};
  const Writer::GivenLoop loops[] = {std::move(steps), std::move(rows), std::move(block)};
  return writer.store_within_loops(loops);
}

}  // namespace egret::backends::codegen
