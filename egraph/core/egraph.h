// SPDX-License-Identifier: Apache-2.0
// An e-graph: a set of terms and of equalities between them, closed under congruence, in space far
// below that of the terms it stands for (Nelson 1980; Willsey et al., egg, POPL 2021).
//
//   OpTable ops;                                         // the language, made at run time
//   EGraph egraph(ops);
//   const ClassId a = *egraph.add(ops.op("a", 0));
//   const ClassId two = *egraph.add(ops.op("2", 0));
//   const ClassId twice = *egraph.add(ops.op("*", 2), {{a, two}});
//   const ClassId shift = *egraph.add(ops.op("<<", 2), {{a, *egraph.add(ops.op("1", 0))}});
//   (void)egraph.merge(twice, shift);                    // from here on they are equal,
//   (void)egraph.rebuild();                              // and so is everything built on them
//
// Usually one does not call merge() but states rules as text (egraph/search/syntax.h) and runs them
// until nothing is new (egraph/search/runner.h); docs/egraph.md shows how in ten lines.
//
// Words. An e-node is an operator applied to e-classes; an e-class is a set of e-nodes that are
// equal. add() finds or makes the node and returns its class. merge() makes two classes one.
// Merging breaks congruence (f(a) and f(b) must become one when a and b do) until rebuild(), which
// repairs what the merges since the last one touched, and nothing else. Between merge() and
// rebuild() the e-graph may be changed further but not searched.
//
// Layout. A node is a record in one arena of 32-bit words, [op | class | children... | links...],
// and its NodeId is where the record begins: one cache line gives all there is to know. The
// hash-cons stores ids, so there is one copy of each node. A class is a row of 32 bytes found by
// ClassId: list of nodes (sorted by operator), chain of parents, mask of base operators, epoch; its
// analysis word has a column of its own. The parents of a class are chained through the links of
// their records, one for each child: whoever looks at a parent looks at its record anyway. Per
// operator there is a list of nodes, from which searches start. New nodes enter the chains of
// parents and the lists of operators at rebuild(), all at once, because nobody asks before and the
// memory they go to can then be fetched ahead of time.
//
// Invariants after rebuild() (checked by check_invariants()):
//  1. Every node is hash-consed under its canonical children; no two nodes are equal; nothing else
//     is in the hash-cons.
//  2. A class's node list holds exactly its visible nodes, sorted by (OpId, NodeId); its mask has
//     the bit of each of their base operators.
//  3. A class's chain of parents goes through the links of all children that are this class, each
//     once, and through links of dead nodes, not more of these than of the others but for a few.
//  4. An operator's list holds its visible nodes, once, in order.
//  5. The class word of a visible node is canonical.
//  6. With an analysis: a class's data is at or above make() of each of its nodes.
//  7. Every class has the epoch of its last change, none a later one than epoch().
//
// Errors. What an analysis refuses comes back as a Status; ids of another e-graph are a caller's
// bug. Deterministic: same calls, same ids. Not thread-safe; concurrent reads are fine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "egraph/core/analysis.h"
#include "egraph/core/flat_array.h"
#include "egraph/core/hash_cons.h"
#include "egraph/core/ids.h"
#include "egraph/core/node_lists.h"
#include "egraph/core/op_table.h"
#include "egraph/core/proof_log.h"
#include "egraph/core/union_find.h"

namespace egret::egraph {

class EGraph {
 public:
  // Both must outlive the e-graph. Without an analysis every data word is 0.
  explicit EGraph(OpTable& ops, Analysis* analysis = nullptr);
  ~EGraph();
  EGraph(const EGraph&) = delete;
  EGraph& operator=(const EGraph&) = delete;

  // ---- changing ----

  // The class of op(children), made if it is new. Children need not be canonical; their number
  // must be the operator's arity. Fails when the analysis refuses the node or the arena is full
  // (2^32 words); the e-graph is then as before. O(arity) expected.
  base::Result<ClassId> add(OpId op, std::span<const ClassId> children = {});
  base::Result<ClassId> add(OpId op, std::initializer_list<ClassId> children) {
    return add(op, std::span<const ClassId>(children.begin(), children.size()));
  }

