// SPDX-License-Identifier: Apache-2.0
// The search for layouts on a backend whose kernels take times that a test sets, against all
// layouts of its kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/division.h"
#include "backends/layout_forms.h"
#include "backends/timing/measure.h"
#include "base/hash.h"
#include "base/random.h"
#include "cost/database.h"
#include "cost/model.h"
#include "driver/select/kernel_choice.h"
#include "driver/select/kernel_pieces.h"
#include "extract/core/extractor.h"
#include "ir/graph/builder.h"
#include "rules/tensors/saturated_graph.h"

namespace egret::driver {
namespace {

using backends::KernelLayouts;
using backends::kLayoutForms;
using backends::LayoutForm;
using extract::ClassIndex;
using ir::DType;
using ir::Value;

// Seconds of a kernel, by its last node, and of a copy.
struct Prices {
  std::function<double(const ir::Node& last, bool convolves, const KernelLayouts&)> of_kernel;
  std::function<double(LayoutForm from, LayoutForm to)> of_copy;
};

// Kernels take 0.2 to 1 ms, whatever they compute; copies are cheaper than kernels.
Prices random_prices(std::uint64_t seed) {
  const auto drawn = [seed](std::initializer_list<std::uint64_t> parts) {
    std::uint64_t hash = seed;
    for (const std::uint64_t part : parts) hash = base::hash_combine(hash, part);
    return base::Random(hash).uniform(0.2, 1);
  };
  return {
      [=](const ir::Node& last, bool convolves, const KernelLayouts& layouts) {
        return 1e-3 * drawn({static_cast<std::uint64_t>(last.type.elements()), convolves ? 1U : 0U,
                             static_cast<std::uint64_t>(layouts.reads),
                             static_cast<std::uint64_t>(layouts.writes)});
      },
      [=](LayoutForm from, LayoutForm to) {
        return 1e-4 * drawn({77, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)});
      }};
}

bool convolves(const ir::Graph& graph, std::span<const ir::NodeId> kernel) {
  return std::ranges::any_of(kernel,
                             [&](ir::NodeId id) { return graph.node(id).op->name() == "conv"; });
}

// A plan of the CPU backend, with times by price.
class PricedPlan final : public backends::ExecutablePlan {
 public:
  PricedPlan(const ir::Graph& graph, const backends::CompileOptions& options, const Prices& prices,
             std::unique_ptr<backends::ExecutablePlan> plan)
      : ExecutablePlan(graph), plan_(std::move(plan)), report_(plan_->report()) {
    std::set<int> priced;
    for (backends::PlanReport::Kernel& kernel : report_.kernels) {
      const auto part = static_cast<std::size_t>(kernel.part);
      kernel.last_s = 0;
      if (kernel.part >= 0 && part >= options.division.size()) {
        const backends::Reorder& copy = options.layouts.reorders[part - options.division.size()];
        kernel.last_s = prices.of_copy(copy.from, copy.to);
      } else if (kernel.name == "reorder") {
        kernel.last_s = 1e-4;  // as the backend likes it
      } else if (kernel.part >= 0 && priced.insert(kernel.part).second) {
        const std::vector<ir::NodeId>& nodes = options.division[part];
        kernel.last_s = prices.of_kernel(graph.node(nodes.back()), convolves(graph, nodes),
                                         report_.layouts[part]);
      }
      seconds_ += kernel.last_s;
    }
  }
  backends::PlanReport report() const override { return report_; }
  double last_device_s() const override { return seconds_; }

 protected:
  base::Status execute(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs) override {
    return plan_->run_into(inputs, outputs);
  }

 private:
  std::unique_ptr<backends::ExecutablePlan> plan_;
  backends::PlanReport report_;
  double seconds_ = 0;
};

class PricedBackend final : public backends::Backend, public backends::LayoutForms {
 public:
  explicit PricedBackend(Prices prices) : prices_(std::move(prices)) {}
  std::string_view name() const override { return cpu().name(); }
  std::string_view doc() const override { return cpu().doc(); }
  std::string version() const override { return cpu().version(); }
  base::Status availability() const override { return base::ok(); }
  base::Result<std::unique_ptr<backends::ExecutablePlan>> compile(
      const ir::Graph& graph, const backends::CompileOptions& options) const override {
    EGRET_ASSIGN_OR_RETURN(auto plan, cpu().compile(graph, options));
    return std::unique_ptr<backends::ExecutablePlan>(
        std::make_unique<PricedPlan>(graph, options, prices_, std::move(plan)));
  }
  base::Result<backends::Division> divide(const ir::Graph& graph,
                                          const backends::CompileOptions& options) const override {
    return cpu().divide(graph, options);
  }
  std::vector<KernelLayouts> layouts_of(const ir::Graph& piece,
                                        const backends::CompileOptions& options) const override {
    return backends::layout_forms_of(cpu())->layouts_of(piece, options);
  }
  const Prices& prices() const { return prices_; }

