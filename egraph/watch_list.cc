// SPDX-License-Identifier: Apache-2.0
#include "egraph/watch_list.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "base/hash.h"
#include "base/small_vector.h"

namespace egret::egraph {
namespace {

using Reads = Rewrite::Reads;
using Classes = base::SmallVector<ClassId, 16>;

Classes canonical(const EGraph& egraph, const Match& match) {
  Classes classes;
  for (const ClassId id : match.classes()) classes.push_back(egraph.find(id));
  return classes;
}

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

// Equal for equal classes with equal data.
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

// Whether anything about a class may have changed since; if not, neither have its id and data.
bool WatchList::may_differ(const EGraph& egraph, const Match& row, Epoch seen) {
  return std::ranges::any_of(row.classes(), [&](ClassId id) {
    return !egraph.is_canonical(id) || egraph.epoch(id) >= seen;
  });
}

bool WatchList::is_due(const EGraph& egraph, std::size_t i, Epoch seen) const {
  const Reads reads = about_[i].reads;
  if (reads == Reads::kEverything) return true;
  if (!may_differ(egraph, rows_[i], seen)) return false;
  if (reads == Reads::kData) return fingerprint(egraph, rows_[i]) != about_[i].fingerprint;
  const Classes now = canonical(egraph, rows_[i]);
  return std::ranges::any_of(now, [&](ClassId id) { return egraph.epoch(id) >= seen; });
}

void WatchList::take(const EGraph& egraph, Epoch seen, MatchBuffer& out) {
  if (rows_.size() > 2 * tidy_size_ + 1024) remove_repeated(egraph);
  std::vector<std::size_t> due;  // few, mostly
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (is_due(egraph, i, seen)) due.push_back(i);
  }
  if (due.empty()) return;
  MatchBuffer kept(pattern_->var_count(), pattern_->op_var_count());
  std::size_t kept_count = 0;
  auto next = due.begin();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (next == due.end() || *next != i) {
      kept.push(rows_[i].classes(), rows_[i].ops());
      about_[kept_count++] = about_[i];
      continue;
    }
    ++next;
    const Classes now = canonical(egraph, rows_[i]);
    const Match row({now.data(), now.size()}, rows_[i].ops());
    if (still_matches(egraph, *pattern_, row)) out.push(row.classes(), row.ops());
  }
  std::swap(rows_, kept);
  about_.resize(kept_count);
}

// Merges make matches equal, and equal matches are found anew when their nodes move: without this a
// list could grow for ever.
void WatchList::remove_repeated(const EGraph& egraph) {
  using Key = std::pair<std::vector<ClassId>, std::vector<OpId>>;
  std::set<Key> known;
  MatchBuffer kept(pattern_->var_count(), pattern_->op_var_count());
  std::size_t kept_count = 0;
  // Backwards, because the latest try of a match is the one that counts.
  std::vector<std::size_t> order;
  for (std::size_t i = rows_.size(); i-- > 0;) {
    const Classes now = canonical(egraph, rows_[i]);
    const auto ops = rows_[i].ops();
    if (known.insert({{now.begin(), now.end()}, {ops.begin(), ops.end()}}).second) {
      order.push_back(i);
    }
  }
  std::reverse(order.begin(), order.end());
  for (const std::size_t i : order) {
    kept.push(rows_[i].classes(), rows_[i].ops());
    about_[kept_count++] = about_[i];
  }
  std::swap(rows_, kept);
  about_.resize(kept_count);
  tidy_size_ = kept_count;
}

}  // namespace egret::egraph
