// SPDX-License-Identifier: Apache-2.0
// A result as one HTML file that loads nothing from elsewhere: for a browser on a desk, a phone or
// paper. All text stands in the markup, so the page can be read with scripts off; page.js only adds
// sorting, and opens folded parts for print. The files page.html, page.css and page.js are
// compiled into the library.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "base/formats/markup.h"

namespace egret::driver {

// The help of options that ask for a page.
inline constexpr std::string_view kReportHelp =
    "Also write the result as a page for a browser: one HTML file that loads nothing from "
    "elsewhere";

// A figure at the top of a page.
struct ReportFigure {
  std::string label;   // "measured"
  std::string value;   // "1.23x"
  std::string note{};  // "4.1 ms -> 3.3 ms"
  // Whether it is a gain, a warning, or neither.
  enum class Tone : std::uint8_t { kPlain, kGood, kBad } tone = Tone::kPlain;
};

struct ReportSection {
  std::string id;  // of its anchor; letters and dashes
  std::string title;
  base::Markup content;
};

struct ReportPage {
  std::string title;    // "resnet50.onnx"
  std::string kind;     // "egret optimize"
  std::string verdict;  // one sentence
  std::vector<ReportFigure> figures{};
  std::vector<ReportSection> sections{};
  base::Json data{};      // the verb's JSON document, for programs that read the page
  std::string version{};  // of Egret

  // Leaves out a section without content.
  void add(std::string id, std::string heading, base::Markup content);
};

std::string render(const ReportPage& page);

}  // namespace egret::driver
