// SPDX-License-Identifier: Apache-2.0
#include "base/formats/markup.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "base/formats/text_table.h"

namespace egret::base {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U;
}

// The bytes of the UTF-8 sequence that begins here; 0 if there is none. Overlong forms and
// surrogates are refused, since a browser shows them as U+FFFD too.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues(text, at + i)) return 0;
  }
  if (length < 3) return length;
  const auto second = static_cast<unsigned char>(text[at + 1]);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool outside = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return overlong || outside ? 0 : length;
}

}  // namespace

Markup::Markup(std::string_view text) {
  markup_.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(text, i);
    const char c = text[i];
    if (length > 1) {
      markup_ += text.substr(i, length);
    } else if (length == 0 || (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') ||
               c == 0x7f) {
      markup_ += kReplacement;
    } else {
      switch (c) {
        case '&': markup_ += "&amp;"; break;
        case '<': markup_ += "&lt;"; break;
        case '>': markup_ += "&gt;"; break;
        case '"': markup_ += "&quot;"; break;
        case '\'': markup_ += "&#39;"; break;
        default: markup_ += c;
      }
    }
    i += length == 0 ? 1 : length;
  }
}

Markup Markup::verbatim(std::string markup) {
  Markup result;
  result.markup_ = std::move(markup);
  return result;
}

MarkupAttribute::MarkupAttribute(std::string_view attribute, double number) : name(attribute) {
  constexpr double kMost =
      1e9;  // coordinates beyond this are a bug of the caller, not of a browser
  number = std::isfinite(number) ? std::fmin(std::fmax(number, -kMost), kMost) : 0;
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.2f", number);
  value = text.data();
  while (value.back() == '0') value.pop_back();
  if (value.back() == '.') value.pop_back();
  if (value == "-0") value = "0";
}

Markup element(std::string_view tag, const std::vector<MarkupAttribute>& attributes,
               const Markup& content) {
  std::string text("<");
  text += tag;
  for (const MarkupAttribute& attribute : attributes) {
    text.append(" ").append(attribute.name).append("=\"");
    text.append(Markup(attribute.value).str()).append("\"");
  }
  text.append(">").append(content.str()).append("</").append(tag).append(">");
  return Markup::verbatim(std::move(text));
}

Markup script_data(const Json& document) {
  std::string text;
  for (const char c : document.dump()) {
    // "<" occurs in strings only, where it may be written as an escape.
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return Markup::verbatim(std::move(text));
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text_width(text) <= most) return std::string(text);
  std::size_t letters = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xc0U) != 0x80U;
    if (begins && ++letters == most) break;
  }
  return std::string(text.substr(0, end)) + "\u2026";
}

std::string fill_template(
    std::string_view text,
    std::initializer_list<std::pair<std::string_view, std::string_view>> parts) {
  std::string result;
  while (true) {
    const std::size_t begin = text.find("{{");
    const std::size_t end = begin == std::string_view::npos ? begin : text.find("}}", begin);
    if (end == std::string_view::npos) return result.append(text);
    const std::string_view name = text.substr(begin + 2, end - begin - 2);
    const auto* part = parts.begin();
    while (part != parts.end() && part->first != name) ++part;
    if (part == parts.end()) {
      result += text.substr(0, end + 2);
    } else {
      result.append(text.substr(0, begin)).append(part->second);
    }
    text.remove_prefix(end + 2);
  }
}

}  // namespace egret::base
