// SPDX-License-Identifier: Apache-2.0
#include "egraph/proofs/merge_history.h"

#include <bit>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "egraph/core/rule_form.h"

namespace egret::egraph {

MergeHistory::MergeHistory(const ProofLog& log, const OpTable& ops) : log_(log), table_(ops) {
  read_terms();
  read_merges();
  index_terms();
}

// A term without kNoId defines the next id.
void MergeHistory::read_terms() {
  const WordLog& words = log_.term_words();
  for (std::size_t at = 0; at < words.size();) {
    const std::uint32_t head = words[at++];
    const OpId op(head & ~ProofLog::kNoId);
    for (std::size_t i = 0, arity = table_.arity(op); i < arity; ++i)
      children_.push_back(term(ClassId(words[at++])));
    if ((head & ProofLog::kNoId) == 0) term_of_.emplace_back(ops_.size());
    ops_.push_back(op);
    begins_.push_back(static_cast<std::uint32_t>(children_.size()));
  }
  EGRET_CHECK(term_of_.size() == log_.id_count(), "each class id has one term");
}

// Replays the merges in a union-find that keeps the time of each link.
void MergeHistory::read_merges() {
  parent_.resize(term_count());
  for (std::size_t i = 0; i < parent_.size(); ++i) parent_[i] = LogTerm(i);
  linked_.resize(term_count(), kNow);
  sizes_.resize(term_count(), 1);
  const WordLog& words = log_.merge_words();
  for (std::size_t at = 0; at < words.size();) {
    merges_.push_back(at);
    const Merge m = merge(merge_count() - 1);
    at = m.payload + payload_size(m);
    link(m.a, m.b, merge_count() - 1);
  }
  // The sizes serve only to link. Their memory is returned.
  sizes_ = {};
}

// A birth is reported as a rule's merge between the class's term and the new term. The side that
// the rule built last decides the order of the two.
MergeHistory::Merge MergeHistory::merge(Time at) const {
  const WordLog& words = log_.merge_words();
  const std::size_t begin = merges_[at];
  const std::uint32_t head = words[begin];
  Merge made{static_cast<ProofLog::Kind>(head >> ProofLog::kKindShift),
             head & ((1U << ProofLog::kKindShift) - 1), term(ClassId(words[begin + 1])), LogTerm(),
             begin + 3};
  if (made.kind != ProofLog::Kind::kBirth) {
    made.b = term(ClassId(words[begin + 2]));
    return made;
  }
  made.kind = ProofLog::Kind::kRule;
  made.b = LogTerm(words[begin + 2]);
  const RuleForm& form = *log_.rule(made.index);
  const bool built_right = form.equations()[0].second.index() + 1 == form.var_count();
  if (!built_right) std::swap(made.a, made.b);
  return made;
}

// The log stores no lengths. The size of an entry follows from its rule or operator, so the log is
// read from its beginning. A rule that may cite evidence stores the number of its cited words,
// because this differs from match to match.
std::size_t MergeHistory::payload_size(const Merge& merge) const {
  switch (merge.kind) {
    case ProofLog::Kind::kAxiom: return 0;
    case ProofLog::Kind::kCongruence: return table_.arity(OpId(merge.index));
    case ProofLog::Kind::kRule:
    case ProofLog::Kind::kBirth: break;
  }
  const RuleForm& form = *log_.rule(merge.index);
  std::size_t size = form.substituted().size() + form.captured_ops() + form.computed_ops() +
                     form.computed_terms().size();
  if (form.equations().size() > 1) ++size;
  if (form.may_cite()) size += 1 + log_.merge_words()[merge.payload + size];
  return size;
}

// Links by size and never compresses. Both together give the time-indexed root() its O(log terms)
// bound.
void MergeHistory::link(LogTerm a, LogTerm b, Time at) {
  a = root(a);
  b = root(b);
  EGRET_CHECK(a != b, "only merges of different classes are logged");
  if (sizes_[a.index()] < sizes_[b.index()]) std::swap(a, b);
  parent_[b.index()] = a;
  linked_[b.index()] = at;
  sizes_[a.index()] += sizes_[b.index()];
}

std::size_t MergeHistory::bucket(OpId op, std::span<const LogTerm> roots) const {
  std::uint64_t hash = op.index();
  for (const LogTerm root : roots) hash = base::hash_combine(hash, root.index());
  return base::mix(hash) & (buckets_.size() - 1);
}

// Builds a hash table of the terms by operator and present classes of the children. A bucket lists
// the newest term first.
void MergeHistory::index_terms() {
  buckets_.resize(std::bit_ceil(term_count() + 1));
  next_.resize(term_count());
  base::SmallVector<LogTerm, 8> roots;
  for (std::size_t i = 0; i < term_count(); ++i) {
    roots.clear();
    for (const LogTerm child : children(LogTerm(i))) roots.push_back(root(child));
    LogTerm& first = buckets_[bucket(op(LogTerm(i)), {roots.data(), roots.size()})];
    next_[i] = std::exchange(first, LogTerm(i));
  }
}

bool MergeHistory::has_key(LogTerm term, OpId op, std::span<const LogTerm> roots) const {
  if (this->op(term) != op) return false;
  const auto kids = children(term);
  for (std::size_t i = 0; i < kids.size(); ++i) {
    if (root(kids[i]) != roots[i]) return false;
  }
  return true;
}

}  // namespace egret::egraph
