// SPDX-License-Identifier: Apache-2.0
#include "tools/console/rates_report.h"

#include "base/formats/units.h"

namespace egret::tools {

std::string rates_text(const cost::Rates& rates) {
  return base::format_short(rates.flops_per_second / 1e9) + " Gflop/s, " +
         base::format_short(rates.bytes_per_second / 1e9) + " GB/s, " +
         base::format_seconds(rates.seconds_per_kernel) + " to start a kernel";
}

base::Json rates_json(const cost::Rates& rates) {
  return base::Json::object()
      .set("flops_per_second", rates.flops_per_second)
      .set("bytes_per_second", rates.bytes_per_second)
      .set("seconds_per_kernel", rates.seconds_per_kernel);
}

}  // namespace egret::tools
