// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline/block_moves.h"

#include <gtest/gtest.h>

namespace egret::parallel {
namespace {

// Numbered elements of a whole, as each rank of a group holds them.
std::vector<ir::Tensor> shares_of(const ir::Tensor& whole, const Placement& placement,
                                  const Mesh& mesh) {
  std::vector<ir::Tensor> shares;
  for (std::int64_t rank = 0; rank < mesh.ranks(); ++rank)
    shares.push_back(block_of(whole, placement, mesh, rank));
  return shares;
}

// Every placement on groups of one to six ranks: each rank gets its share and nothing twice, from
// the rank with its part of the group where that one has it.
TEST(BlockMoves, GiveEachRankItsShare) {
  ir::Tensor whole(ir::TensorType(ir::DType::kF32, {12, 6, 2}));
  for (std::int64_t i = 0; i < whole.elements(); ++i) whole.set_f64(i, static_cast<double>(i));
  std::vector<Mesh> meshes = {Mesh()};
  for (const char* text : {"x=2", "x=3", "x=6", "x=2,y=2", "x=3,y=2"})
    meshes.push_back(Mesh::parse(text).value());
  int pairs = 0;
  for (const Mesh& from : meshes) {
    for (const Mesh& into : meshes) {
      for (const Placement& held : whole_placements(whole.type(), from)) {
        for (const Placement& wanted : whole_placements(whole.type(), into)) {
          const auto before = shares_of(whole, held, from);
          const auto after = shares_of(whole, wanted, into);
          for (std::int64_t to = 0; to < into.ranks(); ++to) {
            const ir::Tensor& expected = after[static_cast<std::size_t>(to)];
            const auto moves = block_moves(whole.type(), {from, held}, {into, wanted}, to);
            ASSERT_EQ(moves.size(), before.size());
            std::vector<int> written(static_cast<std::size_t>(expected.elements()), 0);
            for (std::size_t sender = 0; sender < moves.size(); ++sender) {
              for (const ElementRun& run : moves[sender]) {
                for (std::int64_t i = 0; i < run.count; ++i) {
                  ++written[static_cast<std::size_t>(run.to + i)];
                  ASSERT_EQ(before[sender].f64_at(run.from + i), expected.f64_at(run.to + i));
                }
              }
            }
            for (const int times : written) ASSERT_EQ(times, 1);
            if (from == into && held == wanted) {
              for (std::size_t sender = 0; sender < moves.size(); ++sender)
                EXPECT_EQ(moves[sender].empty(), sender != static_cast<std::size_t>(to));
            }
          }
          ++pairs;
        }
      }
    }
  }
  EXPECT_GT(pairs, 100);
}

// Two ranks hold halves of the rows, and one of the other group wants all: two messages of one run.
TEST(BlockMoves, JoinNeighbouringElements) {
  const Mesh two = Mesh::parse("x=2").value();
  const ir::TensorType type(ir::DType::kF32, {4, 3});
  const Placement rows = Placement(1).with(0, AxisPlacement::split(0));
  const auto moves = block_moves(type, {two, rows}, {Mesh(), Placement()}, 0);
  EXPECT_EQ(moves[0], (std::vector<ElementRun>{{0, 0, 6}}));
  EXPECT_EQ(moves[1], (std::vector<ElementRun>{{0, 6, 6}}));
}

}  // namespace
}  // namespace egret::parallel
