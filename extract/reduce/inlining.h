// SPDX-License-Identifier: Apache-2.0
// Reduction "inlined": a class is replaced by its candidates where it is needed.
#pragma once

#include "extract/core/core.h"

namespace egret::extract {

// Replaces each class whose only candidate costs nothing by that candidate's needs. Of two such
// classes in a row, which might form a cycle, one waits for the next round. Returns whether a class
// was replaced. O(size), times a logarithm for sorting needs.
bool inline_single_candidates(Core& core, const Problem& problem);

// Multiplies a class that one candidate alone needs into that candidate: the user's class gets a
// candidate for each of the class's. Returns whether a class was inlined. Classes with many
// candidates stay.
bool inline_single_users(Core& core);

// Drops the candidates that need their own class, which inlining makes. Returns whether one was
// dropped. O(size).
bool drop_self_needs(Core& core);

}  // namespace egret::extract
