// SPDX-License-Identifier: Apache-2.0
#include "backends/layout_forms.h"

namespace egret::backends {

std::string to_string(const KernelLayouts& layouts) {
  return "from " + std::string(to_string(layouts.reads)) + " to " +
         std::string(to_string(layouts.writes));
}

const LayoutForms* layout_forms_of(const Backend& backend) {
  return dynamic_cast<const LayoutForms*>(&backend);
}

}  // namespace egret::backends
