// SPDX-License-Identifier: Apache-2.0
// A check of a new verb, from one file and one row: the verb is listed and explained, runs with its
// option and under --json, and rejects a misspelt option. Exits with 1 at the first failure.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "tools/frame/command_line.h"

namespace {

struct Printed {
  int code = 0;
  std::string out;
};

// Runs `egret ARGUMENTS` in this process, with standard output in a file.
Printed run(const std::vector<std::string>& arguments) {
  const std::string file = std::filesystem::temp_directory_path() / "egret_recipe_verb.out";
  std::cout.flush();
  std::fflush(stdout);
  const int before = ::dup(STDOUT_FILENO);
  const int caught = ::open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  ::dup2(caught, STDOUT_FILENO);
  const int code = egret::tools::run_egret(arguments);
  std::cout.flush();
  std::fflush(stdout);
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  ::close(caught);
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::filesystem::remove(file);
  return {code, text.str()};
}

bool has(const Printed& printed, const std::string& text) {
  return printed.code == 0 && printed.out.find(text) != std::string::npos;
}

}  // namespace

int main() {
  const std::string file = std::filesystem::temp_directory_path() / "egret_recipe_verb.bin";
  std::ofstream(file, std::ios::binary) << std::string(2048, 'x');
  const std::vector<std::pair<bool, std::string>> checks{
      {has(run({"help"}), "Print the size of a model"), "the verb is listed"},
      {has(run({"size", "--help"}), "--exact"), "the help names the option"},
      {has(run({"man", "size"}), ".SH EXIT STATUS"), "there is a manual page"},
      {run({"size", file}).out == "2.00 KiB\n", "the size is rounded"},
      {run({"size", file, "--exact"}).out == "2048\n", "--exact prints the bytes"},
      {has(run({"size", file, "--json"}), "\"bytes\": 2048"), "--json prints the document"},
      {run({"size", file, "--exacd"}).code == 2, "a misspelt option is a usage error"},
      {run({"size"}).code == 2, "a missing argument is a usage error"}};
  std::filesystem::remove(file);
  for (const auto& [holds, claim] : checks) {
    if (holds) continue;
    std::cerr << "this does not hold: " << claim << "\n";
    return 1;
  }
  return 0;
}
