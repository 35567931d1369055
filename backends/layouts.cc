// SPDX-License-Identifier: Apache-2.0
#include "backends/layouts.h"

namespace egret::backends {

std::string_view to_string(LayoutForm form) {
  switch (form) {
    case LayoutForm::kRowMajor: return "row-major";
    case LayoutForm::kChannelsLast: return "channels-last";
    case LayoutForm::kBlocked: break;
  }
  return "blocked";
}

std::optional<LayoutForm> layout_form_named(std::string_view name) {
  for (const LayoutForm form : kLayoutForms) {
    if (to_string(form) == name) return form;
  }
  return std::nullopt;
}

// All forms of one channel, or of one place in space, are the same but for padding.
bool has_layout_forms(const ir::TensorType& type) {
  if (!type.is_concrete() || (type.rank() != 4 && type.rank() != 5)) return false;
  const ir::Shape shape = type.shape();
  return type.dtype == ir::DType::kF32 && shape[0] > 0 && shape[1] > 1 &&
         type.elements() > shape[0] * shape[1];
}

}  // namespace egret::backends
