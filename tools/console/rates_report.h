// SPDX-License-Identifier: Apache-2.0
// The rates of a machine as people and programs read them.
#pragma once

#include <string>

#include "base/formats/json.h"
#include "cost/model.h"

namespace egret::tools {

// "210 Gflop/s, 21.3 GB/s, 950 ns to start a kernel".
std::string rates_text(const cost::Rates& rates);
base::Json rates_json(const cost::Rates& rates);

}  // namespace egret::tools
