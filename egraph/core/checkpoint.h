// SPDX-License-Identifier: Apache-2.0
// The state that EGraph::push() saves. Internal to the e-graph; see egraph/core/checkpoint.cc.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <vector>

#include "egraph/core/egraph.h"

namespace egret::egraph {

struct EGraph::Checkpoint {
  struct OldRow {
    ClassId id;
    Row row;  // its list: only how long it was
    Analysis::Data data = 0;
    bool has_items = false;
    std::size_t items_begin = 0;
  };

  std::size_t words = 0;  // nodes and ids from here on did not exist
  std::size_t ids = 0;
  std::size_t row_count = 0;
  ProofLog::Mark proofs;
  Counts counts;
  Epoch epoch = 0;
  std::vector<EpochMark> epoch_marks;
  FlatArray<NodeId> moved;

  std::vector<OldRow> rows;
  boost::unordered_flat_map<std::uint32_t, std::size_t> row_of;  // by id
  FlatArray<NodeId> items;
  // Node records before each of their changes: the words, then the NodeId.
  FlatArray<ClassId> records;
  UnionFind::Log links;
  std::map<OpId, std::vector<NodeId>> ops;  // lists that lost items

  std::size_t bytes() const {
    std::size_t total = moved.bytes() + rows.capacity() * sizeof(OldRow) + items.bytes() +
                        records.bytes() + links.bytes() +
                        row_of.bucket_count() * 2 * sizeof(std::size_t);
    for (const auto& [op, list] : ops) total += list.capacity() * sizeof(NodeId);
    return total;
  }
};

}  // namespace egret::egraph
