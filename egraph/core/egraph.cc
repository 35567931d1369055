// SPDX-License-Identifier: Apache-2.0
#include "egraph/core/egraph.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/small_vector.h"
#include "egraph/core/node_hash.h"

namespace egret::egraph {

using base::Result;
using base::Status;

namespace {

// The children mapped through `find`, in a buffer on the stack.
class Canonical {
 public:
  template <typename Find>
  Canonical(std::span<const ClassId> children, Find find) : ids_(children.begin(), children.end()) {
    for (ClassId& id : ids_) id = find(id);
  }
  operator std::span<const ClassId>() const { return {ids_.data(), ids_.size()}; }  // NOLINT

 private:
  base::SmallVector<ClassId, 6> ids_;
};

Status arena_full() { return base::limit_hit("the e-graph's arena is full (2^32 words)"); }

}  // namespace

Result<ClassId> EGraph::add(OpId op, std::span<const ClassId> children) {
  return proofs_ == nullptr ? insert(op, children) : add_exact(op, children);
}

Result<ClassId> EGraph::insert(OpId op, std::span<const ClassId> children) {
  Status why;
  const ClassId id = try_add(op, children, why, false);
  if (!id.valid()) return why;
  return id;
}

// With proofs, equal terms need distinct ids. An exact term that is already known keeps its id. A
// new node gets the next id. If only an equal node exists, add_twin() makes an id without a node.
Result<ClassId> EGraph::add_exact(OpId op, std::span<const ClassId> children) {
  if (const ClassId known = proofs_->find_exact(op, children); known.valid()) return known;
  const std::vector<ClassId> given(children.begin(), children.end());
  const ClassId next(classes_.size());
  Status why;
  const ClassId id = try_add(op, given, why, true);
  if (!id.valid()) return why;
  // The id of a new node names its term, even if modify() has merged its class meanwhile.
  return classes_.size() > next.index() ? next : add_twin(op, given, id);
}

Result<bool> EGraph::add_to(ClassId id, OpId op, std::span<const ClassId> children,
                            const ProofLog::Reason* reason) {
  Status why;
  const Addition addition = try_add_to(id, op, children, why, reason);
  if (addition == Addition::kRefused) return why;
  return addition == Addition::kChanged;
}

// Makes the children canonical and returns the class of an equal node, if the hash-cons has one.
ClassId EGraph::try_add(OpId op, std::span<const ClassId> children, Status& why, bool exact) {
  EGRET_CHECK(children.size() == ops_.arity(op), "wrong number of children");
  ++counts_.ticks;
  const Canonical canonical(children, [this](ClassId id) { return classes_.find_compress(id); });
  const Key key{canonical, node_hash(op, canonical)};
  const NodeId node = find_node(key.hash, op, key.children);
  return node.valid() ? class_of(node) : add_missing(op, key, children, why, exact);
}

// Makes a class with one node. The analysis can refuse it before anything has changed.
ClassId EGraph::add_missing(OpId op, const Key& key, std::span<const ClassId> given, Status& why,
                            bool exact) {
  if (is_full(key.children.size())) return why = arena_full(), ClassId();
  Analysis::Data data = 0;
  if (analysis_ != nullptr) {
    auto made = analysis_->make(*this, op, key.children);
    if (!made.ok()) return why = made.status(), ClassId();
    data = *made;
  }
  if (proofs_ != nullptr) proofs_->add_term(op, given, exact);
  const ClassId id = make_class(op, data);
  make_node(op, key, id);
  if (analysis_ == nullptr) return id;
  to_modify_.push_back(id);
  drain_modify();
  return find(id);
}

// Adds a node to an existing class. If an equal node exists, the two classes are merged; otherwise
// the node is made in the class directly, without a class of its own.
EGraph::Addition EGraph::try_add_to(ClassId id, OpId op, std::span<const ClassId> children,
                                    Status& why, const ProofLog::Reason* reason) {
  const auto merge_with = [&](ClassId a, ClassId b) {
    const Result<bool> merged = merge(a, b, reason);
    if (!merged.ok()) return why = merged.status(), Addition::kRefused;
    return *merged ? Addition::kChanged : Addition::kUnchanged;
  };
  // Without a reason, the log records an axiom between two terms. The new term thus needs its own
  // id.
  if (proofs_ != nullptr && reason == nullptr) {
    const Result<ClassId> term = add_exact(op, children);
    if (!term.ok()) return why = term.status(), Addition::kRefused;
    return merge_with(id, *term);
  }
  EGRET_CHECK(children.size() == ops_.arity(op), "wrong number of children");
  ++counts_.ticks;
  const Canonical canonical(children, [this](ClassId kid) { return classes_.find_compress(kid); });
  const Key key{canonical, node_hash(op, canonical)};
  const NodeId node = find_node(key.hash, op, key.children);
  if (!node.valid()) return add_missing_to(id, op, key, children, why, reason);
  const ClassId known = class_of(node);
  if (known == find(id)) return Addition::kUnchanged;
  // The proof log expects the side that the rule built in the position that the reason names.
  return reason != nullptr && reason->built_left ? merge_with(known, id) : merge_with(id, known);
}

// All that can fail (space, the analysis) comes before the first change.
EGraph::Addition EGraph::add_missing_to(ClassId given_id, OpId op, const Key& key,
                                        std::span<const ClassId> given, Status& why,
                                        const ProofLog::Reason* reason) {
  if (is_full(key.children.size())) return why = arena_full(), Addition::kRefused;
  const ClassId id = classes_.find_compress(given_id);
  Analysis::Data data = 0;
  if (analysis_ != nullptr) {
    auto made = analysis_->make(*this, op, key.children);
    if (made.ok()) made = analysis_->merge(data_[row_of(id)], *made);
    if (!made.ok()) return why = made.status(), Addition::kRefused;
    data = *made;
  }
  if (proofs_ != nullptr) proofs_->add_birth(op, given, given_id, *reason);
  make_node(op, key, id);
  ++changes_;
  touch(id, kNodesStale);
  stamp(id);
  row(id).mask |= mask_bit(ops_.base_of(op));
  if (analysis_ == nullptr) return Addition::kChanged;
  if (data_[row_of(id)] != data) {
    changed(id);
    data_[row_of(id)] = data;
  }
  to_modify_.push_back(id);
  drain_modify();
  return Addition::kChanged;
}

// A new class for a node of this operator; the node is not listed yet.
ClassId EGraph::make_class(OpId op, Analysis::Data data) {
  ++counts_.classes;
  return classes_.make(take_row({{}, mask_bit(ops_.base_of(op)), 0, 0, epoch_}, data));
}

// With a checkpoint, free rows are not reused: pop() truncates the rows made since push(), so all
// new rows must lie at the end.
std::uint32_t EGraph::take_row(const Row& row, Analysis::Data data) {
  if (free_rows_.empty() || !checkpoints_.empty()) {
    rows_.push_back(row);
    if (analysis_ != nullptr) data_.push_back(data);
    return static_cast<std::uint32_t>(rows_.size() - 1);
  }
  const std::uint32_t taken = free_rows_.back();
  free_rows_.pop_back();
  rows_[taken] = row;
  if (analysis_ != nullptr) data_[taken] = data;
  return taken;
}

void EGraph::free_row(std::uint32_t row) {
  if (row + std::size_t{1} == rows_.size()) {
    rows_.truncate(row);
    data_.truncate(row);
  } else {
    rows_[row] = {};
    free_rows_.push_back(row);
  }
}

// Appends the record of a new node to the arena and enters it into the hash-cons and the list of
// its class. The parent chains and operator lists follow at rebuild().
void EGraph::make_node(OpId op, const Key& key, ClassId id) {
  const NodeId node(words_.size());
  ClassId* const record = words_.extend(record_size(key.children.size()));
  record[0] = ClassId(op.index() | kHead);
  record[1] = id;
  ClassId* const links = std::copy(key.children.begin(), key.children.end(), record + kHeader);
  std::fill_n(links, key.children.size(), ClassId(0));
  if (hash_cons_.is_full()) {
    grow_hash_cons(hash_cons_.next_size());  // the new node is among those that it puts in
  } else {
    hash_cons_.insert(key.hash, node);
  }
  if (!checkpoints_.empty()) remember_row(id);
  lists_.append(row(id).nodes, node);
  ++counts_.keys_inserted;
  ++counts_.visible;
  clean_ = false;
}

void EGraph::reserve(std::size_t nodes) {
  if (nodes > hash_cons_.max_size()) grow_hash_cons(nodes);
}

// Reinserts all live nodes, in blocks, so that the table's buckets can be prefetched.
void EGraph::grow_hash_cons(std::size_t size) {
  constexpr std::size_t kBlock = 32;
  hash_cons_.reset(size);
  std::array<std::pair<std::uint32_t, NodeId>, kBlock> block;
  for (std::size_t word = 0; word < words_.size();) {
    std::size_t count = 0;
    for (; count < kBlock && word < words_.size(); word = node_after(NodeId(word)).index()) {
      const NodeId node(word);
      if (dead(node)) continue;
      block[count] = {node_hash(op(node), children(node)), node};
      hash_cons_.prefetch(block[count++].first);
    }
    for (const auto& [hash, node] : std::span(block).first(count)) hash_cons_.insert(hash, node);
  }
}

// Makes an id without a node, for a term whose class already has an equal node, and logs the
// congruence between the two.
ClassId EGraph::add_twin(OpId op, std::span<const ClassId> children, ClassId root) {
  root = find(root);
  const ClassId id = classes_.make_in(root);
  proofs_->add_term(op, children, true);
  ProofLog::Reason reason;
  reason.kind = ProofLog::Kind::kCongruence;
  reason.op = op;
  reason.classes = children;
  proofs_->add_merge(id, root, &reason);
  return id;
}

// Returns an id for the term with the given children, which must be congruent to the node: the
// known exact term, or a new twin.
ClassId EGraph::add_congruent(NodeId node, std::span<const ClassId> given) {
  const bool congruent = std::ranges::equal(given, this->children(node),
                                            [this](ClassId a, ClassId b) { return same(a, b); });
  if (proofs_ == nullptr || !congruent) return {};
  const ClassId known = proofs_->find_exact(op(node), given);
  if (known.valid() && same(known, class_of(node))) return known;
  return add_twin(op(node), given, class_of(node));
}

void EGraph::enable_proofs() {
  if (proofs_ != nullptr) return;
  auto proofs = std::make_unique<ProofLog>();
  std::size_t nodes = 0;
  for (NodeId node(0); node < next_node(); node = node_after(node), ++nodes)
    proofs->add_term(op(node), children(node), true);
  EGRET_CHECK(counts_.merges == 0 && nodes == classes_.size(),
              "proofs must be enabled before the first merge");
  proofs_ = std::move(proofs);
}

Result<bool> EGraph::merge(ClassId a, ClassId b, const ProofLog::Reason* reason) {
  const ClassId given_a = a;
  const ClassId given_b = b;
  a = classes_.find_compress(a);
  b = classes_.find_compress(b);
  if (a == b) return false;
  Analysis::Data merged = 0;
  if (analysis_ != nullptr) {
    EGRET_ASSIGN_OR_RETURN(merged, analysis_->merge(data_[row_of(a)], data_[row_of(b)]));
  }
  // Downey, Sethi and Tarjan's rule "modify the smaller half": each link is moved O(log n) times
  // over all merges.
  // Union by number of parents: only the parents of the merged-away class need repair. (Unlisted
  // parents are visited in any case.) Ties go to the smaller id, for determinism.
  const std::size_t parents_a = row(a).links;
  const std::size_t parents_b = row(b).links;
  if (parents_a < parents_b || (parents_a == parents_b && b < a)) std::swap(a, b);
  if (proofs_ != nullptr) proofs_->add_merge(given_a, given_b, reason);
  link(a, b, merged);
  drain_modify();
  return true;
}

// Joins the union-find entries, the data, the masks and the lists of nodes. The parents of the
// merged-away class are repaired by rebuild().
void EGraph::link(ClassId root, ClassId child, Analysis::Data merged) {
  if (!checkpoints_.empty()) {
    remember_row(root);
    remember_lists(child);
  }
  // changed() walks the parent chains of both classes below. With an analysis the chains must
  // therefore be complete here, and may not wait for rebuild().
  if (analysis_ != nullptr) chain_parents_of_merged();  // before the ids change
  const std::uint32_t row = row_of(root);
  const std::uint32_t freed = row_of(child);
  Row& r = rows_[row];
  Row& c = rows_[freed];
  clean_ = false;
  ++changes_;
  ++counts_.merges;
  --counts_.classes;
  moved_.append(lists_.items(c.nodes));
  stamp(root);
  if (analysis_ != nullptr) {
    if (data_[row] != merged) changed(root);
    if (data_[freed] != merged) changed(child);
    data_[row] = merged;
    to_modify_.push_back(root);
  }
  classes_.link(root, child);
  merged_away_.push_back({child, freed});  // from here on its parents are the root's
  touch(root, c.touches | kNodesStale);
  lists_.append_all(r.nodes, c.nodes);
  r.mask |= c.mask;
}

// Must be called before the data of a class changes. Queues the class's parents for re-analysis.
void EGraph::changed(ClassId id) {
  touch(id, kDataChanged);
  stamp(id);
  chain_parents_of_merged();
  for (Slot slot = row(id).parents; slot != 0;) {
    const NodeId node = node_of(slot);
    if (!dead(node)) to_reanalyse_.push_back(node);
    slot = next_slot(slot, node);
  }
}

void EGraph::set_data(ClassId id, Analysis::Data data) {
  EGRET_CHECK(analysis_ != nullptr, "data belongs to an analysis");
  id = find(id);
  if (data_[row_of(id)] == data) return;
  changed(id);
  ++changes_;
  data_[row_of(id)] = data;
  to_modify_.push_back(id);
  drain_modify();
}

// Runs modify() on queued classes. modify() may add and merge, which queue further classes; the
// queue replaces recursion.
void EGraph::drain_modify() {
  if (modifying_ || analysis_ == nullptr) return;
  modifying_ = true;
  const std::uint32_t ambient = proofs_ == nullptr ? 0 : proofs_->enter(analysis_->name());
  while (!to_modify_.empty()) {
    const ClassId id = find(to_modify_.back());
    to_modify_.pop_back();
    analysis_->modify(*this, id);
  }
  if (proofs_ != nullptr) proofs_->leave(ambient);
  modifying_ = false;
}

void EGraph::hide(NodeId node) {
  if (!visible(node)) return;
  set_flag(node, kHidden);
  --counts_.visible;
  ++changes_;
  stamp(class_of(node));
  touch(class_of(node), kNodesStale);
  touch_op(op(node));
}

// If `changes_` is unchanged, nodes made since the savepoint are in no parent chain or operator
// list yet, and each is alone in its class. Removing them from the hash-cons and truncating the
// arrays suffices.
bool EGraph::rollback(const Savepoint& savepoint) {
  if (savepoint.changes != changes_) return false;
  for (std::size_t word = savepoint.words; word < words_.size();) {
    const NodeId node(word);
    hash_cons_.erase(node_hash(op(node), children(node)), node);
    lists_.shrink(row(words_[word + 1]).nodes, 0);
    --counts_.keys_inserted;
    --counts_.visible;
    --counts_.classes;
    word = node_after(node).index();
  }
  words_.truncate(savepoint.words);
  for (std::size_t id = classes_.size(); id-- > savepoint.ids;) {
    if (classes_.is_root(ClassId(id))) free_row(row_of(ClassId(id)));
  }
  classes_.truncate(savepoint.ids);
  clean_ = savepoint.clean;
  if (proofs_ != nullptr) proofs_->restore(savepoint.proofs);
  return true;
}

NodeId EGraph::lookup_node(OpId op, std::span<const ClassId> children) const {
  EGRET_CHECK(children.size() == ops_.arity(op), "wrong number of children");
  const Canonical canonical(children, [this](ClassId id) { return find(id); });
  return find_node(node_hash(op, canonical), op, canonical);
}

ClassId EGraph::lookup(OpId op, std::span<const ClassId> children) const {
  const NodeId node = lookup_node(op, children);
  return node.valid() ? class_of(node) : ClassId();
}

std::vector<ClassId> EGraph::classes() const {
  std::vector<ClassId> result;
  result.reserve(counts_.classes);
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (classes_.is_root(ClassId(i))) result.emplace_back(i);
  }
  return result;
}