  // Says that op(children) is in class `id`: add() and merge() in one, without a class made for the
  // node only to be merged away when it is new. Whether anything changed. Fails where they would,
  // and changes nothing then.
  base::Result<bool> add_to(ClassId id, OpId op, std::span<const ClassId> children) {
    return add_to(id, op, children, nullptr);
  }
  // As add(), for those who want a class and not a term: with proofs, the id returned may stand for
  // another term of the class. Somewhat cheaper.
  base::Result<ClassId> insert(OpId op, std::span<const ClassId> children);

  // Makes room for so many nodes in all, for who knows that they will come: growing costs a pass
  // over all nodes each time.
  void reserve(std::size_t nodes);

  // Makes the classes one; whether they were two. Fails, and changes nothing, when the analysis
  // says that they cannot be equal. Amortized near O(1). With proofs, an explanation will say that
  // the terms a and b are equal by `axiom` ("given" without one).
  base::Result<bool> merge(ClassId a, ClassId b) { return merge(a, b, nullptr); }
  base::Result<bool> merge(ClassId a, ClassId b, std::string_view axiom) {
    ProofLog::Reason reason;
    reason.axiom = axiom;
    return merge(a, b, &reason);
  }

  // Restores congruence and all invariants. A failure names the first contradiction that the
  // analysis found while congruence forced classes together; the structure is valid even then.
  base::Status rebuild();
  bool clean() const { return clean_; }

  // Gives back the memory of nodes that congruence made superfluous. All NodeIds are void then;
  // ClassIds, epochs and order stay. On a clean e-graph without checkpoints. O(nodes).
  void compact();
  // What compact() would give back, of the bytes that nodes take.
  double dead_share() const {
    return words_.empty()
               ? 0
               : static_cast<double>(counts_.dead_words) / static_cast<double>(words_.size());
  }

  // Gives back what tables reserve in order to grow. On a clean e-graph without checkpoints.
  // O(nodes).
  void shrink_to_fit();

  // Takes a node out of its class's list, so that searches, views and counts no longer see it,
  // while it still stands for its class in add() and in congruence. (A class known to be constant
  // hides its other nodes; a cycle filter hides the node that closes a cycle.) Before rebuild()
  // lists still show it.
  void hide(NodeId node);

  // A mark to return to when a rewrite is cancelled half-way: rollback() removes every node added
  // since, and says false, leaving all as it is, when there was a merge or rebuild in between.
  struct Savepoint {
    std::size_t words = 0;
    std::uint64_t changes = 0;  // merges, hides and rebuilds so far
    std::size_t ids = 0;
    bool clean = true;
    ProofLog::Mark proofs{};
  };
  Savepoint savepoint() const {
    return {words_.size(), changes_, classes_.size(), clean_,
            proofs_ == nullptr ? ProofLog::Mark() : proofs_->mark()};
  }
  bool rollback(const Savepoint& savepoint);

  // Replaces the data word of a class; parents are brought up to date by rebuild().
  void set_data(ClassId id, Analysis::Data data);

  // ---- going back ----

  // pop() makes all as it was at the last push() not yet popped: ids, lists, data, epochs and
  // counts; only operators that were interned since stay. Ids given since then are void, and so is
  // what was learnt at epochs since. The e-graph must be clean at push(), but need not be at pop().
  // push() costs a copy of the changes that nodes_since() knows; recording and pop() cost time and
  // memory for what changes in between, not for the rest.
  void push();
  void pop();
  std::size_t checkpoints() const { return checkpoints_.size(); }

  // ---- proofs ----

  // From here on, why classes become equal is recorded, for egraph/proofs/explainer.h. Only before
  // the first merge. Every id that add() returns then names the very term that was asked for: two
  // terms that are known to be equal have two ids of one class.
  void enable_proofs();
  ProofLog* proofs() const { return proofs_.get(); }  // nullptr without
  // With proofs: the term of a node's operator on these children, each of which must be in the
  // class of the node's own child (else invalid). add() might make a node where congruence is not
  // restored yet.
  ClassId add_congruent(NodeId node, std::span<const ClassId> children);
  ClassId add_congruent(NodeId node, std::initializer_list<ClassId> children) {
    return add_congruent(node, std::span<const ClassId>(children.begin(), children.size()));
  }
  // For conditions and builders of rules: what is decided now relies on a and b being equal. The
  // explanation will prove it.
  void cite(ClassId a, ClassId b) {
    if (proofs_ != nullptr) proofs_->cite(a, b);
  }

