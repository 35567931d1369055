// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "frontends/onnx.h"

namespace egret::frontends {

// How the two models of a certificate are read: with these sizes, those of other names ignored, and
// with the nodes that Egret lacks as they are. Sizes are open if there is `example_of`.
inline ImportOptions certified_reading(
    const std::map<std::string, std::int64_t>& sizes, bool keeps_rounding,
    const std::function<std::int64_t(std::string_view name, int axis)>& example_of) {
  ImportOptions reading;
  reading.bind = sizes;
  reading.allow_unknown_bind = true;
  reading.opaque_nodes = true;
  reading.keeps_rounding = keeps_rounding;
  reading.example_of = example_of;
  return reading;
}

}  // namespace egret::frontends
