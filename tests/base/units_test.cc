// SPDX-License-Identifier: Apache-2.0
#include "base/formats/units.h"

#include <gtest/gtest.h>

namespace egret::base {
namespace {

TEST(Units, SizesAndTimesAreReadWithTheirUnits) {
  EXPECT_EQ(*parse_bytes("64"), 64);
  EXPECT_EQ(*parse_bytes("1.5GiB"), std::int64_t{3} << 29);
  EXPECT_EQ(*parse_bytes("2 kb"), 2048);
  EXPECT_EQ(*parse_seconds("250ms"), 0.25);
  EXPECT_EQ(*parse_seconds("2h"), 7200);
  for (const char* text : {"", "-1", "1x", "GiB", "inf", "nan", "1e400"}) {
    EXPECT_FALSE(parse_bytes(text).ok()) << text;
    EXPECT_FALSE(parse_seconds(text).ok()) << text;
  }
}

TEST(Units, WholeNumbersRejectWhatIsNotOne) {
  EXPECT_EQ(*parse_integer("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(*parse_integer("1_000"), 1000);
  EXPECT_EQ(*parse_integer("+5"), 5);
  for (const char* text :
       {"", "_1", "1_", "1__0", "+-5", "0x10", "9223372036854775808", "1.0", " 1"}) {
    EXPECT_FALSE(parse_integer(text).ok()) << text;
  }
}

TEST(Units, QuantitiesArePrintedForPeople) {
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(1023 * 1024.0), "1.00 MiB");
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(9.5e-7), "950 ns");
  EXPECT_EQ(format_seconds(0.0123), "12.3 ms");
  EXPECT_EQ(format_seconds(0.9999), "1.00 s");
  EXPECT_EQ(format_seconds(185), "3m 05s");
  EXPECT_EQ(format_seconds(7440), "2h 04m");
  EXPECT_EQ(format_percent(0.1234), "12.3%");
  EXPECT_EQ(counted(1, "query", "queries"), "1 query");
  EXPECT_EQ(counted(0, "query", "queries"), "0 queries");
  EXPECT_EQ(counted(1234, "rule"), "1,234 rules");
}

}  // namespace
}  // namespace egret::base