  // ---- reading ----

  OpTable& ops() const { return ops_; }
  ClassId find(ClassId id) const { return classes_.find(id); }
  bool same(ClassId a, ClassId b) const { return find(a) == find(b); }
  // The class of op(children) if that node exists, else invalid.
  ClassId lookup(OpId op, std::span<const ClassId> children = {}) const;
  ClassId lookup(OpId op, std::initializer_list<ClassId> children) const {
    return lookup(op, std::span<const ClassId>(children.begin(), children.size()));
  }
  // The node itself, hidden or not.
  NodeId lookup_node(OpId op, std::span<const ClassId> children) const;
  // Whether it is likely not to fit into the caches; a function of what was added.
  bool is_large() const { return words_.size() > (std::size_t{1} << 18); }
  // Brings the node's record into the cache, for who is about to look at many.
  void prefetch(NodeId node) const { __builtin_prefetch(&words_[node.index()]); }

  OpId op(NodeId node) const { return OpId(words_[node.index()].index() & kOpMask); }
  ClassId class_of(NodeId node) const { return find(words_[node.index() + 1]); }
  // Canonical after rebuild(). Invalidated by add().
  std::span<const ClassId> children(NodeId node) const {
    return {words_.data() + node.index() + kHeader, ops_.arity(op(node))};
  }
  // Nodes added from now on have this id or a greater one: node ids grow in order of creation and
  // stay as they are until compact() (of two nodes that become equal, one dies).
  NodeId next_node() const { return NodeId(words_.size()); }
  bool visible(NodeId node) const { return (words_[node.index()].index() & kFlags) == 0; }
  // A visible node of this very operator.
  bool is(NodeId node, OpId op) const {
    return words_[node.index()].index() == (op.index() | kHead);
  }

  // The lists of a canonical class and of an operator; exact after rebuild(), see the invariants.
  // Before, nodes() has new nodes already, the other two have not.
  std::span<const NodeId> nodes(ClassId id) const { return lists_.items(row(id).nodes); }
  // The nodes that have the class as a child, each once, in no order of meaning: a range.
  class Parents;
  Parents parents(ClassId id) const;
  // How long it takes to visit them: at least as many.
  std::size_t parents_bound(ClassId id) const { return row(id).links; }
  std::span<const NodeId> nodes_with(OpId op) const {
    if (op.index() >= by_op_.size()) return {};
    return by_op_[op.index()];
  }
  // One bit for each base operator among a class's nodes (the bits of mask_bit()): a class without
  // a bit has no such node.
  std::uint64_t mask(ClassId id) const { return row(id).mask; }
  static std::uint64_t mask_bit(BaseId base) { return std::uint64_t{1} << (base.index() % 64); }

  bool has_analysis() const { return analysis_ != nullptr; }
  Analysis::Data data(ClassId id) const {
    return analysis_ == nullptr ? 0 : data_[row_of(find(id))];
  }

  // What is new. Epochs number the states that rebuild() leaves: one that finds changes ends the
  // epoch in which they were made. Who has seen a clean e-graph at e = epoch() has missed the
  // classes with epoch(id) >= e: their nodes, visibility or data changed, or they were merged.
  Epoch epoch() const { return epoch_; }
  Epoch epoch(ClassId id) const { return row(id).epoch; }  // of a canonical class
  // These classes, in increasing order. O(ids).
  std::vector<ClassId> classes_since(Epoch since) const;
  // The same by nodes: those at or after `fresh` (see node_after()) are new, those of `moved` have
  // another class or other children than before. `moved` may name a node twice, and nodes that
  // died since. A match that was not there before has at least one of these nodes.
  struct NodeChanges {
    NodeId fresh;
    std::span<const NodeId> moved;
  };
  // Nothing when it is too long ago: the record is kept as long as it is short.
  std::optional<NodeChanges> nodes_since(Epoch since) const;
  // The node made next after `node`; below next_node() it is one.
  NodeId node_after(NodeId node) const {
    return NodeId(node.index() + record_size(ops_.arity(op(node))));
  }