 private:
  static const backends::Backend& cpu() { return *backends::find_backend("cpu"); }
  Prices prices_;
};

ir::Attrs window(std::int64_t size, std::int64_t stride) {
  const std::int64_t pad = size / 2;
  return {{"strides", ir::Integers{stride, stride}},
          {"dilations", ir::Integers{1, 1}},
          {"pads", ir::Integers{pad, pad, pad, pad}}};
}

// Convolutions, sums of two values and poolings, of which each reads one or two of the values
// before. All have as many elements as no other, so that each has prices of its own.
ir::Graph random_network(base::Random& random, int layers) {
  ir::GraphBuilder b;
  std::int64_t channels = 64, side = 16;
  std::vector<Value> values{b.input("x", {DType::kF32, {1, channels, side, side}})};
  while (layers-- > 0) {
    const Value from =
        values[values.size() - 1 - random.below(std::min<std::size_t>(values.size(), 2))];
    if (random.below(4) == 0 && values.size() > 1) {
      values.push_back(b.add("sigmoid", {b.add("mul", {from, from})}));
      continue;
    }
    const std::int64_t inputs = b.type(from).shape()[1];
    channels += 16;
    const Value weights =
        b.constant(ir::Tensor::random({DType::kF32, {channels, inputs, 1, 1}}, random));
    values.push_back(b.add("conv", {from, weights}, window(1, 1)));
  }
  b.output("y", values.back());
  b.output("z", values[values.size() - 2]);
  return *b.finish();
}

struct Program {
  explicit Program(const ir::Graph& graph) {
    rules::SaturateOptions options;
    options.limits.iterations = 0;
    saturated = *rules::saturate(graph, *rules::AdmittedRules::select("default"), options, 1);
    view = egraph::make_view(tensors().egraph(), tensors().roots());
    given.graph = *tensors().to_graph(tensors().original(), tensors().roots(), &given.origins);
    given.is_start = true;
  }
  const rules::TensorEGraph& tensors() const { return *saturated.tensors; }
  rules::SaturatedGraph saturated;
  egraph::EGraphView view;
  GivenProgram given;
};

KernelChoice chosen_of(const Program& program, const PricedBackend& backend,
                       cost::Database& database, bool lays_out, bool keep_division = true) {
  KernelChoiceOptions options{.extractor = extract::find_extractor("auto"),
                              .extraction = {.time_limit_s = 2, .should_stop = {}},
                              .backend = &backend,
                              .plan = {.threads = 1}};
  options.keep_division = keep_division;
  options.lays_out = lays_out;
  options.kept = {.database = &database, .machine = "here", .seconds = 1e-6};
  options.seconds = 100;
  const auto model = cost::make_model("roofline", {});
  auto chosen = choose_kernels(program.tensors(), program.view, *model, {&program.given, 1},
                               options, nullptr);
  EXPECT_TRUE(chosen.ok()) << chosen.status().message();
  return chosen.ok() ? *std::move(chosen) : KernelChoice();
}

// The least time of all layouts of the backend's kernels, each of which runs once.
class AllLayouts {
 public:
  AllLayouts(const Program& program, const PricedBackend& backend)
      : program_(program), prices_(backend.prices()) {
    const ir::Graph& graph = program.given.graph;
    const backends::Division division = *backend.divide(graph, {.threads = 1});
    const auto pieces =
        pieces_of(program.tensors(), program.view, leaves_of(program.tensors(), program.view),
                  program.given.origins, division);
    for (std::size_t k = 0; k < division.size(); ++k) {
      const ir::Graph piece = *graph_of(program.tensors(), program.view, (*pieces)[k]);
      Kernel& kernel = kernels_.emplace_back();
      kernel.last = division[k].back();
      kernel.convolves = convolves(graph, division[k]);
      kernel.layouts = backend.layouts_of(piece, {.threads = 1});
      for (const ir::NodeId id : division[k]) {
        for (const ir::NodeId input : graph.node(id).inputs) {
          if (std::ranges::count(division[k], input) == 0 && has_forms(input))
            kernel.reads.insert(input);
        }
      }
    }
    chosen_.resize(kernels_.size());
  }

