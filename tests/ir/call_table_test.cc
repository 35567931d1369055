// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/call_table.h"

#include <gtest/gtest.h>

namespace egret::ir {
namespace {

const TensorType kRow{DType::kF32, {1, 4}};
const TensorType kColumn{DType::kF32, {4, 1}};

TEST(CallTable, TellsCallsApart) {
  const Operator& add = get_operator("add");
  const Operator& mul = get_operator("mul");
  const std::vector<TensorType> same{kRow, kRow};
  const std::vector<TensorType> mixed{kRow, kColumn};
  const Attrs none;
  const Attrs axis{{"axis", std::int64_t{1}}};
  CallTable<int> table(8);
  const Call calls[] = {
      {add, none, same}, {add, none, mixed}, {mul, none, same}, {add, axis, same}};
  int number = 0;
  for (const Call& call : calls) {
    EXPECT_EQ(table.find(call), nullptr);
    table.insert(call, number++);
  }
  number = 0;
  for (const Call& call : calls) {
    ASSERT_NE(table.find(call), nullptr);
    EXPECT_EQ(*table.find(call), number++);
  }
}

TEST(CallTable, IsEmptiedWhenItIsFull) {
  const Operator& add = get_operator("add");
  CallTable<int> table(2);
  std::vector<Attrs> attrs;
  for (std::int64_t i = 0; i < 3; ++i) attrs.push_back({{"axis", i}});
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(table.insert({add, attrs[i], {}}, static_cast<int>(i)), static_cast<int>(i));
  EXPECT_EQ(table.find({add, attrs[0], {}}), nullptr);
  ASSERT_NE(table.find({add, attrs[2], {}}), nullptr);
}

TEST(Attrs, HaveEqualHashesWhereTheyAreEqual) {
  const Attrs zero{{"value", 0.0}};
  const Attrs minus{{"value", -0.0}};
  EXPECT_EQ(zero, minus);
  EXPECT_EQ(hash_value(zero), hash_value(minus));
  const Attrs some[] = {{},
                        {{"perm", Integers{0, 1}}},
                        {{"perm", Integers{1, 0}}},
                        {{"perm", Integers{0}}},
                        {{"mode", std::string("edge")}},
                        {{"axis", std::int64_t{1}}},
                        {{"axis", std::int64_t{2}}},
                        {{"start", std::int64_t{1}}}};
  for (const Attrs& a : some) {
    for (const Attrs& b : some) EXPECT_EQ(a == b, hash_value(a) == hash_value(b));
  }
}

}  // namespace
}  // namespace egret::ir
