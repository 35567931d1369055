// SPDX-License-Identifier: Apache-2.0
// Plans whose layouts between kernels the caller gives.
#include "backends/layouts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backends/division.h"
#include "backends/layout_forms.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"
#include "tests/backends/small_network.h"

namespace egret::backends {
namespace {

const Backend& cpu() { return *find_backend("cpu"); }

CompileOptions divided(const ir::Graph& graph) {
  CompileOptions options;
  options.threads = 1;
  options.division = *cpu().divide(graph, options);
  return options;
}

PlanReport report_of(const ir::Graph& graph, const CompileOptions& options) {
  const auto plan = cpu().compile(graph, options);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? (*plan)->report() : PlanReport();
}

std::ptrdiff_t reorders_in(const PlanReport& report) {
  return std::ranges::count(report.kernels, "reorder", &PlanReport::Kernel::name);
}

// A convolution in 32 channels, relu and a pooling, with outputs of both.
ir::Graph chain() {
  ir::GraphBuilder b;
  base::Random random(11);
  const ir::Value x = b.input("x", {ir::DType::kF32, {1, 32, 14, 14}});
  const ir::Value weights =
      b.constant(ir::Tensor::random({ir::DType::kF32, {32, 32, 1, 1}}, random));
  const ir::Value conv = b.add("conv", {x, weights},
                               {{"strides", ir::Integers{1, 1}},
                                {"dilations", ir::Integers{1, 1}},
                                {"pads", ir::Integers{0, 0, 0, 0}}});
  const ir::Value relu = b.add("relu", {conv});
  b.output("y", b.add("max_pool", {relu},
                      {{"kernel", ir::Integers{2, 2}},
                       {"strides", ir::Integers{2, 2}},
                       {"dilations", ir::Integers{1, 1}},
                       {"pads", ir::Integers{0, 0, 0, 0}}}));
  return *b.finish();
}

TEST(Layouts, AnyAssignmentIsCorrect) {
  const ir::Graph graph = small_network();
  CompileOptions options = divided(graph);
  base::Random random(3);
  const auto form = [&] { return kLayoutForms[static_cast<std::size_t>(random.between(0, 2))]; };
  std::ptrdiff_t reorders = 0;
  for (int i = 0; i < 30; ++i) {
    options.layouts = {};
    for (std::size_t k = 0; k < options.division.size(); ++k)
      options.layouts.kernels.push_back({form(), form()});
    // Some of them are no copies of this program.
    for (int k = 0; k < 4; ++k) {
      const auto part =
          static_cast<std::size_t>(random.between(0, std::ssize(options.division) - 1));
      options.layouts.reorders.push_back({options.division[part].back(), form(), form()});
    }
    PlanReport report;
    EXPECT_LT(relative_error(graph, options, cpu(), &report), 1e-5) << i;
    reorders += reorders_in(report);
  }
  EXPECT_GT(reorders, 60);
}

// What the backend does by itself, said to it.
TEST(Layouts, ThoseOfTheBackendGiveItsPlan) {
  for (const ir::Graph& graph : {small_network(), chain()}) {
    CompileOptions options = divided(graph);
    const PlanReport own = report_of(graph, options);
    ASSERT_EQ(own.layouts.size(), options.division.size());
    options.layouts.kernels = own.layouts;
    const PlanReport again = report_of(graph, options);
    EXPECT_EQ(again.layouts, own.layouts);
    ASSERT_EQ(again.kernels.size(), own.kernels.size());
    for (std::size_t i = 0; i < own.kernels.size(); ++i) {
      EXPECT_EQ(again.kernels[i].implementation, own.kernels[i].implementation);
      EXPECT_EQ(again.kernels[i].layout, own.kernels[i].layout);
    }
  }
}

// The plan's copies are those that the choice has, where kernels have the forms that they get.
TEST(Layouts, AreThoseOfTheKernels) {
  const ir::Graph graph = chain();
  CompileOptions options = divided(graph);
  ASSERT_EQ(options.division.size(), 2U);
  const ir::NodeId x = graph.inputs()[0], y = options.division[1].back();
  const ir::NodeId between = options.division[0].back();
  for (const LayoutForm form : {LayoutForm::kChannelsLast, LayoutForm::kBlocked}) {
    options.layouts = {
        .kernels = {{form, form}, {form, form}},
        .reorders = {{x, LayoutForm::kRowMajor, form}, {y, form, LayoutForm::kRowMajor}}};
    const PlanReport report = report_of(graph, options);
    EXPECT_EQ(report.layouts, options.layouts.kernels) << to_string(form);
    EXPECT_EQ(reorders_in(report), 2) << to_string(form);
    for (const PlanReport::Kernel& kernel : report.kernels) {
      if (kernel.name == "reorder") {
        EXPECT_GE(kernel.part, 2);
      }
    }
    EXPECT_LT(relative_error(graph, options, cpu()), 1e-5);
    // Between kernels of different forms there is one more.
    options.layouts.kernels[1] = {};
    options.layouts.reorders[1] = {between, form, LayoutForm::kRowMajor};
    const PlanReport mixed = report_of(graph, options);
    EXPECT_EQ(mixed.layouts, options.layouts.kernels) << to_string(form);
    EXPECT_EQ(reorders_in(mixed), 2) << to_string(form);
  }
}

// A transposed convolution and padding in space read and store blocks, and what does not convert by
// itself.
ir::Graph transposed_and_padded(const std::string& mode) {
  ir::GraphBuilder b;
  base::Random random(12);
  const ir::Value x = b.input("x", {ir::DType::kF32, {1, 32, 9, 9}});
  const ir::Value weights =
      b.constant(ir::Tensor::random({ir::DType::kF32, {32, 16, 2, 2}}, random));
  const ir::Value y = b.add("conv_transpose", {x, weights},
                            {{"strides", ir::Integers{2, 2}},
                             {"dilations", ir::Integers{1, 1}},
                             {"pads", ir::Integers{0, 0, 0, 0}},
                             {"output_padding", ir::Integers{0, 0}},
                             {"group", std::int64_t{1}}});
  const ir::Value padded = b.add("pad", {y},
                                 {{"before", ir::Integers{0, 0, 1, 2}},
                                  {"after", ir::Integers{0, 0, 0, 1}},
                                  {"interior", ir::Integers{0, 0, 0, 0}},
                                  {"mode", mode},
                                  {"value", 0.5}});
  b.output("y", padded);
  return *b.finish();
}

void expect_layouts_of_padding(const std::string& mode) {
  const ir::Graph graph = transposed_and_padded(mode);
  CompileOptions options = divided(graph);
  ASSERT_EQ(options.division.size(), 2U);
  const std::vector<ir::NodeId> values{graph.inputs()[0], options.division[0].back(),
                                       options.division[1].back()};
  for (const LayoutForm form : kLayoutForms) {
    for (const LayoutForm other : kLayoutForms) {
      options.layouts = {.kernels = {{form, form}, {other, other}},
                         .reorders = {{values[0], LayoutForm::kRowMajor, form},
                                      {values[1], form, other},
                                      {values[2], other, LayoutForm::kRowMajor}}};
      PlanReport report;
      EXPECT_LT(relative_error(graph, options, cpu(), &report), 1e-5);
      EXPECT_EQ(report.layouts[1], options.layouts.kernels[1]);
    }
  }
  options.layouts = {
      .kernels = std::vector<KernelLayouts>(2, {LayoutForm::kBlocked, LayoutForm::kBlocked}),
      .reorders = {{values[0], LayoutForm::kRowMajor, LayoutForm::kBlocked},
                   {values[2], LayoutForm::kBlocked, LayoutForm::kRowMajor}}};
  const PlanReport report = report_of(graph, options);
  EXPECT_EQ(report.layouts, options.layouts.kernels);
  EXPECT_EQ(reorders_in(report), 2);
}

TEST(Layouts, OfTransposedConvolutionsAndPadding) {
  for (const char* mode : {"constant", "edge"}) {
    SCOPED_TRACE(mode);
    expect_layouts_of_padding(mode);
  }
}

TEST(Layouts, OfAKernelAreThoseOfItsOperators) {
  const LayoutForms* const forms = layout_forms_of(cpu());
  ASSERT_NE(forms, nullptr);
  EXPECT_EQ(layout_forms_of(*find_backend("reference")), nullptr);
  const auto of_chain = [&](const ir::Graph& graph) { return forms->layouts_of(graph, {}); };
  constexpr KernelLayouts kLast{LayoutForm::kChannelsLast, LayoutForm::kChannelsLast};
  constexpr KernelLayouts kBlocked{LayoutForm::kBlocked, LayoutForm::kBlocked};
  EXPECT_EQ(of_chain(chain()), (std::vector<KernelLayouts>{kLast, kBlocked}));
  ir::GraphBuilder pointwise;
  const ir::Value image = pointwise.input("image", {ir::DType::kF32, {1, 32, 8, 8}});
  pointwise.output("y", pointwise.add("relu", {image}));
  EXPECT_EQ(of_chain(*pointwise.finish()),
            (std::vector<KernelLayouts>{KernelLayouts(), kLast, kBlocked}));
  ir::GraphBuilder b;
  const ir::Value a = b.input("a", {ir::DType::kF32, {8, 8}});
  b.output("y", b.add("relu", {a}));
  EXPECT_EQ(of_chain(*b.finish()).size(), 1U);
  CompileOptions plain;
  plain.blocked = false;
  EXPECT_EQ(forms->layouts_of(chain(), plain).size(), 1U);
}

// With the model, as the division is.
TEST(Layouts, AreKeptWithTheGraph) {
  ir::Graph graph = small_network();
  CompileOptions options = divided(graph);
  base::Random random(4);
  for (std::size_t k = 0; k < options.division.size(); ++k) {
    const LayoutForm form = kLayoutForms[static_cast<std::size_t>(random.between(0, 2))];
    options.layouts.kernels.push_back({form, form});
  }
  const PlanReport asked = report_of(graph, options);
  store_division(graph, options.division, "cpu", options.layouts);
  const Division division = stored_division(graph, "cpu");
  const DivisionLayouts stored = stored_layouts(graph, division, "cpu");
  ASSERT_EQ(stored.kernels.size(), division.size());
  for (std::size_t k = 0; k < division.size(); ++k) {
    const auto same = std::ranges::find(options.division, division[k]);
    ASSERT_NE(same, options.division.end());
    EXPECT_EQ(stored.kernels[k],
              options.layouts.kernels[static_cast<std::size_t>(same - options.division.begin())]);
  }
  const PlanReport kept = report_of(graph, {.threads = 1});
  ASSERT_EQ(kept.kernels.size(), asked.kernels.size());
  for (std::size_t i = 0; i < kept.kernels.size(); ++i)
    EXPECT_EQ(kept.kernels[i].layout, asked.kernels[i].layout);
  EXPECT_TRUE(stored_layouts(graph, division, "cuda").empty());
  store_division(graph, options.division, "cpu");
  EXPECT_TRUE(stored_layouts(graph, stored_division(graph, "cpu"), "cpu").empty());
}

// Margins are copied one by one into a form whose last block of channels is not full. The second
// convolution reads that block whole.
TEST(Layouts, KeepWhatLiesBesideAnEdgeInBlocks) {
  const ir::Attrs one{{"strides", ir::Integers{1, 1}},
                      {"dilations", ir::Integers{1, 1}},
                      {"pads", ir::Integers{0, 0, 0, 0}}};
  for (const std::int64_t channels : {12, 65, 68}) {
    ir::GraphBuilder b;
    base::Random random(5);
    const auto weights = [&](const ir::Shape& shape) {
      return b.constant(ir::Tensor::random({ir::DType::kF32, shape}, random));
    };
    const ir::Value x = b.input("x", {ir::DType::kF32, {1, 16, 6, 5}});
    const ir::Value relu = b.add("relu", {b.add("conv", {x, weights({channels, 16, 1, 1})}, one)});
    const ir::Value edged = b.add("pad", {relu},
                                  {{"before", ir::Integers{0, 0, 1, 2}},
                                   {"after", ir::Integers{0, 0, 2, 1}},
                                   {"mode", std::string("edge")}});
    b.output("behind", b.add("conv", {edged, weights({channels, channels, 3, 3})}, one));
    b.output("edged", edged);
    expect_matches_reference(*b.finish(), 5);
  }
}

}  // namespace
}  // namespace egret::backends
