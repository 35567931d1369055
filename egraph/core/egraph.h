// SPDX-License-Identifier: Apache-2.0
// An e-graph represents a set of terms and the equalities between them, closed under congruence, in
// far less space than the terms themselves (Nelson 1980; Willsey et al., egg, POPL 2021).
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
// Clients usually do not call merge(). They state rules as text (egraph/search/syntax.h) and run
// them to saturation (egraph/search/runner.h); docs/egraph.md shows how in ten lines.
//
// Terms. An e-node is an operator applied to e-classes. An e-class is a set of equal e-nodes. add()
// finds or makes a node and returns its class. merge() makes two classes one. A merge breaks
// congruence (f(a) and f(b) must become one class when a and b do) until rebuild() restores it.
// rebuild() repairs only what the merges since the last rebuild touched. Between merge() and
// rebuild() the e-graph may be changed further but not searched.
//
// Layout. A node is a record in one arena of 32-bit words, [op | class | children... | links...].
// Its NodeId is the position of the record, so one cache line holds the whole node. The hash-cons
// stores ids, so each node exists once. A class is a row of 32 bytes found by ClassId: the list of
// its nodes (sorted by operator), the chain of its parents, the mask of its base operators, and its
// epoch. The analysis word is in its own column. The parents of a class are chained through the
// link words of their records, one link per child. A parent list thus costs no memory of its own,
// and a visitor reads the parent's record anyway. Each operator has a list of its nodes, where
// searches start. New nodes enter the parent chains and operator lists in bulk at rebuild():
// nothing reads these lists earlier, and a bulk pass can prefetch.
//
// Invariants after rebuild() (checked by check_invariants()):
//  1. Every node is hash-consed under its canonical children; no two nodes are equal; nothing else
//     is in the hash-cons.
//  2. A class's node list holds exactly its visible nodes, sorted by (OpId, NodeId); its mask has
//     the bit of each of their base operators.
//  3. A class's chain of parents passes once through the link of each child that equals this class,
//     and through links of dead nodes. Dead links outnumber live ones by at most a constant factor
//     plus a few.
//  5. The class word of a visible node is canonical.
//  6. With an analysis: a class's data is at or above make() of each of its nodes.
//  7. Every class has the epoch of its last change, none a later one than epoch().
//
// Errors. A refusal by the analysis is returned as a Status. Passing an id of another e-graph is a
// bug of the caller. Deterministic: the same calls give the same ids. Not thread-safe, but
// concurrent reads are allowed.
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

  // The class of op(children); adds the node if it is new. The children need not be canonical;
  // their number must be the operator's arity. Fails if the analysis refuses the node or the arena
  // is full (2^32 words), and then leaves the e-graph unchanged. O(arity) expected.
  base::Result<ClassId> add(OpId op, std::span<const ClassId> children = {});
  base::Result<ClassId> add(OpId op, std::initializer_list<ClassId> children) {
    return add(op, std::span<const ClassId>(children.begin(), children.size()));
  }

  // Asserts that op(children) is in class `id`. Equivalent to add() and merge(), but a new node
  // goes directly into the class. Returns whether anything changed. Fails if add() or merge() would
  // fail, and then changes nothing.
  base::Result<bool> add_to(ClassId id, OpId op, std::span<const ClassId> children) {
    return add_to(id, op, children, nullptr);
  }
  // As add(), for callers that need a class and not a term. With proofs on, the returned id may
  // stand for another term of the class. Somewhat cheaper than add().
  base::Result<ClassId> insert(OpId op, std::span<const ClassId> children);

  // Makes room for `nodes` nodes in total. Without it, each growth of the hash-cons costs a pass
  // over all nodes.
  void reserve(std::size_t nodes);

  // Merges the classes of a and b; returns whether they were two. Fails, and changes nothing, if
  // the analysis says that they cannot be equal. Amortized near O(1). With proofs on, an
  // explanation will state that the terms a and b are equal by `axiom` ("given" without one).
  base::Result<bool> merge(ClassId a, ClassId b) { return merge(a, b, nullptr); }
  base::Result<bool> merge(ClassId a, ClassId b, std::string_view axiom) {
    ProofLog::Reason reason;
    reason.axiom = axiom;
    return merge(a, b, &reason);
  }

  // Restores congruence and all invariants. A failure names the first contradiction that the
  // analysis found while congruence forced a merge. The structure is valid even then.
  base::Status rebuild();
  bool clean() const { return clean_; }

  // Returns the memory of nodes that congruence made redundant. Invalidates all NodeIds; ClassIds,
  // epochs and the order of nodes are unchanged. Requires a clean e-graph without checkpoints.
  // O(nodes).
  void compact();
  // The fraction of the arena that compact() would free.
  double dead_share() const {
    return words_.empty()
               ? 0
               : static_cast<double>(counts_.dead_words) / static_cast<double>(words_.size());
  }

  // Releases capacity that tables reserved for growth. Requires a clean e-graph without
  // checkpoints. O(nodes).
  void shrink_to_fit();

  // Removes a node from its class's list. Searches, views and counts no longer see it, but add()
  // and congruence still do. (A class known to be constant hides its other nodes; a cycle filter
  // hides the node that closes a cycle.) The lists still show the node until rebuild().
  void hide(NodeId node);

  // A state to return to when a rewrite is cancelled half-way. rollback() removes every node added
  // since. It returns false and changes nothing if there was a merge, hide or rebuild in between.
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

  // Replaces the data word of a class. rebuild() updates the parents.
  void set_data(ClassId id, Analysis::Data data);

  // ---- going back ----

  // pop() restores the state at the last push() not yet popped: ids, lists, data, epochs and
  // counts. Only operators interned since then remain. Ids given since then become invalid, and so
  // does what a client learnt at later epochs. The e-graph must be clean at push() but not at
  // pop(). push() copies the change record of nodes_since(). Recording and pop() cost time and
  // memory proportional to the changes in between.
  void push();
  void pop();
  std::size_t checkpoints() const { return checkpoints_.size(); }

  // ---- proofs ----

  // Records from now on why classes become equal, for egraph/proofs/explainer.h. Allowed only
  // before the first merge. Every id that add() returns then names the exact term that was asked
  // for: two equal terms have two ids of one class.
  void enable_proofs();
  ProofLog* proofs() const { return proofs_.get(); }  // nullptr without
  // With proofs on: the id of the term of a node's operator on these children. Each child must be
  // in the class of the node's own child; otherwise the result is invalid. Unlike add(), it makes
  // no node, even if congruence is not restored yet.
  ClassId add_congruent(NodeId node, std::span<const ClassId> children);
  ClassId add_congruent(NodeId node, std::initializer_list<ClassId> children) {
    return add_congruent(node, std::span<const ClassId>(children.begin(), children.size()));
  }
  // For conditions and builders of rules: records that the current decision relies on a = b. The
  // explanation will prove that equality.
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
  // Whether the e-graph probably exceeds the caches. Depends only on the nodes added, so it is
  // deterministic.
  bool is_large() const { return words_.size() > (std::size_t{1} << 18); }
  // Fetches the node's record into the cache, for callers about to read many.
  void prefetch(NodeId node) const { __builtin_prefetch(&words_[node.index()]); }

  OpId op(NodeId node) const { return OpId(words_[node.index()].index() & kOpMask); }
  ClassId class_of(NodeId node) const { return find(words_[node.index() + 1]); }
  // Canonical after rebuild(). Invalidated by add().
  std::span<const ClassId> children(NodeId node) const {
    return {words_.data() + node.index() + kHeader, ops_.arity(op(node))};
  }
  // Nodes added from now on have this id or a greater one. Node ids grow in order of creation and
  // do not change until compact(). If two nodes become equal, one dies.
  NodeId next_node() const { return NodeId(words_.size()); }
  bool visible(NodeId node) const { return (words_[node.index()].index() & kFlags) == 0; }
  // A visible node of this very operator.
  bool is(NodeId node, OpId op) const {
    return words_[node.index()].index() == (op.index() | kHead);
  }

  // The node lists of a canonical class and of an operator; exact after rebuild(). Before
  // rebuild(), nodes() already contains new nodes, while nodes_with() and parents() do not.
  std::span<const NodeId> nodes(ClassId id) const { return lists_.items(row(id).nodes); }
  // The nodes that have the class as a child, each once, in unspecified order: a range.
  class Parents;
  Parents parents(ClassId id) const;
  // An upper bound on the number of parents, and the cost of visiting them.
  std::size_t parents_bound(ClassId id) const { return row(id).links; }
  std::span<const NodeId> nodes_with(OpId op) const {
    if (op.index() >= by_op_.size()) return {};
    return by_op_[op.index()];
  }
  // A set of bits, one for each base operator among a class's nodes (see mask_bit()). If a base
  // operator's bit is clear, the class has no node of it.
  std::uint64_t mask(ClassId id) const { return row(id).mask; }
  static std::uint64_t mask_bit(BaseId base) { return std::uint64_t{1} << (base.index() % 64); }

  bool has_analysis() const { return analysis_ != nullptr; }
  Analysis::Data data(ClassId id) const {
    return analysis_ == nullptr ? 0 : data_[row_of(find(id))];
  }

  // Change tracking. Epochs number the states that rebuild() leaves. A rebuild() that finds changes
  // ends the epoch in which they were made. A client that saw a clean e-graph at e = epoch() has
  // missed exactly the classes with epoch(id) >= e: their nodes, visibility or data changed, or
  // they were merged.
  Epoch epoch() const { return epoch_; }
  Epoch epoch(ClassId id) const { return row(id).epoch; }  // of a canonical class
  // The canonical classes with epoch(id) >= since, in increasing order. O(ids).
  std::vector<ClassId> classes_since(Epoch since) const;
  // The same by nodes. Nodes at or after `fresh` are new (iterate with node_after()). The nodes of
  // `moved` have another class or other children than before. `moved` may name a node twice, and
  // nodes that died since. Every match that did not exist before contains at least one of these
  // nodes.
  struct NodeChanges {
    NodeId fresh;
    std::span<const NodeId> moved;
  };
  // Empty if `since` is too long ago: the record is kept only while it is short.
  std::optional<NodeChanges> nodes_since(Epoch since) const;
  // The node made next after `node`. It is a node only if it is below next_node().
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
  // Work done so far, in units that repeat from run to run: nodes added, repaired and re-analysed.
  std::uint64_t ticks() const { return counts_.ticks; }
  // Node contents ever inserted into the hash-cons. Engines that keep stale keys report this number
  // as the hash-cons size.
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

  // The arena's words are ClassIds, so children can be returned as a span without a cast. The first
  // word of a record holds the operator's index and the flags instead.
  static constexpr std::uint32_t kHeader = 2;
  static constexpr std::uint32_t kHead = 1U << 31;    // of every first word; of no class and child
  static constexpr std::uint32_t kDead = 1U << 30;    // replaced by an equal node
  static constexpr std::uint32_t kHidden = 1U << 29;  // see hide()
  static constexpr std::uint32_t kFlags = kDead | kHidden;
  static constexpr std::uint32_t kOpMask = kHidden - 1;
  static constexpr std::size_t record_size(std::size_t arity) { return kHeader + 2 * arity; }

  // The position of a child in words_. It identifies one (parent node, child position) pair. The
  // link word belonging to it lies `arity` words further and holds the next slot of the chain. 0:
  // none.
  using Slot = std::uint32_t;
  NodeId node_of(Slot slot) const {
    do --slot;
    while ((words_[slot].index() & kHead) == 0);
    return NodeId(slot);
  }
  Slot next_slot(Slot slot, NodeId node) const {
    return words_[slot + ops_.arity(op(node))].index();
  }

  // Pending work of rebuild() for a class, as bits.
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
  // The canonical children of a node, and its hash.
  struct Key {
    std::span<const ClassId> children;
    std::uint32_t hash;
  };
  struct Checkpoint;
  // A class that was merged away, and the row it had.
  struct Merged {
    ClassId id;
    std::uint32_t row;
  };

  // For canonical classes. Rows of merged-away classes are reused.
  std::uint32_t row_of(ClassId id) const { return classes_.row(id); }
  Row& row(ClassId id) { return rows_[row_of(id)]; }
  const Row& row(ClassId id) const { return rows_[row_of(id)]; }
  std::uint32_t take_row(const Row& row, Analysis::Data data);
  void free_row(std::uint32_t row);

  // Prefetching for large e-graphs, where most steps wait for memory. Each step needs the result of
  // the one before: the union-find entry of a class, its row, the end of its list of nodes.
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
  // The node with these canonical children and their hash.
  NodeId find_node(std::uint32_t hash, OpId op, std::span<const ClassId> children) const {
    return hash_cons_.find(hash, [&](NodeId node) { return is_node(node, op, children); });
  }
  // Whether another record of this arity, or its class, would exceed the id range.
  bool is_full(std::size_t children) const {
    return words_.size() + record_size(children) >= 0xffffffffU ||
           classes_.size() >= UnionFind::kMaxIds;
  }

  enum class Addition : unsigned char { kRefused, kUnchanged, kChanged };
  ClassId try_add(OpId op, std::span<const ClassId> children, base::Status& why, bool exact);
  Addition try_add_to(ClassId id, OpId op, std::span<const ClassId> children, base::Status& why,
                      const ProofLog::Reason* reason);
  // The slow paths of try_add() and try_add_to(), taken if the node does not exist. `given`: the
  // children as proofs name them.
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
  // Inserts a child's slot, in a node of this arity, at the head of its class's parent chain.
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

  // While a checkpoint exists, these must be called before each change of what existed at push().
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

  // For nodes_since(): moved_ holds the nodes that moved since the epoch of the first mark.
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

// Forward iteration over the parents of a canonical class of a clean e-graph.
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
    // Advances to a live node that was not already visited for an earlier child.
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
