// SPDX-License-Identifier: Apache-2.0
// A ProofLog decoded: all terms, all merges, and which terms were equal at which time.
//
// Time counts merges: at time t, the merges 0 .. t-1 have been made. The union-find links by size
// without path compression, and each link stores its time. Hence root(x, t) walks up while links
// are older than t, in O(log terms) for any past time.
//
// A read-only snapshot: later log entries are not seen. O(log) to build, about 30 bytes per term.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "egraph/core/op_table.h"
#include "egraph/core/proof_log.h"

namespace egret::egraph {

// The number of a term in the log.
using LogTerm = base::Id<struct LogTermTag>;

class MergeHistory {
 public:
  using Time = std::uint32_t;
  static constexpr Time kNow = std::numeric_limits<Time>::max();

  MergeHistory(const ProofLog& log, const OpTable& ops);

  struct Merge {
    ProofLog::Kind kind;
    std::uint32_t index;  // of the rule, axiom or operator
    LogTerm a;
    LogTerm b;
    std::size_t payload;  // where its words begin in the log
  };

  std::size_t id_count() const { return term_of_.size(); }
  LogTerm term(ClassId id) const { return term_of_[id.index()]; }

  std::size_t term_count() const { return ops_.size(); }
  OpId op(LogTerm term) const { return ops_[term.index()]; }
  std::span<const LogTerm> children(LogTerm term) const {
    const std::size_t begin = begins_[term.index()];
    return std::span(children_).subspan(begin, begins_[term.index() + 1] - begin);
  }

  Time merge_count() const { return static_cast<Time>(merges_.size()); }
  Merge merge(Time at) const;
  const ProofLog& log() const { return log_; }
  const OpTable& ops() const { return table_; }

  // The representative of all terms that were equal to this one at that time.
  LogTerm root(LogTerm term, Time at = kNow) const {
    while (linked_[term.index()] < at) term = parent_[term.index()];
    return term;
  }
  bool same(LogTerm a, LogTerm b, Time at = kNow) const { return root(a, at) == root(b, at); }

  // Calls visit(term) for all terms of this operator whose children are now in these classes,
  // newest first.
  template <typename Visit>
  void for_each_term(OpId op, std::span<const LogTerm> roots, Visit visit) const {
    for (LogTerm t = buckets_[bucket(op, roots)]; t.valid(); t = next_[t.index()]) {
      if (has_key(t, op, roots)) visit(t);
    }
  }
  // Calls visit(term) for all terms congruent to this one.
  template <typename Visit>
  void for_each_congruent(LogTerm term, Visit visit) const {
    base::SmallVector<LogTerm, 8> roots;
    for (const LogTerm child : children(term)) roots.push_back(root(child));
    for_each_term(op(term), {roots.data(), roots.size()}, visit);
  }

 private:
  void read_terms();
  void read_merges();
  std::size_t payload_size(const Merge& merge) const;
  void link(LogTerm a, LogTerm b, Time at);
  void index_terms();
  std::size_t bucket(OpId op, std::span<const LogTerm> roots) const;
  bool has_key(LogTerm term, OpId op, std::span<const LogTerm> roots) const;

  const ProofLog& log_;
  const OpTable& table_;
  std::vector<OpId> ops_;
  std::vector<std::uint32_t> begins_{0};
  std::vector<LogTerm> children_;
  std::vector<LogTerm> term_of_;  // by ClassId

  std::vector<std::size_t> merges_;  // where their words begin

  std::vector<LogTerm> parent_;
  std::vector<Time> linked_;  // when the term was put under its parent
  std::vector<std::uint32_t> sizes_;

  std::vector<LogTerm> buckets_;  // by operator and classes of the children: the newest term
  std::vector<LogTerm> next_;
};

}  // namespace egret::egraph
