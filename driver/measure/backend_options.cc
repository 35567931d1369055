// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/backend_options.h"

#include <algorithm>
#include <utility>

#include "backends/named_backend.h"
#include "backends/option_help.h"
#include "driver/measure/batch_plan.h"

namespace egret::driver {

const base::OptionTable<BackendOptions>& BackendOptions::table() {
  using B = BackendOptions;
  static const base::OptionTable<B> rows{
      "backend",
      {{"backend", &B::backend, backends::kBackendHelp},
       {"precision", &B::precision, backends::kPrecisionHelp,
        base::one_of(backends::precision_names())},
       {"seed", &B::seed, "Seed of random numbers", base::range(0)},
       {"limit-arena", &B::limit_arena, backends::kLimitArenaHelp, base::bytes(0)},
       {"without", &B::without,
        "Ablation: switch off one optimization. fusion: kernels that compute several operators. "
        "blocked: layouts other than row-major. folding: computation of constants at compile time. "
        "emitted: generated kernels; the interpreter runs these operators instead. thrift: the "
        "limit on memory that kernels use for speed. slices: running a batch sample by sample",
        base::one_of({"fusion", "blocked", "folding", "emitted", "thrift", "slices"})}}};
  return rows;
}

backends::Precision precision_of(const BackendOptions& options) {
  return backends::precision_named(options.precision);
}

backends::CompileOptions compile_options(const BackendOptions& options, std::int64_t threads,
                                         bool profile) {
  const auto has = [&](std::string_view part) {
    return std::ranges::find(options.without, part) == options.without.end();
  };
  return {.threads = static_cast<int>(threads),
          .profile = profile,
          .limit_arena = options.limit_arena,
          .precision = precision_of(options),
          .checked_indices = options.checked_indices,
          .fuse = has("fusion"),
          .blocked = has("blocked"),
          .fold = has("folding"),
          .thrift = has("thrift"),
          .slice = has("slices"),
          .emission = has("emitted") ? backends::Emission::kWhereWorth : backends::Emission::kNone};
}

base::Result<std::unique_ptr<backends::ExecutablePlan>> compile_plan(ir::Graph graph,
                                                                     const BackendOptions& options,
                                                                     std::int64_t threads,
                                                                     bool profile) {
  EGRET_ASSIGN_OR_RETURN(const backends::Backend* backend,
                         backends::backend_called(options.backend));
  EGRET_RETURN_IF_ERROR(backend->takes_precision(precision_of(options)));
  EGRET_RETURN_IF_ERROR(backend->availability());
  return compile_batch(*backend, std::move(graph), compile_options(options, threads, profile));
}

}  // namespace egret::driver
