// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "egraph/formats/egraph_snapshot.h"
#include "egraph/formats/snapshot_items.h"
#include "egraph/proofs/explainer.h"
#include "egraph/workloads/workload.h"
#include "tests/egraph/explanation_workload.h"
#include "tests/egraph/random_machine.h"
#include "tests/egraph/state_text.h"

namespace egret::egraph {
namespace {

using ::testing::HasSubstr;

class SnapshotTest : public ::testing::Test {
 protected:
  SnapshotTest()
      : path_(::testing::TempDir() + "egret_snapshot_" + std::to_string(::getpid()) + "_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {}
  ~SnapshotTest() override { std::filesystem::remove(path_); }

  void save(const EGraph& egraph) const {
    SnapshotWriter writer;
    egraph::save(egraph, writer);
    const base::Status status = writer.write(path_);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  base::Result<std::unique_ptr<EGraph>> load(OpTable& ops, Analysis* analysis = nullptr) const {
    EGRET_ASSIGN_OR_RETURN(const SnapshotFile file, SnapshotFile::open(path_));
    return egraph::load(file, ops, analysis);
  }
  std::string read() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(std::string_view bytes) const {
    std::ofstream file(path_, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  const std::string path_;
};

void walk(RandomMachine& machine, std::uint64_t seed, int steps) {
  base::Random random(seed);
  for (int i = 0; i < steps; ++i) machine.step(random);
  ASSERT_TRUE(machine.egraph().rebuild().ok());
}

TEST_F(SnapshotTest, WhatIsLoadedGoesOnTheSameWay) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomMachine machine(seed % 2 == 0), other(seed % 2 == 0);
    walk(machine, seed, 80);
    save(machine.egraph());
    auto loaded = load(other.ops(), other.analysis());
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    other.set_egraph(*std::move(loaded));
    other.handles() = machine.handles();
    ASSERT_EQ(state_text(other.egraph()), state_text(machine.egraph()));
    const base::Status status = other.egraph().check_invariants();
    ASSERT_TRUE(status.ok()) << status.message();
    walk(machine, seed + 1, 80);
    walk(other, seed + 1, 80);
    ASSERT_EQ(state_text(other.egraph()), state_text(machine.egraph()));
  }
}

TEST_F(SnapshotTest, SectionsOfOthersStandBeside) {
  const std::vector<std::uint32_t> numbers = {1, 2, 3};
  SnapshotWriter writer;
  writer.add_copy("client.numbers", std::as_bytes(std::span(numbers)));
  writer.add_copy("empty", {});
  ASSERT_TRUE(writer.write(path_).ok());
  const auto file = SnapshotFile::open(path_);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_THAT(*file->values<std::uint32_t>("client.numbers"), ::testing::ElementsAre(1, 2, 3));
  EXPECT_TRUE(file->values<std::uint64_t>("empty")->empty());
  EXPECT_THAT(file->values<std::uint64_t>("client.numbers").status().message(),
              HasSubstr("section 'client.numbers': its size"));
  EXPECT_THAT(file->bytes("other").status().message(), HasSubstr("has no section 'other'"));
  EXPECT_FALSE(file->has("other"));
}

TEST_F(SnapshotTest, MissingAndForeignFilesAreRefused) {
  EXPECT_EQ(SnapshotFile::open(path_).status().code(), base::StatusCode::kUnavailable);
  EXPECT_EQ(SnapshotFile::open(::testing::TempDir()).status().code(), base::StatusCode::kBadInput);
  write("PK");
  EXPECT_THAT(SnapshotFile::open(path_).status().message(), HasSubstr("is not a snapshot"));
  write(std::string(1000, 'x'));
  EXPECT_THAT(SnapshotFile::open(path_).status().message(), HasSubstr("is not a snapshot"));
}

TEST_F(SnapshotTest, EveryDamagedByteIsNoticed) {
  RandomMachine machine(false);
  walk(machine, 1, 40);
  save(machine.egraph());
  const std::string good = read();
  base::Random random(7);
  for (std::size_t at = 0; at < good.size(); at += 1 + random.below(3)) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << random.below(8)));
    write(bad);
    ASSERT_FALSE(SnapshotFile::open(path_).ok()) << "byte " << at;
  }
  for (std::size_t size = 0; size < good.size(); size += 1 + random.below(40)) {
    write(good.substr(0, size));
    ASSERT_FALSE(SnapshotFile::open(path_).ok()) << "first " << size << " bytes";
  }
}

using Sections = std::map<std::string, std::vector<std::byte>>;

template <std::size_t kCount>
Sections read_sections(const std::string& path, const std::array<const char*, kCount>& names) {
  Sections sections;
  const auto file = SnapshotFile::open(path);
  EXPECT_TRUE(file.ok());
  for (const char* name : names) {
    const auto bytes = *file->bytes(name);
    sections[name].assign(bytes.begin(), bytes.end());
  }
  return sections;
}

// One of the sections, cut, made longer or with another byte or word.
void forge(std::vector<std::byte>& victim, base::Random& random) {
  const std::uint64_t kind = random.below(8);
  if (kind == 0 && !victim.empty()) {
    victim.resize(random.below(victim.size()));
  } else if (kind == 1) {
    victim.resize(victim.size() + 1 + random.below(16));
  } else if (!victim.empty()) {
    const std::size_t at = random.below(victim.size());
    victim[at] = static_cast<std::byte>(random.chance(0.5) ? random.below(256) : random.below(4));
  }
}

base::Status write_sections(const Sections& sections, const std::string& path) {
  SnapshotWriter writer;
  for (const auto& [name, bytes] : sections) writer.add_view(name, bytes);
  return writer.write(path);
}

// Behind right hashes: sections whose bytes were changed before the file was written.
TEST_F(SnapshotTest, ForgedSectionsAreRefusedOrAreAnEGraph) {
  constexpr std::array kSections = {
      "egraph.meta",   "egraph.names",   "egraph.ops",  "egraph.nodes", "egraph.classes",
      "egraph.epochs", "egraph.parents", "egraph.data", "egraph.marks", "egraph.moved"};
  RandomMachine machine(false);
  walk(machine, 3, 60);
  save(machine.egraph());
  const Sections good = read_sections(path_, kSections);
  base::Random random(11);
  std::size_t refused = 0;
  constexpr std::size_t kTries = 2000;
  for (std::size_t i = 0; i < kTries; ++i) {
    auto sections = good;
    forge(sections[kSections[random.below(kSections.size())]], random);
    ASSERT_TRUE(write_sections(sections, path_).ok());
    OpTable ops;
    const auto loaded = load(ops);
    if (!loaded.ok()) {
      EXPECT_THAT(loaded.status().message(), HasSubstr("section '"));
      ++refused;
      continue;
    }
    const base::Status status = (*loaded)->check_invariants();
    ASSERT_TRUE(status.ok()) << status.message();
    // It must survive further work as well.
    EGraph& egraph = **loaded;
    const std::size_t ids = egraph.id_count();
    for (int step = 0; step < 10 && ids > 0; ++step) {
      ASSERT_TRUE(egraph.merge(ClassId(random.below(ids)), ClassId(random.below(ids))).ok());
    }
    ASSERT_TRUE(egraph.rebuild().ok());
    const base::Status after = egraph.check_invariants();
    ASSERT_TRUE(after.ok()) << after.message();
  }
  EXPECT_GT(refused, kTries / 4);
  EXPECT_LT(refused, kTries);
}

// A theory with what its e-graph needs, and an e-graph of it that may be put there.
struct Instance {
  explicit Instance(const Theory& theory)
      : syntax(ops),
        analysis(theory.make_analysis(ops, syntax)),
        rules(*syntax.rules(theory.rules)),
        egraph(std::make_unique<EGraph>(ops, analysis.get())) {}

