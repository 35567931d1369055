// SPDX-License-Identifier: Apache-2.0
#include "python/src/options.h"

namespace egret::python {

const base::OptionTable<CommonOptions>& CommonOptions::table() {
  static const base::OptionTable<CommonOptions> rows{
      "common",
      {{"threads", &CommonOptions::threads, "Number of threads; 0: one per processor",
        base::range(0, 1024)}}};
  return rows;
}

}  // namespace egret::python
