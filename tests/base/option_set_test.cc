// SPDX-License-Identifier: Apache-2.0
#include "base/options/option_set.h"

#include <gtest/gtest.h>

#include <map>

#include "base/formats/toml.h"

namespace egret::base {
namespace {

enum class Mood : unsigned char { kCalm, kKeen };

struct Sample {
  std::int64_t limit_nodes = 100;
  double limit_time = 60;
  std::int64_t limit_memory = 1 << 20;
  bool joint = true;
  Mood mood = Mood::kCalm;
  std::string output = "out.onnx";
  std::vector<std::string> rules;

  static const OptionTable<Sample>& table() {
    using S = Sample;
    static const OptionTable<S> rows{
        "sample",
        {{"limit-nodes", &S::limit_nodes, "Most e-nodes", range(1, 1e6)},
         {"limit-time", &S::limit_time, "Most time", seconds()},
         {"limit-memory", &S::limit_memory, "Most memory", bytes()},
         {"joint", &S::joint, "Search together"},
         {"mood", &S::mood, "How eager", one_of({"calm", "keen"})},
         {"output", &S::output, "Where to", path(), 'o'},
         {"rules", &S::rules, "Rule files"}}};
    return rows;
  }
};

struct Bound {
  Bound() { set.add(values); }
  Status give(std::string_view name, std::vector<std::string> texts,
              OptionOrigin origin = OptionOrigin::kFlag) {
    return set.set(name, texts, origin, "test");
  }
  Status config(std::string_view text, OptionOrigin origin = OptionOrigin::kConfigFile) {
    const auto entries = parse_toml(text, "f.toml");
    if (!entries.ok()) return entries.status();
    return set.apply_config(*entries, origin, "f.toml", {"sample.limit-nodes", "other.key"});
  }
  Sample values;
  OptionSet set;
};

TEST(OptionSet, EveryKindOfValueReachesItsField) {
  Bound b;
  ASSERT_TRUE(b.give("limit-nodes", {"5_000"}).ok());
  ASSERT_TRUE(b.give("limit-time", {"5m"}).ok());
  ASSERT_TRUE(b.give("limit-memory", {"2GiB"}).ok());
  ASSERT_TRUE(b.give("joint", {"no"}).ok());
  ASSERT_TRUE(b.give("mood", {"keen"}).ok());
  ASSERT_TRUE(b.give("output", {"-"}).ok());
  ASSERT_TRUE(b.give("rules", {"a", "b"}).ok());
  EXPECT_EQ(b.values.limit_nodes, 5000);
  EXPECT_EQ(b.values.limit_time, 300);
  EXPECT_EQ(b.values.limit_memory, std::int64_t{2} << 30);
  EXPECT_FALSE(b.values.joint);
  EXPECT_EQ(b.values.mood, Mood::kKeen);
  EXPECT_EQ(b.values.output, "-");
  EXPECT_EQ(b.values.rules, (std::vector<std::string>{"a", "b"}));
}

TEST(OptionSet, StrongerOriginWinsInWhateverOrderTheyCome) {
  Bound b;
  ASSERT_TRUE(b.give("limit-nodes", {"4"}, OptionOrigin::kFlag).ok());
  ASSERT_TRUE(b.give("limit-nodes", {"3"}, OptionOrigin::kEnvironment).ok());
  ASSERT_TRUE(b.give("limit-nodes", {"2"}, OptionOrigin::kConfigFile).ok());
  EXPECT_EQ(b.values.limit_nodes, 4);
  Bound c;
  ASSERT_TRUE(c.give("limit-nodes", {"1"}, OptionOrigin::kUserFile).ok());
  ASSERT_TRUE(c.give("limit-nodes", {"2"}, OptionOrigin::kConfigFile).ok());
  EXPECT_EQ(c.values.limit_nodes, 2);
}

TEST(OptionSet, OverruledValuesAreStillChecked) {
  Bound b;
  ASSERT_TRUE(b.give("rules", {"flag.rules"}).ok());
  ASSERT_TRUE(b.give("limit-nodes", {"4"}).ok());
  EXPECT_FALSE(b.give("limit-nodes", {"many"}, OptionOrigin::kEnvironment).ok());
  EXPECT_TRUE(b.give("rules", {}, OptionOrigin::kConfigFile).ok());
  EXPECT_EQ(b.values.limit_nodes, 4);
  EXPECT_EQ(b.values.rules, std::vector<std::string>{"flag.rules"});
}

TEST(OptionSet, ValuesOutsideTheDomainAreRefused) {
  Bound b;
  EXPECT_EQ(b.give("limit-nodes", {"0"}).message(), "test: 0 is out of range: 1 to 1000000");
  EXPECT_EQ(b.give("mood", {"kean"}).message(),
            "test: \"kean\" is not one of calm, keen; did you mean \"keen\"?");
  EXPECT_FALSE(b.give("limit-time", {"-1"}).ok());
  EXPECT_FALSE(b.give("limit-time", {"nan"}).ok());
  EXPECT_FALSE(b.give("limit-memory", {"9999999999G"}).ok());
  EXPECT_FALSE(b.give("joint", {"maybe"}).ok());
  EXPECT_EQ(b.values.limit_nodes, 100);
}

TEST(OptionSet, UnknownNamesGetASuggestion) {
  Bound b;
  EXPECT_EQ(b.give("limit-node", {"1"}).message(),
            "test: unknown option \"limit-node\"; did you mean \"limit-nodes\"?");
}

TEST(OptionSet, EnvironmentUsesTheVariableOfEachOption) {
  Bound b;
  const std::map<std::string, std::string> variables = {{"EGRET_LIMIT_NODES", "7"},
                                                        {"EGRET_RULES", "x,y"}};
  ASSERT_TRUE(b.set
                  .apply_environment([&](const std::string& name) -> const char* {
                    const auto found = variables.find(name);
                    return found == variables.end() ? nullptr : found->second.c_str();
                  })
                  .ok());
  EXPECT_EQ(b.values.limit_nodes, 7);
  EXPECT_EQ(b.values.rules, (std::vector<std::string>{"x", "y"}));
}

TEST(OptionSet, EnvironmentTakesACommaWithinAnItemBehindABackslash) {
  const auto rules = [](const char* text) {
    Bound b;
    const auto get = [&](const std::string& name) {
      return name == "EGRET_RULES" ? text : nullptr;
    };
    EXPECT_TRUE(b.set.apply_environment(get).ok());
    return b.values.rules;
  };
  using Items = std::vector<std::string>;
  EXPECT_EQ(rules("x=a\\,b.npy,y"), (Items{"x=a,b.npy", "y"}));
  EXPECT_EQ(rules("a\\b"), (Items{"a\\b"}));
  EXPECT_EQ(rules("a,,b,"), (Items{"a", "", "b"}));
}

TEST(OptionSet, ConfigurationFilesSetByKeyAndNameTheLineOfAnError) {
  Bound b;
  ASSERT_TRUE(b.config("[sample]\nlimit-nodes = 9\nrules = ['a', 'b']\nlimit-time = '2s'\n").ok());
  EXPECT_EQ(b.values.limit_nodes, 9);
  EXPECT_EQ(b.values.rules.size(), 2U);
  EXPECT_EQ(b.values.limit_time, 2);
  EXPECT_EQ(b.config("[sample]\n\nlimit-nodse = 9\n").message(),
            "f.toml:3: unknown key \"sample.limit-nodse\"; did you mean \"sample.limit-nodes\"?");
  EXPECT_TRUE(b.config("other.key = 1\n").ok()) << "keys of other commands are skipped";
  EXPECT_FALSE(b.config("sample.limit-nodes = [1]\n").ok());
  EXPECT_EQ(b.config("sample.limit-nodes = 1.5\n").code(), StatusCode::kBadInput);
  EXPECT_FALSE(b.config("[sample\n").ok());
}

TEST(OptionSet, PrintedConfigurationReadsBackTheSame) {
  Bound b;
  ASSERT_TRUE(b.give("output", {"a \"quoted\"\\ name\n"}).ok());
  ASSERT_TRUE(b.give("rules", {"r1", "r2"}).ok());
  ASSERT_TRUE(b.give("limit-time", {"0.25"}).ok());
  ASSERT_TRUE(b.give("mood", {"keen"}).ok());
  Bound c;
  ASSERT_TRUE(c.config(b.set.print_config()).ok());
  EXPECT_EQ(c.values.output, b.values.output);
  EXPECT_EQ(c.values.rules, b.values.rules);
  EXPECT_EQ(c.values.limit_time, 0.25);
  EXPECT_EQ(c.values.mood, Mood::kKeen);
}

TEST(OptionSet, DefaultsAreShownAsOneWouldTypeThem) {
  const auto shown = [](double time, std::int64_t memory) {
    Sample values;
    values.limit_time = time;
    values.limit_memory = memory;
    OptionSet set;
    set.add(values);
    return set.find("limit-time")->default_text + " " + set.find("limit-memory")->default_text;
  };
  EXPECT_EQ(shown(20, std::int64_t{4} << 30), "20s 4GiB");
  EXPECT_EQ(shown(600, 1536 << 10), "10m 1536KiB");
  EXPECT_EQ(shown(0.25, 1000), "0.25s 1000");
  EXPECT_EQ(shown(0, 0), "0 0");
}

TEST(OptionSet, TwoOptionsOfOneNameAreOurBug) {
  Bound b;
  Sample again;
  EXPECT_THROW(b.set.add(again), CheckFailure);
}

}  // namespace
}  // namespace egret::base
