// SPDX-License-Identifier: Apache-2.0
// Kernels that read and store values in several layouts: what a backend may have besides its
// interface.
#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/layouts.h"
#include "ir/graph/graph.h"

namespace egret::backends {

// A backend whose plans keep to CompileOptions::layouts derives from it, too.
class LayoutForms {
 public:
  virtual ~LayoutForms() = default;

  // The layouts in which a kernel may read and store values, `piece` being what it computes: those
  // between which its time decides. At least one. O(nodes).
  virtual std::vector<KernelLayouts> layouts_of(const ir::Graph& piece,
                                                const CompileOptions& options) const = 0;
};

std::string to_string(const KernelLayouts& layouts);  // "from row-major to blocked"

// nullptr where the backend decides on layouts alone, or has one.
const LayoutForms* layout_forms_of(const Backend& backend);

}  // namespace egret::backends
