// SPDX-License-Identifier: Apache-2.0
// Reads the nodes of a scope into a draft: the main graph, a function's body, a branch of an If.
#pragma once

#include <vector>

#include "frontends/program/program_draft.h"

namespace egret::frontends {

// Each adds the scope's constants and nodes, with their names resolved, and returns the scopes that
// the nodes open, which are to be read next. Errors: bad_input for a name that is defined twice or
// not at all, more than max_nodes nodes, an output that nothing produces; unsupported for sparse
// initializers.

// Scope 0, with the program's inputs and outputs. The draft is empty before.
base::Result<std::vector<ScopeToRead>> read_main_graph(const ProgramSource& source,
                                                       ProgramDraft& draft);
// The call's outputs become aliases of the body's, and the call loses its proto: the body replaces
// it.
base::Result<std::vector<ScopeToRead>> read_body(const ProgramSource& source,
                                                 const ScopeToRead& body, ProgramDraft& draft);
// The branch's outputs become inputs of the If.
base::Result<std::vector<ScopeToRead>> read_branch(const ProgramSource& source,
                                                   const ScopeToRead& branch, ProgramDraft& draft);

}  // namespace egret::frontends
