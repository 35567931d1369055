// SPDX-License-Identifier: Apache-2.0
// Environment variables that are no option of a verb: one row each, shown by `egret help` and in
// the manual.
#pragma once

#include <array>
#include <string_view>

namespace egret::tools {

struct VariableRow {
  std::string_view name;
  std::string_view meaning;  // without a full stop
};

inline constexpr auto kVariables = std::to_array<VariableRow>({
    {"EGRET_KERNEL_CACHE", "Folder for compiled kernels, instead of ~/.cache/egret/kernels"},
    {"EGRET_HOST_COMPILER", "C++ compiler of generated kernels, instead of c++, g++ or clang++"},
    {"EGRET_CUDA_LIBRARIES", "Folders of CUDA's libraries, separated by colons"},
    {"EGRET_CUDA_DEVICE", "Number of the GPU; of ranks each takes one of its own otherwise"},
    {"EGRET_CUDA_TURNS", "File by which programs that measure on one GPU take turns"},
});

}  // namespace egret::tools
