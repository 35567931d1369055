// SPDX-License-Identifier: Apache-2.0
#include "backends/precision.h"

#include <array>

namespace egret::backends {
namespace {

constexpr std::array kAll = {Precision::kF32, Precision::kTF32, Precision::kBF16, Precision::kF16};

}  // namespace

std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::kF32: return "f32";
    case Precision::kTF32: return "tf32";
    case Precision::kBF16: return "bf16";
    case Precision::kF16: return "f16";
  }
  return "";
}

std::string_view to_string(OperandForm form) {
  switch (form) {
    case OperandForm::kF32: return "f32";
    case OperandForm::kBF16: return "bf16";
    case OperandForm::kI8: return "int8";
  }
  return "";
}

std::vector<std::string> precision_names() {
  std::vector<std::string> names;
  for (const Precision precision : kAll) names.emplace_back(to_string(precision));
  return names;
}

Precision precision_named(std::string_view name) {
  for (const Precision precision : kAll) {
    if (to_string(precision) == name) return precision;
  }
  return Precision::kF32;
}

}  // namespace egret::backends
