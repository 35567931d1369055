// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/program_run.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "base/system/file.h"
#include "tests/paths.h"

namespace egret::tools {

std::string fresh_folder() {
  std::string pattern = testing::TempDir() + "egret_tools_XXXXXX";
  return ::mkdtemp(pattern.data());
}

ProgramRun run_program(const std::string& words, const std::string& environment) {
  const std::string folder = fresh_folder();
  const std::string command = "XDG_CONFIG_HOME=" + folder + " " + environment +
                              " " EGRET_BINARY_DIR "/bin/egret " + words + " >" + folder +
                              "/out 2>" + folder + "/err";
  const int status = std::system(command.c_str());
  ProgramRun run;
  run.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  run.out = base::read_file(folder + "/out", 1 << 24).value_or("");
  run.err = base::read_file(folder + "/err", 1 << 24).value_or("");
  std::filesystem::remove_all(folder);
  return run;
}

}  // namespace egret::tools
