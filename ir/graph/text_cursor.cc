// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/text_cursor.h"

#include <algorithm>
#include <charconv>

namespace egret::ir {
namespace {

// The same in every locale.
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

std::string quoted_text(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"': result += "\\\""; break;
      case '\\': result += "\\\\"; break;
      case '\n': result += "\\n"; break;
      case '\t': result += "\\t"; break;
      case '\r': result += "\\r"; break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          result += "\\x";
          result += kHex[byte >> 4];
          result += kHex[byte & 15];
        } else {
          result += c;
        }
    }
  }
  return result + "\"";
}

bool TextCursor::fail(std::string_view reason) { return fail_at(token_, reason); }

bool TextCursor::fail_at(std::size_t offset, std::string_view reason) {
  if (!ok()) return false;
  const std::string_view before = text_.substr(0, offset);
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  status_ = base::bad_input("line " + std::to_string(line) + ", column " +
                            std::to_string(offset - line_start + 1) + ": " + std::string(reason));
  return false;
}

void TextCursor::skip() {
  while (at_ < text_.size()) {
    if (is_blank(text_[at_])) {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      break;
    }
  }
  token_ = at_;
}

std::size_t TextCursor::offset() {
  skip();
  return at_;
}

bool TextCursor::at_end() {
  skip();
  return at_ >= text_.size();
}

char TextCursor::peek() {
  skip();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool TextCursor::take(std::string_view token) {
  skip();
  if (!ok() || !text_.substr(at_).starts_with(token)) return false;
  at_ += token.size();
  return true;
}

bool TextCursor::expect(std::string_view token) {
  return take(token) || fail("'" + std::string(token) + "' expected");
}

std::string_view TextCursor::run(std::string_view also, std::string_view what) {
  skip();
  std::size_t end = at_;
  while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]) ||
                                also.find(text_[end]) != std::string_view::npos)) {
    ++end;
  }
  if (!ok() || end == at_) {
    fail(std::string(what) + " expected");
    return {};
  }
  const std::string_view result = text_.substr(at_, end - at_);
  at_ = end;
  return result;
}

std::string_view TextCursor::word(std::string_view what) { return run("_.+-", what); }

std::string_view TextCursor::identifier(std::string_view what) {
  if (is_digit(peek())) {
    fail(std::string(what) + " expected");
    return {};
  }
  return run("_", what);
}

std::string TextCursor::quoted(std::string_view what) {
  skip();
  std::string result;
  if (!ok() || at_ >= text_.size() || text_[at_] != '"') {
    fail(std::string(what) + " in quotes expected");
    return result;
  }
  for (std::size_t i = at_ + 1; i < text_.size(); ++i) {
    char c = text_[i];
    if (c == '"') {
      at_ = i + 1;
      return result;
    }
    if (c == '\\') {
      c = ++i < text_.size() ? text_[i] : '\0';
      if (c == 'x') {
        unsigned byte = 0;
        const char* digits = text_.data() + i + 1;
        const char* limit = text_.data() + std::min(i + 3, text_.size());
        if (const auto [end, error] = std::from_chars(digits, limit, byte, 16);
            error != std::errc() || end != digits + 2) {
          fail_at(i, "two hexadecimal digits expected after \\x");
          return result;
        }
        i += 2;
        c = static_cast<char>(byte);
      } else {
        c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
      }
    }
    result += c;
  }
  fail("unterminated quoted text");
  return result;
}

std::optional<std::int64_t> TextCursor::integer() {
  skip();
  std::int64_t value = 0;
  const char* end = text_.data() + text_.size();
  const auto [stop, error] = std::from_chars(text_.data() + at_, end, value);
  if (!ok() || error != std::errc()) {
    fail("a whole number expected");
    return std::nullopt;
  }
  at_ = static_cast<std::size_t>(stop - text_.data());
  return value;
}

std::string_view TextCursor::raw_value() {
  const char first = peek();
  const std::size_t start = at_;
  if (first == '"') {
    quoted("a text");
  } else if (first == '[') {
    const std::size_t end = text_.find(']', at_);
    if (end == std::string_view::npos) {
      fail("']' is missing");
      return {};
    }
    at_ = end + 1;
  } else {
    word("a value");
  }
  return ok() ? text_.substr(start, at_ - start) : std::string_view{};
}

}  // namespace egret::ir
