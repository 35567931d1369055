// SPDX-License-Identifier: Apache-2.0
// Tokens of the rule language, and errors that point to their position:
//
//   merges.rules:3:9: unknown operator 'matmull'; did you mean "matmul"?
//       p = matmull(?x, ?a)
//           ^
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "rules/language/expression.h"

namespace egret::rules {

struct Token {
  enum class Kind : std::uint8_t {
    kWord,      // name, text: its letters
    kRuleName,  // the word after `rule`, which may contain '-'
    kVariable,  // ?name, text: without '?'
    kInteger,
    kReal,
    kText,    // "...", text: its contents
    kSymbol,  // ( ) { } [ ] , . = => <=> == ...
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string_view text{};
  std::int64_t integer = 0;
  double real = 0;
  Location at{};

  bool is(std::string_view symbol) const { return kind == Kind::kSymbol && text == symbol; }
  bool is_word(std::string_view word) const { return kind == Kind::kWord && text == word; }
};

// The last token is kEnd. Tokens are views of `text`.
base::Result<std::vector<Token>> lex_rules(std::string_view file, std::string_view text);

// bad_input "FILE:LINE:COLUMN: MESSAGE", the line, and a caret.
base::Status error_at(std::string_view file, std::string_view text, Location at,
                      std::string_view message);

}  // namespace egret::rules
