// SPDX-License-Identifier: Apache-2.0
#include "parallel/ring/table_rows.h"

#include <algorithm>
#include <string>

#include "rules/tensors/dynamic_rules.h"

namespace egret::parallel {
namespace {

bool is_leaf(const rules::TensorEGraph& tensors, egraph::ClassId value) {
  const auto is_operator = [&](egraph::NodeId node) {
    return tensors.language().kind(tensors.egraph().op(node)) == ir::NodeKind::kOperator;
  };
  const auto nodes = tensors.egraph().nodes(value);
  return std::ranges::none_of(nodes, is_operator);
}

}  // namespace

std::string name_of_table_rows(std::int64_t blocks) {
  return "table-rows-" + std::to_string(blocks);
}

// One rule per number of blocks. It is restricted to tables that are inputs or weights.
std::vector<rules::CompiledRule> rules_for_table_rows(rules::TensorEGraph& tensors,
                                                      std::span<const std::int64_t> counts) {
  std::vector<rules::CompiledRule> all;
  const ir::Operator& gather = ir::get_operator("gather");
  for (const std::int64_t count : counts) {
    egraph::Pattern pattern;
    const egraph::OpVarId op = pattern.op_var();
    const egraph::VarId table = pattern.var();
    const egraph::VarId indices = pattern.var();
    const egraph::VarId result =
        pattern.node(tensors.language().base(gather), op, {table, indices});
    const auto blocks_of = [&tensors, op, table, indices, count](const egraph::Match& match) {
      return lookup_in_blocks(tensors.type(match[table]), tensors.type(match[indices]),
                              tensors.language().attrs(match[op]).integer("axis"), count);
    };
    egraph::Rewrite rewrite(name_of_table_rows(count), std::move(pattern));
    rewrite.when(
        [&tensors, table, blocks_of](egraph::EGraph&, const egraph::Match& match) {
          return is_leaf(tensors, match[table]) && blocks_of(match).ok();
        },
        egraph::Rewrite::Reads::kEverything, "cut-evenly");
    const egraph::VarId made = rewrite.build(
        [&tensors, table, indices, blocks_of](
            egraph::EGraph&, const egraph::Match& match) -> base::Result<egraph::ClassId> {
          EGRET_ASSIGN_OR_RETURN(const ir::Graph blocks, blocks_of(match));
          return rules::add_body(tensors, blocks,
                                 std::vector<egraph::ClassId>{match[table], match[indices]});
        },
        "lookup-in-blocks");
    rewrite.builders_read(egraph::Rewrite::Reads::kData);
    rewrite.equate(result, made);
    all.push_back({std::move(rewrite)});
  }
  return all;
}

}  // namespace egret::parallel
