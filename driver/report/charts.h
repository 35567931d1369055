// SPDX-License-Identifier: Apache-2.0
// Charts as inline SVG. The shapes stretch to the width that there is, and all text stands beside
// them as HTML: a chart is read on a phone with the letters of the page.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/formats/markup.h"

namespace egret::driver {

// A horizontal bar between two values.
struct ChartBar {
  std::string label;
  std::string value{};  // beside the bar
  double from = 0;
  double to = 0;
  std::string tone{};  // class of the page's style: "good", "bad", "total", "first", "second"
  bool strong = false;
};
base::Markup bar_chart(const std::vector<ChartBar>& bars);

// How one sum became another, in steps by kind.
struct WaterfallStep {
  std::string label;
  double before = 0;
  double after = 0;
  std::string note{};  // "12 -> 5 kernels"
};
// The steps with the largest changes; those beyond `most`, and small ones, are one. Those without a
// change are left out.
base::Markup waterfall(std::vector<WaterfallStep> steps, std::size_t most = 10);

// Values over a common axis.
struct ChartSeries {
  std::string name;
  std::string tone;  // "first", "second", "third"
  std::vector<double> values;
};
struct ChartFrame {
  std::string first;  // labels of the two ends of the horizontal axis
  std::string last;
  std::function<std::string(double)> format;
};
// Lines, with the surface below the first one filled.
base::Markup line_chart(const std::vector<ChartSeries>& series, const ChartFrame& frame);
// A column for each position, in which the series stand on top of each other.
base::Markup column_chart(const std::vector<ChartSeries>& series, const ChartFrame& frame);

// A narrow band: cells in the order of a list, by class; equal neighbours are one shape. Where
// there are too many for a screen, those that are not of the usual class are shown.
base::Markup strip(const std::vector<std::string>& all, const std::string& usual);

}  // namespace egret::driver
