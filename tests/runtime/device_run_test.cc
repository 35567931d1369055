// SPDX-License-Identifier: Apache-2.0
// Plans on GPUs, over libraries that stand in for CUDA and NCCL: ranks are threads that take turns.
#include "runtime/devices/device_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "backends/codegen/host_compiler.h"
#include "tests/backends/fake_cuda.h"
#include "tests/parallel/model.h"
#include "tests/runtime/fake_nccl.h"

namespace egret::runtime {
namespace {

using backends::fake_cuda;
using parallel::AxisPlacement;
using parallel::Collective;
using parallel::Halo;
using parallel::Mesh;
using parallel::PlacedGraph;
using parallel::PlacedNode;

class DeviceRuns : public ::testing::Test {
 protected:
  void SetUp() override {
    fake_cuda() = {};
    fake_nccl() = {};
    backend_ = backends::cuda::make_backend(backends::fake_libraries);
  }
  void TearDown() override {
    EXPECT_EQ(fake_cuda().allocated, 0u);
    EXPECT_EQ(fake_nccl().open, 0);
  }

  static Exchange exchange_of(int rank) {
    return [rank](std::span<const std::int64_t> group,
                  std::span<const std::vector<std::byte>> outgoing) {
      return exchange_letters(rank, group, outgoing);
    };
  }

  base::Result<std::unique_ptr<DeviceRun>> make(const PlacedGraph& placed, int rank,
                                                double time_limit_s = 60) {
    EGRET_ASSIGN_OR_RETURN(auto device,
                           backends::cuda::Device::open(backends::fake_libraries(), rank));
    EGRET_ASSIGN_OR_RETURN(RankProgram program, rank_program(placed, rank));
    EGRET_ASSIGN_OR_RETURN(
        AxisCommunicators communicators,
        join_axes(fake_nccl_library(), placed.mesh, rank, exchange_of(rank), time_limit_s));
    return DeviceRun::make(placed, std::move(program), *backend_, std::move(device),
                           std::move(communicators), backends::Precision::kF32, time_limit_s);
  }

  // What each rank holds of the outputs, by rank.
  std::vector<std::vector<ir::Tensor>> run(const PlacedGraph& placed,
                                           const std::vector<std::vector<ir::Tensor>>& held,
                                           int times = 1) {
    std::vector<std::vector<ir::Tensor>> results(held.size());
    on_rank_threads(static_cast<int>(held.size()), [&](int rank) {
      const auto made = make(placed, rank);
      ASSERT_TRUE(made.ok()) << made.status().message();
      for (int i = 0; i < times; ++i) {
        auto outputs = (*made)->run(held[static_cast<std::size_t>(rank)]);
        ASSERT_TRUE(outputs.ok()) << outputs.status().message();
        results[static_cast<std::size_t>(rank)] = *std::move(outputs);
      }
    });
    return results;
  }