std::vector<ClassId> EGraph::classes_since(Epoch since) const {
  std::vector<ClassId> result;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (classes_.is_root(ClassId(i)) && epoch(ClassId(i)) >= since) result.emplace_back(i);
  }
  return result;
}

// The changes since an epoch: the nodes from a mark on, and older nodes that moved. nullopt if the
// record does not reach back that far.
std::optional<EGraph::NodeChanges> EGraph::nodes_since(Epoch since) const {
  if (since > epoch_) return NodeChanges{next_node(), {}};
  if (since < epoch_marks_.front().epoch) return {};
  // Epochs are consecutive, so the difference of two epochs is a position among the marks.
  const EpochMark& mark = epoch_marks_[since - epoch_marks_.front().epoch];
  return NodeChanges{mark.next_node,
                     moved_.span().subspan(mark.moved - epoch_marks_.front().moved)};
}

std::vector<EGraph::TableBytes> EGraph::bytes_by_table() const {
  const std::size_t queues = to_repair_.bytes() + repairing_.bytes() + to_reanalyse_.bytes() +
                             to_modify_.bytes() + merged_away_.bytes() + touched_.bytes() +
                             touched_ops_.bytes() + op_touched_.capacity() / 8 + scratch_.bytes();
  return {{"node records", words_.bytes()},
          {"hash-cons", hash_cons_.bytes()},
          {"lists of classes", lists_.bytes()},
          {"lists of operators", by_op_bytes_},
          {"class rows", rows_.bytes() + free_rows_.bytes()},
          {"union-find", classes_.bytes()},
          {"analysis words", data_.bytes()},
          {"changes", moved_.bytes() + epoch_marks_.capacity() * sizeof(EpochMark)},
          {"queues", queues},
          {"proofs", proofs_ == nullptr ? 0 : proofs_->bytes()},
          {"checkpoints", checkpoint_bytes()}};
}

std::size_t EGraph::bytes() const {
  return words_.bytes() + hash_cons_.bytes() + lists_.bytes() + by_op_bytes_ + rows_.bytes() +
         free_rows_.bytes() + classes_.bytes() + data_.bytes() + moved_.bytes() +
         to_repair_.bytes() + repairing_.bytes() + to_reanalyse_.bytes() + to_modify_.bytes() +
         merged_away_.bytes() + touched_.bytes() + scratch_.bytes() + checkpoint_bytes() +
         (proofs_ == nullptr ? 0 : proofs_->bytes());
}

}  // namespace egret::egraph