  double least() {
    visit(0, 0);
    return least_;
  }

 private:
  struct Kernel {
    ir::NodeId last;
    bool convolves = false;
    std::set<ir::NodeId> reads;
    std::vector<KernelLayouts> layouts;
  };

  bool has_forms(ir::NodeId id) const {
    const ir::Node& node = program_.given.graph.node(id);
    return node.kind != ir::NodeKind::kConstant && backends::has_layout_forms(node.type);
  }

  void visit(std::size_t k, double paid) {
    if (paid >= least_) return;
    if (k == kernels_.size()) {
      least_ = std::min(least_, paid + copies());
      return;
    }
    for (const KernelLayouts& layouts : kernels_[k].layouts) {
      chosen_[k] = layouts;
      visit(k + 1, paid + prices_.of_kernel(program_.given.graph.node(kernels_[k].last),
                                            kernels_[k].convolves, layouts));
    }
  }

  double copies() const {
    const ir::Graph& graph = program_.given.graph;
    std::map<ir::NodeId, std::set<LayoutForm>> needed;
    std::map<ir::NodeId, LayoutForm> stored;
    for (const ir::NodeId input : graph.inputs()) stored[input] = LayoutForm::kRowMajor;
    for (const auto& output : graph.outputs()) needed[output.node].insert(LayoutForm::kRowMajor);
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      stored[kernels_[k].last] = chosen_[k].writes;
      for (const ir::NodeId read : kernels_[k].reads) needed[read].insert(chosen_[k].reads);
    }
    double seconds = 0;
    for (auto& [value, forms] : needed) {
      if (!has_forms(value)) continue;
      forms.erase(stored.at(value));
      seconds += copies_to(stored.at(value), forms);
    }
    return seconds;
  }

  // Each of the other two forms is copied from another one, or is not there.
  double copies_to(LayoutForm stored, const std::set<LayoutForm>& needed) const {
    std::vector<LayoutForm> others;
    for (const LayoutForm form : kLayoutForms) {
      if (form != stored) others.push_back(form);
    }
    const LayoutForm a = others[0], b = others[1];
    const auto price = [&](LayoutForm from, LayoutForm to) { return prices_.of_copy(from, to); };
    const double only_a = price(stored, a), only_b = price(stored, b);
    const double both = std::min({only_a + only_b, only_a + price(a, b), only_b + price(b, a)});
    if (needed.contains(a) && needed.contains(b)) return both;
    // Through the other form, which nothing else needs.
    if (needed.contains(a)) return std::min(only_a, only_b + price(b, a));
    if (needed.contains(b)) return std::min(only_b, only_a + price(a, b));
    return 0;
  }

  const Program& program_;
  const Prices& prices_;
  std::vector<Kernel> kernels_;
  std::vector<KernelLayouts> chosen_;
  double least_ = std::numeric_limits<double>::infinity();
};

// Never slower than the backend's layouts, mostly faster, and mostly the fastest of all.
TEST(PricedLayouts, AreTheFastestOfAllButForPricesThatWereNotMeasured) {
  base::Random random(61);
  int gains = 0, least = 0;
  constexpr int kGraphs = 30;
  for (int i = 0; i < kGraphs; ++i) {
    const Program program(random_network(random, 5));
    const PricedBackend backend(random_prices(static_cast<std::uint64_t>(i)));
    const auto database = cost::Database::open(":memory:");
    const double own = chosen_of(program, backend, **database, false).times.seconds;
    const KernelChoice chosen = chosen_of(program, backend, **database, true);
    const double fastest = AllLayouts(program, backend).least();
    EXPECT_LE(chosen.times.seconds, own * (1 + 1e-6)) << i;
    EXPECT_GE(chosen.times.seconds, fastest * (1 - 1e-6)) << i;
    gains += chosen.times.seconds < own * 0.98 ? 1 : 0;
    least += chosen.times.seconds < fastest * 1.02 ? 1 : 0;
  }
  EXPECT_GT(gains, kGraphs * 3 / 4);
  EXPECT_GT(least, kGraphs * 3 / 4);
}

