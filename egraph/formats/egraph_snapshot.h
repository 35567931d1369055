// SPDX-License-Identifier: Apache-2.0
// An e-graph in a snapshot file (egraph/formats/snapshot_file.h), sections "egraph.*" and
// "proofs.*".
//
// What is loaded behaves as what was saved from there on: same ids for the same calls, same order
// of matches, same epochs, same proofs. Kept are the node records, the classes, the operators, the
// analysis words and epochs, and the proof log; the hash-cons and all lists follow from them and
// are made anew. The analysis writes and reads its tables in sections of its own (Analysis::save()
// and load(), called from here). Whoever interned payloads has to do so before load(). Open
// checkpoints are not kept.
#pragma once

#include <memory>

#include "base/status.h"
#include "egraph/core/egraph.h"
#include "egraph/formats/snapshot_file.h"

namespace egret::egraph {

// Adds the sections of a clean e-graph, which must not change before they are written.
void save(const EGraph& egraph, SnapshotWriter& writer);

// The operators of the file are interned into `ops`, which may hold the first of them already but
// nothing else: OpIds must come out the same. The analysis must be new. Every field is checked:
// what the file says is an e-graph that could be (up to what an analysis alone could tell of its
// words: see Analysis::is_data), or the failure names section and place. With proofs if what was
// saved had them. O(file).
base::Result<std::unique_ptr<EGraph>> load(const SnapshotFile& file, OpTable& ops,
                                           Analysis* analysis = nullptr);

}  // namespace egret::egraph
