// SPDX-License-Identifier: Apache-2.0
// Public e-graphs (the extraction gym) read by SerializedReader, written, and compared with the
// document as base::Json reads it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "egraph/formats/serialized_egraph.h"
#include "tests/paths.h"

namespace egret::egraph {

inline std::string gym_folder() {
  const char* shared = std::getenv("EGRET_SHARED");
  return (shared != nullptr ? std::string(shared) : std::string(EGRET_SOURCE_DIR) + "/../shared") +
         "/gym";
}

// *.json.xz below the folder, sorted; empty where the folder or the unpacker is absent.
inline std::vector<std::string> gym_files() {
  std::vector<std::string> files;
  std::error_code error;
  if (std::system("command -v xz >/dev/null 2>&1") != 0) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(gym_folder(), error)) {
    if (entry.path().string().ends_with(".json.xz")) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::string unpack(const std::string& path) {
  std::string text;
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("xz -dc '" + path + "'").c_str(), "r"), pclose);
  std::array<char, 65536> piece{};
  while (pipe != nullptr) {
    const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe.get());
    if (got == 0) break;
    text.append(piece.data(), got);
  }
  return text;
}

// A document's meaning, with what may be left out filled in: equal e-graphs have equal text.
inline std::map<std::string, std::string> meaning(const base::Json& document,
                                                  const std::vector<std::string>& missing_roots) {
  std::map<std::string, std::string> result;
  for (const auto& [name, node] : document.find("nodes")->members()) {
    const base::Json* cost = node.find("cost");
    const base::Json* children = node.find("children");
    const base::Json* subsumed = node.find("subsumed");
    std::string text = node.find("op")->dump() + node.find("eclass")->dump();
    text += children == nullptr ? "[]" : children->dump();
    text += std::to_string(cost == nullptr ? 1.0 : *cost->as_real());
    text += subsumed != nullptr && *subsumed->as_bool() ? "subsumed" : "";
    result["node " + name] = text;
  }
  std::string roots;
  if (const base::Json* list = document.find("root_eclasses")) {
    for (const base::Json& root : list->items()) {
      const std::string name = *root.as_string();
      if (std::find(missing_roots.begin(), missing_roots.end(), name) == missing_roots.end()) {
        roots += root.dump() + " ";
      }
    }
  }
  result["roots"] = roots;
  if (const base::Json* data = document.find("class_data")) {
    for (const auto& [name, texts] : data->members()) {
      for (const auto& [key, value] : texts.members()) {
        if (value.is_string()) result["class " + name + " " + key] = value.dump();
      }
    }
  }
  return result;
}

struct RoundTrips {
  std::size_t files = 0;
  std::size_t nodes = 0;
  std::size_t files_with_missing_roots = 0;
};

inline void expect_round_trip(const std::string& path, RoundTrips& count) {
  SCOPED_TRACE(path);
  const std::string text = unpack(path);
  SerializedOptions options;
  options.ignore_missing_roots = true;
  SerializedReader reader(options);
  for (std::size_t at = 0; at < text.size(); at += 5000) {
    const base::Status status = reader.feed(std::string_view(text).substr(at, 5000));
    ASSERT_TRUE(status.ok()) << status.message();
  }
  const auto file = reader.finish();
  ASSERT_TRUE(file.ok()) << file.status().message();
  std::string written;
  ASSERT_TRUE(write_serialized(*file, [&](std::string_view piece) {
                written += piece;
                return base::ok();
              }).ok());
  const auto before = base::Json::parse(text);
  const auto after = base::Json::parse(written);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(meaning(*before, file->missing_roots), meaning(*after, {}));
  ++count.files;
  count.nodes += file->view.node_count();
  count.files_with_missing_roots += file->missing_roots.empty() ? 0U : 1U;
}

}  // namespace egret::egraph
