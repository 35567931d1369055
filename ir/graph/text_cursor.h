// SPDX-License-Identifier: Apache-2.0
// TextCursor: a position in a text that is being parsed, for small hand-written grammars. Errors
// stick: the first one keeps its place, and everything afterwards fails quietly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace egret::ir {

// `text` in quotes, with \" \\ \n \t \r and \xHH for other control characters; one line.
std::string quoted_text(std::string_view text);

class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  bool ok() const { return status_.ok(); }
  // The error at its place: "line 3, column 14: ...".
  const base::Status& status() const { return status_; }
  // Records an error at the last token's start (or at `offset`); always false.
  bool fail(std::string_view reason);
  bool fail_at(std::size_t offset, std::string_view reason);

  // Blanks, newlines and // comments before a token are skipped.
  std::size_t offset();  // of the next token
  bool at_end();
  char peek();  // 0 at the end
  // Takes `token` if it is next.
  bool take(std::string_view token);
  bool expect(std::string_view token);
  // A maximal run of letters, digits, '_', '.', '-' and '+' that is not empty. "" after an error.
  std::string_view word(std::string_view what);
  // Letters, digits and '_', not starting with a digit.
  std::string_view identifier(std::string_view what);
  std::string quoted(std::string_view what);
  std::optional<std::int64_t> integer();
  // The raw text of a value: a word, a quoted text, or a bracketed list.
  std::string_view raw_value();

 private:
  void skip();
  std::string_view run(std::string_view also, std::string_view what);

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t token_ = 0;
  base::Status status_;
};

}  // namespace egret::ir
