// SPDX-License-Identifier: Apache-2.0
// Reads rule files.
//
//   file      := rule*
//   rule      := 'rule' NAME ["doc"] ['[' tag ',' ... ']'] item* ('=>' | '<=>') target+ item*
//   item      := source | 'where' expr | 'heuristic' expr | 'let' ?attr '=' expr
//              | 'let' name '=' term
//   source    := [name '='] term            target := [name '='] term
//   term      := ?x | name | number | 'value' '(' expr ')' | op ['{' attrs '}'] ['(' term ',' ...
//   ')'] attrs     := '*' | '*' name | name '=' expr, separated by commas expr      := the usual
//   infix operators (or; and; not; == != < <= > >=; ++; + -; * / %; unary -;
//                indexing), calls of functions(), lists [a, b], [for i < n: expr],
//                if(c, a, b), ?attr, c.name (attribute `name` of spread c)
//
// `#` begins a comment. A source without a name is called `out`, as is a target.
// On the left an attribute that is not mentioned has its default value; `*` stands for any values
// of those not mentioned, `*c` captures them. On the right `*c` gives what it captured, as far as
// the operator declares it and it is not listed beside it. A number (or value(expr)) as a term is a
// constant of rank 0 on the right, of the element type of the argument beside it; on the left it
// matches any tensor all of whose elements are that number.
// `<=>` makes two rules, NAME and NAME-reversed; nothing may then be computed on either side that
// the other does not bind.
//
// Errors (unknown or unbound names, wrong arity, missing attributes, syntax) are bad_input with
// file, line, column, the line, a caret and, where there is one, the nearest known name.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "rules/language/rule.h"

namespace egret::rules {

base::Result<std::vector<Rule>> parse_rules(std::string_view file, std::string_view text);

}  // namespace egret::rules
