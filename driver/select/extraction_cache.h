// SPDX-License-Identifier: Apache-2.0
// Extractions that took long, kept in the database of costs.
//
// What is cut off by a limit of time ends somewhere else each time: the same program, options and
// database would not give the same graph again, and a graph that is new is raced anew. So an answer
// is taken where it was given to the same problem, to the last bit of its costs, by the same
// extractor with the same seed, and was proven or had at least as much time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "cost/database.h"
#include "extract/core/extractor.h"

namespace egret::driver {

// Without a database: what the extractor says. What is kept is checked like what is found; where it
// does not pass, the extractor is asked. Errors: the extractor's, the database's.
base::Result<extract::Solution> extract_or_recall(const extract::ExtractorRow& extractor,
                                                  const extract::Problem& problem,
                                                  const extract::Options& options,
                                                  cost::Database* database);

// What the answer is kept under (cost::Database::find_note). Exposed for its test.
std::string key_of_extraction(const extract::ExtractorRow& extractor,
                              const extract::Problem& problem, const extract::Options& options);

// A choice of nodes, and whether the search for it ended by itself.
struct KeptChoice {
  std::vector<extract::NodeIndex> nodes{};
  bool is_final = false;
};

// A choice that is kept beside an entry of the database, under its key. Nothing where there is
// none, or where it is no answer to the problem. Errors: the database's.
base::Result<std::optional<KeptChoice>> kept_choice(const cost::Database& database,
                                                    const std::string& machine,
                                                    const std::string& key,
                                                    const extract::Problem& problem);
base::Status keep_choice(cost::Database& database, const std::string& machine,
                         const std::string& key, const cost::Entry& entry,
                         const egraph::EGraphView& graph, const KeptChoice& choice);

}  // namespace egret::driver
