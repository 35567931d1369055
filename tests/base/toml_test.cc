// SPDX-License-Identifier: Apache-2.0
#include "base/formats/toml.h"

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

std::string key_of(int parts) {
  std::string key = "a";
  for (int i = 1; i < parts; ++i) key += ".a";
  return key;
}

TEST(Toml, KeysOfManyPartsAreRefused) {
  const auto error_of = [](const std::string& text) {
    const auto entries = parse_toml(text, "f.toml");
    return entries.ok() ? "" : entries.status().message();
  };
  const std::string refused = "f.toml:3: a key of more than 64 parts";
  const std::string before = "x = \"...\\\"\" # it's\n\n";
  EXPECT_EQ(error_of(before + "[" + key_of(50'000) + "]\n"), refused);
  EXPECT_EQ(error_of(before + "[" + key_of(65) + "]\n"), refused);
  EXPECT_EQ(error_of(before + key_of(65) + " = 1\n"), refused);
  EXPECT_EQ(error_of(before + "y = {b = 1, " + key_of(65) + " = 1}\n"), refused);
  EXPECT_EQ(error_of(before + "[" + key_of(64) + "]\n" + key_of(64) + " = 1\n"), "");
  // Dots of strings and comments count for nothing.
  const std::string dots(1000, '.');
  for (const std::string quote : {"\"", "'", "\"\"\"", "'''"})
    EXPECT_EQ(error_of("x = " + quote + dots + quote + " # " + dots + "\n"), "");
  EXPECT_EQ(error_of("x = '''\n" + dots + "\n'''\n"), "");
}

TEST(Toml, TablesWithinTablesAreBounded) {
  const auto nested = [](int levels) {
    std::string text = key_of(64) + " = 1";
    for (int i = 1; i < levels; ++i) text = key_of(64) + " = {" + text + "}";
    return parse_toml(text, "f.toml");
  };
  EXPECT_TRUE(nested(30).ok()) << nested(30).status().message();
  EXPECT_FALSE(nested(60).ok());
}

}  // namespace
}  // namespace egret::base
