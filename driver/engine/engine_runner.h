// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace egret::driver {

// The text of engine_runner.py: a Python program, run with the name of an engine.
std::string_view engine_runner();

}  // namespace egret::driver