  // All canonical classes in increasing order. O(ids).
  std::vector<ClassId> classes() const;
  bool is_canonical(ClassId id) const { return classes_.is_root(id); }
  std::size_t id_count() const { return classes_.size(); }  // ids ever given are below this

  std::size_t node_count() const { return counts_.visible; }                // exact after rebuild()
  bool has_hidden() const { return hash_cons_.size() != counts_.visible; }  // of a clean e-graph
  std::size_t class_count() const { return counts_.classes; }
  std::size_t bytes() const;  // what all tables occupy, slack included
  // The same, table by table.
  struct TableBytes {
    std::string_view table;
    std::size_t bytes;
  };
  std::vector<TableBytes> bytes_by_table() const;
  // Work done so far in units that repeat from run to run: nodes added, repaired, re-analysed.
  std::uint64_t ticks() const { return counts_.ticks; }
  // Contents ever put into the hash-cons: what engines that keep stale keys report as its size.
  std::uint64_t keys_inserted() const { return counts_.keys_inserted; }
  std::uint64_t merge_count() const { return counts_.merges; }

  // The first broken invariant, or ok. Slow; meant for tests and debug builds.
  base::Status check_invariants() const;

 private:
  friend class InvariantChecker;
  friend class EGraphSnapshot;
  friend class Rewrite;
  friend class ApplyBlock;
  using List = NodeLists::List;

  // Words are ClassIds so that children are a span of them without a cast; the first word of a
  // record holds the operator's index and the flags instead.
  static constexpr std::uint32_t kHeader = 2;
  static constexpr std::uint32_t kHead = 1U << 31;    // of every first word; of no class and child
  static constexpr std::uint32_t kDead = 1U << 30;    // replaced by an equal node
  static constexpr std::uint32_t kHidden = 1U << 29;  // see hide()
  static constexpr std::uint32_t kFlags = kDead | kHidden;
  static constexpr std::uint32_t kOpMask = kHidden - 1;
  static constexpr std::size_t record_size(std::size_t arity) { return kHeader + 2 * arity; }

  // Where a child stands in words_, which stands for its node as one of the child's parents. The
  // link that belongs to it, as many words behind it as the node has children, is the next slot of
  // the chain. 0: none.
  using Slot = std::uint32_t;
  NodeId node_of(Slot slot) const {
    do --slot;
    while ((words_[slot].index() & kHead) == 0);
    return NodeId(slot);
  }
  Slot next_slot(Slot slot, NodeId node) const {
    return words_[slot + ops_.arity(op(node))].index();
  }

  // What rebuild() must do for a class.
  enum Touch : std::uint8_t {
    kNodesStale = 1,    // the node list has dead, hidden or unsorted items
    kParentsStale = 2,  // the chain of parents has more dead nodes than before
    kDataChanged = 4,   // parents that are not listed yet were made with other data
  };
  struct Row {
    List nodes;
    std::uint64_t mask = 0;
    Slot parents = 0;         // the first of the chain
    std::uint32_t links = 0;  // in it
    Epoch epoch = 0;
    std::uint32_t dead_links : 24 = 0;  // of dead nodes, or the greatest number
    std::uint32_t touches : 8 = 0;
  };
  static_assert(sizeof(Row) == 32, "two rows to a cache line");
  // The children of a node, canonical, and its hash.
  struct Key {
    std::span<const ClassId> children;
    std::uint32_t hash;
  };
  struct Checkpoint;
  // A class that was merged away, and the row that was its own.
  struct Merged {
    ClassId id;
    std::uint32_t row;
  };

  // Of canonical classes. Rows of classes that were merged away are used again.
  std::uint32_t row_of(ClassId id) const { return classes_.row(id); }
  Row& row(ClassId id) { return rows_[row_of(id)]; }
  const Row& row(ClassId id) const { return rows_[row_of(id)]; }
  std::uint32_t take_row(const Row& row, Analysis::Data data);
  void free_row(std::uint32_t row);

  // In large e-graphs, where most steps wait for memory: the class's union-find entry; with that
  // here, its row; with that here, the end of its list of nodes.
  void prefetch_class(ClassId id) const { classes_.prefetch(id); }
  void prefetch_row(ClassId id) const { __builtin_prefetch(&row(find(id))); }
  void prefetch_list(ClassId id) const { lists_.prefetch_end(row(find(id)).nodes); }

