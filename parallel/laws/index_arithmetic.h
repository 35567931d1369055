// SPDX-License-Identifier: Apache-2.0
// The operators on index expressions, over what is known of their operands: how the affine form,
// the ranges and the move from block to block of a result follow from theirs.
//
// Each throws NotCut where the result moves in a way that no device can follow.
#pragma once

#include <string>

#include "parallel/laws/form_table.h"
#include "parallel/laws/index_form.h"

namespace egret::parallel {

// An expression moves in a way that no device can follow. Caught in cut_form.cc.
struct NotCut {};

IndexForm constant_form(std::int64_t value);
// An expression that is not affine, by its text; it does not move.
IndexForm atom_form(FormTable& table, const std::string& text, Interval local, Interval global);

IndexForm sum_form(const IndexForm& a, const IndexForm& b);
IndexForm difference_form(const IndexForm& a, const IndexForm& b);
IndexForm product_form(FormTable& table, const IndexForm& a, const IndexForm& b);
// Rounded down; and what remains, which has the divisor's sign.
IndexForm quotient_form(FormTable& table, const IndexForm& a, const IndexForm& b);
IndexForm remainder_form(FormTable& table, const IndexForm& a, const IndexForm& b);
IndexForm minimum_form(FormTable& table, const IndexForm& a, const IndexForm& b);
IndexForm maximum_form(FormTable& table, const IndexForm& a, const IndexForm& b);

}  // namespace egret::parallel
