// SPDX-License-Identifier: Apache-2.0
#include "driver/proofs/rank_difference.h"

#include <gtest/gtest.h>

#include <functional>

#include "ir/graph/builder.h"
#include "ir/ops/opaque.h"

namespace egret::driver {
namespace {

using ir::NodeId;
using parallel::RankCollective;
using parallel::RankProgram;
using Kind = RankCollective::Kind;

const ir::TensorType kWhole{ir::DType::kF32, {4, 4}};
const ir::TensorType kPart{ir::DType::kF32, {2, 4}};

// y = sum over the rows of x.
ir::Graph sums() {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", kWhole);
  b.output("y", b.add("reduce_sum", {x}, {{"axes", ir::Integers{0}}, {"keepdims", 1}}));
  return b.finish().value();
}

// A rank's rows through an exchange, with sums before or after it.
RankProgram rank_of(const RankCollective& step, const ir::TensorType& type, bool sums_before) {
  RankProgram program;
  const ir::Attrs attrs = ir::canonical_attrs(ir::get_operator("reduce_sum").attrs(),
                                              {{"axes", ir::Integers{0}}, {"keepdims", 1}})
                              .value();
  NodeId value = program.graph.append({.kind = ir::NodeKind::kInput, .type = kPart, .name = "x"});
  const auto add_sums = [&](NodeId of) {
    return program.graph.append({.op = &ir::get_operator("reduce_sum"),
                                 .attrs = attrs,
                                 .inputs = {of},
                                 .type = {ir::DType::kF32, {1, 4}}});
  };
  if (sums_before) value = add_sums(value);
  program.collectives.emplace(NodeId(program.graph.size()), step);
  value = program.graph.append({.op = &ir::opaque_output(), .inputs = {value}, .type = type});
  if (!sums_before) value = add_sums(value);
  program.graph.add_output("y", value);
  return program;
}

// "agrees", the output that differs, or the code of the error.
std::string difference(const std::vector<RankProgram>& ranks) {
  const parallel::Mesh mesh = parallel::Mesh::parse("x=2").value();
  const auto found = difference_of_ranks(ranks, mesh, sums(), {}, 1, {});
  if (!found.ok()) return std::string(to_string(found.status().code()));
  if (!*found) return "agrees";
  return (*found)->output + " of rank " + std::to_string((*found)->rank);
}

TEST(RankDifference, IsThatOfAllRanksTogether) {
  const ir::TensorType row{ir::DType::kF32, {1, 4}};
  const RankProgram reduced = rank_of({Kind::kAllReduce}, row, true);
  EXPECT_EQ(difference({reduced, reduced}), "agrees");
  EXPECT_EQ(difference({reduced}), "agrees");
  const RankProgram largest = rank_of({Kind::kAllReduce, true}, row, true);
  EXPECT_EQ(difference({largest, largest}), "y of rank 0");
  const RankProgram gathered = rank_of({Kind::kAllGather}, kWhole, false);
  EXPECT_EQ(difference({gathered, gathered}), "agrees");
  RankProgram alone = reduced;
  alone.collectives.begin()->second.group = {0};
  RankProgram other = reduced;
  other.collectives.begin()->second.group = {1};
  EXPECT_EQ(difference({alone, other}), "y of rank 0");
  EXPECT_EQ(difference({alone, reduced}), "unsupported");
  EXPECT_EQ(difference({reduced, largest}), "unsupported");
}

// Blocks of 2 rows and 4 columns go from rows to columns, in the order of ranks.
TEST(RankDifference, FollowsEveryKindOfExchange) {
  const auto model = [] {
    ir::GraphBuilder b;
    b.output("y", b.add("neg", {b.input("x", kWhole)}));
    return b.finish().value();
  }();
  const auto differs = [&](const RankCollective& step, const char* before, const char* after) {
    const parallel::Mesh mesh = parallel::Mesh::parse("x=2").value();
    const auto from = parallel::Placement::parse(before, mesh).value();
    const auto to = parallel::Placement::parse(after, mesh).value();
    RankProgram program;
    const auto in = parallel::local_type(kWhole, from, mesh).value();
    const auto out = parallel::local_type(kWhole, to, mesh).value();
    const NodeId x = program.graph.append({.kind = ir::NodeKind::kInput, .type = in, .name = "x"});
    const NodeId y =
        program.graph.append({.op = &ir::get_operator("neg"), .inputs = {x}, .type = in});
    program.collectives.emplace(NodeId(2), step);
    program.graph.add_output(
        "y", program.graph.append({.op = &ir::opaque_output(), .inputs = {y}, .type = out}));
    const std::vector<RankProgram> ranks(2, program);
    const auto found = difference_of_ranks(ranks, mesh, model, {{"x", from}, {"y", to}}, 1, {});
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() && found->has_value();
  };
  EXPECT_FALSE(differs({Kind::kAllToAll, false, 1, 0}, "x:S(0)", "x:S(1)"));
  EXPECT_FALSE(differs({Kind::kAllGather, false, 1}, "x:S(1)", "x:R"));
  EXPECT_FALSE(differs({Kind::kSlice, false, 1}, "x:R", "x:S(1)"));
  // A sum of copies is twice as much.
  EXPECT_TRUE(differs({Kind::kReduceScatter, false, 1}, "x:R", "x:S(1)"));
  EXPECT_FALSE(differs({Kind::kReduceScatter, true, 1}, "x:R", "x:S(1)"));
}

}  // namespace
}  // namespace egret::driver