  bool dead(NodeId node) const { return (words_[node.index()].index() & kDead) != 0; }
  void set_flag(NodeId node, std::uint32_t flag) {
    if (!checkpoints_.empty()) remember_node(node);
    words_[node.index()] = ClassId(words_[node.index()].index() | flag);
  }
  std::span<ClassId> mutable_children(NodeId node) {
    return {words_.data() + node.index() + kHeader, ops_.arity(op(node))};
  }
  bool is_node(NodeId node, OpId op, std::span<const ClassId> children) const {
    const ClassId* const record = &words_[node.index()];
    return (record->index() & kOpMask) == op.index() &&
           std::equal(children.begin(), children.end(), record + kHeader);
  }
  // Of canonical children, with their hash.
  NodeId find_node(std::uint32_t hash, OpId op, std::span<const ClassId> children) const {
    return hash_cons_.find(hash, [&](NodeId node) { return is_node(node, op, children); });
  }
  // Whether a record of so many children, or its class, no longer fits into the ids.
  bool is_full(std::size_t children) const {
    return words_.size() + record_size(children) >= 0xffffffffU ||
           classes_.size() >= UnionFind::kMaxIds;
  }

  enum class Addition : unsigned char { kRefused, kUnchanged, kChanged };
  ClassId try_add(OpId op, std::span<const ClassId> children, base::Status& why, bool exact);
  Addition try_add_to(ClassId id, OpId op, std::span<const ClassId> children, base::Status& why,
                      const ProofLog::Reason* reason);
  // The other half of these, where the node is not there. `given`: the children as proofs name
  // them.
  ClassId add_missing(OpId op, const Key& key, std::span<const ClassId> given, base::Status& why,
                      bool exact);
  Addition add_missing_to(ClassId given_id, OpId op, const Key& key, std::span<const ClassId> given,
                          base::Status& why, const ProofLog::Reason* reason);
  base::Result<ClassId> add_exact(OpId op, std::span<const ClassId> children);
  base::Result<bool> add_to(ClassId id, OpId op, std::span<const ClassId> children,
                            const ProofLog::Reason* reason);
  base::Result<bool> merge(ClassId a, ClassId b, const ProofLog::Reason* reason);
  ClassId add_twin(OpId op, std::span<const ClassId> children, ClassId root);
  ClassId make_class(OpId op, Analysis::Data data);
  void make_node(OpId op, const Key& key, ClassId id);
  void grow_hash_cons(std::size_t size);
  void link(ClassId root, ClassId child, Analysis::Data merged);
  void changed(ClassId id);
  void chain_parents_of_merged();
  void chain_parents(const Merged& merged);
  void drain_modify();

  void list_new_nodes();
  void repair_all(base::Status& conflict);
  void repair_by_pass(base::Status& conflict);
  bool make_canonical(NodeId node);
  void prefetch_repair(NodeId node) const;
  void repair(NodeId node, base::Status& conflict);
  void reanalyse(NodeId node, base::Status& conflict);
  void force_merge(NodeId node, NodeId equal, base::Status& conflict);
  void bury(NodeId node);
  void touch(ClassId id, std::uint32_t what);
  void touch_op(OpId op);
  void stamp(ClassId id) {
    if (!checkpoints_.empty()) remember_row(id);
    row(id).epoch = epoch_;
  }
  void end_epoch();
  void shorten_paths();
  void refresh_lists();
  void prefetch_refresh(std::size_t touched) const;
  void refresh_nodes(ClassId id);
  void drop_dead_links(ClassId id);
  void forget_dead_moved();
  void slide_records();
  void chain_all_parents();
  // Puts a child's slot, in a node of this arity, before the others of its class.
  void chain(std::size_t slot, std::size_t arity, Row& row) {
    words_[slot + arity] = ClassId(std::exchange(row.parents, static_cast<Slot>(slot)));
    ++row.links;
  }
  static void add_dead_links(Row& row, std::uint32_t count) {
    constexpr std::uint32_t kMost = (1U << 24) - 1;
    row.dead_links = std::min(row.dead_links + count, kMost) & kMost;
  }
  void compact_rows();
  void compact_lists();
  void release_queues();

