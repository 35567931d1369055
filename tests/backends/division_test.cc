// SPDX-License-Identifier: Apache-2.0
// Plans whose division into kernels the caller gives.
#include "backends/division.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"
#include "tests/backends/small_network.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Value;

// f = sigmoid(x), read by two others.
struct Fork {
  ir::Graph graph;
  ir::NodeId shared, left, right;
};

Fork fork() {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {64, 100}});
  const Value shared = b.add("sigmoid", {x});
  const Value left = b.add("tanh", {shared});
  const Value right = b.add("mul", {shared, x});
  b.output("left", left);
  b.output("right", right);
  return {*b.finish(), shared.id, left.id, right.id};
}

std::size_t kernels_of_part(const PlanReport& report, int part) {
  return static_cast<std::size_t>(
      std::ranges::count(report.kernels, part, &PlanReport::Kernel::part));
}

TEST(Division, IsOfOperatorsAndCheap) {
  const ir::Graph graph = small_network();
  for (const char* name : {"cpu", "reference", "codegen"}) {
    const auto division = find_backend(name)->divide(graph, {});
    ASSERT_TRUE(division.ok()) << division.status().message();
    std::vector<int> times(graph.size(), 0);
    for (const auto& kernel : *division) {
      ASSERT_FALSE(kernel.empty());
      EXPECT_TRUE(std::ranges::is_sorted(kernel));
      for (const ir::NodeId id : kernel) ++times[id.index()];
    }
    for (std::size_t i = 0; i < graph.size(); ++i)
      EXPECT_EQ(times[i] > 0, graph.node(ir::NodeId(i)).kind == ir::NodeKind::kOperator) << name;
  }
}

TEST(Division, ThatABackendMakesGivesItsPlan) {
  const ir::Graph graph = small_network();
  const Backend& cpu = *find_backend("cpu");
  const auto own = cpu.compile(graph, {});
  ASSERT_TRUE(own.ok());
  CompileOptions options;
  options.division = *cpu.divide(graph, {});
  const auto given = cpu.compile(graph, options);
  ASSERT_TRUE(given.ok()) << given.status().message();
  const PlanReport a = (*own)->report(), b = (*given)->report();
  ASSERT_EQ(a.kernels.size(), b.kernels.size());
  for (std::size_t i = 0; i < a.kernels.size(); ++i) {
    EXPECT_EQ(a.kernels[i].ids, b.kernels[i].ids);
    EXPECT_EQ(a.kernels[i].implementation, b.kernels[i].implementation);
  }
  EXPECT_LT(relative_error(graph, options, cpu), 1e-5);
}

