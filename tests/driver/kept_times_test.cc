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
  EXPECT_GT((*first)->times.whole, 0);
  EXPECT_NEAR((*second)->times.whole, (*first)->times.whole, 1e-9);
}

// Two kernels of a millisecond. Something else takes 4 ms of each run but the fifth: two times of
// five from the first kernel, two times from the second one.
class DisturbedPlan final : public backends::ExecutablePlan {
 public:
  explicit DisturbedPlan(const ir::Graph& graph) : ExecutablePlan(graph) {
    report_.kernels.resize(2);
    report_.kernels[0].part = 0;
    report_.kernels[1].part = 1;
  }
  backends::PlanReport report() const override { return report_; }
  double last_device_s() const override {
    return report_.kernels[0].last_s + report_.kernels[1].last_s;
  }

 protected:
  base::Status execute(std::span<const ir::Tensor> /*inputs*/,
                       std::span<ir::Tensor> /*outputs*/) override {
    report_.kernels[0].last_s = runs_ % 5 < 2 ? 5e-3 : 1e-3;
    report_.kernels[1].last_s = runs_ % 5 == 2 || runs_ % 5 == 3 ? 5e-3 : 1e-3;
    ++runs_;
    return base::ok();
  }

 private:
  backends::PlanReport report_;
  int runs_ = 0;
};

class DisturbedBackend final : public backends::Backend {
 public:
  std::string_view name() const override { return "disturbed"; }
  std::string_view doc() const override { return ""; }
  std::string version() const override { return ""; }
  base::Status availability() const override { return base::ok(); }
  base::Result<std::unique_ptr<backends::ExecutablePlan>> compile(
      const ir::Graph& graph, const backends::CompileOptions& /*options*/) const override {
    return std::unique_ptr<backends::ExecutablePlan>(std::make_unique<DisturbedPlan>(graph));
  }
};

TEST(PartTimes, TellWhatKernelsTakeAndWhatAClockShows) {
  const ir::Graph graph = products(4);
  backends::CompileOptions options;
  options.division = {{}, {}};
  const auto times = time_parts(DisturbedBackend(), graph, options, 0);
  ASSERT_TRUE(times.ok()) << times.status().message();
  ASSERT_EQ(times->parts.size(), 2U);
  EXPECT_NEAR(times->parts[0], 1e-3, 1e-9);
  EXPECT_NEAR(times->parts[1], 1e-3, 1e-9);
  EXPECT_NEAR(times->rest, 0, 1e-9);
  EXPECT_NEAR(times->whole, 6e-3, 1e-9);
  options.division = {};
  const auto undivided = time_parts(DisturbedBackend(), graph, options, 0);
  ASSERT_TRUE(undivided.ok());
  EXPECT_NEAR(undivided->whole, times->whole, 1e-9);
  EXPECT_TRUE(undivided->parts.empty());
  EXPECT_NEAR(undivided->rest, undivided->whole, 1e-9);  // parts of the backend's own
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
