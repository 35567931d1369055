// SPDX-License-Identifier: Apache-2.0
#include "parallel/placement.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace egret::parallel {
namespace {

Mesh mesh_of(std::string_view text) { return Mesh::parse(text).value(); }
Placement placed(std::string_view text, const Mesh& mesh) {
  return Placement::parse(text, mesh).value();
}

TEST(Mesh, NumbersRanksRowMajor) {
  const Mesh mesh = mesh_of("x=2,y=3");
  EXPECT_EQ(to_string(mesh), "x=2,y=3");
  EXPECT_EQ(mesh.ranks(), 6);
  EXPECT_EQ(mesh.coordinate(4, 0), 1);
  EXPECT_EQ(mesh.coordinate(4, 1), 1);
  EXPECT_EQ(mesh.group(4, 0), (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(mesh.group(4, 1), (std::vector<std::int64_t>{3, 4, 5}));
}

TEST(Mesh, SaysWhatIsWrongWithItsText) {
  EXPECT_EQ(Mesh::parse("x").status().message(), "'x' is no mesh axis; write NAME=SIZE");
  EXPECT_EQ(Mesh::parse("x=0").status().message(),
            "mesh axis 'x' has size 0; there may be 1 to 2^20 devices");
  EXPECT_EQ(Mesh::parse("x=2,x=2").status().message(), "two mesh axes are called 'x'");
  EXPECT_EQ(Mesh::parse("x=4y").status().message(), "'4y' is no size of a mesh axis");
  EXPECT_FALSE(Mesh::parse("x=1000000,y=1000000").ok());
}

TEST(Placement, IsReadBackFromItsText) {
  const Mesh mesh = mesh_of("x=2,y=3,z=2");
  for (const char* text :
       {"x:R,y:R,z:R", "x:S(0),y:P(sum),z:R", "x:S(0),z:P(max),y:S(0)", "x:S(1),z:S(0),y:S(0)"}) {
    const Placement placement = placed(text, mesh);
    EXPECT_EQ(placed(to_string(placement, mesh), mesh), placement) << text;
  }
  EXPECT_NE(placed("x:S(0),y:S(0)", mesh), placed("y:S(0),x:S(0)", mesh));
  EXPECT_EQ(placed("x:S(0),y:S(1)", mesh), placed("y:S(1),x:S(0)", mesh));
  EXPECT_EQ(Placement::parse("w:R", mesh).status().message(),
            "'w:R' names no axis of the mesh x=2,y=3,z=2; write AXIS:PLACEMENT");
  EXPECT_EQ(Placement::parse("x:Q", mesh).status().message(),
            "'Q' is no placement; known are R, P(sum), P(max) and S(DIMENSION)");
}

TEST(Placement, RemembersWhichAxisCutsFirst) {
  const Mesh mesh = mesh_of("x=2,y=2");
  const ir::TensorType type(ir::DType::kF32, {8});
  EXPECT_EQ(elements_held(type, placed("x:S(0),y:S(0)", mesh), mesh, 1),
            (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(elements_held(type, placed("y:S(0),x:S(0)", mesh), mesh, 1),
            (std::vector<std::int64_t>{4, 5}));
  const Placement both = placed("y:S(0),x:S(0)", mesh);
  EXPECT_TRUE(both.is_last_cut(0));
  EXPECT_FALSE(both.is_last_cut(1));
  EXPECT_TRUE(both.with(0, AxisPlacement::copy()).is_last_cut(1));
}

TEST(Placement, RefusesWhatDoesNotFit) {
  const Mesh mesh = mesh_of("x=2,y=2");
  const ir::TensorType type(ir::DType::kF32, {6, 3});
  EXPECT_EQ(to_string(*local_type(type, placed("x:S(0)", mesh), mesh)), "f32[3,3]");
  EXPECT_EQ(local_type(type, placed("x:S(1)", mesh), mesh).status().message(),
            "dimension 1 of f32[6,3] cannot be cut evenly along the mesh axis 'x'");
  EXPECT_FALSE(local_type(type, placed("x:S(0),y:S(0)", mesh), mesh).ok());
  EXPECT_FALSE(local_type(type, placed("x:S(2)", mesh), mesh).ok());
  EXPECT_FALSE(local_type(type, placed("x:P(sum),y:P(max)", mesh), mesh).ok());
}

// Every placement that fits, on meshes of one to three axes.
TEST(Placement, BlocksMakeTheWhole) {
  base::Random random(1);
  int checked = 0;
  for (const char* text : {"x=1", "x=2", "x=4", "x=2,y=2", "x=2,y=4", "x=2,y=2,z=2"}) {
    const Mesh mesh = mesh_of(text);
    const ir::Tensor whole = ir::Tensor::random({ir::DType::kF32, {8, 4}}, random);
    std::vector<Placement> all{Placement(mesh.axis_count())};
    for (int axis = 0; axis < mesh.axis_count(); ++axis) {
      std::vector<Placement> next;
      for (const Placement& before : all) {
        for (const AxisPlacement along :
             {AxisPlacement::copy(), AxisPlacement::sum(), AxisPlacement::max(),
              AxisPlacement::split(0), AxisPlacement::split(1)}) {
          next.push_back(before.with(axis, along));
        }
      }
      all = std::move(next);
    }
    for (const Placement& placement : all) {
      if (!local_type(whole.type(), placement, mesh).ok()) continue;
      std::vector<ir::Tensor> locals;
      for (std::int64_t rank = 0; rank < mesh.ranks(); ++rank)
        locals.push_back(block_of(whole, placement, mesh, rank));
      const auto again = whole_of(locals, whole.type(), placement, mesh);
      ASSERT_TRUE(again.ok()) << to_string(placement, mesh);
      EXPECT_TRUE(std::ranges::equal(again->data(), whole.data())) << to_string(placement, mesh);
      ++checked;
    }
  }
  EXPECT_GT(checked, 100);
}

TEST(Placement, CopiesThatDifferAreNoCopies) {
  const Mesh mesh = mesh_of("x=2");
  const ir::TensorType type(ir::DType::kF32, {2});
  const std::vector<ir::Tensor> locals{ir::Tensor::filled(type, 1), ir::Tensor::filled(type, 2)};
  EXPECT_EQ(whole_of(locals, type, placed("x:R", mesh), mesh).status().message(),
            "ranks 0 and 1 should hold the same and do not");
  EXPECT_EQ(whole_of(locals, type, placed("x:P(sum)", mesh), mesh)->f64_at(0), 3);
  EXPECT_EQ(whole_of(locals, type, placed("x:P(max)", mesh), mesh)->f64_at(0), 2);
}

}  // namespace
}  // namespace egret::parallel