// A normalization becomes several operators, some of which depend on weights alone.
TEST(Division, LeavesOutWhatIsComputedOnce) {
  GraphBuilder b;
  base::Random random(3);
  const auto weights = [&](ir::Shape shape, double low) {
    ir::Tensor data(ir::TensorType(DType::kF32, shape));
    for (float& value : data.mutable_as<float>())
      value = static_cast<float>(random.uniform(low, low + 1));
    return b.constant(data);
  };
  const Value x = b.input("x", {DType::kF32, {1, 16, 8, 8}});
  const Value conv = b.add("conv", {x, weights({16, 16, 1, 1}, 0)},
                           {{"strides", ir::Integers{1, 1}},
                            {"dilations", ir::Integers{1, 1}},
                            {"pads", ir::Integers{0, 0, 0, 0}}});
  const Value norm = b.add("batch_norm", {conv, weights({16}, 0.5), weights({16}, 0),
                                          weights({16}, 0), weights({16}, 0.5)});
  b.output("y", b.add("relu", {norm}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Backend& cpu = *find_backend("cpu");
  CompileOptions options;
  options.division = *cpu.divide(*graph, {});
  EXPECT_EQ(options.division.size(), 1U);
  EXPECT_LT(relative_error(*graph, options, cpu), 1e-5);
}

// Normalizations without a kernel of their own: operators before and behind are in kernels with
// parts of them.
ir::Graph normalizations() {
  GraphBuilder b;
  base::Random random(5);
  const auto weights = [&](ir::Shape shape) {
    return b.constant(ir::Tensor::random({DType::kF32, shape}, random));
  };
  const ir::Attrs same{{"strides", ir::Integers{1, 1}},
                       {"dilations", ir::Integers{1, 1}},
                       {"pads", ir::Integers{1, 1, 1, 1}}};
  const Value x = b.input("x", {DType::kF32, {1, 16, 14, 14}});
  const Value conv = b.add("conv", {x, weights({16, 16, 3, 3})}, same);
  const Value instance = b.add("instance_norm", {conv, weights({16}), weights({16})});
  const Value middle = b.add("relu", {instance});
  const Value moments = b.add("mean_variance_norm", {middle}, {{"axes", ir::Integers{0, 2, 3}}});
  const Value sum = b.add("tanh", {b.add("add", {moments, middle})});
  const Value flat = b.add("reshape", {sum}, {{"shape", ir::Integers{16, 196}}});
  const Value product = b.add("matmul", {flat, weights({196, 32})});
  const Value norm = b.add("lp_norm", {b.add("sigmoid", {product})}, {{"axis", std::int64_t{1}}});
  b.output("y", b.add("mul", {norm, product}));
  b.output("z", b.add("add", {flat, b.add("lp_norm", {flat}, {{"axis", std::int64_t{0}}})}));
  return *b.finish();
}

// Kernels by the nodes that they compute and how.
std::vector<std::pair<std::vector<ir::NodeId>, std::string>> kernels_of(const PlanReport& report) {
  std::vector<std::pair<std::vector<ir::NodeId>, std::string>> kernels;
  for (const PlanReport::Kernel& kernel : report.kernels)
    kernels.emplace_back(kernel.ids, kernel.implementation);
  std::ranges::sort(kernels);
  return kernels;
}

TEST(Division, OfANodeThatIsSeveralKernelsIsThatOfTheBackend) {
  const ir::Graph graph = normalizations();
  for (const char* name : {"cpu", "codegen"}) {
    const Backend& backend = *find_backend(name);
    const auto own = backend.compile(graph, {});
    ASSERT_TRUE(own.ok()) << own.status().message();
    CompileOptions options;
    options.division = *backend.divide(graph, {});
    std::set<ir::NodeId> seen;
    for (const auto& part : options.division) {
      for (const ir::NodeId id : part) EXPECT_TRUE(seen.insert(id).second) << name;
    }
    const auto given = backend.compile(graph, options);
    ASSERT_TRUE(given.ok()) << name << ": " << given.status().message();
    const PlanReport report = (*given)->report();
    EXPECT_EQ(kernels_of(report), kernels_of((*own)->report())) << name;
    EXPECT_GE(report.kernels.size(), options.division.size());
    EXPECT_LT(relative_error(graph, {}, backend), 1e-5) << name;
    for (const PlanReport::Kernel& kernel : report.kernels)
      EXPECT_TRUE(kernel.ids.empty() || kernel.part >= 0) << name;
    EXPECT_LT(relative_error(graph, options, backend), 1e-5) << name;
  }
}

// A kernel that is chosen may hold all of a node that the backend computes by several.
TEST(Division, MayTakeANodeThatIsSeveralKernelsWithOthers) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {32, 40}});
  const Value first = b.add("tanh", {x});
  const Value norm = b.add("lp_norm", {first}, {{"axis", std::int64_t{1}}});
  const Value last = b.add("sigmoid", {norm});
  b.output("y", last);
  b.output("z", b.add("exp", {norm}));
  const ir::Graph graph = *b.finish();
  const ir::NodeId exp(graph.size() - 1);
  for (const Division& division :
       {Division{{first.id}, {norm.id}, {last.id}, {exp}},
        Division{{first.id, norm.id}, {last.id}, {exp}},
        Division{{first.id}, {norm.id, last.id}, {norm.id, exp}},
        Division{{first.id, norm.id, last.id}, {first.id, norm.id, exp}}}) {
    CompileOptions options;
    options.division = division;
    PlanReport report;
    EXPECT_LT(relative_error(graph, options, *find_backend("cpu"), &report), 1e-5);
    for (int part = 0; part < static_cast<int>(division.size()); ++part)
      EXPECT_GT(kernels_of_part(report, part), 0U);
  }
}

TEST(Division, WithTwoKernelsForOneValueIsRefusedByName) {
  Fork f = fork();
  const Division twice{{f.shared}, {f.shared, f.left}, {f.left}, {f.right}};
  for (const char* name : {"cpu", "codegen"}) {
    CompileOptions options;
    options.division = twice;
    const auto plan = find_backend(name)->compile(f.graph, options);
    ASSERT_FALSE(plan.ok()) << name;
    EXPECT_EQ(plan.status().code(), base::StatusCode::kBadInput);
    EXPECT_NE(plan.status().message().find("tanh"), std::string::npos);
  }
  // A file may say so, too.
  store_division(f.graph, {{f.shared, f.left}, {f.shared, f.left}, {f.right}}, "cpu");
  EXPECT_LT(relative_error(f.graph, {}, *find_backend("cpu")), 1e-5);
}

