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
    {"EGRET_KERNEL_CACHE", "Folder for compiled kernels (default: ~/.cache/egret/kernels)"},
    {"EGRET_HOST_COMPILER", "C++ compiler for generated kernels (default: c++, g++ or clang++)"},
    {"EGRET_MPI_THREADS",
     "Threads that MPI is asked for: single, funneled, serialized (default) or multiple"},
    {"EGRET_CUDA_LIBRARIES", "Folders of the CUDA libraries, separated by colons"},
    {"EGRET_CUDA_DEVICE", "Index of the GPU to use (default: each rank uses its own GPU)"},
    {"EGRET_CUDA_TURNS",
     "Lock file for programs that measure on one GPU; one program measures at a time"},
});

}  // namespace egret::tools
