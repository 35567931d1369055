// SPDX-License-Identifier: Apache-2.0
#include "driver/report/page.h"

#include <utility>

#include "driver/report/page_files.h"

namespace egret::driver {
namespace {

using base::element;
using base::Markup;

std::string_view class_of(ReportFigure::Tone tone) {
  switch (tone) {
    case ReportFigure::Tone::kGood: return "figure good";
    case ReportFigure::Tone::kBad: return "figure bad";
    case ReportFigure::Tone::kPlain: break;
  }
  return "figure";
}

Markup figures_of(const ReportPage& page) {
  Markup all;
  for (const ReportFigure& figure : page.figures) {
    Markup one = element("dt", {}, figure.label);
    one.add(element("dd", {{"class", "value"}}, figure.value));
    if (!figure.note.empty()) one.add(element("dd", {{"class", "note"}}, figure.note));
    all.add(element("div", {{"class", std::string(class_of(figure.tone))}}, one));
  }
  return all.empty() ? all : element("dl", {{"class", "figures"}}, all);
}

Markup contents_of(const ReportPage& page) {
  Markup links;
  for (const ReportSection& section : page.sections)
    links.add(element("a", {{"href", "#" + section.id}}, section.title));
  return element("nav", {{"aria-label", "Sections"}}, links);
}

Markup sections_of(const ReportPage& page) {
  Markup all;
  for (const ReportSection& section : page.sections) {
    Markup content = element("h2", {}, section.title);
    content.add(section.content);
    all.add(element("section", {{"id", section.id}}, content));
  }
  return all;
}

}  // namespace

void ReportPage::add(std::string id, std::string heading, base::Markup content) {
  if (content.empty()) return;
  sections.push_back({std::move(id), std::move(heading), std::move(content)});
}

std::string render(const ReportPage& page) {
  return base::fill_template(page_html(), {{"title", Markup(page.title + " - " + page.kind).str()},
                                           {"heading", Markup(page.title).str()},
                                           {"kind", Markup(page.kind).str()},
                                           {"verdict", Markup(page.verdict).str()},
                                           {"version", Markup(page.version).str()},
                                           {"style", page_css()},
                                           {"script", page_js()},
                                           {"figures", figures_of(page).str()},
                                           {"contents", contents_of(page).str()},
                                           {"sections", sections_of(page).str()},
                                           {"data", base::script_data(page.data).str()}});
}

}  // namespace egret::driver
