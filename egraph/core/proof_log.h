// SPDX-License-Identifier: Apache-2.0
// The record of how an e-graph's classes became equal, from which explanations are built later
// (egraph/proofs/explainer.h).
//
// It consists of two append-only logs of words. They are self-contained: nodes may be rewritten,
// die or move.
//
//   terms    [op | children...]                     one for each ClassId ever given, in order, and
//                                                   for each node added to a class at once
//   merges   [kind, index | a | b | payload...]     one for each merge that made two classes one
//
// A ClassId thus names a term permanently: the operator and the children (ClassIds, hence terms)
// that the caller of add() gave, before they were made canonical. Terms of nodes that were added
// directly to a class have no id, which a bit of their operator word marks. A merge holds the two
// ids given and the reason:
//
//   axiom       index: its name                     the two terms are equal, says the caller
//   congruence  index: the operator                 [children...]: what both nodes had become
//   rule        index: which                        [terms for the substituted variables | captured
//                                                   ops | computed ops | computed terms | equation,
//                                                   if there are several | 2n | n pairs cited, if
//                                                   the rule may cite]
//   birth       as a rule; `b` is the number of the term that was added to class `a`
//
// Nothing else is recorded, neither the nodes of a match nor equalities that already held. Both
// follow from earlier merges and are recomputed on demand. Recording is therefore cheap. (egg
// builds the explanation graph while it runs and takes 2.3 times the time.)
//
// Citations are the equalities that a condition or a computed right side relied on
// (EGraph::cite()). They are the evidence for facts that the terms alone do not show.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/small_vector.h"
#include "base/status.h"
#include "egraph/core/ids.h"
#include "egraph/core/word_log.h"

namespace egret::egraph {

class OpTable;
class RuleForm;
class SnapshotFile;
class SnapshotWriter;
class UnionFind;

class ProofLog {
 public:
  enum class Kind : std::uint32_t { kAxiom, kCongruence, kRule, kBirth };

  // The reason for a merge. Holds views, needed only during the call.
  struct Reason {
    Kind kind = Kind::kAxiom;
    std::string_view axiom{};            // kAxiom
    OpId op{};                           // kCongruence
    std::span<const ClassId> classes{};  // kCongruence: children; kRule: matched and built
    std::span<const OpId> ops{};         // kRule: captured
    const std::shared_ptr<const RuleForm>* rule = nullptr;  // kRule
    std::uint32_t equation = 0;                             // kRule
    bool built_left = false;  // kRule, of what is built last: the left side of its only equation
  };

  ProofLog();
  ~ProofLog();
  ProofLog(const ProofLog&) = delete;
  ProofLog& operator=(const ProofLog&) = delete;

  // ---- recording ----

  // Logs the term of the next ClassId. With `exact`, find_exact() will find it.
  void add_term(OpId op, std::span<const ClassId> children, bool exact);
  // The id of exactly this term, if it was added with `exact`; otherwise invalid.
  ClassId find_exact(OpId op, std::span<const ClassId> children) const;
  // Logs a term without an id that a rule added to a class.
  void add_birth(OpId op, std::span<const ClassId> children, ClassId id, const Reason& reason);
  // Without a reason, the merge is an axiom of the caller of EGraph::merge() or, inside
  // Analysis::modify(), of the analysis.
  void add_merge(ClassId a, ClassId b, const Reason* reason);

  // Must be called before a rule is applied: clears the citations and computed operators of the
  // previous application.
  void begin_application() { cited_.clear(), computed_ops_.clear(); }
  void add_computed_op(OpId op) { computed_ops_.push_back(op); }
  void cite(ClassId a, ClassId b) { cited_.emplace_back(a, b); }

  // Sets the axiom name for merges without a reason; leave() restores the previous name.
  std::uint32_t enter(std::string_view axiom);
  void leave(std::uint32_t before) { ambient_ = before; }

  // A state to return to. restore() is O(exact terms since).
  struct Mark {
    std::size_t terms = 0;
    std::size_t ids = 0;
    std::size_t term_words = 0;
    std::size_t merge_words = 0;

    friend bool operator==(const Mark&, const Mark&) = default;
  };
  Mark mark() const { return {terms_, ids_, term_words_.size(), merge_words_.size()}; }
  void restore(const Mark& mark);
  // The number of restores. After a restore, ids from before may name other terms.
  std::uint64_t restore_count() const { return restores_; }

  // ---- reading ----

  std::size_t term_count() const { return terms_; }
  std::size_t id_count() const { return ids_; }
  const WordLog& term_words() const { return term_words_; }
  const WordLog& merge_words() const { return merge_words_; }
  const std::shared_ptr<const RuleForm>& rule(std::uint32_t index) const { return rules_[index]; }
  const std::string& axiom(std::uint32_t index) const { return axioms_[index]; }
  std::size_t bytes() const;

  // ---- snapshots: sections "proofs.*" (egraph/formats/proof_log_snapshot.cc) ----

  void save(SnapshotWriter& writer) const;
  // Returns a log that is consistent with an e-graph of exactly these classes, or a failure that
  // names the section and position. A rule recorded later that equals a rule of the file gets that
  // rule's index. O(log).
  static base::Result<std::unique_ptr<ProofLog>> load(const SnapshotFile& file, const OpTable& ops,
                                                      const UnionFind& classes);

  static constexpr std::uint32_t kKindShift = 30;   // the kind is above, the index below
  static constexpr std::uint32_t kNoId = 1U << 31;  // beside the operator of a term without an id

 private:
  class Reading;
  using Key = base::SmallVector<std::uint32_t, 6>;  // operator, children
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  static Key key(OpId op, std::span<const ClassId> children);

  std::uint32_t rule_index(const std::shared_ptr<const RuleForm>& form);
  std::uint32_t axiom_index(std::string_view name);
  void push(Kind kind, std::uint32_t index, ClassId a, ClassId b);
  void push_term(std::uint32_t head, std::span<const ClassId> children);
  void push_application(const Reason& reason, std::uint32_t rule);

  std::size_t terms_ = 0;
  std::size_t ids_ = 0;
  std::uint64_t restores_ = 0;
  WordLog term_words_;
  WordLog merge_words_;

  boost::unordered_flat_map<Key, ClassId, KeyHash> exact_;
  struct Exact {
    std::uint32_t arity;
    std::size_t begin;  // of its words
  };
  std::vector<Exact> exact_order_;

  std::vector<std::shared_ptr<const RuleForm>> rules_;  // no two are equal
  // The index of each form already seen, by address. The shared pointers keep the addresses valid.
  boost::unordered_flat_map<std::shared_ptr<const RuleForm>, std::uint32_t> rule_index_;
  const RuleForm* last_form_ = nullptr;
  std::uint32_t last_rule_ = 0;
  std::vector<std::string> axioms_;
  std::uint32_t ambient_ = 0;

  std::vector<std::pair<ClassId, ClassId>> cited_;
  std::vector<OpId> computed_ops_;
};

}  // namespace egret::egraph
