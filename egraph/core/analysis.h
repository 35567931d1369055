// SPDX-License-Identifier: Apache-2.0
// What a client wants to know of every class (Willsey et al., egg, POPL 2021, section 4): a join
// semilattice value such as "folds to the constant 3" or "is an f32 tensor of shape 2x3".
//
// The value is one 64-bit word per class, in a column of its own. Larger values are interned by the
// client and the word is their index: equal values must have equal words, because the engine
// notices a change by comparing words and propagates changes to the parents until nothing moves.
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

  // The value of op(children), from the children's data; children are canonical. A failure says
  // that the node makes no sense (an ill-typed right side): it is not added, and the rewrite that
  // wanted it is cancelled. It must not add or merge.
  virtual base::Result<Data> make(const EGraph& egraph, OpId op,
                                  std::span<const ClassId> children) = 0;

  // The join of the values of two classes that are now one. Commutative, associative, idempotent.
  // A failure says that the two cannot be equal: the merge is refused. Where congruence forces the
  // merge, rebuild() reports the failure instead: the e-graph is unsound from there on.
  virtual base::Result<Data> merge(Data a, Data b) = 0;

  // Whether make() never fails: rules are then applied many matches at a time.
  virtual bool accepts_all_nodes() const { return false; }

  // Called after a class was made, merged or given another value; may add, merge and hide (a
  // constant's own node, say). It must reach a fixpoint: once its work is done for a class, doing
  // it again changes nothing.
  virtual void modify(EGraph& egraph, ClassId id) { (void)egraph, (void)id; }

  // What proofs call the merges of modify() that have no name of their own.
  virtual std::string_view name() const { return "analysis"; }

  // ---- snapshots (egraph/formats/egraph_snapshot.h), for an analysis whose words are indices ----

  // Its tables, as sections named after it ("folding.values").
  virtual void save(SnapshotWriter& writer) const { (void)writer; }
  // Reads them back into an analysis that has seen no e-graph yet, or names what is wrong. The
  // e-graph has its operators, classes and nodes already, but no data. What is not in the file must
  // follow from it: the analysis has to go on as the one that was saved.
  virtual base::Status load(const SnapshotFile& file, const EGraph& egraph) {
    return (void)file, (void)egraph, base::ok();
  }
  // Whether a word read from a file is one of its values.
  virtual bool is_data(Data data) const { return (void)data, true; }
};

}  // namespace egret::egraph