  std::unique_ptr<backends::Backend> backend_;
};

// An input, and what the collective makes of it.
PlacedGraph one_collective(const Mesh& mesh, const Collective& collective,
                           const ir::TensorType& before, const ir::TensorType& after) {
  PlacedGraph graph;
  graph.mesh = mesh;
  PlacedNode input{.kind = PlacedNode::Kind::kInput, .name = "x"};
  input.type = before;
  input.placement = parallel::Placement(mesh.axis_count());
  PlacedNode moved{.kind = PlacedNode::Kind::kCollective, .collective = collective};
  moved.inputs = {0};
  moved.type = after;
  graph.nodes = {input, moved};
  graph.outputs = {{"y", 1}};
  return graph;
}

TEST_F(DeviceRuns, CollectivesMeanWhatTheyMeanOnTheStack) {
  int checked = 0;
  base::Random random(3);
  for (const char* text : {"x=2", "x=4", "x=2,y=3"}) {
    const Mesh mesh = Mesh::parse(text).value();
    for (int axis = 0; axis < mesh.axis_count(); ++axis) {
      const std::int64_t p = mesh.size(axis);
      for (const AxisPlacement to :
           {AxisPlacement::copy(), AxisPlacement::split(0), AxisPlacement::split(1),
            AxisPlacement::split(2), AxisPlacement::split(0, {1, 2}),
            AxisPlacement::split(1, {2, 0}),
            AxisPlacement::split(1, {0, 3, Halo::Beyond::kMinusInfinity})}) {
        for (const Collective& collective : parallel::collectives_to(axis, to, 3)) {
          std::vector<ir::Tensor> locals;
          std::vector<std::vector<ir::Tensor>> held;
          for (std::int64_t rank = 0; rank < mesh.ranks(); ++rank)
            locals.push_back(ir::Tensor::random({ir::DType::kF32, {2 * p, 3 * p, p}}, random));
          for (std::int64_t rank = 0; rank < mesh.ranks(); ++rank) {
            const auto first = static_cast<std::size_t>(mesh.group(rank, axis).front());
            if (collective.from.is_copy()) locals[static_cast<std::size_t>(rank)] = locals[first];
            held.push_back({locals[static_cast<std::size_t>(rank)]});
          }
          const auto expected = parallel::apply(collective, mesh, locals);
          ASSERT_TRUE(expected.ok());
          const auto results =
              run(one_collective(mesh, collective, locals.front().type(), expected->front().type()),
                  held, 2);
          for (std::size_t rank = 0; rank < results.size(); ++rank) {
            ASSERT_EQ(results[rank].size(), 1u);
            EXPECT_TRUE(std::ranges::equal(results[rank].front().data(), (*expected)[rank].data()))
                << name_of(collective) << " to " << to_string(to) << " on " << text << ", rank "
                << rank;
          }
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 60);
  EXPECT_GT(fake_nccl().count("transfers"), 0u);
  EXPECT_GT(fake_nccl().count("reduce_scatter"), 0u);
}

// Whole plans as the planner makes them, twice, so that recorded launches are used too.
class DevicePlans : public DeviceRuns {
 protected:
  void SetUp() override {
    const auto version = backends::codegen::host_compiler_version();
    if (!version.ok()) GTEST_SKIP() << version.status().message();
    DeviceRuns::SetUp();
  }

  void check(const ir::Graph& graph, const char* mesh, const std::string& strategy) {
    parallel::ParallelPlanOptions options;
    options.strategy = strategy;
    const auto plan = parallel::plan_of(graph, parallel::machine_of(mesh), options);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    base::Random random(5);
    std::vector<ir::Tensor> wholes;
    for (const PlacedNode& node : plan->program.nodes) {
      if (node.kind == PlacedNode::Kind::kInput)
        wholes.push_back(ir::Tensor::random(node.whole, random));
    }
    const auto expected = parallel::interpret(plan->program, wholes);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    std::vector<std::vector<ir::Tensor>> held;
    for (std::int64_t rank = 0; rank < plan->program.mesh.ranks(); ++rank)
      held.push_back(held_inputs(plan->program, rank, wholes).value());
    const auto results = run(plan->program, held, 3);
    for (std::size_t i = 0; i < expected->size(); ++i) {
      const auto& output = plan->program.nodes[plan->program.outputs[i].node];
      std::vector<ir::Tensor> locals;
      for (const auto& of_rank : results) {
        ASSERT_EQ(of_rank.size(), expected->size());
        locals.push_back(of_rank[i]);
      }
      const auto whole =
          parallel::whole_of(locals, output.whole, output.placement, plan->program.mesh);
      ASSERT_TRUE(whole.ok()) << whole.status().message();
      double largest = 1;
      for (std::int64_t k = 0; k < whole->elements(); ++k)
        largest = std::max(largest, std::abs((*expected)[i].f64_at(k)));
      for (std::int64_t k = 0; k < whole->elements(); ++k)
        ASSERT_NEAR(whole->f64_at(k), (*expected)[i].f64_at(k), 1e-5 * largest);
    }
  }
};

TEST_F(DevicePlans, RunAnMlpByColumnsThenRows) {
  check(parallel::mlp(4, 64, 96), "x=2", "tensor");
  EXPECT_EQ(fake_nccl().count("all_reduce 0/2"), 3u);
  EXPECT_EQ(fake_cuda().count("capture_begin"), 2u * 1u);  // a segment, two ranks
}

TEST_F(DevicePlans, RunAnMlpOnAMeshWithTwoAxes) {
  check(parallel::mlp(4, 64, 96), "x=2,y=2", "any");
}

ir::Graph two_convolutions() {
  parallel::Model m;
  const ir::Attrs window{{"strides", ir::Integers{1, 1}},
                         {"pads", ir::Integers{1, 1, 1, 1}},
                         {"dilations", ir::Integers{1, 1}}};
  const ir::Value x = m.input("x", {1, 4, 16, 12});
  const ir::Value y = m("relu", {m("conv", {x, m.weight("w1", {8, 4, 3, 3})}, window)});
  return m.finish(m("conv", {y, m.weight("w2", {4, 8, 3, 3})}, window));
}

TEST_F(DevicePlans, RunConvolutionsCutInSpace) { check(two_convolutions(), "x=2", "any"); }

// relu(x), summed over the ranks, plus b.
PlacedGraph two_segments(const Mesh& mesh, const ir::TensorType& type) {
  const auto& relu = ir::get_operator("relu");
  const auto& add = ir::get_operator("add");
  PlacedGraph graph;
  graph.mesh = mesh;
  const auto append = [&](PlacedNode node) {
    node.type = node.whole = type;
    node.placement = parallel::Placement(mesh.axis_count());
    graph.nodes.push_back(std::move(node));
  };
  append({.kind = PlacedNode::Kind::kInput, .name = "b"});
  append({.kind = PlacedNode::Kind::kInput, .name = "x"});
  append({.kind = PlacedNode::Kind::kOperator, .op = &relu, .inputs = {1}});
  append({.kind = PlacedNode::Kind::kCollective,
          .collective = {0, AxisPlacement::sum(), AxisPlacement::copy()},
          .inputs = {2}});
  append({.kind = PlacedNode::Kind::kOperator, .op = &add, .inputs = {3, 0}});
  graph.outputs = {{"first", 2}, {"y", 4}};
  return graph;
}

TEST_F(DevicePlans, CopyInputsAndOutputsBesideComputation) {
  const ir::TensorType type(ir::DType::kF32, {6});
  base::Random random(11);
  const ir::Tensor b = ir::Tensor::random(type, random), x = ir::Tensor::random(type, random);
  const auto results = run(two_segments(Mesh::parse("x=2").value(), type), {{b, x}, {b, x}}, 2);
  for (const auto& outputs : results) {
    ASSERT_EQ(outputs.size(), 2u);
    for (std::int64_t k = 0; k < 6; ++k) {
      const double kept = std::max(0.0, x.f64_at(k));
      EXPECT_EQ(outputs[0].f64_at(k), kept);
      EXPECT_FLOAT_EQ(static_cast<float>(outputs[1].f64_at(k)),
                      static_cast<float>(2 * kept + b.f64_at(k)));
    }
  }
}

TEST_F(DeviceRuns, NameTheCollectiveThatALostRankLeavesOpen) {
  const Mesh mesh = Mesh::parse("x=2").value();
  const Collective reduce{0, AxisPlacement::sum(), AxisPlacement::copy()};
  const ir::TensorType type(ir::DType::kF32, {8});
  const PlacedGraph placed = one_collective(mesh, reduce, type, type);
  for (const bool noticed : {false, true}) {
    fake_nccl() = {};
    base::Status status;
    on_rank_threads(2, [&](int rank) {
      auto made = make(placed, rank, 0.3);
      ASSERT_TRUE(made.ok()) << made.status().message();
      if (rank == 1) {  // is gone without a word: nothing of it is destroyed
        static auto* const gone = new std::vector<DeviceRun*>;  // also for the sanitizer, at exit
        gone->push_back(made->release());
        return;
      }
      fake_nccl().reports_lost_rank = noticed;
      status = (*made)->run(std::vector{ir::Tensor(type)}).status();
      EXPECT_EQ((*made)->run(std::vector{ir::Tensor(type)}).status().code(),
                base::StatusCode::kRankFailed);
    });
    EXPECT_EQ(status.code(), base::StatusCode::kRankFailed);
    const std::string& text = status.message();
    EXPECT_NE(text.find(noticed ? "remote error" : "took more than 0.3"), std::string::npos)
        << text;
    EXPECT_NE(text.find("ranks 0, 1 along 'x'"), std::string::npos) << text;
    EXPECT_NE(text.find("all_reduce along 'x' (node 1)"), std::string::npos) << text;
    EXPECT_EQ(fake_nccl().count("abort 0/2"), 1u);
    fake_nccl().open = 0;
    fake_cuda() = {};
  }
}

TEST_F(DeviceRuns, EndWhenTheDeviceDoesNotAnswer) {
  const Mesh mesh = Mesh::parse("x=2").value();
  const Collective reduce{0, AxisPlacement::sum(), AxisPlacement::copy()};
  const ir::TensorType type(ir::DType::kF32, {8});
  const PlacedGraph placed = one_collective(mesh, reduce, type, type);
  std::string said;  // one of the two may still wait for the other to call
  on_rank_threads(2, [&](int rank) {
    const auto made = make(placed, rank, 0.2);
    ASSERT_TRUE(made.ok()) << made.status().message();
    fake_cuda().hangs = true;
    const auto outputs = (*made)->run(std::vector{ir::Tensor(type)});
    EXPECT_EQ(outputs.status().code(), base::StatusCode::kRankFailed);
    said += outputs.status().message();
  });
  EXPECT_NE(said.find("no answer within 0.2"), std::string::npos) << said;
  EXPECT_EQ(fake_nccl().count("abort"), 2u);
}

TEST_F(DeviceRuns, JoinOnlyWhereEachRankHasAGpuOfItsOwn) {
  const Mesh mesh = Mesh::parse("x=2").value();
  for (const bool shared : {false, true}) {
    on_rank_threads(2, [&](int rank) {
      const auto device =
          backends::cuda::Device::open(backends::fake_libraries(), shared ? 0 : rank);
      ASSERT_TRUE(device.ok());
      const base::Status status =
          all_have_nccl(fake_nccl_library(), **device, mesh, exchange_of(rank));
      EXPECT_EQ(status.ok(), !shared) << status.message();
    });
  }
  on_rank_threads(2, [&](int rank) {
    nccl::Library without = fake_nccl_library();
    if (rank == 1) without.has_nccl = base::unavailable("NCCL (libnccl.so.2) is not found");
    const auto device = backends::cuda::Device::open(backends::fake_libraries(), rank);
    const base::Status status = all_have_nccl(without, **device, mesh, exchange_of(rank));
    EXPECT_EQ(status.code(), base::StatusCode::kUnavailable);
    EXPECT_NE(status.message().find("rank 1 has no NCCL"), std::string::npos);
  });
}

}  // namespace
}  // namespace egret::runtime
