// SPDX-License-Identifier: Apache-2.0
#include "driver/report/generation_page.h"

#include <algorithm>
#include <utility>

#include "base/formats/units.h"
#include "driver/report/blocks.h"
#include "driver/report/charts.h"
#include "driver/select/rule_count.h"
#include "rules/proving/record.h"

namespace egret::driver {
namespace {

using base::element;
using base::Markup;
using base::TextTable;
using rules::generator::CandidateCount;
using rules::generator::GeneratedRule;
using rules::generator::Generation;
using rules::generator::LevelCount;
using Tone = ReportFigure::Tone;

constexpr std::size_t kMostRules = 1000;  // of a page
constexpr std::size_t kRulesShown = 25;   // of a space, before the fold
constexpr std::size_t kMostUnproven = 200;

std::string count(std::uint64_t n) { return base::format_count(static_cast<std::int64_t>(n)); }

std::string operators(const LevelCount& level) {
  return base::counted(static_cast<std::int64_t>(level.operators), "operator");
}

struct Sums {
  std::uint64_t terms = 0;
  std::uint64_t classes = 0;
  CandidateCount candidates;
  double seconds = 0;
  std::uint64_t rules = 0;
  std::uint64_t undecided = 0;
};

void add(const Generation& generation, Sums& sums) {
  for (const LevelCount& level : generation.levels) {
    sums.terms += level.terms;
    sums.classes += level.classes;
    sums.seconds += level.seconds;
  }
  for (const CandidateCount& one : generation.candidates) {
    sums.candidates.candidates += one.candidates;
    sums.candidates.derived += one.derived;
    sums.candidates.proven += one.proven;
    sums.candidates.conditional += one.conditional;
    sums.candidates.refuted += one.refuted;
    sums.candidates.undecided += one.undecided;
    sums.candidates.kept += one.kept;
    sums.seconds += one.seconds;
  }
  sums.rules += generation.rules.size();
}

std::vector<ReportFigure> figures_of(const Sums& sums) {
  return {{.label = "Rules",
           .value = count(sums.rules),
           .note = "all proven",
           .tone = sums.rules > 0 ? Tone::kGood : Tone::kPlain},
          {.label = "Terms", .value = count(sums.terms), .note = ""},
          {.label = "Classes of equal terms", .value = count(sums.classes), .note = ""},
          {.label = "Candidates",
           .value = count(sums.candidates.candidates),
           .note = count(sums.candidates.refuted) + " refuted, " +
                   count(sums.candidates.undecided) + " undecided"},
          {.label = "Time", .value = base::format_seconds(sums.seconds), .note = ""}};
}

// What became of the candidates.
Markup candidates_chart(const CandidateCount& c) {
  if (c.candidates == 0) return {};
  const auto bar = [&](const char* label, std::uint64_t n, const char* tone) {
    return ChartBar{
        .label = label,
        .value = count(n) + ", " +
                 base::format_percent(static_cast<double>(n) / static_cast<double>(c.candidates)),
        .to = static_cast<double>(n),
        .tone = tone};
  };
  return bar_chart(
      {bar("pairs of equal terms", c.candidates, "total"),
       bar("follow from earlier rules", c.derived, "first"), bar("proven", c.proven, "good"),
       bar("proven with a condition", c.conditional, "good"), bar("refuted", c.refuted, "bad"),
       bar("undecided", c.undecided, "second"), bar("kept after minimization", c.kept, "good")});
}

Markup rule_row(const GeneratedRule& generated, const rules::RuleStatuses& statuses) {
  Markup row = element("h3", {}, generated.rule.name);
  Markup line = badge(to_string(generated.verdict.status),
                      generated.verdict.status == rules::Verdict::Status::kProven ? "good" : "bad");
  line.add(" ").add(badge(to_string(rules::limit_of(generated.verdict))));
  if (!generated.rule.conditions.empty()) line.add(" ").add(badge("with a condition"));
  if (!generated.back_of.empty()) line.add(" the other direction of " + generated.back_of);
  if (!generated.rule.doc.empty()) line.add(" " + generated.rule.doc);
  row.add(paragraph(line));
  if (const auto* entry = statuses.find(content_hash(generated.rule)); entry != nullptr) {
    if (const std::string proof = proof_text(*entry); !proof.empty())
      row.add(small_text("Proof: " + proof + "."));
  }
  row.add(code_block(to_string(generated.rule)));
  return element("div", {{"class", "rule-row"}}, row);
}

Markup rules_content(const Generation& generation, std::size_t most) {
  if (generation.rules.empty()) return paragraph("No rules.");
  rules::RuleStatuses statuses;
  for (const GeneratedRule& one : generation.rules) rules::record(statuses, one.rule, one.verdict);
  const std::size_t shown = std::min(generation.rules.size(), most);
  Markup first;
  Markup rest;
  for (std::size_t i = 0; i < shown; ++i)
    (i < kRulesShown ? first : rest).add(rule_row(generation.rules[i], statuses));
  if (!rest.empty()) {
    first.add(
        folded("The other " + base::counted(static_cast<std::int64_t>(shown - kRulesShown), "rule"),
               rest));
  }
  if (shown < generation.rules.size()) {
    first.add(small_text(
        base::counted(static_cast<std::int64_t>(generation.rules.size() - shown), "further rule") +
        " not shown; the rule file has all."));
  }
  return first;
}

Markup unproven_content(const Generation& generation) {
  if (generation.unproven.empty()) return {};
  TextTable table({{"terms"}, {"status"}, {"reason"}});
  for (std::size_t i = 0; i < std::min(generation.unproven.size(), kMostUnproven); ++i) {
    const auto& one = generation.unproven[i];
    table.row({one.terms, one.status, one.reason});
  }
  Markup all = long_table_block(table);
  if (generation.unproven.size() > kMostUnproven) {
    all.add(small_text(
        base::counted(static_cast<std::int64_t>(generation.unproven.size() - kMostUnproven),
                      "further candidate") +
        " not shown; report.json has all."));
  }
  return all;
}

Markup space_content(const GeneratedSpace& space, std::size_t most_rules) {
  const Generation& generation = *space.generation;
  Sums sums;
  add(generation, sums);
  Markup all;
  if (!space.help.empty()) all.add(paragraph(space.help));
  std::vector<ChartSeries> series{{"classes", "first", {}}, {"terms equal to one", "second", {}}};
  for (const LevelCount& level : generation.levels) {
    series[0].values.push_back(static_cast<double>(level.classes));
    series[1].values.push_back(static_cast<double>(level.terms) -
                               static_cast<double>(level.classes));
  }
  all.add(heading("Terms by number of operators"));
  if (!generation.levels.empty()) {
    all.add(column_chart(series,
                         {operators(generation.levels.front()), operators(generation.levels.back()),
                          [](double value) { return count(static_cast<std::uint64_t>(value)); }}));
  }
  all.add(table_block(generation_table(generation)));
  all.add(heading("Candidates"));
  all.add(candidates_chart(sums.candidates));
  if (!generation.limit.empty())
    all.add(paragraph("The enumeration ended early: " + generation.limit));
  all.add(heading("Rules and their proofs"));
  all.add(rules_content(generation, most_rules));
  if (Markup unproven = unproven_content(generation); !unproven.empty()) {
    all.add(heading("Candidates that no rule came of"));
    all.add(unproven);
  }
  return all;
}

}  // namespace

TextTable generation_table(const Generation& generation) {
  using base::Align;
  TextTable table({{"operators", Align::kRight},
                   {"terms", Align::kRight},
                   {"classes", Align::kRight},
                   {"candidates", Align::kRight},
                   {"derived", Align::kRight},
                   {"proven", Align::kRight},
                   {"conditional", Align::kRight},
                   {"refuted", Align::kRight},
                   {"undecided", Align::kRight},
                   {"kept", Align::kRight},
                   {"enumerate", Align::kRight},
                   {"decide", Align::kRight},
                   {"memory", Align::kRight}});
  for (std::size_t i = 0; i < generation.levels.size(); ++i) {
    const LevelCount& level = generation.levels[i];
    const CandidateCount c =
        i < generation.candidates.size() ? generation.candidates[i] : CandidateCount{};
    table.row({count(level.operators), count(level.terms), count(level.classes),
               count(c.candidates), count(c.derived), count(c.proven), count(c.conditional),
               count(c.refuted), count(c.undecided), count(c.kept),
               base::format_seconds(level.seconds), base::format_seconds(c.seconds),
               base::format_bytes(static_cast<double>(level.bytes))});
  }
  return table;
}

ReportPage generation_page(const std::vector<GeneratedSpace>& spaces, base::Json document,
                           const std::string& version) {
  Sums sums;
  bool stopped = false;
  std::string names;
  for (const GeneratedSpace& space : spaces) {
    add(*space.generation, sums);
    stopped = stopped || space.generation->stopped;
    names += (names.empty() ? "" : ", ") + space.name;
  }
  ReportPage page{
      .title = "Rules of the space " + names,
      .kind = "egret rules generate",
      .verdict = base::counted(static_cast<std::int64_t>(sums.rules), "rule") + " came of " +
                 base::counted(static_cast<std::int64_t>(sums.candidates.candidates), "pair") +
                 " of equal terms" + (stopped ? "; the run was interrupted." : "."),
      .figures = figures_of(sums),
      .data = std::move(document),
      .version = version};
  if (spaces.size() > 1) page.title = "Rules of " + std::to_string(spaces.size()) + " spaces";
  for (const GeneratedSpace& space : spaces) {
    page.add("space-" + std::to_string(page.sections.size() + 1), "The space " + space.name,
             space_content(space, kMostRules / spaces.size()));
  }
  return page;
}

}  // namespace egret::driver
