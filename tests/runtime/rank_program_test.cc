// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/rank_program.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/ranks.h"

namespace egret::runtime {
namespace {

using namespace parallel;

// Every collective along every axis: each rank for itself, and on the stack of all ranks.
TEST(RankProgram, CollectivesMeanWhatTheyMeanOnTheStack) {
  int checked = 0;
  base::Random random(3);
  for (const char* text : {"x=2", "x=4", "x=2,y=3", "x=2,y=2,z=2"}) {
    const Mesh mesh = Mesh::parse(text).value();
    for (int axis = 0; axis < mesh.axis_count(); ++axis) {
      const std::int64_t p = mesh.size(axis);
      for (const AxisPlacement to :
           {AxisPlacement::copy(), AxisPlacement::split(0), AxisPlacement::split(1),
            AxisPlacement::split(0, {1, 2}), AxisPlacement::split(1, {2, 0}),
            AxisPlacement::split(1, {0, 3, Halo::Beyond::kMinusInfinity})}) {
        for (const Collective& collective : collectives_to(axis, to, 2)) {
          std::vector<ir::Tensor> locals;
          for (std::int64_t rank = 0; rank < mesh.ranks(); ++rank)
            locals.push_back(ir::Tensor::random({ir::DType::kF32, {2 * p, 3 * p}}, random));
          if (collective.from.is_copy()) {
            for (std::int64_t rank = 0; rank < mesh.ranks(); ++rank)
              locals[static_cast<std::size_t>(rank)] =
                  locals[static_cast<std::size_t>(mesh.group(rank, axis).front())];
          }
          const auto expected = apply(collective, mesh, locals);
          ASSERT_TRUE(expected.ok());
          std::vector<ir::Tensor> results(locals.size());
          Post post;
          on_all_ranks(mesh, [&](std::int64_t rank) {
            const auto at = static_cast<std::size_t>(rank);
            results[at] = run_collective(collective, mesh, rank, locals[at], post.of(rank)).value();
          });
          for (std::size_t rank = 0; rank < results.size(); ++rank) {
            EXPECT_EQ(results[rank].type(), (*expected)[rank].type());
            EXPECT_TRUE(std::ranges::equal(results[rank].data(), (*expected)[rank].data()))
                << name_of(collective) << " on " << text << ", rank " << rank;
          }
          const auto before = static_cast<double>(locals[0].bytes());
          const auto after = static_cast<double>(results[0].bytes());
          double sent =
              static_cast<double>(mesh.ranks()) * bytes_sent(collective, p, before, after);
          if (to.has_halo() && collective.from.is_split())  // the first and the last send less
            sent = static_cast<double>(mesh.ranks() * (p - 1)) / static_cast<double>(p) *
                   (after - before);
          EXPECT_DOUBLE_EQ(post.bytes_sent(), sent) << name_of(collective) << " on " << text;
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 50);
}

// Elements that the ranks cannot share out evenly.
TEST(RankProgram, SumsUnevenParts) {
  const Mesh mesh = Mesh::parse("x=4").value();
  const Collective reduce{0, AxisPlacement::sum(), AxisPlacement::copy()};
  for (const std::int64_t elements : {0, 1, 3, 5, 7}) {
    std::vector<ir::Tensor> results(4);
    Post post;
    on_all_ranks(mesh, [&](std::int64_t rank) {
      const auto local =
          ir::Tensor::filled({ir::DType::kF32, {elements}}, static_cast<double>(1 << rank));
      results[static_cast<std::size_t>(rank)] =
          run_collective(reduce, mesh, rank, local, post.of(rank)).value();
    });
    for (const ir::Tensor& result : results) {
      ASSERT_EQ(result.elements(), elements);
      for (std::int64_t i = 0; i < elements; ++i) EXPECT_EQ(result.f64_at(i), 15);
    }
  }
}

}  // namespace
}  // namespace egret::runtime
