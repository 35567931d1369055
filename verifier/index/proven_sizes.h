// SPDX-License-Identifier: Apache-2.0
// Open sizes whose every property is shown by a proof (verifier/index/size_facts.h). No solver.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/core/symbolic_scope.h"
#include "ir/graph/graph.h"
#include "verifier/index/size_facts.h"

namespace egret::verifier {

struct GivenSize {
  SizeRange range;
  std::int64_t example = 1;  // decides nothing
};
using SizeProofs = std::map<std::string, std::string>;  // by a guard that no sizes meet, as text

// While it lives, it is the thread's current SymbolicScope. Two programs are read within it:
//
//   ProvenSizes sizes(open, proofs);
//   ... read the first program ...
//   sizes.close(first);
//   ... read the second program, compare them ...
//   sizes.check();
class ProvenSizes {
 public:
  // Finds a proof that a guard is contradictory, where none is given.
  using Search = std::function<std::optional<std::string>(SizeFacts&, ir::Guard)>;

  ProvenSizes(std::map<std::string, GivenSize> open, SizeProofs proofs, Search search = {});

  // The ranges of all sizes that the programs left open so far, those that none was given for
  // included.
  SizeRanges ranges() const;
  // What was assumed of the sizes, beside their ranges: comparisons, in the order in which the
  // first program asked.
  std::vector<std::string> assumptions() const;

  // For ImportOptions::example_of.
  std::int64_t example_of(std::string_view name) const;
  // Assumes what the program requires of its sizes. Nothing is assumed after it. Errors: those of
  // the requirements that no sizes meet.
  base::Status close(const ir::Graph& first);
  // Whether the second program requires nothing else of its sizes. Errors: mismatch.
  base::Status check() const;
  // The proofs, with those that the search found.
  const SizeProofs& proofs() const { return proofs_; }

 private:
  std::optional<bool> holds(ir::Guard guard);
  void assume(ir::Guard guard);

  std::map<std::string, GivenSize> open_;
  SizeProofs proofs_;
  Search search_;
  SizeFacts facts_;
  std::map<const ir::ExprNode*, std::optional<bool>> known_;
  bool closed_ = false;
  std::string broken_;  // what was to be assumed later
  ir::SymbolicScope scope_;
};

}  // namespace egret::verifier
