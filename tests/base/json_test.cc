// SPDX-License-Identifier: Apache-2.0
#include "base/formats/json.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

namespace egret::base {
namespace {

TEST(Json, MembersKeepTheOrderInWhichTheyWereSet) {
  Json json = versioned_json();
  json.set("zebra", 1).set("apple", Json::array().push(true).push("x")).set("zebra", 2.5);
  EXPECT_EQ(json.dump(), R"({"schema_version": 1, "zebra": 2.5, "apple": [true, "x"]})");
}

TEST(Json, NumbersReadBackTheSameAndNonFiniteBecomesNull) {
  EXPECT_EQ(Json(0.1).dump(), "0.1");
  EXPECT_EQ(Json(3.0).dump(), "3.0");
  EXPECT_EQ(Json(1e300).dump(), "1e+300");
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).dump(), "null");
  EXPECT_EQ(Json(std::numeric_limits<std::uint64_t>::max()).dump(), "18446744073709551615");
}

TEST(Json, ForeignBytesNeverMakeAnInvalidDocument) {
  const std::string name = std::string("a\x01\"\\\n\xff\xc3\xa9\xed\xa0\x80", 11);
  const std::string text = Json(name).dump();
  const auto back = Json::parse(text);
  ASSERT_TRUE(back.ok()) << text;
  EXPECT_EQ(*back->as_string(),
            "a\x01\"\\\n\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Json, ParsingInvertsDumping) {
  const std::string text = R"({"a": [1, -2, 0.5, null, false], "b": {"c": "d"}, "e": []})";
  const auto json = Json::parse(text);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->dump(), text);
  EXPECT_EQ(Json::parse(json->dump(2))->dump(), text);
  EXPECT_EQ(*json->find("a")->items()[2].as_real(), 0.5);
  EXPECT_EQ(json->find("nothing"), nullptr);
}

TEST(Json, MalformedTextIsRefusedWithItsPlace) {
  for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "1 2", "nul", "\"\xff\""}) {
    EXPECT_FALSE(Json::parse(text).ok()) << text;
  }
  EXPECT_NE(Json::parse("[1, x]").status().message().find("byte 4"), std::string::npos);
}

TEST(Json, DeepNestingIsRefusedWithoutUsingTheStack) {
  EXPECT_FALSE(Json::parse(std::string(1'000'000, '[')).ok());
}

TEST(Json, OfEqualKeysTheLastCountsAtThePlaceOfTheFirst) {
  EXPECT_EQ(Json::parse(R"({"b": 1, "a": 2, "b": 3, "c": 4, "b": 5})")->dump(),
            R"({"b": 5, "a": 2, "c": 4})");
}

TEST(Json, RealsAreReadExactly) {
  for (const char* text : {"1.8446744018446745e+28", "0.1", "5e-324", "1.7976931348623157e+308",
                           "123456789012345678901234567890.5e-7"}) {
    EXPECT_EQ(*Json::parse(text)->as_real(), std::strtod(text, nullptr)) << text;
  }
  EXPECT_EQ(*Json::parse("1e-999")->as_real(), 0);
  EXPECT_FALSE(Json::parse("1e999").ok());
}

TEST(Json, TypedReadingSaysWhatItFound) {
  EXPECT_EQ(Json("x").as_integer().status().message(), "expected a whole number, found a string");
  EXPECT_FALSE(Json(std::numeric_limits<std::uint64_t>::max()).as_integer().ok());
  EXPECT_EQ(*Json(3).as_real(), 3.0);
}

}  // namespace
}  // namespace egret::base
