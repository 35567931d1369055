// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "egraph/egraph_snapshot.h"
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
  EXPECT_THAT(SnapshotFile::open(path_).status().message(), HasSubstr("is no snapshot"));
  write(std::string(1000, 'x'));
  EXPECT_THAT(SnapshotFile::open(path_).status().message(), HasSubstr("is no snapshot"));
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

// Behind right hashes: sections whose bytes were changed before the file was written.
TEST_F(SnapshotTest, ForgedSectionsAreRefusedOrAreAnEGraph) {
  constexpr std::array kSections = {"egraph.meta",  "egraph.names",   "egraph.ops",
                                    "egraph.nodes", "egraph.classes", "egraph.epochs",
                                    "egraph.data",  "egraph.marks",   "egraph.moved"};
  RandomMachine machine(false);
  walk(machine, 3, 60);
  save(machine.egraph());
  std::map<std::string, std::vector<std::byte>> good;
  {
    const auto file = SnapshotFile::open(path_);
    ASSERT_TRUE(file.ok());
    for (const char* name : kSections) {
      const auto bytes = *file->bytes(name);
      good[name].assign(bytes.begin(), bytes.end());
    }
  }
  base::Random random(11);
  std::size_t refused = 0;
  constexpr std::size_t kTries = 3000;
  for (std::size_t i = 0; i < kTries; ++i) {
    auto sections = good;
    auto& victim = sections[kSections[random.below(kSections.size())]];
    const std::uint64_t kind = random.below(8);
    if (kind == 0 && !victim.empty()) {
      victim.resize(random.below(victim.size()));
    } else if (kind == 1) {
      victim.resize(victim.size() + 1 + random.below(16));
    } else if (!victim.empty()) {
      const std::size_t at = random.below(victim.size());
      victim[at] = static_cast<std::byte>(random.chance(0.5) ? random.below(256) : random.below(4));
    }
    SnapshotWriter writer;
    for (const auto& [name, bytes] : sections) writer.add_view(name, bytes);
    ASSERT_TRUE(writer.write(path_).ok());
    OpTable ops;
    const auto loaded = load(ops);
    if (!loaded.ok()) {
      EXPECT_THAT(loaded.status().message(), HasSubstr("section 'egraph."));
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
