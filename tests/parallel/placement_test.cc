// SPDX-License-Identifier: Apache-2.0
#include "parallel/placement/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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
  EXPECT_EQ(Mesh::parse("x").status().message(), "'x' is not a mesh axis; write NAME=SIZE");
  EXPECT_EQ(Mesh::parse("x=0").status().message(),
            "mesh axis 'x' has size 0; a mesh has 1 to 2^20 devices");
  EXPECT_EQ(Mesh::parse("x=2,x=2").status().message(), "duplicate mesh axis 'x'");
  EXPECT_EQ(Mesh::parse("x=4y").status().message(), "'4y' is not a valid size of a mesh axis");
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
            "'Q' is not a placement; placements are R, P(sum), P(max), S(DIMENSION) and "
            "S(DIMENSION)-BEFORE+AFTER");
  for (const char* text : {"x:S(1)-1+2,y:R,z:S(0)", "x:S(1)-0+2(-inf),y:R,z:R"})
    EXPECT_EQ(to_string(placed(text, mesh), mesh), text);
  for (const char* text : {"x:S(1)-1", "x:S(1)+1", "x:S(1)-1+1)", "x:S(1)-0+0(-inf)", "x:S(1-1+1"})
    EXPECT_FALSE(Placement::parse(text, mesh).ok()) << text;
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
            "dimension 1 of f32[6,3] cannot be cut into equal blocks along the mesh axis 'x'");
  EXPECT_FALSE(local_type(type, placed("x:S(0),y:S(0)", mesh), mesh).ok());
  EXPECT_FALSE(local_type(type, placed("x:S(2)", mesh), mesh).ok());
  EXPECT_FALSE(local_type(type, placed("x:P(sum),y:P(max)", mesh), mesh).ok());
}

TEST(Placement, AHaloRepeatsWhatNeighboursHold) {
  const Mesh mesh = mesh_of("x=3");
  const ir::TensorType type(ir::DType::kF32, {6});
  const auto held = [&](const char* text, std::int64_t rank) {
    return elements_held(type, placed(text, mesh), mesh, rank);
  };
  using Elements = std::vector<std::int64_t>;
  EXPECT_EQ(held("x:S(0)-1+2", 0), (Elements{kBeyond, 0, 1, 2, 3}));
  EXPECT_EQ(held("x:S(0)-1+2", 1), (Elements{1, 2, 3, 4, 5}));
  EXPECT_EQ(held("x:S(0)-1+2", 2), (Elements{3, 4, 5, kBeyond, kBeyond}));
  const ir::Tensor ones = ir::Tensor::filled(type, 1);
  EXPECT_EQ(block_of(ones, placed("x:S(0)-1+0", mesh), mesh, 0).f64_at(0), 0);
  EXPECT_EQ(block_of(ones, placed("x:S(0)-1+0(-inf)", mesh), mesh, 0).f64_at(0), -HUGE_VAL);
  // A halo that is not what the neighbour holds.
  std::vector<ir::Tensor> locals;
  for (std::int64_t rank = 0; rank < 3; ++rank)
    locals.push_back(block_of(ones, placed("x:S(0)-1+0", mesh), mesh, rank));
  locals[1].set_f64(0, 2);
  EXPECT_EQ(whole_of(locals, type, placed("x:S(0)-1+0", mesh), mesh).status().message(),
            "rank 1 has a halo that differs from its neighbours' values");
}

TEST(Placement, RefusesHalosThatDoNotFit) {
  const Mesh mesh = mesh_of("x=2,y=2");
  const auto error = [&](const char* text, ir::DType dtype = ir::DType::kF32) {
    return local_type({dtype, {8, 8}}, placed(text, mesh), mesh).status().message();
  };
  EXPECT_EQ(error("x:S(0)-4+4"), "");
  EXPECT_EQ(error("x:S(0)-5+0"), "a halo along the mesh axis 'x' that is wider than a block");
  EXPECT_EQ(error("x:S(0)-1+1,y:S(1)-1+1"), "");
  const char* twice = "a halo along the mesh axis 'x' of a dimension that another axis cuts";
  EXPECT_EQ(error("x:S(0)-1+1,y:S(0)"), twice);
  EXPECT_EQ(error("y:S(0),x:S(0)-1+1"), twice);
  EXPECT_EQ(error("x:S(0)-1+1,y:S(1)-1+1(-inf)"),
            "halos of zeros cannot be combined with halos of infinities");
  EXPECT_EQ(error("x:S(0)-1+1(-inf)", ir::DType::kI64),
            "a halo along the mesh axis 'x' of infinities, which the type lacks");
  // Where a copy and a block are the same, an operator's laws are not asked for.
  const Mesh one = mesh_of("x=1");
  for (const char* text : {"x:S(0)-1+1(-inf)", "x:S(0)-1+0"}) {
    EXPECT_EQ(local_type({ir::DType::kF32, {4}}, placed(text, one), one).status().message(),
              "a halo along the mesh axis 'x', which has one device");
  }
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
              AxisPlacement::split(0), AxisPlacement::split(1),
              AxisPlacement::split(0, {1, 0, Halo::Beyond::kMinusInfinity}),
              AxisPlacement::split(1, {1, 1})}) {
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
            "ranks 0 and 1 hold different values of one block");
  EXPECT_EQ(whole_of(locals, type, placed("x:P(sum)", mesh), mesh)->f64_at(0), 3);
  EXPECT_EQ(whole_of(locals, type, placed("x:P(max)", mesh), mesh)->f64_at(0), 2);
}

// As a signed number the larger one is negative.
TEST(Placement, TheMaximumOfUnsignedIntegersIsUnsigned) {
  const Mesh mesh = mesh_of("x=2");
  const ir::TensorType type(ir::DType::kU64, {1});
  const std::uint64_t large = (std::uint64_t{1} << 63) + 5;
  for (const bool swapped : {false, true}) {
    std::vector<ir::Tensor> locals{ir::Tensor(type), ir::Tensor(type)};
    locals[swapped ? 1 : 0].set_i64(0, static_cast<std::int64_t>(large));
    locals[swapped ? 0 : 1].set_i64(0, 7);
    const auto whole = whole_of(locals, type, placed("x:P(max)", mesh), mesh);
    ASSERT_TRUE(whole.ok()) << whole.status().message();
    EXPECT_EQ(static_cast<std::uint64_t>(whole->i64_at(0)), large);
    EXPECT_EQ(static_cast<std::uint64_t>(
                  whole_of(locals, type, placed("x:P(sum)", mesh), mesh)->i64_at(0)),
              large + 7);
  }
}

}  // namespace
}  // namespace egret::parallel
