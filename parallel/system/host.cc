// SPDX-License-Identifier: Apache-2.0
#include "parallel/system/host.h"

#include <algorithm>

namespace egret::parallel {

double Host::seconds(double flops, double bytes) const {
  return std::max(flops / (flops_per_second * matmul_efficiency),
                  bytes / (bytes_per_second * memory_efficiency));
}

}  // namespace egret::parallel
