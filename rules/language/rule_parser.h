// SPDX-License-Identifier: Apache-2.0
// Reads rule files.
//
//   file      := rule*
//   rule      := 'rule' NAME ["doc"] ['[' tag ',' ... ']'] item* ('=>' | '<=>') target+ item*
//   item      := source | 'where' expr | 'heuristic' expr | 'let' ?attr '=' expr
//              | 'let' name '=' term
//   source    := [name '='] term            target := [name '='] term
//   term      := ?x | name | number | 'value' '(' expr ')'
//              | op ['{' attrs '}'] ['(' term ',' ... ')']
//   attrs     := '*' | '*' name | name '=' expr, separated by commas
//   expr      := the usual infix operators (or; and; not; == != < <= > >=; ++; + -; * / %;
//                unary -; indexing), calls of functions(), lists [a, b], [for i < n: expr],
//                if(c, a, b), ?attr, c.name (attribute `name` of spread c)
//
// `#` begins a comment. The default name of a source or target is `out`. On the left, an attribute
// that is not mentioned must have its default value. `*` allows any values of the unmentioned ones,
// and `*c` captures them. On the right, `*c` inserts the captured attributes that the operator
// declares and that are not listed beside it. A number (or value(expr)) as a term is a rank-0
// constant on the right, with the element type of an argument beside it. On the left it matches any
// tensor whose elements all equal that number. `<=>` makes two rules, NAME and NAME-reversed. Each
// side must then bind everything that the other side uses.
//
// Errors (unknown or unbound names, wrong arity, missing attributes, syntax) are bad_input with
// file, line, column, the text line, a caret and, if there is one, the nearest known name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "rules/language/rule.h"

namespace egret::rules {

base::Result<std::vector<Rule>> parse_rules(std::string_view file, std::string_view text);

// The rules that come with Egret. Given `names`, which are the map's values, only those of one of
// these names and others beside them: prefixes (mine/NAME) do not count, and NAME-reversed as NAME.
// A rule that does not begin its line is then left out.
base::Result<std::vector<Rule>> parse_builtin_rules(
    const std::map<std::string, std::string>* names = nullptr);

}  // namespace egret::rules
