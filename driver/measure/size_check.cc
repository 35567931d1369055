// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/size_check.h"

#include <algorithm>
#include <iterator>

#include "driver/measure/batch_plan.h"
#include "driver/measure/close_check.h"
#include "ir/ops/opaque.h"

namespace egret::driver {

std::string to_string(const ir::SymbolValues& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes)
    text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(size);
  return text;
}

// Sizes that a rule may have overlooked: 1, primes, which hide no factor, and sizes around the
// example. Those that break an assumption of the program are left out.
base::Result<std::vector<ir::SymbolValues>> further_sizes(const ir::Graph& program,
                                                          const rules::OpenSizes& open,
                                                          std::size_t count) {
  static constexpr std::int64_t kPrimes[] = {2, 3, 5, 7, 11, 13};
  constexpr int kTries = 5;
  std::vector<ir::SymbolValues> found;
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
    if (assumed && rules::at_sizes(program, sizes).ok()) found.push_back(std::move(sizes));
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
  EGRET_ASSIGN_OR_RETURN(const auto compiled,
                         compile_batch(backend, ir::cut_at_opaque(*bound), plan));
  const ir::Graph original = ir::cut_at_opaque(expected);
  if (quick) {
    EGRET_ASSIGN_OR_RETURN(const auto before, compile_batch(backend, original, plan));
    EGRET_ASSIGN_OR_RETURN(const auto close,
                           compare_closely(original, *before, *compiled, options));
    if (close) return base::ok();
  }
  EGRET_ASSIGN_OR_RETURN(const OutputCheck check, OutputCheck::of(original, options));
  const auto run = [&](std::span<const ir::Tensor> inputs) { return compiled->run(inputs); };
  EGRET_ASSIGN_OR_RETURN(const CheckReport report, check.check(run));
  return report.passed ? base::ok() : mismatch_of(report).at("for " + to_string(sizes));
}

}  // namespace egret::driver
