// SPDX-License-Identifier: Apache-2.0
// The graph before and after, side by side: the places that changed, with what surrounds them.
// Places that changed in the same way are drawn once. The section is bounded for any model: what is
// not drawn is counted.
#pragma once

#include "base/formats/markup.h"
#include "driver/select/rule_marks.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// `made_by`: of `after`.
base::Markup graph_section(const ir::Graph& before, const ir::Graph& after,
                           const RuleMarks& made_by);

}  // namespace egret::driver
