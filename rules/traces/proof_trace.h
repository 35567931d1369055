// SPDX-License-Identifier: Apache-2.0
// What a verification found, for people and for those who repeat the proof: the instances whose
// families were proven, and the runs that cover their kinds.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "ir/core/symbol_values.h"
#include "rules/traces/recorded_choice.h"

namespace egret::rules {

// The numbers for which a rule was proven. A kind is what families fix: ranks, element types,
// texts, list lengths and the signs of attributes.
struct Covered {
  int kinds = 0;          // that random instances have
  int complete = 0;       // kinds whose families contain all sizes and integer attributes
  std::size_t paths = 0;  // of all kinds
  int rank = 0;           // the largest of a variable
  std::string open;       // why a kind is not complete; empty if all are
  // Ranks of the variables, in the order of the rule, of the kinds that are not complete. Sorted.
  std::set<std::vector<int>> open_ranks{};
  std::set<std::vector<int>> ranks{};  // of all kinds
};

struct ProofTrace {
  struct Kind {
    RecordedChoice like;
    std::vector<std::size_t> exceptions{};  // groups of sizes along axes that are no batch axes
    std::vector<ir::SymbolValues> runs{};   // numbers of the kind, if it is complete
    bool complete = false;                  // the families contain all numbers of the kind
  };
  bool on_scalars = false;  // the rule was proven for tensors of rank 0
  bool direct = true;       // each family by its normal form, not by lemmas or member by member
  std::vector<RecordedChoice> families{};
  std::vector<Kind> kinds{};
};

}  // namespace egret::rules
