// SPDX-License-Identifier: Apache-2.0
#include "driver/report/charts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/formats/units.h"

namespace egret::driver {
namespace {

using base::element;
using base::Markup;

constexpr double kWide = 1000;  // units of a stretched drawing
constexpr double kHigh = 100;
constexpr double kLeastShare = 0.002;    // of a step of its own in a waterfall
constexpr std::size_t kMostCells = 400;  // of a strip
constexpr double kThinnest = 2;          // units; a small value is still seen

// Percentages of one scale, from the smallest to the largest end of a bar.
struct Scale {
  double low = 0;
  double high = 0;

  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double at(double value) const { return high > low ? (value - low) / (high - low) * kWide : 0; }
};

Markup stretched(const Markup& shapes, const std::string& type) {
  return element("svg",
                 {{"class", type},
                  {"viewBox", "0 0 1000 100"},
                  {"preserveAspectRatio", "none"},
                  {"aria-hidden", "true"}},
                 shapes);
}

Markup rectangle(double x, double y, double width, double height, const std::string& tone,
                 const std::string& title = "") {
  return element(
      "rect", {{"class", "fill-" + tone}, {"x", x}, {"y", y}, {"width", width}, {"height", height}},
      title.empty() ? Markup() : element("title", {}, title));
}

std::string signed_seconds(double seconds) {
  return (seconds < 0 ? "\u2212" : "+") + base::format_seconds(std::abs(seconds));
}

Markup legend(const std::vector<ChartSeries>& series) {
  Markup items;
  for (const ChartSeries& one : series)
    items.add(element("span", {{"class", "key key-" + one.tone}}, one.name));
  return element("p", {{"class", "legend"}}, items);
}

Markup framed(const Markup& shapes, const std::vector<ChartSeries>& series, const ChartFrame& frame,
              double most) {
  Markup sides = element("span", {}, frame.format(most));
  sides.add(element("span", {}, frame.format(0)));
  Markup ends = element("span", {}, frame.first);
  ends.add(element("span", {}, frame.last));
  Markup plot = element("div", {{"class", "axis-y"}}, sides);
  plot.add(stretched(shapes, "plot"));
  plot.add(element("div", {{"class", "axis-x"}}, ends));
  Markup all = legend(series);
  all.add(element("div", {{"class", "chart"}}, plot));
  return all;
}

std::string point(double x, double y) {
  return base::MarkupAttribute("", x).value + " " + base::MarkupAttribute("", y).value;
}

}  // namespace

Markup bar_chart(const std::vector<ChartBar>& bars) {
  Scale scale;
  for (const ChartBar& bar : bars) {
    scale.take(bar.from);
    scale.take(bar.to);
  }
  Markup rows;
  for (const ChartBar& bar : bars) {
    const double left = scale.at(std::min(bar.from, bar.to));
    const double width =
        std::max(scale.at(std::max(bar.from, bar.to)) - left, bar.from == bar.to ? 0 : kThinnest);
    Markup row = element("span", {{"class", "bar-label"}}, bar.label);
    row.add(stretched(rectangle(std::min(left, kWide - width), 12, width, 76,
                                bar.tone.empty() ? "first" : bar.tone),
                      "bar"));
    row.add(element("span", {{"class", "bar-value"}}, bar.value));
    rows.add(element("li", {{"class", bar.strong ? "strong" : ""}}, row));
  }
  return rows.empty() ? rows : element("ul", {{"class", "bars"}}, rows);
}

Markup waterfall(std::vector<WaterfallStep> steps, std::size_t most) {
  double before = 0;
  double after = 0;
  for (const WaterfallStep& step : steps) {
    before += step.before;
    after += step.after;
  }
  std::erase_if(steps, [](const WaterfallStep& step) { return step.after == step.before; });
  std::ranges::stable_sort(steps, std::greater<>(), [](const WaterfallStep& step) {
    return std::abs(step.after - step.before);
  });
  std::size_t shown = 0;
  while (shown < steps.size() &&
         std::abs(steps[shown].after - steps[shown].before) > kLeastShare * before)
    ++shown;
  if (steps.size() > most) shown = std::min(shown, most - 1);
  if (shown + 1 < steps.size()) {
    WaterfallStep rest{.label = "all others"};
    for (std::size_t i = shown; i < steps.size(); ++i) {
      rest.before += steps[i].before;
      rest.after += steps[i].after;
    }
    rest.note = base::counted(static_cast<std::int64_t>(steps.size() - shown), "kind");
    steps.resize(shown);
    steps.push_back(std::move(rest));
  }
  // Savings first, then what became slower: the sum falls and then rises.
  std::ranges::stable_sort(steps, {},
                           [](const WaterfallStep& step) { return step.after > step.before; });
  std::vector<ChartBar> bars{{.label = "before",
                              .value = base::format_seconds(before),
                              .to = before,
                              .tone = "total",
                              .strong = true}};
  double at = before;
  for (const WaterfallStep& step : steps) {
    const double change = step.after - step.before;
    bars.push_back({.label = step.label,
                    .value = signed_seconds(change) + (step.note.empty() ? "" : ", " + step.note),
                    .from = at,
                    .to = at + change,
                    .tone = change > 0 ? "bad" : "good"});
    at += change;
  }
  bars.push_back({.label = "after",
                  .value = base::format_seconds(after),
                  .to = after,
                  .tone = "total",
                  .strong = true});
  return bar_chart(bars);
}

Markup line_chart(const std::vector<ChartSeries>& series, const ChartFrame& frame) {
  double most = 0;
  std::size_t count = 0;
  for (const ChartSeries& one : series) {
    for (const double value : one.values) most = std::max(most, value);
    count = std::max(count, one.values.size());
  }
  if (count < 2 || most <= 0) return {};
  const auto x = [&](std::size_t i) {
    return kWide * static_cast<double>(i) / static_cast<double>(count - 1);
  };
  const auto y = [&](double value) { return kHigh - (kHigh - 2) * value / most; };
  Markup shapes;
  for (std::size_t s = 0; s < series.size(); ++s) {
    std::string line;
    for (std::size_t i = 0; i < series[s].values.size(); ++i)
      line += (line.empty() ? "M" : "L") + point(x(i), y(series[s].values[i]));
    if (s == 0) {
      const std::string area =
          line + "L" + point(x(series[s].values.size() - 1), kHigh) + "L" + point(0, kHigh) + "Z";
      shapes.add(element("path", {{"class", "area-" + series[s].tone}, {"d", area}}));
    }
    shapes.add(element("path", {{"class", "line-" + series[s].tone}, {"d", line}}));
  }
  return framed(shapes, series, frame, most);
}

Markup column_chart(const std::vector<ChartSeries>& series, const ChartFrame& frame) {
  std::size_t count = 0;
  for (const ChartSeries& one : series) count = std::max(count, one.values.size());
  std::vector<double> sums(count, 0);
  for (const ChartSeries& one : series) {
    for (std::size_t i = 0; i < one.values.size(); ++i) sums[i] += one.values[i];
  }
  const double most = count == 0 ? 0 : *std::ranges::max_element(sums);
  if (most <= 0) return {};
  const double step = kWide / static_cast<double>(count);
  Markup shapes;
  std::vector<double> bottom(count, kHigh);
  for (const ChartSeries& one : series) {
    for (std::size_t i = 0; i < one.values.size(); ++i) {
      const double height = (kHigh - 2) * one.values[i] / most;
      bottom[i] -= height;
      shapes.add(rectangle(
          step * static_cast<double>(i) + step * 0.1, bottom[i], step * 0.8, height, one.tone,
          std::to_string(i + 1) + ": " + one.name + " " + frame.format(one.values[i])));
    }
  }
  return framed(shapes, series, frame, most);
}

Markup strip(const std::vector<std::string>& all, const std::string& usual) {
  if (all.empty()) return {};
  // A cell of many takes the tone of the first that is not the usual one.
  std::vector<std::string> tones(std::min(all.size(), kMostCells), usual);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string& tone = tones[i * tones.size() / all.size()];
    if (tone == usual) tone = all[i];
  }
  const double step = kWide / static_cast<double>(tones.size());
  Markup shapes;
  for (std::size_t i = 0; i < tones.size();) {
    std::size_t end = i;
    while (end < tones.size() && tones[end] == tones[i]) ++end;
    shapes.add(rectangle(step * static_cast<double>(i), 0, step * static_cast<double>(end - i),
                         kHigh, tones[i]));
    i = end;
  }
  return stretched(shapes, "strip");
}

}  // namespace egret::driver
