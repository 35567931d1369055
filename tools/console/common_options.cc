// SPDX-License-Identifier: Apache-2.0
#include "tools/console/common_options.h"

namespace egret::tools {

const base::OptionTable<CommonOptions>& CommonOptions::table() {
  using C = CommonOptions;
  static const base::OptionTable<C> rows{
      "general",
      {{"json", &C::json, "Print the result as one JSON document"},
       {"quiet", &C::quiet, "Print only results, warnings and errors", {}, 'q'},
       {"verbose", &C::verbose, "Also print details and statistics", {}, 'v'},
       {"color", &C::color, "Color output; auto colors a terminal",
        base::one_of({"auto", "always", "never"})},
       {"progress", &C::progress,
        "Progress on standard error: a line that fits the stream (auto), none, or JSON lines",
        base::one_of({"auto", "never", "json"})},
       {"threads", &C::threads, "Number of threads; 0: one per processor", base::range(0, 1024)}}};
  return rows;
}

const base::OptionTable<InvocationOptions>& InvocationOptions::table() {
  using I = InvocationOptions;
  static const base::OptionTable<I> rows{
      std::string(base::kInvocationSection),
      {{"config", &I::config, "Read options from this TOML file", base::path()},
       {"print-config", &I::print_config, "Print the effective options as TOML and exit"}}};
  return rows;
}

}  // namespace egret::tools
