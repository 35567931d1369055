// SPDX-License-Identifier: Apache-2.0
// The rule language on one page, for `egret help rules`: the parts of a rule, terms, and every form
// and function of expressions, from the tables that the parser uses.
#pragma once

#include <string>

namespace egret::rules {

std::string language_page();

}  // namespace egret::rules
