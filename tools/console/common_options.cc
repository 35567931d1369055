// SPDX-License-Identifier: Apache-2.0
#include "tools/console/common_options.h"

namespace egret::tools {

const base::OptionTable<CommonOptions>& CommonOptions::table() {
  using C = CommonOptions;
  static const base::OptionTable<C> rows{
      "general",
      {{"json", &C::json, "Print the result as one JSON document"},
       {"quiet", &C::quiet, "Print nothing but results and errors", {}, 'q'},
       {"verbose", &C::verbose, "Print what is being done, and statistics", {}, 'v'},
       {"color", &C::color, "Colour: on a terminal, always or never",
        base::one_of({"auto", "always", "never"})},
       {"progress", &C::progress, "Progress on standard error: fit for the stream, none, or JSON",
        base::one_of({"auto", "never", "json"})},
       {"threads", &C::threads, "Threads to use; 0 means one per processor",
        base::range(0, 1024)}}};
  return rows;
}

const base::OptionTable<InvocationOptions>& InvocationOptions::table() {
  using I = InvocationOptions;
  static const base::OptionTable<I> rows{
      std::string(base::kInvocationSection),
      {{"config", &I::config, "Read options from this TOML file", base::path()},
       {"print-config", &I::print_config, "Print the options in force as TOML and stop"}}};
  return rows;
}

}  // namespace egret::tools
