// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "tests/tools/program_run.h"
#include "tools/frame/build_info.h"
#include "tools/frame/host_info.h"

namespace egret::tools {
namespace {

// "libdnnl" of "/usr/lib/libdnnl.so.2".
std::string stem(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  return file.substr(0, file.find(".so"));
}

// The shared libraries of this process, which links the same folders as egret does.
std::vector<std::string> loaded_libraries() {
  std::vector<std::string> stems;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        static_cast<std::vector<std::string>*>(to)->push_back(stem(info->dlpi_name));
        return 0;
      },
      &stems);
  return stems;
}

TEST(Doctor, LibrariesAreSaidToBeLinkedWhenTheLoaderFoundThemAndOnlyThen) {
  const std::vector<std::string> loaded = loaded_libraries();
  int linked = 0;
  for (const Component& component : build_info().components) {
    const Probe* probe = find_probe(component.name);
    if (probe == nullptr || probe->libraries.empty()) continue;
    const bool found = std::any_of(
        probe->libraries.begin(), probe->libraries.end(), [&](const std::string& library) {
          return std::find(loaded.begin(), loaded.end(), stem(library)) != loaded.end();
        });
    EXPECT_EQ(component.use == LibraryUse::kLinked, found) << component.name;
    if (found) ++linked;
  }
  EXPECT_GT(linked, 0);
}

TEST(Doctor, WhatIsLinkedIsReadyWhereTheProgramRuns) {
  const ProgramRun run = run_program("doctor --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const auto json = base::Json::parse(run.out);
  ASSERT_TRUE(json.ok()) << run.out;
  int linked = 0;
  for (const Component& component : build_info().components) {
    EXPECT_TRUE(component.use == LibraryUse::kLinked || !component.required) << component.name;
    if (component.use == LibraryUse::kNone) continue;
    ++linked;
    const auto& found = json->find("components")->items();
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const base::Json& item) {
      return *item.find("name")->as_string() == component.name && *item.find("ready")->as_bool();
    })) << component.name;
  }
  EXPECT_GT(linked, 0);
}

}  // namespace
}  // namespace egret::tools
