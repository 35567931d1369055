// SPDX-License-Identifier: Apache-2.0
// HTML and SVG as values. Text becomes markup only by escaping, so a name from a model can never
// be read as a tag:
//
//   Markup cell = element("td", {{"class", "name"}}, node.name);   // escaped
//   cell.add(element("b", {}, "42 %"));
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formats/json.h"

namespace egret::base {

class Markup {
 public:
  Markup() = default;
  // Escapes the text. Bytes that are no UTF-8, and control characters, become U+FFFD.
  Markup(std::string_view text);                                       // NOLINT: implicit
  Markup(const std::string& text) : Markup(std::string_view(text)) {}  // NOLINT: implicit
  Markup(const char* text) : Markup(std::string_view(text)) {}         // NOLINT: implicit
  // Markup of our own files; never text from a model.
  static Markup verbatim(std::string markup);

  Markup& add(const Markup& other) {
    markup_ += other.markup_;
    return *this;
  }
  const std::string& str() const { return markup_; }
  bool empty() const { return markup_.empty(); }

 private:
  std::string markup_;
};

struct MarkupAttribute {
  MarkupAttribute(std::string_view attribute, std::string text)
      : name(attribute), value(std::move(text)) {}
  // A number with at most two decimals.
  MarkupAttribute(std::string_view attribute, double number);

  std::string_view name;  // a literal
  std::string value;      // is escaped
};

// <tag name="value">content</tag>
Markup element(std::string_view tag, const std::vector<MarkupAttribute>& attributes,
               const Markup& content = {});

// A document as the content of <script type="application/json">: no string in it can end the
// element.
Markup script_data(const Json& document);

// The text itself if it has at most so many letters (code points); otherwise its beginning and "…".
std::string shortened(std::string_view text, std::size_t most);

// The template with each {{name}} replaced by the part of that name. Parts are not searched again.
// A name without a part stays.
std::string fill_template(
    std::string_view text,
    std::initializer_list<std::pair<std::string_view, std::string_view>> parts);

}  // namespace egret::base