TEST(Division, OfSingleOperatorsIsKept) {
  const ir::Graph graph = small_network();
  CompileOptions options;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.node(ir::NodeId(i)).kind == ir::NodeKind::kOperator)
      options.division.push_back({ir::NodeId(i)});
  }
  PlanReport report;
  EXPECT_LT(relative_error(graph, options, *find_backend("cpu"), &report), 1e-5);
  for (const PlanReport::Kernel& kernel : report.kernels) {
    EXPECT_LE(kernel.ids.size(), 1U);
    EXPECT_TRUE(kernel.ids.empty() || kernel.part >= 0);
  }
}

TEST(Division, MayComputeAValueInSeveralKernels) {
  const Fork f = fork();
  CompileOptions options;
  options.division = {{f.shared, f.left}, {f.shared, f.right}};
  PlanReport report;
  EXPECT_LT(relative_error(f.graph, options, *find_backend("cpu"), &report), 1e-5);
  EXPECT_EQ(report.kernels.size(), 2U);
  EXPECT_EQ(kernels_of_part(report, 0), 1U);
  EXPECT_EQ(kernels_of_part(report, 1), 1U);
}

TEST(Division, OfEmittedKernelsIsKept) {
  const Fork f = fork();
  const Backend& codegen = *find_backend("codegen");
  CompileOptions options;
  options.division = {{f.shared}, {f.left}, {f.right}};
  PlanReport report;
  EXPECT_LT(relative_error(f.graph, options, codegen, &report), 1e-5);
  ASSERT_EQ(report.kernels.size(), 3U);
  for (int part = 0; part < 3; ++part) EXPECT_EQ(kernels_of_part(report, part), 1U);
  options.division = {{f.shared, f.left}, {f.shared, f.right}};
  EXPECT_EQ(codegen.compile(f.graph, options).status().code(), base::StatusCode::kUnsupported);
}

// A kernel with several results is one of pointwise operators.
TEST(Division, ThatStoresTooLittleIsRefusedByName) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {64, 100}});
  const Value shared = b.add("softmax", {x}, {{"axis", std::int64_t{1}}});
  const Value left = b.add("tanh", {shared});
  const Value right = b.add("mul", {shared, x});
  b.output("left", left);
  b.output("right", right);
  const ir::Graph graph = *b.finish();
  CompileOptions options;
  options.division = {{shared.id, left.id}, {right.id}};  // nobody stores it for the product
  const Fork f = fork();
  CompileOptions of_fork;
  of_fork.division = {{f.shared, f.left}, {f.right}};
  const auto plan = find_backend("cpu")->compile(graph, options);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), base::StatusCode::kBadInput);
  EXPECT_NE(plan.status().message().find("softmax"), std::string::npos);
  const auto emitted = find_backend("codegen")->compile(f.graph, of_fork);
  ASSERT_FALSE(emitted.ok());
  EXPECT_EQ(emitted.status().code(), base::StatusCode::kBadInput);
  EXPECT_NE(emitted.status().message().find("sigmoid"), std::string::npos);
}

TEST(Division, MayStoreSeveralValuesOfAKernel) {
  const Fork f = fork();
  const Backend& cpu = *find_backend("cpu");
  CompileOptions options;
  PlanReport report;
  options.division = {{f.shared, f.left}, {f.right}};  // the sigmoid, inside the first
  EXPECT_LT(relative_error(f.graph, options, cpu, &report), 1e-5);
  EXPECT_EQ(report.kernels.size(), 2U);
  options.division = {{f.shared, f.left, f.right}};  // siblings, and what they share
  EXPECT_LT(relative_error(f.graph, options, cpu, &report), 1e-5);
  EXPECT_EQ(report.kernels.size(), 1U);
  options.division = {{f.shared}, {f.left, f.right}};
  EXPECT_LT(relative_error(f.graph, options, cpu, &report), 1e-5);
  EXPECT_EQ(report.kernels.size(), 2U);
}

