// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/tools/program_run.h"

namespace egret::tools {

// A test with a folder of its own, which goes with it.
class FolderTest : public testing::Test {
 protected:
  ~FolderTest() override { std::filesystem::remove_all(folder_); }
  const std::string& folder() const { return folder_; }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  const std::string folder_ = fresh_folder();
};

}  // namespace egret::tools
