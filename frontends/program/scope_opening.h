// SPDX-License-Identifier: Apache-2.0
// Scopes that a node opens: the body of the function that it calls, or the branches of an If.
#pragma once

#include <vector>

#include "frontends/program/program_draft.h"

namespace egret::frontends {

// Adds the scopes that this node of the draft opens, with what their names are bound to outside,
// and returns them; none for other nodes. Errors: bad_input for scopes that nest too deep, a call
// with more inputs or outputs than its function has, branches that do not fit their node.
base::Result<std::vector<ScopeToRead>> open_scopes(const ProgramSource& source, int node,
                                                   ProgramDraft& draft);

}  // namespace egret::frontends