TEST(Division, WithSeveralValuesOfAKernelIsKeptWithItsGraph) {
  Fork f = fork();
  f.graph.rename(f.shared, "shared");
  store_division(f.graph, {{f.shared}, {f.left, f.right}}, "cpu");
  PlanReport report;
  EXPECT_LT(relative_error(f.graph, {}, *find_backend("cpu"), &report), 1e-5);
  EXPECT_EQ(report.kernels.size(), 2U);
  // A backend without such kernels divides by itself.
  EXPECT_LT(relative_error(f.graph, {}, *find_backend("codegen")), 1e-5);
}

// The reader of a kernel's first value has a lower number than its last value.
TEST(Division, WithSeveralValuesIsRunInOrder) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {40, 30}});
  const Value first = b.add("exp", {x});
  const Value reader = b.add("tanh", {first});
  const Value last = b.add("relu", {x});
  const Value sum = b.add("add", {reader, last});
  b.output("y", sum);
  const ir::Graph graph = *b.finish();
  CompileOptions options;
  PlanReport report;
  options.division = {{first.id, last.id}, {reader.id}, {sum.id}};
  EXPECT_LT(relative_error(graph, options, *find_backend("cpu"), &report), 1e-5);
  ASSERT_EQ(report.kernels.size(), 3U);
  EXPECT_EQ(report.kernels[0].ids, options.division[0]);
  // Each of the two kernels reads a value of the other.
  options.division = {{first.id, sum.id}, {reader.id}, {last.id}};
  const auto cyclic = find_backend("cpu")->compile(graph, options);
  EXPECT_EQ(cyclic.status().code(), base::StatusCode::kBadInput);
}

// Values that several kernels compute, or that a kernel stores besides its last one, while the
// order of kernels is chosen for little memory.
TEST(Division, MayComputeAValueInSeveralKernelsWithinALimit) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {64, 100}});
  const Value v = b.add("exp", {x});
  const Value a = b.add("tanh", {v});
  const Value c = b.add("sigmoid", {v});
  const Value last = b.add("add", {c, v});
  b.output("a", a);
  b.output("b", last);
  const ir::Graph graph = *b.finish();
  for (const Division& division : {Division{{v.id, a.id}, {v.id, last.id}, {c.id}},
                                   Division{{v.id}, {v.id, last.id}, {c.id}, {a.id}},
                                   Division{{v.id, c.id}, {v.id, a.id}, {last.id}}}) {
    ir::Graph kept = graph;
    kept.rename(v.id, "v");
    kept.rename(c.id, "c");
    store_division(kept, division, "cpu");
    for (const std::int64_t limit : {std::int64_t{1} << 10, std::int64_t{1} << 20}) {
      CompileOptions options;
      options.limit_arena = limit;
      EXPECT_LT(relative_error(kept, options, *find_backend("cpu")), 1e-5);
      options.division = division;
      EXPECT_LT(relative_error(graph, options, *find_backend("cpu")), 1e-5);
    }
  }
}

// Random pointwise programs in random divisions: values inside and siblings are stored, over inputs
// whose last readers they are, in row-major, blocked and strided layouts.
TEST(Division, OfRandomPointwiseProgramsIsKept) {
  base::Random random(9);
  int joint = 0;
  for (int trial = 0; trial < 150; ++trial) {
    GraphBuilder b;
    const bool image = trial % 3 == 0;
    const ir::Shape shape = image ? ir::Shape{1, 20, 5, 6} : ir::Shape{7, 1 + trial * 9};
    const Value x = b.input("x", {DType::kF32, shape});
    std::vector<Value> values{x, b.input("y", {DType::kF32, shape})};
    if (image) {  // channels in blocks, or innermost
      values.push_back(
          b.add("conv", {x, b.constant(ir::Tensor::random({DType::kF32, {20, 20, 1, 1}}, random))},
                {{"strides", ir::Integers{1, 1}},
                 {"dilations", ir::Integers{1, 1}},
                 {"pads", ir::Integers{0, 0, 0, 0}}}));
    } else {
      values.push_back(b.input("row", {DType::kF32, {1, shape[1]}}));
    }
    std::vector<Value> whole{x, values[1]};  // of the shape of x
    std::vector<ir::NodeId> nodes;
    for (int k = 0; k < 6; ++k) {
      const Value any = values[random.below(values.size())];
      const Value one = whole[random.below(whole.size())];
      Value made;
      switch (random.below(4)) {
        case 0: made = b.add("add", {one, any}); break;
        case 1: made = b.add("tanh", {one}); break;
        case 2: made = b.add("mul", {any, one}); break;
        default: made = b.add("relu", {one});
      }
      values.push_back(made);
      whole.push_back(made);
      nodes.push_back(made.id);
      if (k == 5 || random.chance(0.4)) b.output("o" + std::to_string(k), made);
    }
    const auto graph = b.finish();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    // Two kernels: a prefix and the rest.
    const auto cut = nodes.begin() + static_cast<std::ptrdiff_t>(random.below(nodes.size() - 1));
    CompileOptions options;
    options.division = {{nodes.begin(), cut + 1}, {cut + 1, nodes.end()}};
    options.guarded_memory = trial % 2 == 0;
    options.threads = 1 + trial % 2;
    PlanReport report;
    EXPECT_LT(relative_error(*graph, options, *find_backend("cpu"), &report), 1e-5) << trial;
    joint += std::ranges::count(report.kernels, "pointwise", &PlanReport::Kernel::name) == 2;
  }
  EXPECT_GT(joint, 100);
}

