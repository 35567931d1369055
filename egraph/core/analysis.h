// SPDX-License-Identifier: Apache-2.0
// A client's analysis of an e-graph (Willsey et al., egg, POPL 2021, section 4). It attaches a
// join-semilattice value to every class, such as "folds to the constant 3" or "is an f32 tensor of
// shape 2x3".
//
// The value is one 64-bit word per class, stored in its own column. The client interns larger
// values, and the word is their index. Equal values must have equal words: the engine compares
// words to detect a change, and propagates changes to the parents until a fixpoint.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "egraph/core/ids.h"

namespace egret::egraph {

class EGraph;
class SnapshotFile;
class SnapshotWriter;

class Analysis {
 public:
  using Data = std::uint64_t;

  virtual ~Analysis() = default;

  // The value of op(children), computed from the children's data. The children are canonical. A
  // failure means that the node is ill-formed (an ill-typed right side): the engine does not add
  // the node and cancels the rewrite that requested it. make() must not add or merge.
  virtual base::Result<Data> make(const EGraph& egraph, OpId op,
                                  std::span<const ClassId> children) = 0;

  // The join of the values of two classes that were merged. It must be commutative, associative and
  // idempotent. A failure means that the two classes cannot be equal: the engine refuses the merge.
  // If congruence forces the merge, rebuild() reports the failure instead, and the e-graph is
  // unsound from then on.
  virtual base::Result<Data> merge(Data a, Data b) = 0;

  // True if make() never fails. The engine then applies rules to many matches at a time.
  virtual bool accepts_all_nodes() const { return false; }

  // Called after a class was made, was merged or got another value. It may add nodes, merge classes
  // and hide nodes (for example, to add a constant's own node). It must be idempotent: a second
  // call on the same class changes nothing.
  virtual void modify(EGraph& egraph, ClassId id) { (void)egraph, (void)id; }

  // The name that proofs give to merges by modify() that carry no name of their own.
  virtual std::string_view name() const { return "analysis"; }

  // ---- snapshots (egraph/formats/egraph_snapshot.h), for an analysis whose words are indices ----

  // Writes the analysis's tables, as sections named after it ("folding.values").
  virtual void save(SnapshotWriter& writer) const { (void)writer; }
  // Reads the tables back into an analysis that has not been used with an e-graph yet. A failure
  // names the defect of the file. The e-graph already has its operators, classes and nodes, but no
  // data. State that is not in the file must follow from it: the loaded analysis must continue
  // exactly as the saved one would.
  virtual base::Status load(const SnapshotFile& file, const EGraph& egraph) {
    return (void)file, (void)egraph, base::ok();
  }
  // Whether a word read from a file is a valid value of this analysis.
  virtual bool is_data(Data data) const { return (void)data, true; }
};

}  // namespace egret::egraph
