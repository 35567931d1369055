// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/tensor_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/random.h"
#include "egraph/formats/dump.h"
#include "ir/graph/builder.h"
#include "ir/graph/graph_text.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/saturate.h"

namespace egret::rules {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Value;

// Two convolutions of one input with batch norms, concatenated, and a sum that folds.
ir::Graph program() {
  GraphBuilder b;
  base::Random random(3);
  const auto weight = [&](std::initializer_list<std::int64_t> shape, const char* name) {
    return b.constant(ir::Tensor::random({DType::kF32, shape}, random), name);
  };
  const Value x = b.input("x", {DType::kF32, {1, 3, 8, 8}});
  const ir::Attrs same{
      {"strides", Integers{1, 1}}, {"pads", Integers{1, 1, 1, 1}}, {"dilations", Integers{1, 1}}};
  std::vector<Value> branches;
  for (const char* name : {"left", "right"}) {
    const Value made = b.add("conv", {x, weight({4, 3, 3, 3}, name)}, same);
    b.set_name(made, std::string(name) + "-conv");
    branches.push_back(b.add("relu", {b.add("relu", {made})}));
  }
  const Value joined = b.add("concat", {branches[0], branches[1]}, {{"axis", std::int64_t{1}}});
  const Value two = b.add("add", {b.scalar(DType::kF32, 1), b.scalar(DType::kF32, 1)});
  b.output("y", b.add("mul", {joined, two}));
  b.output("z", branches[0]);
  auto graph = b.finish();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *std::move(graph);
}

void run(TensorEGraph& tensors, std::uint64_t iterations) {
  const auto set = select_rules("starter");
  ASSERT_TRUE(set.ok());
  const auto compiled = compile(*set, tensors);
  SaturateOptions options;
  options.limits.iterations = iterations;
  options.limits.nodes = 2000;
  saturate(tensors, compiled, options);
}

// All that can be seen of it.
std::string text(const TensorEGraph& tensors) {
  std::string out = egraph::dump(tensors.egraph());
  const auto add = [&out](std::uint64_t n) { out.append(" ").append(std::to_string(n)); };
  const egraph::EGraph& egraph = tensors.egraph();
  for (egraph::NodeId node(0); node != egraph.next_node(); node = egraph.node_after(node))
    add(tensors.creator(node));
  for (const auto& elimination : tensors.eliminations()) {
    add(elimination.id.index());
    add(elimination.rule);
  }
  for (const egraph::ClassId id : egraph.classes()) {
    out += "\n" + to_string(tensors.type(id)) + (tensors.is_constant(id) ? " constant" : "");
    if (const auto splat = tensors.facts(id).splat) out += " " + std::to_string(*splat);
  }
  const auto graph = tensors.to_graph(tensors.original());
  return out + "\n" + (graph.ok() ? ir::to_text(*graph) : graph.status().message());
}

class TensorSnapshotTest : public ::testing::Test {
 protected:
  ~TensorSnapshotTest() override { std::filesystem::remove(path_); }

  void save(const TensorEGraph& tensors) const {
    egraph::SnapshotWriter writer;
    rules::save(tensors, writer);
    ASSERT_TRUE(writer.write(path_).ok());
  }
  base::Result<std::unique_ptr<TensorEGraph>> load() const {
    EGRET_ASSIGN_OR_RETURN(const auto file, egraph::SnapshotFile::open(path_));
    return rules::load(file);
  }

  const std::string path_ =
      ::testing::TempDir() + "egret_tensor_snapshot_" + std::to_string(::getpid());
};

TEST_F(TensorSnapshotTest, GoesOnTheSameWay) {
  auto first = TensorEGraph::from_graph(program());
  ASSERT_TRUE(first.ok());
  run(**first, 3);
  save(**first);
  auto second = load();
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(text(**second), text(**first));
  for (TensorEGraph* tensors : {first->get(), second->get()}) run(*tensors, 4);
  EXPECT_EQ(text(**second), text(**first));
  EXPECT_GT((*first)->egraph().node_count(), 30U);
}

// Whatever a forged file says of tensors is refused, or can be worked with.
TEST_F(TensorSnapshotTest, ForgedTablesAreRefusedOrDoNoHarm) {
  auto first = TensorEGraph::from_graph(program());
  ASSERT_TRUE(first.ok());
  run(**first, 3);
  save(**first);
  const std::vector<std::string> tables = {"tensor.attrs", "tensor.leaves",  "tensor.types",
                                           "tensor.facts", "tensor.program", "tensor.origins",
                                           "egraph.ops",   "egraph.data"};
  std::vector<std::string> names = tables;
  for (const char* name :
       {"meta", "names", "nodes", "classes", "epochs", "parents", "marks", "moved"})
    names.push_back(std::string("egraph.") + name);
  std::map<std::string, std::vector<std::byte>> good;
  {
    const auto file = egraph::SnapshotFile::open(path_);
    ASSERT_TRUE(file.ok());
    for (int i = 0; file->has("tensor.data." + std::to_string(i)); ++i)
      names.push_back("tensor.data." + std::to_string(i));
    for (const std::string& name : names) {
      ASSERT_TRUE(file->has(name)) << name;
      const auto bytes = *file->bytes(name);
      good[name].assign(bytes.begin(), bytes.end());
    }
  }
  base::Random random(5);
  std::size_t refused = 0;
  constexpr std::size_t kTries = 400;
  for (std::size_t i = 0; i < kTries; ++i) {
    auto sections = good;
    auto& victim = sections[tables[random.below(tables.size())]];
    const std::size_t at = random.below(victim.size());
    victim[at] = static_cast<std::byte>(random.chance(0.5) ? random.below(256) : random.below(4));
    if (random.chance(0.1)) victim.resize(at);
    egraph::SnapshotWriter writer;
    for (const auto& [name, bytes] : sections) writer.add_view(name, bytes);
    ASSERT_TRUE(writer.write(path_).ok());
    const auto loaded = load();
    if (!loaded.ok()) {
      EXPECT_THAT(loaded.status().message(), ::testing::HasSubstr(": section '"));
      ++refused;
      continue;
    }
    text(**loaded);
    run(**loaded, 1);
  }
  EXPECT_GT(refused, kTries / 4);
  EXPECT_LT(refused, kTries);
}

}  // namespace
}  // namespace egret::rules
