// SPDX-License-Identifier: Apache-2.0
#include "driver/select/extraction_cache.h"

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/formats/json.h"
#include "base/hash.h"
#include "base/stop.h"
#include "base/timer.h"
#include "extract/core/choice_walk.h"

namespace egret::driver {
namespace {

constexpr int kGeneration = 1;  // of extractors: raised where one learns to answer better
constexpr double kLong = 0.1;   // seconds; what takes less is found again as fast as it is read

template <typename Values>
std::string hash_of(const Values& values) {
  return base::content_hash(std::as_bytes(std::span(values))).to_hex();
}

// Chosen nodes as pairs: a class and which of its nodes it is.
base::Json pairs_of(const egraph::EGraphView& graph, std::span<const extract::NodeIndex> choice) {
  base::Json pairs = base::Json::array();
  for (extract::ClassIndex c = 0; c < choice.size(); ++c) {
    if (choice[c] == extract::kNoNode) continue;
    pairs.push(c).push(choice[c] - graph.class_begin[c]);
  }
  return pairs;
}

base::Json to_json(const extract::Problem& problem, const extract::Solution& solution,
                   double time_limit_s) {
  return base::Json::object()
      .set("time_limit_s", time_limit_s)
      .set("proven", solution.quality == extract::Quality::kOptimal)
      .set("bound", solution.bound)
      .set("choice", pairs_of(problem.graph, solution.choice));
}

// Reads the pairs back; nothing where one is out of range.
std::optional<std::vector<extract::NodeIndex>> choice_of(const egraph::EGraphView& graph,
                                                         const base::Json* pairs) {
  if (pairs == nullptr || !pairs->is_array()) return std::nullopt;
  std::vector<extract::NodeIndex> choice(graph.class_count(), extract::kNoNode);
  for (std::size_t i = 0; i + 1 < pairs->items().size(); i += 2) {
    const auto c = pairs->items()[i].as_integer();
    const auto node = pairs->items()[i + 1].as_integer();
    if (!c.ok() || !node.ok() || *c < 0 || *node < 0) return std::nullopt;
    const auto at = static_cast<std::size_t>(*c);
    if (at >= choice.size() || *node >= graph.class_begin[at + 1] - graph.class_begin[at])
      return std::nullopt;
    choice[at] = graph.class_begin[at] + static_cast<extract::NodeIndex>(*node);
  }
  return choice;
}

// Nothing where the text is no answer to the problem, or had less time.
std::optional<extract::Solution> solution_in(const std::string& text,
                                             const extract::Problem& problem,
                                             const extract::Options& options) {
  const auto kept = base::Json::parse(text);
  if (!kept.ok()) return std::nullopt;
  const base::Json *limit = kept->find("time_limit_s"), *proven = kept->find("proven"),
                   *bound = kept->find("bound");
  if (limit == nullptr || proven == nullptr || bound == nullptr) return std::nullopt;
  const bool optimal = proven->as_bool().value_or(false);
  if (!optimal && !(limit->as_real().value_or(0) >= options.time_limit_s)) return std::nullopt;
  auto choice = choice_of(problem.graph, kept->find("choice"));
  if (!choice ||
      extract::walk_choice(problem, *choice).outcome != extract::ChoiceWalk::Outcome::kComplete)
    return std::nullopt;
  extract::Solution solution = extract::solution_of(problem, *std::move(choice));
  solution.bound = bound->as_real().value_or(-std::numeric_limits<double>::infinity());
  solution.quality = optimal ? extract::Quality::kOptimal : extract::Quality::kFeasible;
  if (!extract::check_solution(problem, solution).ok()) return std::nullopt;
  return solution;
}

}  // namespace

// The key covers all that an extractor reads: the graph, the prices and the seed. A kept answer is
// checked again before it is used, so a wrong entry costs time only.
std::string key_of_extraction(const extract::ExtractorRow& extractor,
                              const extract::Problem& problem, const extract::Options& options) {
  const egraph::EGraphView& graph = problem.graph;
  const std::string all = hash_of(graph.class_begin) + hash_of(graph.child_begin) +
                          hash_of(graph.children) + hash_of(graph.roots) + hash_of(problem.costs);
  return "extraction " + std::to_string(kGeneration) + " by " + std::string(extractor.name) +
         ", seed " + std::to_string(options.seed) + ": " + base::content_hash(all).to_hex();
}

base::Result<extract::Solution> extract_or_recall(const extract::ExtractorRow& extractor,
                                                  const extract::Problem& problem,
                                                  const extract::Options& options,
                                                  cost::Database* database) {
  if (database == nullptr) return extractor.extract(problem, options);
  const std::string key = key_of_extraction(extractor, problem, options);
  EGRET_ASSIGN_OR_RETURN(const std::optional<std::string> text, database->find_note(key));
  if (text) {
    if (auto kept = solution_in(*text, problem, options)) return *std::move(kept);
  }
  const base::Stopwatch watch;
  EGRET_ASSIGN_OR_RETURN(extract::Solution found, extractor.extract(problem, options));
  // The answer of an interrupted search had less time than it would claim.
  if (watch.seconds() >= kLong && !base::stop_requested()) {
    const std::string answer = to_json(problem, found, options.time_limit_s).dump();
    EGRET_RETURN_IF_ERROR(database->store_note(key, answer));
  }
  return found;
}

base::Result<std::optional<KeptChoice>> kept_choice(const cost::Database& database,
                                                    const std::string& machine,
                                                    const std::string& key,
                                                    const extract::Problem& problem) {
  using Kept = std::optional<KeptChoice>;
  EGRET_ASSIGN_OR_RETURN(const auto entry, database.find(machine, key));
  EGRET_ASSIGN_OR_RETURN(const auto note, database.find_note(key + " on " + machine));
  if (!entry || !note) return Kept();
  const auto kept = base::Json::parse(*note);
  if (!kept.ok()) return Kept();
  auto nodes = choice_of(problem.graph, kept->find("choice"));
  const bool is_answer = nodes && extract::walk_choice(problem, *nodes).outcome ==
                                      extract::ChoiceWalk::Outcome::kComplete;
  const base::Json* const is_final = kept->find("final");
  if (!is_answer || is_final == nullptr) return Kept();
  return Kept({*std::move(nodes), is_final->as_bool().value_or(false)});
}

base::Status keep_choice(cost::Database& database, const std::string& machine,
                         const std::string& key, const cost::Entry& entry,
                         const egraph::EGraphView& graph, const KeptChoice& choice) {
  EGRET_RETURN_IF_ERROR(database.store(machine, key, entry));
  const base::Json note = base::Json::object()
                              .set("final", choice.is_final)
                              .set("choice", pairs_of(graph, choice.nodes));
  return database.store_note(key + " on " + machine, note.dump());
}

}  // namespace egret::driver