  // While there is a checkpoint, to be called before each change of what was there at push().
  void remember_row(ClassId id);
  void remember_lists(ClassId id);
  void remember_node(NodeId node);
  void remember_op(OpId op);
  void restore_nodes(const Checkpoint& old);
  void restore_classes(Checkpoint& old);
  void restore_ops(const Checkpoint& old);
  std::size_t checkpoint_bytes() const;

  OpTable& ops_;
  Analysis* analysis_;

  std::unique_ptr<ProofLog> proofs_;

  FlatArray<ClassId> words_;  // the arena of node records
  NodeId unlisted_{0};        // from here on nodes are not in the lists of parents and operators
  HashCons hash_cons_;
  NodeLists lists_;
  std::vector<FlatArray<NodeId>> by_op_;
  std::size_t by_op_bytes_ = 0;

  UnionFind classes_;
  FlatArray<Row> rows_;
  FlatArray<std::uint32_t> free_rows_;
  FlatArray<Analysis::Data> data_;  // a word for each row; empty without an analysis

  // For nodes_since(): moved_ holds what moved since the epoch of the first mark.
  struct EpochMark {
    Epoch epoch;          // when it began,
    NodeId next_node;     // nodes from here on did not exist
    std::uint64_t moved;  // and this many had ever moved
  };
  Epoch epoch_ = 1;
  std::vector<EpochMark> epoch_marks_{{1, NodeId(0), 0}};  // consecutive epochs, up to the present
  FlatArray<NodeId> moved_;

  FlatArray<NodeId> to_repair_;     // parents of merged-away classes
  FlatArray<NodeId> repairing_;     // those at work
  FlatArray<NodeId> to_reanalyse_;  // parents of classes with new data
  FlatArray<ClassId> to_modify_;
  FlatArray<Merged> merged_away_;  // since the last rebuild,
  std::size_t chained_ = 0;        // of which the parents of so many are the new class's already
  FlatArray<ClassId> touched_;     // classes with bits in Row::touches
  FlatArray<OpId> touched_ops_;    // operators whose list has dead or hidden nodes
  std::vector<bool> op_touched_;
  FlatArray<std::uint64_t> scratch_;
  bool modifying_ = false;
  bool clean_ = true;

  struct Counts {
    std::size_t visible = 0;
    std::size_t classes = 0;
    std::size_t dead_words = 0;  // of records of dead nodes
    std::uint64_t ticks = 0;
    std::uint64_t keys_inserted = 0;
    std::uint64_t merges = 0;
  };
  Counts counts_;
  std::uint64_t changes_ = 0;

  std::vector<std::unique_ptr<Checkpoint>> checkpoints_;
};

// Forward iteration, for a canonical class of a clean e-graph.
class EGraph::Parents {
 public:
  class Iterator {
   public:
    NodeId operator*() const { return node_; }
    Iterator& operator++() { return slot_ = egraph_->next_slot(slot_, node_), settle(), *this; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.slot_ == b.slot_; }

   private:
    friend class Parents;
    Iterator(const EGraph& egraph, ClassId id, Slot slot) : egraph_(&egraph), id_(id), slot_(slot) {
      settle();
    }
    // Goes on to a node that lives and was not visited for an earlier child.
    void settle() {
      for (; slot_ != 0; slot_ = egraph_->next_slot(slot_, node_)) {
        node_ = egraph_->node_of(slot_);
        if (egraph_->dead(node_)) continue;
        const ClassId* const begin = egraph_->words_.data() + node_.index() + kHeader;
        const ClassId* const end = egraph_->words_.data() + slot_;
        if (std::find(begin, end, id_) == end) return;
      }
    }

    const EGraph* egraph_;
    ClassId id_;
    Slot slot_;
    NodeId node_;
  };

  Iterator begin() const { return {*egraph_, id_, egraph_->row(id_).parents}; }
  Iterator end() const { return {*egraph_, id_, 0}; }

 private:
  friend class EGraph;
  Parents(const EGraph& egraph, ClassId id) : egraph_(&egraph), id_(id) {}

  const EGraph* egraph_;
  ClassId id_;
};

inline EGraph::Parents EGraph::parents(ClassId id) const { return {*this, id}; }

}  // namespace egret::egraph
