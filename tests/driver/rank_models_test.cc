// SPDX-License-Identifier: Apache-2.0
#include "driver/proofs/rank_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace egret::driver {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RankFiles : public ::testing::Test {
 protected:
  RankFiles() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~RankFiles() override { fs::remove_all(folder_); }

  void add(const std::string& name) { std::ofstream(folder_ + "/" + name) << "x"; }
  std::string error() const { return rank_files(folder_).status().message(); }

  const std::string folder_ = ::testing::TempDir() + "rank_files";
};

TEST_F(RankFiles, AreOneForEachRank) {
  add("rank0.onnx");
  add("rank_1.onnx");
  add("rank0.onnx.data");
  EXPECT_THAT(rank_files(folder_).value(),
              ElementsAre(folder_ + "/rank0.onnx", folder_ + "/rank_1.onnx"));
  add("rank1.onnx");
  EXPECT_THAT(error(), HasSubstr("are both of rank 1"));
}

TEST_F(RankFiles, OfALargerMeshAreRemoved) {
  for (const char* name : {"rank0.onnx", "rank1.onnx", "rank2.onnx", "rank10.onnx", "notes.txt",
                           "rank_3.onnx", "rank02.onnx"})
    add(name);
  ASSERT_TRUE(remove_other_ranks(folder_, 2).ok());
  EXPECT_TRUE(fs::exists(folder_ + "/rank1.onnx"));
  EXPECT_FALSE(fs::exists(folder_ + "/rank2.onnx"));
  EXPECT_FALSE(fs::exists(folder_ + "/rank10.onnx"));
  // Files that `egret plan` does not write are left.
  for (const char* name : {"notes.txt", "rank_3.onnx", "rank02.onnx"})
    EXPECT_TRUE(fs::exists(folder_ + "/" + name)) << name;
}

}  // namespace
}  // namespace egret::driver