// What no kernel of the backend computes as one is split; the parts are still told apart.
TEST(Division, ThatNoKernelComputesIsSplit) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {32, 40}});
  const Value soft = b.add("softmax", {x}, {{"axis", std::int64_t{1}}});
  const Value sum = b.add("add", {soft, x});
  const Value top = b.add("softmax", {sum}, {{"axis", std::int64_t{0}}});
  b.output("y", top);
  const ir::Graph graph = *b.finish();
  CompileOptions options;
  options.division = {{soft.id, sum.id, top.id}};
  PlanReport report;
  EXPECT_LT(relative_error(graph, options, *find_backend("cpu"), &report), 1e-5);
  EXPECT_GT(kernels_of_part(report, 0), 1U);
}

TEST(Division, IsKeptWithItsGraph) {
  Fork f = fork();
  const Division division{{f.shared, f.left}, {f.shared, f.right}};
  store_division(f.graph, division, "cpu");
  EXPECT_EQ(stored_division(f.graph, "cpu"), division);
  PlanReport report;
  EXPECT_LT(relative_error(f.graph, {}, *find_backend("cpu"), &report), 1e-5);
  EXPECT_EQ(report.kernels.size(), 2U);
  EXPECT_TRUE(stored_division(f.graph, "cuda").empty());
  // Not where kernels are to be single operators.
  CompileOptions apart;
  apart.fuse = false;
  EXPECT_LT(relative_error(f.graph, apart, *find_backend("cpu"), &report), 1e-5);
  EXPECT_EQ(report.kernels.size(), 3U);
}

TEST(Division, OfSingleOperatorsIsKeptWithItsGraph) {
  Fork f = fork();
  const Division division{{f.shared}, {f.left}, {f.right}};
  store_division(f.graph, division, "cpu");
  EXPECT_EQ(stored_division(f.graph, "cpu"), division);
}

// A product and its addition are one node in a file; what is read has a product without a name.
TEST(Division, TakesUnnamedOperatorsIntoTheKernelThatReadsThem) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {4, 8}});
  const Value w = b.input("w", {DType::kF32, {8, 8}});
  const Value product = b.add("matmul", {x, w});
  const Value sum = b.add("add", {product, x});
  const Value other = b.add("exp", {b.add("relu", {sum})});
  b.output("y", other);
  ir::Graph graph = *b.finish();
  graph.rename(sum.id, "sum");
  graph.metadata[std::string(kKernelsKey)] = R"({"backend": "cpu", "kernels": [["sum", "gone"]]})";
  const Division stored = stored_division(graph, "cpu");
  EXPECT_EQ(stored.front(), (std::vector<ir::NodeId>{product.id, sum.id}));
  EXPECT_EQ(stored.size(), 3U);  // relu has no name either, but exp is in no list
}

TEST(Division, OfAnotherGraphOrProgramIsIgnored) {
  for (const char* text : {"", "nonsense", "[]", R"({"backend": "cpu", "kernels": 1})",
                           R"({"backend": "cpu", "kernels": [1]})",
                           R"({"backend": "cpu", "kernels": [["left", "right"]]})",
                           R"({"backend": "cpu", "kernels": [[["x"]]]})"}) {
    Fork f = fork();
    f.graph.metadata[std::string(kKernelsKey)] = text;
    EXPECT_LT(relative_error(f.graph, {}, *find_backend("cpu")), 1e-5) << text;
  }
}

}  // namespace
}  // namespace egret::backends