// What the race compares them with, unless that is the program itself.
TEST(PricedLayouts, ComeWithTheAnswerInTheBackendsOwn) {
  base::Random random(62);
  int with_other = 0;
  for (int i = 0; i < 10; ++i) {
    const Program program(random_network(random, 5));
    const PricedBackend backend(random_prices(static_cast<std::uint64_t>(100 + i)));
    const auto database = cost::Database::open(":memory:");
    const KernelChoice own = chosen_of(program, backend, **database, false, false);
    const KernelChoice chosen = chosen_of(program, backend, **database, true, false);
    EXPECT_LE(chosen.times.seconds, own.times.seconds * (1 + 1e-6)) << i;
    const bool has_other = !chosen.program.layouts.empty() && !own.given;
    ASSERT_EQ(chosen.others.size(), has_other ? 1U : 0U) << i;
    if (!has_other) continue;
    ++with_other;
    EXPECT_TRUE(chosen.others[0].program.layouts.empty()) << i;
    EXPECT_NEAR(chosen.others[0].times.seconds, own.times.seconds, 1e-9) << i;
  }
  EXPECT_GT(with_other, 0);
}

// A value is computed in two layouts where a copy from one to the other takes longer.
TEST(PricedLayouts, AValueMayBeComputedInTwoLayouts) {
  ir::GraphBuilder b;
  base::Random random(3);
  const auto conv = [&](Value x, std::int64_t from, std::int64_t to) {
    const Value weights = b.constant(ir::Tensor::random({DType::kF32, {to, from, 1, 1}}, random));
    return b.add("conv", {x, weights}, window(1, 1));
  };
  const auto mean = [&](Value x) {
    return b.add("reduce_mean", {x}, {{"axes", ir::Integers{2, 3}}});
  };
  const Value x = conv(b.input("x", {DType::kF32, {1, 3, 16, 16}}), 3, 64);
  b.output("y", mean(conv(x, 64, 32)));
  b.output("z", mean(conv(x, 64, 96)));
  const Program program(*b.finish());
  constexpr double kDear = 1;
  const PricedBackend backend(
      {[](const ir::Node& last, bool convolves, const KernelLayouts& layouts) {
         if (!convolves) return 1e-5;
         const std::int64_t channels = last.type.shape()[1];
         if (channels == 64) return 1e-3;
         const LayoutForm liked = channels == 32 ? LayoutForm::kChannelsLast : LayoutForm::kBlocked;
         return layouts == KernelLayouts{liked, liked} ? 1e-4 : kDear;
       },
       [](LayoutForm from, LayoutForm to) {
         return from == LayoutForm::kRowMajor && to == LayoutForm::kChannelsLast ? 1e-6 : kDear;
       }});
  const auto database = cost::Database::open(":memory:");
  const KernelChoice chosen = chosen_of(program, backend, **database, true);
  EXPECT_NEAR(chosen.times.seconds, 2e-3 + 2e-4 + 2e-5 + 1e-6, 1e-8);
  EXPECT_EQ(chosen.program.division.size(), 6U);
  EXPECT_EQ(chosen.program.layouts.reorders.size(), 1U);
  // And so it is kept with the graph.
  ir::Graph graph = chosen.program.graph;
  backends::store_division(graph, chosen.program.division, "cpu", chosen.program.layouts);
  const auto plan = backends::find_backend("cpu")->compile(graph, {.threads = 1});
  const auto reference = backends::find_backend("reference")->compile(graph, {});
  ASSERT_TRUE(plan.ok() && reference.ok()) << plan.status().message();
  EXPECT_EQ(
      std::ranges::count((*plan)->report().kernels, "conv", &backends::PlanReport::Kernel::name),
      4);
  const auto inputs = backends::random_inputs(**plan, base::Random(1));
  const auto outputs = (*plan)->run(inputs), expected = (*reference)->run(inputs);
  for (std::size_t k = 0; k < expected->size(); ++k) {
    for (std::int64_t i = 0; i < (*expected)[k].elements(); ++i)
      EXPECT_NEAR((*outputs)[k].f64_at(i), (*expected)[k].f64_at(i), 1e-4);
  }
}

}  // namespace
}  // namespace egret::driver
