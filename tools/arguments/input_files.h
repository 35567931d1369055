// SPDX-License-Identifier: Apache-2.0
// Values of inputs as arguments of verbs; see driver/models/input_values.h.
#pragma once

#include "driver/models/input_values.h"

namespace egret::tools {

using driver::InputOptions;
using driver::model_inputs;

}  // namespace egret::tools
