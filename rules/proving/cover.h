// SPDX-License-Identifier: Apache-2.0
// Explores all paths of a rule for one kind of choices: fixed ranks, element types, texts and list
// lengths, open sizes and integer attributes. Finds numbers for each path that no run took, or
// shows that there are none. When no path is left, the runs cover all numbers of the kind.
//
// Symbolic execution to completion (King, Symbolic Execution and Program Testing, CACM 1976), with
// the runs on concrete numbers of rules/proving/path_search.h. Deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rules/proving/batch_sizes.h"
#include "rules/proving/decision_tree.h"
#include "rules/proving/generalization.h"
#include "rules/traces/proof_trace.h"
#include "verifier/equality/feasibility.h"

namespace egret::rules {

class Cover {
 public:
  struct Limits {
    std::size_t paths = 20'000;
    std::size_t questions = 1'000;  // to Z3 about products
  };

  // `like` is an instance of the kind. Sizes along batch axes stay equal (see
  // rules/proving/batch_sizes.h). The rule and the session must outlive the object.
  Cover(const Rule& rule, const Instance& like, const BatchSizes& batch,
        verifier::SolverSession& session, Limits limits);
  Cover(const Rule& rule, const Instance& like, verifier::SolverSession& session, Limits limits)
      : Cover(rule, like, BatchSizes(), session, limits) {}

  // The choice with equal sizes along batch axes.
  Choice evened(const Choice& choice) const;
  // Runs an evened choice of this kind. Returns whether its types fit and its conditions hold.
  bool run(const Choice& choice) { return add(choice); }
  // Runs the choice of this kind with these numbers. Returns it if its types fit and its conditions
  // hold. Errors: mismatch, if they are no numbers of the kind.
  base::Result<std::optional<Choice>> run(const ir::SymbolValues& numbers);
  // A choice whose types fit, on a path that no run took before; nullopt at the end, at an
  // exception, or once a stop is requested.
  std::optional<Choice> next();
  // Closes each branch that no run took and that no numbers follow, and gives up the others.
  void close();
  // The number of a group of sizes that are not along a batch axis on some path. The runs then say
  // nothing about other sizes of the group.
  std::optional<std::size_t> exception() const { return exception_; }

  // After the end: why the runs may not cover all numbers of the kind; empty if they do.
  std::string open() const;
  const DecisionTree& tree() const { return tree_; }
  std::size_t questions() const { return feasibility_.asked(); }
  // The numbers of all runs.
  const std::vector<ir::SymbolValues>& runs() const { return runs_; }

 private:
  bool add(const Choice& choice);
  std::optional<ir::SymbolValues> numbers_for(const DecisionTree::Branch& branch, bool& none);

  const Rule& rule_;
  Tracer tracer_;
  Choice like_;
  std::optional<ir::SymbolValues> symbols_;  // of the kind
  ir::SymbolValues fixed_;                   // sizes along batch axes
  Limits limits_;
  verifier::Feasibility feasibility_;
  base::Random random_{1};
  std::uint64_t draws_ = 0;
  DecisionTree tree_;
  std::string failure_;
  std::optional<std::size_t> exception_;
  std::vector<ir::SymbolValues> runs_;
};

// What the covers of a rule's kinds amount to.
class KindNotes {
 public:
  explicit KindNotes(const Rule& rule) : rule_(rule) {}

  // `open`: why the runs may not cover all numbers of the kind; empty if they do.
  void add(const Choice& like, const BatchSizes& batch, std::size_t paths, std::string open);
  const Covered& covered() const { return covered_; }
  // Whether the first axis of the two highest ranks is a batch axis. If it is, slices along it
  // reduce each higher rank to those that were explored.
  bool first_axes_are_batch() const;

 private:
  void note_first_axis(const Choice& like, const BatchSizes& batch);

  const Rule& rule_;
  Covered covered_;
  std::map<int, bool> first_axis_is_batch_;  // of all kinds, by their highest rank
};

}  // namespace egret::rules
