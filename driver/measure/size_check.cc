// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/size_check.h"

#include <algorithm>
#include <iterator>

#include "driver/measure/batch_plan.h"
#include "driver/measure/close_check.h"
#include "ir/graph/open_sizes.h"
#include "ir/ops/opaque.h"
#include "verifier/index/size_prover.h"

namespace egret::driver {

std::string to_string(const ir::SymbolValues& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes)
    text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(size);
  return text;
}

namespace {

// Whether no size is far beyond the example's: a solver's choice may be any number.
bool is_moderate(const ir::SymbolValues& sizes, const ir::SymbolValues& examples) {
  constexpr std::int64_t kFar = 4;
  constexpr std::int64_t kSmall = 64;
  return std::ranges::all_of(sizes, [&](const auto& entry) {
    const auto example = examples.find(entry.first);
    return example != examples.end() && entry.second <= std::max(kSmall, kFar * example->second);
  });
}

}  // namespace

// Sizes that a rule may have overlooked: 1, primes, which hide no factor, and sizes around the
// example. Those that break an assumption of the program are replaced by some near them, or left
// out.
base::Result<std::vector<ir::SymbolValues>> further_sizes(const ir::Graph& program,
                                                          const rules::OpenSizes& open,
                                                          std::size_t count) {
  static constexpr std::int64_t kPrimes[] = {2, 3, 5, 7, 11, 13};
  constexpr int kTries = 5;
  std::vector<ir::SymbolValues> found;
  std::vector<std::string> order;  // sizes of results follow from those of inputs
  const ir::SymbolNames of_inputs = ir::open_sizes(program);
  for (const bool inputs : {true, false}) {
    for (const auto& [name, example] : open.examples()) {
      if (of_inputs.contains(name) == inputs) order.push_back(name);
    }
  }
  verifier::SizeProver prover;
  for (const ir::Guard& guard : open.assumptions()) prover.assume(guard);
  for (int attempt = 0; attempt < kTries && found.size() < count; ++attempt) {
    ir::SymbolValues sizes;
    std::size_t place = 0;
    for (const auto& [name, example] : open.examples()) {
      const std::int64_t prime = kPrimes[place++ % std::size(kPrimes)];
      const std::int64_t tries[] = {1, prime, example + prime,
                                    std::max<std::int64_t>(1, example / 2), example * 2};
      sizes[name] = tries[attempt];
    }
    const bool assumed = std::ranges::all_of(open.assumptions(), [&](const ir::Guard& guard) {
      return ir::evaluate(guard, sizes).value_or(false);
    });
    if (!assumed) {
      const auto near = prover.values_near(sizes, order);
      if (!near || *near == open.examples() || std::ranges::find(found, *near) != found.end())
        continue;
      sizes = *near;
    }
    if (is_moderate(sizes, open.examples()) && rules::at_sizes(program, sizes).ok())
      found.push_back(std::move(sizes));
  }
  return found;
}

base::Status check_at_sizes(const ir::Graph& program, const ir::Graph& result,
                            const ir::SymbolValues& sizes, const backends::Backend& backend,
                            const backends::CompileOptions& plan, const CheckOptions& options,
                            bool quick) {
  EGRET_ASSIGN_OR_RETURN(const ir::Graph expected, rules::at_sizes(program, sizes));
  auto bound = rules::at_sizes(result, sizes);
  if (!bound.ok()) return bound.status().at("the result for " + to_string(sizes));
  const ir::Graph original = ir::cut_at_opaque(expected);
  EGRET_ASSIGN_OR_RETURN(
      const auto compiled,
      compile_batch(backend, ir::cut_like(ir::cut_at_opaque(*bound), original), plan));
  if (quick) {
    EGRET_ASSIGN_OR_RETURN(const auto before, compile_batch(backend, original, plan));
    EGRET_ASSIGN_OR_RETURN(const auto close,
                           compare_closely(original, *before, *compiled, options));
    if (close) return base::ok();
  }
  const auto run = [&](std::span<const ir::Tensor> inputs) { return compiled->run(inputs); };
  // Compiled only where the result is beyond a bound.
  const auto run_original =
      [&](std::span<const ir::Tensor> inputs) -> base::Result<std::vector<ir::Tensor>> {
    EGRET_ASSIGN_OR_RETURN(const auto before, compile_batch(backend, original, plan));
    return before->run(inputs);
  };
  EGRET_ASSIGN_OR_RETURN(const CheckReport report,
                         OutputCheck::compare(original, options, run, run_original));
  return report.passed ? base::ok() : mismatch_of(report).at("for " + to_string(sizes));
}

}  // namespace egret::driver
