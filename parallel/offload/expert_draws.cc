// SPDX-License-Identifier: Apache-2.0
#include "parallel/offload/expert_draws.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "base/system/file.h"

namespace egret::parallel {
namespace {

constexpr std::int64_t kMostFileBytes = std::int64_t{1} << 26;
constexpr std::uint64_t kSeed = 1;

// The outcomes of one token, by the experts that it takes in turn.
void add_outcomes(const std::vector<double>& popularity, std::int64_t choices, double weight,
                  double left, std::vector<double>& taken, std::vector<ExpertDraw>& draws) {
  if (choices == 0) {
    for (ExpertDraw& draw : draws) {
      if (draw.tokens != taken) continue;
      draw.weight += weight;
      return;
    }
    draws.push_back({weight, taken});
    return;
  }
  for (std::size_t e = 0; e < popularity.size(); ++e) {
    if (taken[e] > 0 || popularity[e] <= 0) continue;
    taken[e] = 1;
    add_outcomes(popularity, choices - 1, weight * popularity[e] / left, left - popularity[e],
                 taken, draws);
    taken[e] = 0;
  }
}

void take_experts(const std::vector<double>& popularity, std::int64_t choices, base::Random& random,
                  std::vector<double>& tokens) {
  std::vector<bool> taken(popularity.size(), false);
  double left = std::accumulate(popularity.begin(), popularity.end(), 0.0);
  for (std::int64_t choice = 0; choice < choices; ++choice) {
    double point = random.unit() * left;
    std::size_t last = popularity.size();
    for (std::size_t e = 0; e < popularity.size(); ++e) {
      if (taken[e] || popularity[e] <= 0) continue;
      last = e;
      point -= popularity[e];
      if (point < 0) break;
    }
    if (last == popularity.size()) return;  // fewer experts are ever chosen
    taken[last] = true;
    left -= popularity[last];
    tokens[last] += 1;
  }
}

base::Result<std::vector<double>> parse_line(std::string_view line, std::int64_t experts,
                                             const std::string& place) {
  std::vector<double> numbers;
  const char* at = line.data();
  const char* const end = at + line.size();
  while (at < end) {
    if (*at == ' ' || *at == '\t' || *at == '\r' || *at == ',') {
      ++at;
      continue;
    }
    double number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || !(number >= 0) || !std::isfinite(number))
      return base::bad_input("numbers that are not negative are expected").at(place);
    numbers.push_back(number);
    at = next;
  }
  if (static_cast<std::int64_t>(numbers.size()) != experts) {
    return base::bad_input("a number for each of the " + std::to_string(experts) +
                           " experts (--experts) is expected, there are " +
                           std::to_string(numbers.size()))
        .at(place);
  }
  const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  if (!(sum > 0)) return base::bad_input("no expert is ever chosen").at(place);
  for (double& number : numbers) number /= sum;
  return numbers;
}

}  // namespace

std::vector<ExpertDraw> expert_draws(const std::vector<double>& popularity, std::int64_t choices,
                                     std::int64_t tokens) {
  std::vector<ExpertDraw> draws;
  double outcomes = 1;
  for (std::int64_t i = 0; i < choices; ++i)
    outcomes *= static_cast<double>(popularity.size()) - static_cast<double>(i);
  std::size_t possible = 0;
  for (const double one : popularity) possible += one > 0 ? 1 : 0;
  if (tokens == 1 && outcomes <= static_cast<double>(kMostOutcomes) &&
      possible >= static_cast<std::size_t>(choices)) {
    std::vector<double> taken(popularity.size(), 0);
    add_outcomes(popularity, choices, 1, 1, taken, draws);
    return draws;
  }
  for (std::int64_t sample = 0; sample < kSamples; ++sample) {
    base::Random random = base::Random(kSeed).split(static_cast<std::uint64_t>(sample));
    ExpertDraw draw{1.0 / static_cast<double>(kSamples), std::vector<double>(popularity.size(), 0)};
    const std::int64_t drawn = std::min(tokens, kMostDrawn);
    for (std::int64_t token = 0; token < drawn; ++token)
      take_experts(popularity, choices, random, draw.tokens);
    const double scale = static_cast<double>(tokens) / static_cast<double>(drawn);
    for (double& one : draw.tokens) one = std::round(one * scale);
    draws.push_back(std::move(draw));
  }
  return draws;
}

base::Result<std::vector<std::vector<double>>> parse_popularity(std::string_view text,
                                                                const GenerationSetup& setup) {
  std::vector<std::vector<double>> rows;
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos || line.front() == '#') continue;
    const std::string place = setup.expert_popularity + ":" + std::to_string(line_number);
    EGRET_ASSIGN_OR_RETURN(std::vector<double> row, parse_line(line, setup.experts, place));
    rows.push_back(std::move(row));
  }
  const auto layers = static_cast<std::size_t>(setup.layers);
  if (rows.size() == 1) rows.resize(layers, rows.front());
  if (rows.size() != layers) {
    return base::bad_input("one line, or a line for each of the " + std::to_string(layers) +
                           " layers (--model-layers) is expected, there are " +
                           std::to_string(rows.size()))
        .at(setup.expert_popularity);
  }
  return rows;
}

base::Result<std::vector<std::vector<double>>> expert_popularity(const GenerationSetup& setup) {
  if (!setup.expert_popularity.empty()) {
    EGRET_ASSIGN_OR_RETURN(const std::string text,
                           base::read_file(setup.expert_popularity, kMostFileBytes));
    return parse_popularity(text, setup);
  }
  std::vector<double> row;
  double sum = 0;
  for (std::int64_t e = 0; e < setup.experts; ++e) {
    row.push_back(std::pow(static_cast<double>(e + 1), -setup.expert_skew));
    sum += row.back();
  }
  for (double& one : row) one /= sum;
  return std::vector<std::vector<double>>(static_cast<std::size_t>(setup.layers), row);
}

}  // namespace egret::parallel