  void add(const workloads::Workload& workload) {
    ClassId last;
    for (const std::string_view term : workload.terms) last = *syntax.add_term(*egraph, term);
    if (!workload.is_true) return;
    ASSERT_TRUE(egraph->merge(last, *egraph->add(ops.op("true", 0))).ok());
  }
  void run(std::uint64_t iterations) {
    Runner runner(*egraph, rules);
    runner.limits().iterations = iterations;
    runner.limits().nodes = 4000;
    runner.run();
  }

  OpTable ops;
  Syntax syntax;
  std::unique_ptr<Analysis> analysis;
  std::vector<Rewrite> rules;
  std::unique_ptr<EGraph> egraph;
};

// With proofs also in what it explains.
class WorkloadSnapshot : public SnapshotTest {
 protected:
  void goes_on_the_same_way(std::string_view name, bool proofs) const;
};

void WorkloadSnapshot::goes_on_the_same_way(std::string_view name, bool proofs) const {
  SCOPED_TRACE(name);
  const workloads::Workload workload = *workloads::find_workload(name);
  Instance first(workload.theory), second(workload.theory);
  if (proofs) first.egraph->enable_proofs();
  first.add(workload);
  first.run(4);
  save(*first.egraph);
  auto loaded = load(second.ops, second.analysis.get());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  second.egraph = *std::move(loaded);
  const base::Status status = second.egraph->check_invariants();
  ASSERT_TRUE(status.ok()) << status.message();
  for (const std::uint64_t more : {0U, 3U}) {
    first.run(more);
    second.run(more);
    ASSERT_TRUE(state_text(*first.egraph) == state_text(*second.egraph));
    if (!proofs) continue;
    const EqualPairs pairs(*first.egraph);
    base::Random random(9);
    Explainer one(*first.egraph), other(*second.egraph);
    for (int i = 0; i < 200; ++i) {
      const auto [a, b] = pairs.draw(random);
      const auto why = one.explain(a, b), again = other.explain(a, b);
      ASSERT_TRUE(why.ok()) << why.status().message();
      ASSERT_EQ(why->flat_text(), again->flat_text());
    }
  }
}

TEST_F(WorkloadSnapshot, GoesOnTheSameWay) {
  for (const std::string_view name :
       {"mm-10", "math-backoff-8", "lambda-backoff-8", "prop-chain"}) {
    goes_on_the_same_way(name, false);
    goes_on_the_same_way(name, true);
  }
}

// What stands for explanations and analyses. Whoever loads it must get along with it, whatever it
// says: add, explain, run.
TEST_F(SnapshotTest, ForgedProofsAndTablesAreRefusedOrDoNoHarm) {
  constexpr std::array kSections = {
      "egraph.meta",    "egraph.names",   "egraph.ops",    "egraph.nodes", "egraph.classes",
      "egraph.epochs",  "egraph.parents", "egraph.data",   "egraph.marks", "egraph.moved",
      "folding.values", "proofs.names",   "proofs.merges", "proofs.terms", "proofs.exact"};
  const workloads::Workload workload = *workloads::find_workload("math-backoff-8");
  Instance first(workload.theory);
  first.egraph->enable_proofs();
  ASSERT_TRUE(first.syntax.add_term(*first.egraph, "(* (+ x (+ 1 2)) (pow x (+ 1 1)))").ok());
  ASSERT_TRUE(first.syntax.add_term(*first.egraph, "(i (* x (cos x)) x)").ok());
  first.run(4);
  save(*first.egraph);
  const Sections good = read_sections(path_, kSections);
  base::Random random(13);
  std::size_t refused = 0, explained = 0;
  constexpr std::size_t kTries = 800;
  for (std::size_t i = 0; i < kTries; ++i) {
    auto sections = good;
    const std::size_t first_of_these = 10;
    forge(sections[kSections[first_of_these + random.below(kSections.size() - first_of_these)]],
          random);
    ASSERT_TRUE(write_sections(sections, path_).ok());
    Instance other(workload.theory);
    auto loaded = load(other.ops, other.analysis.get());
    if (!loaded.ok()) {
      EXPECT_THAT(loaded.status().message(), HasSubstr("section '"));
      ++refused;
      continue;
    }
    other.egraph = *std::move(loaded);
    const EqualPairs pairs(*other.egraph);
    Explainer explainer(*other.egraph);
    for (int n = 0; n < 20; ++n) {
      const auto [a, b] = pairs.draw(random);
      if (explainer.explain(a, b, {.shorten = n % 2 == 0}).ok()) ++explained;
    }
    other.run(1);
  }
  EXPECT_GT(refused, kTries / 4);
  EXPECT_LT(refused, kTries);
  EXPECT_GT(explained, 500U);
}

TEST_F(SnapshotTest, ItemsAreReadAsTheyWereWritten) {
  ItemWriter items;
  items.number(7);
  items.text("seven");
  items.number(2);
  SnapshotWriter writer;
  writer.add_copy("items", items.bytes());
  ASSERT_TRUE(writer.write(path_).ok());
  const auto file = SnapshotFile::open(path_);
  ASSERT_TRUE(file.ok());
  ItemReader good(*file, "items");
  EXPECT_EQ(good.number(8), 7U);
  EXPECT_EQ(good.text(), "seven");
  EXPECT_FALSE(ItemReader(good).finish().ok()) << "there is a number left";
  EXPECT_EQ(good.number(), 2U);
  EXPECT_TRUE(good.finish().ok());
  ItemReader bad(*file, "items");
  EXPECT_EQ(bad.number(7), 0U);
  EXPECT_EQ(bad.text(), "");
  EXPECT_THAT(bad.finish().message(), HasSubstr("section 'items': a number is 7"));
  ItemReader missing(*file, "others");
  EXPECT_EQ(missing.count(), 0U);
  EXPECT_THAT(missing.finish().message(), HasSubstr("has no section 'others'"));
}

TEST_F(SnapshotTest, OperatorsMustComeOutTheSame) {
  RandomMachine machine(false);
  walk(machine, 5, 20);
  save(machine.egraph());
  OpTable ops;
  ops.op("z", 0);
  EXPECT_THAT(load(ops).status().message(), HasSubstr("has another number here"));
  RandomMachine more(false);
  more.ops().op("z", 0);
  EXPECT_THAT(load(more.ops()).status().message(), HasSubstr("that the file does not know"));
  SmallestSize analysis;
  OpTable fresh;
  EXPECT_THAT(load(fresh, &analysis).status().message(), HasSubstr("has no analysis"));
}

}  // namespace
}  // namespace egret::egraph
