// SPDX-License-Identifier: Apache-2.0
#include "rules/language/rule_lexer.h"

#include <charconv>

namespace egret::rules {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return is_letter(c) || is_digit(c); }

class Lexer {
 public:
  Lexer(std::string_view file, std::string_view text) : file_(file), text_(text) {}

  base::Result<std::vector<Token>> run() {
    for (;;) {
      skip_blank();
      Token token;
      token.at = here();
      if (at_ == text_.size()) {
        tokens_.push_back(token);
        return std::move(tokens_);
      }
      EGRET_RETURN_IF_ERROR(next(token));
      tokens_.push_back(token);
    }
  }

 private:
  Location here() const { return {line_, static_cast<int>(at_ - line_begin_) + 1}; }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void skip_blank() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
      } else if (c == '\n') {
        ++line_;
        line_begin_ = at_ + 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  template <typename Accept>
  std::string_view take_while(const Accept& accept) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && accept(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  base::Status next(Token& token) {
    const bool names_rule = !tokens_.empty() && tokens_.back().is_word("rule");
    if (names_rule) {
      token.kind = Token::Kind::kRuleName;
      token.text = take_while([](char c) { return is_name(c) || c == '-' || c == '/'; });
      return token.text.empty()
                 ? error(token, "the name of a rule consists of letters, digits, -, _ and /")
                 : base::ok();
    }
    const char c = peek();
    if (is_letter(c)) {
      token.kind = Token::Kind::kWord;
      token.text = take_while(is_name);
      return base::ok();
    }
    if (is_digit(c)) return number(token);
    if (c == '"') return text(token);
    if (c == '?') {
      ++at_;
      token.kind = Token::Kind::kVariable;
      token.text = take_while(is_name);
      return token.text.empty() ? error(token, "expected a name after '?'") : base::ok();
    }
    return symbol(token);
  }

  base::Status number(Token& token) {
    const std::size_t begin = at_;
    take_while(is_digit);
    bool real = false;
    if (peek() == '.' && is_digit(peek(1))) {
      real = true;
      ++at_;
      take_while(is_digit);
    }
    if (peek() == 'e' &&
        (is_digit(peek(1)) || ((peek(1) == '-' || peek(1) == '+') && is_digit(peek(2))))) {
      real = true;
      at_ += 2;
      take_while(is_digit);
    }
    const char* first = text_.data() + begin;
    const char* last = text_.data() + at_;
    token.kind = real ? Token::Kind::kReal : Token::Kind::kInteger;
    const auto parsed = real ? std::from_chars(first, last, token.real)
                             : std::from_chars(first, last, token.integer);
    return parsed.ec != std::errc() || is_letter(peek()) ? error(token, "not a number")
                                                         : base::ok();
  }

  base::Status text(Token& token) {
    ++at_;
    token.kind = Token::Kind::kText;
    token.text = take_while([](char c) { return c != '"' && c != '\n'; });
    if (peek() != '"') return error(token, "a text must end with '\"' on the same line");
    ++at_;
    return base::ok();
  }

  base::Status symbol(Token& token) {
    static constexpr std::string_view kSymbols[] = {"<=>", "=>", "==", "!=", "<=", ">=", "++", "<",
                                                    ">",   "=",  "+",  "-",  "*",  "/",  "%",  "(",
                                                    ")",   "{",  "}",  "[",  "]",  ",",  ".",  ":"};
    token.kind = Token::Kind::kSymbol;
    for (const std::string_view candidate : kSymbols) {
      if (text_.substr(at_, candidate.size()) != candidate) continue;
      token.text = text_.substr(at_, candidate.size());
      at_ += candidate.size();
      return base::ok();
    }
    return error(token, std::string("unexpected character '") + peek() + "'");
  }

  base::Status error(const Token& token, std::string_view message) const {
    return error_at(file_, text_, token.at, message);
  }

  std::string_view file_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

base::Result<std::vector<Token>> lex_rules(std::string_view file, std::string_view text) {
  return Lexer(file, text).run();
}

base::Status error_at(std::string_view file, std::string_view text, Location at,
                      std::string_view message) {
  std::size_t begin = 0;
  for (int line = 1; line < at.line; ++line) begin = text.find('\n', begin) + 1;
  const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  std::string report = std::string(file) + ":" + std::to_string(at.line) + ":" +
                       std::to_string(at.column) + ": " + std::string(message) + "\n" +
                       std::string(line) + "\n";
  // Tabs are kept, so the caret is below its character.
  for (int i = 0; i + 1 < at.column; ++i)
    report += line[static_cast<std::size_t>(i)] == '\t' ? '\t' : ' ';
  return base::bad_input(report + "^");
}

}  // namespace egret::rules
