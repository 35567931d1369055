// SPDX-License-Identifier: Apache-2.0
// Sessions with Z3 and cvc5. A program that gives its sessions solvers of its own does not need
// this file, and so none of these libraries.
#include "verifier/solver/solver_session.h"

namespace egret::verifier {

SolverSession::SolverSession(Options options)
    : SolverSession(options, make_z3(), options.second_opinion ? make_cvc5() : nullptr) {}

}  // namespace egret::verifier
