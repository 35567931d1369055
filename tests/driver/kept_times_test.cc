// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/kept_times.h"

#include <gtest/gtest.h>

#include <memory>

#include "ir/graph/builder.h"

namespace egret::driver {
namespace {

ir::Graph products(std::int64_t size) {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", {ir::DType::kF32, {size, size}});
  const ir::Value y = b.add("softmax", {b.add("matmul", {x, x})}, {{"axis", std::int64_t{1}}});
  b.output("y", b.add("matmul", {y, x}));
  return *b.finish();
}

class KeptPartTimes : public testing::Test {
 protected:
  KeptPartTimes() {
    database_ = *cost::Database::open(":memory:");
    kept_ = {.database = database_.get(), .machine = "this one"};
    options_.division = *backend_.divide(graph_, options_);
  }

  const backends::Backend& backend_ = *backends::find_backend("cpu");
  const ir::Graph graph_ = products(24);
  backends::CompileOptions options_{};
  std::unique_ptr<cost::Database> database_;
  KeptTimes kept_;
};

TEST_F(KeptPartTimes, AreMeasuredOnce) {
  const auto first = kept_part_times(backend_, graph_, options_, kept_);
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_TRUE(first->has_value());
  EXPECT_FALSE((*first)->remembered);
  ASSERT_EQ((*first)->times.parts.size(), options_.division.size());
  const auto second = kept_part_times(backend_, graph_, options_, kept_, false);
  ASSERT_TRUE(second.ok() && second->has_value());
  EXPECT_TRUE((*second)->remembered);
  EXPECT_EQ((*second)->times.runs, (*first)->times.runs);
  for (std::size_t i = 0; i < options_.division.size(); ++i)
    EXPECT_NEAR((*second)->times.parts[i], (*first)->times.parts[i], 1e-12);
  EXPECT_NEAR((*second)->times.rest, (*first)->times.rest, 1e-12);
}

TEST_F(KeptPartTimes, BelongToAGraphItsDivisionAndAMachine) {
  ASSERT_TRUE(kept_part_times(backend_, graph_, options_, kept_).ok());
  const auto is_known = [&](const ir::Graph& graph, const backends::CompileOptions& options,
                            const KeptTimes& kept) {
    const auto times = kept_part_times(backend_, graph, options, kept, false);
    return times.ok() && times->has_value();
  };
  EXPECT_TRUE(is_known(graph_, options_, kept_));
  EXPECT_FALSE(is_known(products(32), options_, kept_));
  backends::CompileOptions other = options_;
  other.division.front().insert(other.division.front().end(), other.division.back().begin(),
                                other.division.back().end());
  EXPECT_FALSE(is_known(graph_, other, kept_));
  EXPECT_FALSE(is_known(graph_, options_, {.database = database_.get(), .machine = "another"}));
}

TEST_F(KeptPartTimes, WithoutADatabaseAreMeasuredEachTime) {
  for (int i = 0; i < 2; ++i) {
    const auto times = kept_part_times(backend_, graph_, options_, {});
    ASSERT_TRUE(times.ok() && times->has_value());
    EXPECT_FALSE((*times)->remembered);
  }
  EXPECT_FALSE(kept_part_times(backend_, graph_, options_, {}, false)->has_value());
}

}  // namespace
}  // namespace egret::driver
