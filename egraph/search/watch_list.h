// SPDX-License-Identifier: Apache-2.0
// Old matches whose outcome may change: a condition rejected them, the analysis refused their right
// side, or a callback computed the right side from data that changed since. Incremental searches do
// not find these matches again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "egraph/core/egraph.h"
#include "egraph/core/ids.h"
#include "egraph/core/pattern.h"
#include "egraph/search/match_buffer.h"
#include "egraph/search/rewrite.h"

namespace egret::egraph {

class WatchList {
 public:
  explicit WatchList(const Pattern& pattern)
      : pattern_(&pattern), rows_(pattern.var_count(), pattern.op_var_count()) {}

  // A hash of the match's classes and their data. Must be taken before callbacks run. O(variables).
  static std::uint64_t fingerprint(const EGraph& egraph, const Match& match);
  // Adds a match whose outcome depended on no more than `reads`, at the time of the fingerprint.
  void add(const Match& match, std::uint64_t fingerprint, Rewrite::Reads reads);
  void clear();

  // Moves the matches to `out`, in canonical form, for which something that they read changed since
  // epoch `seen`. Drops matches that no longer match because a node was hidden. Requires a clean
  // e-graph. O(matches).
  void take(const EGraph& egraph, Epoch seen, MatchBuffer& out);

  std::size_t size() const { return rows_.size(); }
  std::size_t bytes() const { return rows_.bytes() + about_.capacity() * sizeof(About); }

 private:
  struct About {
    std::uint64_t fingerprint;  // of classes and their data
    Rewrite::Reads reads;
  };

  static bool may_differ(const EGraph& egraph, const Match& row, Epoch seen);
  bool is_due(const EGraph& egraph, std::size_t row, Epoch seen) const;
  void remove_repeated(const EGraph& egraph);
  void keep(std::size_t row, std::size_t to);
  void truncate(std::size_t size);

  const Pattern* pattern_;
  MatchBuffer rows_;
  std::vector<About> about_;   // for each row
  std::size_t tidy_size_ = 0;  // rows after the last remove_repeated()
};

}  // namespace egret::egraph
