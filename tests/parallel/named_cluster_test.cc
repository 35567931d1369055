// SPDX-License-Identifier: Apache-2.0
#include "parallel/machine/named_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/system/file.h"

namespace egret::parallel {
namespace {

using testing::HasSubstr;

TEST(NamedCluster, MachineFilesAreMachinesOfThePlanner) {
  const auto cluster = cluster_called("dgx-a100");
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  EXPECT_EQ(to_string(cluster->mesh), "gpus=8");
  EXPECT_NEAR(cluster->rates.flops_per_second, 156e12, 0.05 * 156e12);
  EXPECT_NEAR(cluster->links.front().bytes_per_second, 0.779 * 3e11, 1);
  EXPECT_EQ(cluster->memory_bytes, 85899345920);
}

TEST(NamedCluster, AxesHaveTheLinksOfTheTierOfTheirName) {
  const auto cluster = cluster_called("dgx-a100", "infiniband=4,x=8");
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  ASSERT_EQ(cluster->links.size(), 2U);
  EXPECT_LT(cluster->links[0].bytes_per_second, 2.5e10);
  EXPECT_GT(cluster->links[1].bytes_per_second, 2e11);
}

TEST(NamedCluster, PresetsOfTheShortFormAndUnknownNames) {
  EXPECT_EQ(cluster_called("local")->mesh.ranks(), 2);
  EXPECT_EQ(cluster_called("dgx-h100")->mesh.ranks(), 8);
  EXPECT_THAT(std::string(cluster_called("dgx-b20").status().message()), HasSubstr("dgx-b200"));
}

TEST(NamedCluster, FilesOfBothFormsAreRead) {
  const std::string folder = testing::TempDir();
  const std::string path = folder + "named_cluster_test.toml";
  const auto ranks = [&](const std::string& text) {
    EXPECT_TRUE(base::write_file(path, text).ok());
    const auto cluster = cluster_called(path);
    EXPECT_TRUE(cluster.ok()) << cluster.status().message();
    return cluster.ok() ? cluster->mesh.ranks() : 0;
  };
  EXPECT_EQ(ranks("name = \"a\"\n[[axis]]\nname = \"x\"\nsize = 3\n"), 3);
  for (const SystemPreset& preset : system_presets()) {
    if (preset.name == "gh200") {
      EXPECT_EQ(ranks(std::string(preset.toml)), 4);
    }
  }
  std::filesystem::remove(path);
}

TEST(NamedCluster, IsWrittenAndReadAgain) {
  Cluster cluster = cluster_called("local", "a=2,b=3").value();
  cluster.name = "with \"quotes\"";
  cluster.memory_bytes = 1e9;
  cluster.links[0] = {1.25e-5, 3.5e8, true};
  cluster.links[1] = {0, 1e10, false};
  const Cluster again = parse_cluster(to_toml(cluster), "text").value();
  EXPECT_EQ(to_toml(again), to_toml(cluster));
  EXPECT_EQ(again.name, cluster.name);
  EXPECT_EQ(again.mesh, cluster.mesh);
  EXPECT_EQ(again.links[0].latency_s, 1.25e-5);
  EXPECT_EQ(again.links[1].bytes_per_second, 1e10);
  EXPECT_TRUE(again.links[0].direct && !again.links[1].direct);
  EXPECT_EQ(again.memory_bytes, 1e9);
}

TEST(ClusterOfSystem, RefusesWhatIsNotThere) {
  System system = system_called("p3-16xlarge-8").value();
  EXPECT_TRUE(cluster_of(system, "net=8,nvlink=8").ok());
  EXPECT_THAT(cluster_of(system, "net=9,nvlink=8").status().message(),
              testing::HasSubstr("the mesh has 72 devices, and p3-16xlarge-8 has 64"));
  system.accelerator.peak_flops_per_second[0] = 0;  // 16 bits alone are left
  EXPECT_THAT(cluster_of(system, "").status().message(), testing::HasSubstr("no peak for f32"));
}

}  // namespace
}  // namespace egret::parallel
