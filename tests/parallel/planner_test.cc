// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/planner.h"

#include <gtest/gtest.h>

#include <functional>

#include "parallel/plan/plan_file.h"
#include "tests/parallel/model.h"

namespace egret::parallel {
namespace {

using ir::Value;

base::Status check_against(const PlacedGraph& placed, const ir::Graph& graph) {
  base::Random random(1);
  std::vector<ir::Tensor> inputs;
  for (const ir::NodeId id : graph.inputs())
    inputs.push_back(ir::Tensor::random(graph.node(id).type, random));
  return parallel::check_against(placed, graph, inputs);
}

TEST(Planner, SplitsAnMlpByColumnsThenRows) {
  for (const std::int64_t p : {2, 4, 8}) {
    const auto plan = plan_of(mlp(8, 512, 2048), machine_of("x=" + std::to_string(p)));
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(placement_of(*plan, "w1"), "x:S(1)");
    EXPECT_EQ(placement_of(*plan, "b1"), "x:S(0)");
    EXPECT_EQ(placement_of(*plan, "w2"), "x:S(0)");
    // One all-reduce of the output: 2 (p-1)/p of its 8 x 512 floats.
    EXPECT_EQ(communication(*plan),
              "all_reduce x 1x " + std::to_string(2 * (p - 1) * 8 * 512 * 4 / p) + "\n");
    EXPECT_LE(plan->time_s, plan->baselines.at("single"));
    EXPECT_LE(plan->time_s, plan->baselines.at("data") * 1.0001);
    EXPECT_DOUBLE_EQ(plan->time_s, plan->baselines.at("tensor"));
    EXPECT_DOUBLE_EQ(plan->time_s, plan->bound_s);
  }
}

TEST(Cluster, NumbersAreThoseOfAMachine) {
  const auto error = [](const std::string& device, const std::string& axis) {
    const auto machine = parse_cluster(
        "[device]\n" + device + "\n[[axis]]\nname = \"x\"\nsize = 2\n" + axis, "m.toml");
    return machine.ok() ? "" : machine.status().message();
  };
  EXPECT_EQ(error("memory_bytes = 0", ""), "");
  EXPECT_EQ(error("memory_bytes = 80e9", "latency_s = 0"), "");
  for (const std::string number : {"1e-308", "inf", "nan", "-1", "1e300"}) {
    EXPECT_EQ(error("memory_bytes = " + number, ""),
              "m.toml:2: device.memory_bytes: must be a number of bytes, or 0 for no limit");
  }
  for (const std::string number : {"inf", "nan", "-1", "1e300"}) {
    EXPECT_EQ(error("seconds_per_kernel = " + number, "").substr(0, 42),
              "m.toml:2: device.seconds_per_kernel: must ");
    EXPECT_NE(error("flops_per_second = " + number, ""), "");
    EXPECT_NE(error("bytes_per_second = " + number, ""), "");
    EXPECT_NE(error("", "latency_s = " + number), "");
    EXPECT_NE(error("", "bytes_per_second = " + number), "");
  }
}

TEST(Cluster, LinksAreUsedInARingOrByAllAtOnce) {
  const auto machine = [](const std::string& steps) {
    return parse_cluster("[device]\nseconds_per_kernel = 0\n[[axis]]\nname = \"x\"\nsize = 4\n" +
                             ("latency_s = 1e-6\nbytes_per_second = 1e9\n" + steps),
                         "m.toml");
  };
  const Collective reduce{0, AxisPlacement::sum(), AxisPlacement::copy()};
  const Collective gather{0, AxisPlacement::split(0), AxisPlacement::copy()};
  for (const std::string steps : {"", "steps = \"ring\""}) {
    EXPECT_DOUBLE_EQ(machine(steps)->seconds(reduce, 4000, 4000), 6e-6 + 6e-6);
    EXPECT_DOUBLE_EQ(machine(steps)->seconds(gather, 1000, 4000), 3e-6 + 3e-6);
  }
  const auto direct = machine("steps = \"direct\"");
  EXPECT_DOUBLE_EQ(direct->seconds(reduce, 4000, 4000), 2e-6 + 6e-6);
  EXPECT_DOUBLE_EQ(direct->seconds(gather, 1000, 4000), 1e-6 + 3e-6);
  EXPECT_EQ(machine("steps = \"tree\"").status().code(), base::StatusCode::kBadInput);

  const auto plan = plan_of(mlp(8, 512, 2048), *direct);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  double bytes = 0;
  double seconds = 0;
  for (const Communication& one : plan->communication) {
    bytes += one.bytes;
    seconds += one.time_s;
  }
  EXPECT_EQ(bytes, 24576);  // reduced, or scattered and gathered
  EXPECT_DOUBLE_EQ(seconds, 2e-6 + bytes / 1e9);
}

// The program of a plan after it was written and read.
base::Result<PlacedGraph> read_again(const ParallelPlan& plan) {
  const auto find = [&](const std::string& hash) -> const ir::Tensor* {
    for (const PlacedNode& node : plan.program.nodes) {
      if (node.data.elements() > 0 && node.data.content_hash().to_hex() == hash) return &node.data;
    }
    return nullptr;
  };
  const std::string text = to_json(plan, {"mlp.onnx", {}, "local"}).dump();
  return read_program(base::Json::parse(text).value(), find);
}

ParallelPlan mlp_plan() { return plan_of(mlp(8, 512, 2048), machine_of("x=4")).value(); }

TEST(PlanFile, IsReadBack) {
  const ParallelPlan plan = mlp_plan();
  const auto again = read_again(plan);
  ASSERT_TRUE(again.ok()) << again.status().message();
  ASSERT_EQ(again->nodes.size(), plan.program.nodes.size());
  for (std::size_t i = 0; i < again->nodes.size(); ++i) {
    EXPECT_EQ(again->nodes[i].placement, plan.program.nodes[i].placement);
    EXPECT_EQ(again->nodes[i].type, plan.program.nodes[i].type);
    EXPECT_EQ(again->nodes[i].part_attrs, plan.program.nodes[i].part_attrs);
  }
  EXPECT_TRUE(check_against(*again, mlp(8, 512, 2048)).ok());
  EXPECT_EQ(check_against(*again, mlp(8, 512, 1024)).code(), base::StatusCode::kMismatch);
}

// What is wrong with the MLP's plan after a change of its nodes
// x w1 matmul b1 add relu w2 matmul all_reduce.
std::string error_after(const std::function<void(std::vector<PlacedNode>&)>& change,
                        std::size_t output = 8) {
  ParallelPlan plan = mlp_plan();
  EXPECT_EQ(plan.program.nodes.size(), 9U);
  change(plan.program.nodes);
  plan.program.outputs[0].node = output;
  const auto again = read_again(plan);
  return again.ok() ? "" : again.status().message();
}

TEST(WrongPlans, AreRejected) {
  using Nodes = std::vector<PlacedNode>;
  const Placement copy(1);
  const Placement sum = copy.with(0, AxisPlacement::sum());
  const Placement rows = copy.with(0, AxisPlacement::split(0));
  const Placement columns = copy.with(0, AxisPlacement::split(1));
  EXPECT_EQ(error_after([](Nodes&) {}), "");
  // A missing all-reduce, and one too many.
  EXPECT_EQ(error_after([](Nodes&) {}, 7), "output y: it is left as partial results, x:P(sum)");
  const auto reduce_again = [](Nodes& nodes) {
    nodes.push_back(nodes[8]);
    nodes[9].inputs = {8};
  };
  EXPECT_EQ(error_after(reduce_again, 9), "node 9: collective 'all_reduce' cannot change R to R");
  // A ReLU of partial sums: the first product is made by rows of the weight.
  const auto relu_of_sums = [&](Nodes& nodes) {
    nodes[0].placement = columns;
    nodes[1].placement = rows;
    for (const std::size_t i : {2U, 3U, 4U, 5U}) nodes[i].placement = sum;
    nodes[3].placement = copy;
  };
  const auto bias_on_every_rank = [&](Nodes& nodes) {
    relu_of_sums(nodes);
    nodes[4].placement = sum;
  };
  EXPECT_EQ(error_after(bias_on_every_rank),
            "node 4: add has no law P(sum), R -> P(sum) along the mesh axis 'x'");
  const auto without_bias = [&](Nodes& nodes) {
    relu_of_sums(nodes);
    nodes[5].inputs = {2};
  };
  EXPECT_EQ(error_after([&](Nodes& nodes) {
              without_bias(nodes);
              nodes[4].placement = nodes[3].placement = copy;
              nodes[4].inputs = {3, 3};
              nodes[4].whole = nodes[3].whole;
            }),
            "node 5: relu has no law P(sum) -> P(sum) along the mesh axis 'x'");
  // Copies taken for parts, and a softmax along what is cut.
  EXPECT_EQ(error_after([&](Nodes& nodes) { nodes[2].placement = rows; }),
            "node 2: matmul has no law R, S(1) -> S(0) along the mesh axis 'x'");
  EXPECT_EQ(error_after([](Nodes& nodes) {
              nodes[5].op = &ir::get_operator("softmax");
              nodes[5].attrs.set("axis", std::int64_t{1});
            }),
            "node 5: softmax has no law S(1) -> S(1) along the mesh axis 'x'");
  // Shards that are not even, and a weight of another model.
  EXPECT_EQ(error_after([](Nodes& nodes) { nodes[1].whole.dims[1] = 2047; }),
            "node 1: dimension 1 of f32[512,2047] cannot be cut into equal blocks along the mesh "
            "axis 'x'");
  EXPECT_EQ(error_after([](Nodes& nodes) { nodes[1].data = ir::Tensor(); }).substr(0, 38),
            "node 1: the number of values differs f");
}

// x of 8 rows, cut by both axes, the first of the mesh first; then a collective.
std::string error_of_gather(const Placement& from, int axis, const Placement& to) {
  const Mesh mesh = Mesh::parse("x=2,y=2").value();
  PlacedNode input{.kind = PlacedNode::Kind::kInput, .name = "x"};
  input.whole = ir::TensorType(ir::DType::kF32, {8, 4});
  input.placement = from;
  input.type = local_type(input.whole, from, mesh).value();
  PlacedNode gather{.kind = PlacedNode::Kind::kCollective, .inputs = {0}};
  gather.collective = {axis, from.along(axis), to.along(axis)};
  gather.whole = input.whole;
  gather.placement = to;
  gather.type = local_type(input.whole, to, mesh).value();
  PlacedGraph graph{mesh, {input, gather}, {{"y", 1}}};
  return check(graph).message();
}

TEST(WrongPlans, GatherInTheOrderOfTheCuts) {
  const AxisPlacement rows = AxisPlacement::split(0);
  const AxisPlacement copy = AxisPlacement::copy();
  const Placement both = Placement(2).with(0, rows).with(1, rows);
  // The last cut is undone first.
  EXPECT_EQ(error_of_gather(both, 1, both.with(1, copy)), "");
  EXPECT_EQ(error_of_gather(both, 0, both.with(0, copy)),
            "node 1: no collective changes x:S(0),y:S(0) to x:R,y:S(0)");
  // Along one axis, said to be along the other; and into another dimension than it was cut in.
  EXPECT_EQ(error_of_gather(both, 1, both.with(0, copy)),
            "node 1: no collective changes x:S(0),y:S(0) to x:R,y:S(0)");
  EXPECT_EQ(error_of_gather(both, 1, both.with(1, AxisPlacement::sum())),
            "node 1: no collective changes x:S(0),y:S(0) to x:S(0),y:P(sum)");
  // Copies are no sums: they would be counted twice.
  const Placement first = Placement(2).with(0, rows);
  EXPECT_EQ(error_of_gather(first, 1, first),
            "node 1: no collective changes x:S(0),y:R to x:S(0),y:R");
}

// The program is well-formed, its meaning is not that of the model.
TEST(WrongPlans, AreFoundByInterpretation) {
  ParallelPlan plan = mlp_plan();
  for (PlacedNode& node : plan.program.nodes) {
    if (node.name == "w2") node.data = ir::Tensor::filled(node.whole, 1);
  }
  EXPECT_EQ(check_against(plan.program, mlp(8, 512, 2048)).code(), base::StatusCode::kMismatch);
}

// Many rows and few weights: each device takes some rows, and all weights, unless it has no room.
TEST(Planner, CutsWeightsWhereMemoryIsShort) {
  const ir::Graph graph = mlp(128, 256, 512);
  const Cluster machine = machine_of("x=4");
  ParallelPlanOptions options;
  options.sharded_inputs = true;
  const auto free = plan_of(graph, machine, options);
  ASSERT_TRUE(free.ok()) << free.status().message();
  EXPECT_EQ(placement_of(*free, "w1"), "x:R");
  EXPECT_EQ(placement_of(*free, "x"), "x:S(0)");
  const double weights = (256 * 512 + 512 + 512 * 256) * 4;
  options.device_memory = static_cast<std::int64_t>(free->memory_bytes - weights / 3);
  const auto tight = plan_of(graph, machine, options);
  ASSERT_TRUE(tight.ok()) << tight.status().message();
  EXPECT_LE(tight->memory_bytes, static_cast<double>(options.device_memory));
  EXPECT_NE(placement_of(*tight, "w1") + placement_of(*tight, "w2"), "x:Rx:R");
  EXPECT_GT(tight->time_s, free->time_s);
  EXPECT_DOUBLE_EQ(tight->bound_s, free->bound_s);
}

// What the times of baselines do not tell: their memory, and inputs in blocks.
TEST(Planner, SaysWhatItsBaselinesNeed) {
  const ir::Graph graph = mlp(512, 256, 512);
  ParallelPlanOptions options;
  const auto whole = plan_of(graph, machine_of("x=4"), options);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  ASSERT_TRUE(whole->baseline_facts.contains("data"));
  EXPECT_TRUE(whole->baseline_facts.at("data").divided_inputs);
  EXPECT_FALSE(whole->baseline_facts.at("single").divided_inputs);
  for (const auto& [name, seconds] : whole->baselines) {
    ASSERT_TRUE(whole->baseline_facts.contains(name)) << name;
    EXPECT_GT(whole->baseline_facts.at(name).memory_bytes, 0) << name;
  }
  // All weights on each device.
  const double weights = (2 * 256 * 512 + 512) * 4;
  EXPECT_GE(whole->baseline_facts.at("data").memory_bytes, weights);
  EXPECT_LE(whole->baseline_facts.at("data").memory_bytes,
            whole->baseline_facts.at("single").memory_bytes);
  options.sharded_inputs = true;
  const auto blocks = plan_of(graph, machine_of("x=4"), options);
  ASSERT_TRUE(blocks.ok());
  EXPECT_FALSE(blocks->baseline_facts.at("data").divided_inputs);
}

// Where the machine fuses, elementwise operators start no kernel and pass nothing through memory,
// except after a collective.
TEST(Planner, PricesElementwiseOperatorsWithTheKernelsTheyJoin) {
  const auto seconds = [](const ir::Graph& graph, bool fuses, const std::string& kind) {
    Cluster machine = machine_of("x=2");
    machine.fuses = fuses;
    const auto plan = plan_of(graph, machine);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return plan.ok() ? plan->baselines.at(kind) : 0;
  };
  const cost::Rates rates = machine_of("x=2").rates;
  const double start = rates.seconds_per_kernel;
  const auto moving = [&](double elements) { return 4 * elements / rates.bytes_per_second; };
  const ir::Graph graph = mlp(8, 512, 2048);
  const double hidden = 8 * 2048;
  // The sum reads the bias, and the ReLU only computes.
  const double apart = 2 * start + moving(2 * hidden + 2048) + moving(2 * hidden);
  const double joined = moving(2048) + hidden / rates.flops_per_second;
  EXPECT_NEAR(seconds(graph, false, "single") - seconds(graph, true, "single"), apart - joined,
              1e-12);

  const auto ends = [](bool in_relu) {
    Model m;
    const ir::Value h =
        m("relu", {m("matmul", {m.input("x", {8, 512}), m.weight("w1", {512, 2048})})});
    const ir::Value y = m("matmul", {h, m.weight("w2", {2048, 512})});
    return m.finish(in_relu ? m("relu", {y}) : y);
  };
  const double output = 8 * 512;
  const double after_sum =
      seconds(ends(true), true, "tensor") - seconds(ends(false), true, "tensor");
  EXPECT_NEAR(after_sum, start + moving(2 * output) + output / rates.flops_per_second, 1e-12);
}

TEST(Planner, SplitsTheVocabularyOfASoftmax) {
  Model m;
  const Value x = m.input("x", {3, 16});
  const Value p =
      m("softmax", {m("matmul", {x, m.weight("w", {16, 65536})})}, {{"axis", std::int64_t{1}}});
  const auto plan =
      plan_of(m.finish(m("matmul", {p, m.weight("e", {65536, 16})})), machine_of("x=4"));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(placement_of(*plan, "w"), "x:S(1)");
  EXPECT_EQ(placement_of(*plan, "e"), "x:S(0)");
  // The largest logits and the sums of exponentials of three rows, then the output: 2 (p-1)/p each.
  EXPECT_EQ(communication(*plan), "all_reduce x 3x " + std::to_string((3 + 3 + 3 * 16) * 6) + "\n");
}

// At a limit of nodes, too: the cheapest program alone would have its bodies.
TEST(Planner, KnowsTheBodiesOfCompositesWithinAnyLimit) {
  Model m;
  const Value x = m.input("x", {3, 16});
  const Value p =
      m("softmax", {m("matmul", {x, m.weight("w", {16, 65536})})}, {{"axis", std::int64_t{1}}});
  const ir::Graph graph = m.finish(m("matmul", {p, m.weight("e", {65536, 16})}));
  const auto bodies = plan_of(graph, machine_of("x=4"));
  ASSERT_TRUE(bodies.ok()) << bodies.status().message();
  for (const bool sequential : {false, true}) {
    ParallelPlanOptions options;
    options.rules = "default,expand-composites";
    options.limit_nodes = 1;
    options.sequential = sequential;
    const auto plan = plan_of(graph, machine_of("x=4"), options);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_LE(plan->time_s, bodies->time_s * (1 + 1e-9)) << sequential;
  }
}

// A residual block of two 3x3 convolutions over a square image.
ir::Graph resnet_block(std::int64_t channels, std::int64_t size) {
  Model m;
  const ir::Attrs windows{{"strides", ir::Integers{1, 1}},
                          {"pads", ir::Integers{1, 1, 1, 1}},
                          {"dilations", ir::Integers{1, 1}}};
  const Value x = m.input("x", {1, channels, size, size});
  const Value w1 = m.weight("w1", {channels, channels, 3, 3});
  const Value w2 = m.weight("w2", {channels, channels, 3, 3});
  const Value h = m("relu", {m("conv", {x, w1}, windows)});
  return m.finish(m("relu", {m("add", {m("conv", {h, w2}, windows), x})}));
}

// A large image with few channels is cut in space: each convolution needs a row from either side.
TEST(Planner, CutsLargeImagesInSpace) {
  constexpr std::int64_t kChannels = 8;
  constexpr std::int64_t kSize = 64;
  ParallelPlanOptions options;
  options.sharded_inputs = true;
  for (const std::int64_t p : {2, 4, 8}) {
    const ir::Graph graph = resnet_block(kChannels, kSize);
    const auto plan = plan_of(graph, machine_of("x=" + std::to_string(p)), options);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(placement_of(*plan, "w1"), "x:R");
    EXPECT_EQ(placement_of(*plan, "w2"), "x:R");
    // The output is gathered: (p-1)/p of it. An inner device sends a row to either side.
    const std::int64_t row = kChannels * kSize * 4;
    const std::string gathered = std::to_string((p - 1) * row * kSize / p);
    EXPECT_EQ(communication(*plan), "halo_exchange x 1x " + std::to_string((p > 2 ? 2 : 1) * row) +
                                        "\nall_gather x 1x " + gathered + "\n");
    EXPECT_LT(plan->time_s, plan->baselines.at("single"));
    EXPECT_LT(plan->time_s, plan->baselines.at("tensor"));
  }
}

// Both ways of an image on two axes; the corners come with the second exchange.
TEST(Planner, CutsImagesInSpaceAlongTwoAxes) {
  ParallelPlanOptions options;
  options.sharded_inputs = true;
  const auto plan = plan_of(resnet_block(4, 64), machine_of("x=2,y=2"), options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_NE(communication(*plan).find("halo_exchange x 1x"), std::string::npos)
      << communication(*plan);
  EXPECT_NE(communication(*plan).find("halo_exchange y 1x"), std::string::npos)
      << communication(*plan);
}

// The weights of an MLP elsewhere: never better, and what is said adds up.
TEST(Planner, SaysWhatTheNextBestWouldTake) {
  ParallelPlanOptions options;
  options.explain = true;
  const auto plan = plan_of(mlp(8, 512, 2048), machine_of("x=4"), options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  std::string text;
  for (const RunnerUp& one : plan->runners_up) {
    text += one.name + " " + one.placement + " not " + one.other + "\n";
    if (one.other.empty()) continue;
    EXPECT_GE(one.time_s, plan->time_s) << one.name;
    EXPECT_NEAR(one.time_s, plan->time_s + one.computing_s + one.sending_s, 1e-12) << one.name;
  }
  EXPECT_EQ(text,
            "w1 x:S(1) not x:R\n"
            "w2 x:S(0) not x:S(1)\n"
            "x x:R not \n"
            "b1 x:S(0) not x:R\n");
}

// A halo that a convolution does not have, and one that is left out.
TEST(WrongPlans, WithoutTheirHalo) {
  ParallelPlanOptions options;
  options.sharded_inputs = true;
  const ParallelPlan plan = plan_of(resnet_block(8, 64), machine_of("x=2"), options).value();
  const auto error_with = [&](const AxisPlacement& along) {
    PlacedGraph graph = plan.program;
    for (PlacedNode& node : graph.nodes) {
      if (node.kind != PlacedNode::Kind::kCollective || !node.collective.to.has_halo()) continue;
      node.collective.to = along;
      node.placement = node.placement.with(0, along);
      node.type = local_type(node.whole, node.placement, graph.mesh).value();
    }
    return check(graph).message();
  };
  EXPECT_EQ(error_with(AxisPlacement::split(2, {1, 1})), "");
  EXPECT_NE(error_with(AxisPlacement::split(2, {1, 0})).find("conv has no law"), std::string::npos);
  EXPECT_NE(error_with(AxisPlacement::split(2, {1, 1, Halo::Beyond::kMinusInfinity}))
                .find("conv has no law"),
            std::string::npos);
  EXPECT_NE(error_with(AxisPlacement::split(2)).find("no collective changes"), std::string::npos);
}

}  // namespace
}  // namespace egret::parallel
