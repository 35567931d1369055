// SPDX-License-Identifier: Apache-2.0
// Hostile ONNX files, made by code: what they are called, their bytes, and how they are to be
// refused.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace egret::hostile {

struct HostileFile {
  std::string name;
  std::string bytes;
  std::string place;  // what the message must contain: where the trouble is, or what it is
  base::StatusCode code = base::StatusCode::kBadInput;
};

// Each family in a file of its own.
std::vector<HostileFile> wire_cases();       // bytes that are no message, or too many
std::vector<HostileFile> structure_cases();  // names, cycles, versions, functions, types
std::vector<HostileFile> tensor_cases();     // weights that contradict themselves
std::vector<HostileFile> operator_cases();   // sizes and attributes that explode

}  // namespace egret::hostile
