// SPDX-License-Identifier: Apache-2.0
// An e-graph in a snapshot file (egraph/formats/snapshot_file.h), sections "egraph.*" and
// "proofs.*".
//
// A loaded e-graph behaves like the saved one: the same calls return the same ids, matches come in
// the same order, epochs and proofs are the same. The file holds the node records, the classes, the
// operators, the analysis words, the epochs and the proof log. The hash-cons and all lists are
// rebuilt from them. The analysis writes and reads its own tables in sections of its own
// (Analysis::save() and load(), called from here). Clients that interned payloads must intern them
// again before load(). Open checkpoints are not saved.
#pragma once

#include <memory>

#include "base/status.h"
#include "egraph/core/egraph.h"
#include "egraph/formats/snapshot_file.h"

namespace egret::egraph {

// Adds the sections of a clean e-graph. The e-graph must not change before the file is written.
void save(const EGraph& egraph, SnapshotWriter& writer);

// Interns the operators of the file into `ops`. `ops` may hold a prefix of these operators and
// nothing else, because the OpIds must come out the same. The analysis must be new. Every field is
// checked: either the file describes a possible e-graph (up to what only the analysis can tell
// about its words: see Analysis::is_data), or the failure names section and position. The loaded
// e-graph has proofs if the saved one had. O(file).
base::Result<std::unique_ptr<EGraph>> load(const SnapshotFile& file, OpTable& ops,
                                           Analysis* analysis = nullptr);

}  // namespace egret::egraph
