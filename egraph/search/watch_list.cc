// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/watch_list.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/hash.h"
#include "base/small_vector.h"

namespace egret::egraph {
namespace {

using Reads = Rewrite::Reads;
using Classes = base::SmallVector<ClassId, 16>;

// The match's classes as they are called now. Merges since the match was found may have renamed
// them.
Classes canonical(const EGraph& egraph, const Match& match) {
  Classes classes;
  for (const ClassId id : match.classes()) classes.push_back(egraph.find(id));
  return classes;
}

// An old match can only cease to match if a node was hidden: merges keep every match.
// Whether each atom of the pattern still has a visible node in the class of its result.
bool still_matches(const EGraph& egraph, const Pattern& pattern, const Match& match) {
  return std::all_of(
      pattern.atoms().begin(), pattern.atoms().end(), [&](const Pattern::Atom& atom) {
        base::SmallVector<ClassId, 8> children;
        for (const VarId child : atom.children) children.push_back(match[child]);
        const OpId op = atom.op.valid() ? atom.op : match[atom.capture];
        const NodeId node = egraph.lookup_node(op, {children.data(), children.size()});
        return node.valid() && egraph.visible(node) && egraph.class_of(node) == match[atom.result];
      });
}

}  // namespace

// Equal classes with equal data give equal fingerprints.
std::uint64_t WatchList::fingerprint(const EGraph& egraph, const Match& match) {
  std::uint64_t hash = 0;
  for (const ClassId id : match.classes()) {
    hash = base::hash_combine(base::hash_combine(hash, egraph.find(id).index()), egraph.data(id));
  }
  return hash;
}

void WatchList::add(const Match& match, std::uint64_t fingerprint, Reads reads) {
  rows_.push(match.classes(), match.ops());
  about_.push_back({fingerprint, reads});
}

void WatchList::clear() {
  rows_.clear();
  about_.clear();
  tidy_size_ = 0;
}

// Whether anything about the match's classes may have changed. If not, neither did their ids and
// data.
bool WatchList::may_differ(const EGraph& egraph, const Match& row, Epoch seen) {
  return std::ranges::any_of(row.classes(), [&](ClassId id) {
    return !egraph.is_canonical(id) || egraph.epoch(id) >= seen;
  });
}

// Whether a match is tried again: always if it reads everything; if it reads data, when the
// fingerprint changed; otherwise when one of its classes changed.
bool WatchList::is_due(const EGraph& egraph, std::size_t i, Epoch seen) const {
  const Reads reads = about_[i].reads;
  if (reads == Reads::kEverything) return true;
  if (!may_differ(egraph, rows_[i], seen)) return false;
  if (reads == Reads::kData) return fingerprint(egraph, rows_[i]) != about_[i].fingerprint;
  const Classes now = canonical(egraph, rows_[i]);
  return std::ranges::any_of(now, [&](ClassId id) { return egraph.epoch(id) >= seen; });
}

// Moves the due matches to `out`. Those that no longer match are dropped. The list is cleaned when
// it has doubled since the last time, so the cleaning is amortized.
void WatchList::take(const EGraph& egraph, Epoch seen, MatchBuffer& out) {
  if (rows_.size() > 2 * tidy_size_ + 1024) remove_repeated(egraph);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!is_due(egraph, i, seen)) {
      keep(i, kept++);
      continue;
    }
    const Classes now = canonical(egraph, rows_[i]);
    const Match row({now.data(), now.size()}, rows_[i].ops());
    if (still_matches(egraph, *pattern_, row)) out.push(row.classes(), row.ops());
  }
  truncate(kept);
}

void WatchList::keep(std::size_t row, std::size_t to) {
  if (row == to) return;
  rows_.move_row(row, to);
  about_[to] = about_[row];
}

void WatchList::truncate(std::size_t size) {
  rows_.truncate(size);
  about_.resize(size);
}

// Removes equal matches; of each set, the latest one is kept. Merges make matches equal, and
// matches are found again when their nodes move. Without this the list could grow without bound.
void WatchList::remove_repeated(const EGraph& egraph) {
  // Sorts by hash, later rows first, so that equal matches are neighbours up to collisions of
  // hashes. The sort keeps no second copy of the rows, which a hash set would need.
  struct Entry {
    std::uint64_t hash;
    std::size_t row;
  };
  std::vector<Entry> entries;
  entries.reserve(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::uint64_t hash = 0;
    for (const ClassId id : rows_[i].classes())
      hash = base::hash_combine(hash, egraph.find(id).index());
    for (const OpId op : rows_[i].ops()) hash = base::hash_combine(hash, op.index());
    entries.push_back({hash, i});
  }
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.row > b.row;
  });
  const auto are_equal = [&](std::size_t a, std::size_t b) {
    const auto same = [&](ClassId x, ClassId y) { return egraph.same(x, y); };
    return std::ranges::equal(rows_[a].classes(), rows_[b].classes(), same) &&
           std::ranges::equal(rows_[a].ops(), rows_[b].ops());
  };
  std::vector<bool> repeated(rows_.size());
  for (std::size_t first = 0; first < entries.size(); ++first) {
    if (repeated[entries[first].row]) continue;
    for (std::size_t i = first + 1; i < entries.size() && entries[i].hash == entries[first].hash;
         ++i) {
      if (are_equal(entries[first].row, entries[i].row)) repeated[entries[i].row] = true;
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!repeated[i]) keep(i, kept++);
  }
  truncate(kept);
  tidy_size_ = kept;
}

}  // namespace egret::egraph
