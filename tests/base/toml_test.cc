// SPDX-License-Identifier: Apache-2.0
#include "base/toml.h"

#include <gtest/gtest.h>

namespace egret::base {
namespace {

TEST(Toml, KeysAreFlattenedInTheOrderOfLines) {
  const auto entries =
      parse_toml("top = 1\n[b]\nx = 'text'\n[a.c]\ny = [1, 2.5]\nz = 2024-05-01\n", "f.toml");
  ASSERT_TRUE(entries.ok()) << entries.status().message();
  std::string seen;
  for (const TomlEntry& entry : *entries) {
    seen += entry.key + "@" + std::to_string(entry.line) + "=" + entry.value.dump() + "\n";
  }
  EXPECT_EQ(seen, "top@1=1\nb.x@3=\"text\"\na.c.y@5=[1, 2.5]\na.c.z@6=\"2024-05-01\"\n");
}

TEST(Toml, ErrorsNameFileLineAndColumn) {
  const auto entries = parse_toml("a = 1\nb = = 2\n", "f.toml");
  ASSERT_FALSE(entries.ok());
  EXPECT_EQ(entries.status().message().substr(0, 9), "f.toml:2:");
  EXPECT_FALSE(parse_toml("a = 1\na = 2\n", "f.toml").ok());
  EXPECT_FALSE(parse_toml("a = " + std::string(100'000, '['), "f.toml").ok());
}

}  // namespace
}  // namespace egret::base
