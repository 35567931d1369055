// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/apply_block.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "egraph/core/node_hash.h"

namespace egret::egraph {

// The node that a step builds. kArity is its number of children; kMaxChildren stands for any
// number. It is a copy of the step, so loops that write need not reload the rule.
template <std::size_t kArity>
class ApplyBlock::Node {
 public:
  explicit Node(const Rewrite::Step& step)
      : op(std::get<OpId>(step.make)), size_(step.children.size()) {
    for (std::size_t i = 0; i < size(); ++i) columns_[i] = step.children[i].index();
  }

  const OpId op;

  std::size_t size() const { return kArity == kMaxChildren ? size_ : kArity; }
  // The children that a row of the block gives.
  std::span<ClassId> gather(const ClassId* row, Kids<kArity>& kids) const {
    for (std::size_t i = 0; i < size(); ++i) kids[i] = row[columns_[i]];
    return {kids.data(), size()};
  }
  // Whether this is the record of a node with these children.
  bool is(const ClassId* record, const Kids<kArity>& kids) const {
    return (record->index() & EGraph::kOpMask) == op.index() &&
           std::memcmp(record + EGraph::kHeader, kids.data(), size() * sizeof(ClassId)) == 0;
  }

 private:
  std::size_t size_;
  std::array<std::uint32_t, kArity> columns_{};
};

// A direct-mapped cache for a step of two children: from the children to the class built. A new
// entry overwrites the old one in its place.
class ApplyBlock::Memo {
 public:
  struct Entry {
    std::uint64_t key = ~std::uint64_t{0};
    ClassId id{0};
  };

  // Whether the cache is worthwhile: most requests hit, or there were few so far. A miss costs a
  // lookup without prefetching.
  bool pays() const { return asked_ < kTrial || missed_ < asked_ / 3; }
  void count(std::size_t asked, std::size_t missed) { asked_ += asked, missed_ += missed; }
  static std::uint64_t key(const Kids<2>& kids) {
    return std::uint64_t{kids[0].index()} << 32 | kids[1].index();
  }
  // The only entry that can hold this key.
  Entry& at(std::uint64_t key) { return entries_[(key * 0x9e3779b97f4a7c15ULL) >> (64 - kBits)]; }

 private:
  static constexpr int kBits = 13;
  static constexpr std::uint64_t kTrial = 64 * kMatches;

  std::vector<Entry> entries_{std::size_t{1} << kBits};
  std::uint64_t asked_ = 0;
  std::uint64_t missed_ = 0;
};

ApplyBlock::~ApplyBlock() = default;

// A block interleaves the work of its matches. This is sound only if one match cannot influence
// whether another applies: no conditions, no builders, and no node that an analysis may refuse. All
// matches were found in one state, so applying them in another order gives the same equations.
bool ApplyBlock::suits(const Rewrite& rule, const EGraph& egraph) {
  return rule.is_plain() && (egraph.analysis_ == nullptr || egraph.analysis_->accepts_all_nodes());
}

// Only variables that are used need to be made canonical. Proofs use all of them.
ApplyBlock::ApplyBlock(const Rewrite& rule, EGraph& egraph)
    : rule_(rule),
      egraph_(egraph),
      vars_(rule.pattern().var_count()),
      stride_(vars_ + rule.steps().size()),
      rows_(kMatches * stride_, ClassId(0)) {
  std::vector<bool> used(stride_, egraph.proofs() != nullptr);
  for (const Rewrite::Step& step : rule.steps()) {
    for (const VarId var : step.children) used[var.index()] = true;
  }
  for (const auto& [a, b] : rule.equations()) used[a.index()] = used[b.index()] = true;
  for (std::uint32_t var = 0; var < vars_; ++var) {
    if (used[var]) used_.push_back(var);
  }
}

// Asks for the worst case, all nodes of the block being new. build() takes room for granted.
bool ApplyBlock::fits() const {
  const std::size_t words = max_nodes() * (EGraph::kHeader + kMaxChildren);
  return !egraph_.is_full(words);
}

// Works step by step, and in each step match by match. The lookups of different matches are
// independent, so their cache misses overlap. Each row holds the classes of the variables, followed
// by one column for the result of each step.
ApplyBlock::Outcome ApplyBlock::apply(const MatchBuffer& matches, std::size_t begin,
                                      std::size_t count) {
  EGRET_DCHECK(count <= kMatches);
  matches_ = &matches;
  begin_ = begin;
  count_ = count;
  load();
  if (mostly_known_ && memos_.empty()) make_memos();
  if (egraph_.proofs() != nullptr) egraph_.proofs()->begin_application();
  const auto steps = rule_.steps();
  const VarId target = rule_.only_target();
  // With a target, the last step's node goes directly into the class that it must equal. The rule
  // then makes no class of its own for the node and no merge.
  const std::size_t inner = steps.size() - (target.valid() ? 1 : 0);
  for (std::size_t i = 0; i < inner; ++i) {
    if (suits_memo(i)) {
      build_by_memo(Node<2>(steps[i]), vars_ + i, memos_[i]);
      continue;
    }
    with_arity(steps[i], [&]<std::size_t kArity>() { build(Node<kArity>(steps[i]), vars_ + i); });
  }
  if (target.valid()) {
    with_arity(steps.back(),
               [&]<std::size_t kArity>() { build_into(Node<kArity>(steps.back()), target); });
  } else {
    merge_pairs();
  }
  // Decides for the next block whether caching pays: most of this block's matches changed nothing.
  mostly_known_ = 2 * outcome_.changed < count;
  return std::exchange(outcome_, {});
}

// Copies the block into canonical rows. Prefetches the union-find entries that load() of the next
// block will read.
void ApplyBlock::load() {
  const auto classes = matches_->classes(begin_, count_);
  const auto next = matches_->classes(begin_ + count_, kMatches);
  if (egraph_.id_count() > (std::size_t{1} << 17)) {
    for (const ClassId id : next) egraph_.prefetch_class(id);
  }
  // Column by column: the inner loop over rows is short.
  for (const std::uint32_t var : used_) {
    const ClassId* from = classes.data() + var;
    ClassId* to = rows_.data() + var;
    for (std::size_t i = 0; i < count_; ++i, from += vars_, to += stride_)
      *to = egraph_.find(*from);
  }
  merges_ = egraph_.merge_count();
}

// One instance of each loop for each small arity, so the loops over children have a constant trip
// count.
template <typename Visit>
void ApplyBlock::with_arity(const Rewrite::Step& step, Visit visit) {
  switch (step.children.size()) {
    case 0: visit.template operator()<0>(); break;
    case 1: visit.template operator()<1>(); break;
    case 2: visit.template operator()<2>(); break;
    case 3: visit.template operator()<3>(); break;
    default: visit.template operator()<kMaxChildren>();
  }
}

// For all matches, hashes the step's node and finds its likely position in the arena.
template <std::size_t kArity>
void ApplyBlock::seek(const Node<kArity>& node) {
  if (merges_ != egraph_.merge_count()) {  // Analysis::modify() was at work
    for (ClassId& id : std::span(rows_).first(count_ * stride_)) id = egraph_.find(id);
    merges_ = egraph_.merge_count();
  }
  // Three passes, each of independent accesses: hash and prefetch the slot of the table; read the
  // slot and prefetch the record; then, in take(), compare the record. The processor overlaps the
  // misses of a whole pass. A lookup of one match after the other would wait for two misses in a
  // row each time. A small e-graph lies in the cache, and prefetches would only cost time.
  const bool waits = egraph_.is_large();
  const HashCons& hash_cons = egraph_.hash_cons_;
  const Node<kArity> step = node;  // in registers
  const ClassId* row = rows_.data();
  for (std::size_t i = 0; i < count_; ++i, row += stride_) {
    Kids<kArity> kids;
    hashes_[i] = node_hash(step.op, step.gather(row, kids));
    if (waits) hash_cons.prefetch(hashes_[i]);
  }
  const ClassId* const words = egraph_.words_.data();
  for (std::size_t i = 0; i < count_; ++i) {
    found_[i] = hash_cons.peek(hashes_[i]);
    if (waits && found_[i].valid()) __builtin_prefetch(words + found_[i].index());
  }
}

// The step's existing node for a match, or invalid. Makes `kids` canonical if merges happened since
// load().
template <std::size_t kArity>
inline NodeId ApplyBlock::take(const Node<kArity>& node, std::size_t match, Kids<kArity>& kids) {
  const NodeId likely = found_[match];
  const bool canonical = merges_ == egraph_.merge_count();
  if (canonical && likely.valid() && node.is(&egraph_.words_[likely.index()], kids)) return likely;
  return take_unlikely(node, match, kids, canonical);
}

// The slow path of take(): seek() guessed wrong or found nothing, or there were merges since.
template <std::size_t kArity>
[[gnu::noinline]] NodeId ApplyBlock::take_unlikely(const Node<kArity>& node, std::size_t match,
                                                   Kids<kArity>& kids, bool canonical) {
  if (!canonical) {
    for (std::size_t i = 0; i < node.size(); ++i) kids[i] = egraph_.find(kids[i]);
    hashes_[match] = node_hash(node.op, {kids.data(), node.size()});
  }
  const ClassId* const words = egraph_.words_.data();
  return egraph_.hash_cons_.find(
      hashes_[match], [&](NodeId other) { return node.is(words + other.index(), kids); });
}

// Builds an inner node of the right side and writes its class into a column of the rows.
template <std::size_t kArity>
void ApplyBlock::build(const Node<kArity>& node, std::size_t column) {
  seek(node);
  egraph_.counts_.ticks += count_;
  ClassId* row = rows_.data();
  for (std::size_t i = 0; i < count_; ++i, row += stride_) {
    Kids<kArity> kids;
    const std::span<ClassId> canonical = node.gather(row, kids);
    if (const NodeId known = take(node, i, kids); known.valid()) {
      row[column] = egraph_.class_of(known);
      continue;
    }
    Kids<kArity> given;
    base::Status why;
    row[column] =
        egraph_.add_missing(node.op, {canonical, hashes_[i]}, node.gather(row, given), why, false);
    EGRET_CHECK(row[column].valid(), "the analysis accepts all nodes");
  }
}

// The caches replace random memory accesses by accesses to a near cache. They are not used with an
// analysis: making a node may then merge classes, which only build() handles.
void ApplyBlock::make_memos() {
  constexpr std::size_t kWorthIt = 4096;
  if (matches_->size() < kWorthIt || egraph_.has_analysis()) return;
  memos_.resize(rule_.steps().size());
}

bool ApplyBlock::suits_memo(std::size_t step) const {
  return mostly_known_ && step < memos_.size() && rule_.steps()[step].children.size() == 2 &&
         memos_[step].pays();
}

// As build(), for blocks of which most rows ask for a cached node. The first loop, without
// branches, collects the misses; the second handles them.
void ApplyBlock::build_by_memo(const Node<2>& given, std::size_t column, Memo& memo) {
  const Node<2> node = given;  // in registers
  std::array<std::uint8_t, kMatches> missed;
  std::size_t misses = 0;
  ClassId* row = rows_.data();
  for (std::size_t i = 0; i < count_; ++i, row += stride_) {
    Kids<2> kids;
    node.gather(row, kids);
    const std::uint64_t key = Memo::key(kids);
    const Memo::Entry& entry = memo.at(key);
    // The index is always written but kept only after a miss. This replaces an unpredictable
    // branch. A missed row gets some class here, which the second loop overwrites.
    missed[misses] = static_cast<std::uint8_t>(i);
    misses += entry.key == key ? 0 : 1;
    row[column] = egraph_.find(entry.id);
  }
  memo.count(count_, misses);
  egraph_.counts_.ticks += count_;
  for (const std::uint8_t i : std::span(missed).first(misses)) {
    row = this->row(i);
    Kids<2> kids;
    const std::span<ClassId> canonical = node.gather(row, kids);
    const std::uint32_t hash = node_hash(node.op, canonical);
    const NodeId known = egraph_.find_node(hash, node.op, canonical);
    base::Status why;
    Kids<2> terms;
    row[column] = known.valid() ? egraph_.class_of(known)
                                : egraph_.add_missing(node.op, {canonical, hash},
                                                      node.gather(row, terms), why, false);
    EGRET_CHECK(row[column].valid(), "the arena has room");
    // An entry never becomes wrong. Its key is made of ids, and an id that was merged away is asked
    // for no more. If the class of the entry was merged since, find() above updates it.
    memo.at(Memo::key(kids)) = {Memo::key(kids), row[column]};
  }
}

// Builds the top node of the right side directly into an existing class.
template <std::size_t kArity>
void ApplyBlock::build_into(const Node<kArity>& node, VarId target) {
  seek(node);
  if (egraph_.is_large()) prefetch_targets(target);
  egraph_.counts_.ticks += count_;
  const ClassId* row = rows_.data();
  for (std::size_t i = 0; i < count_; ++i, row += stride_) {
    Kids<kArity> kids;
    const std::span<ClassId> canonical = node.gather(row, kids);
    const ClassId given = row[target.index()];
    if (const NodeId known_node = take(node, i, kids); known_node.valid()) {
      const ClassId known = egraph_.class_of(known_node);
      if (known == egraph_.find(given)) continue;
      // The proof log reads the pair as the left and the right side of the rule's equation.
      const auto pair = rule_.builds_left() ? std::pair(known, given) : std::pair(given, known);
      outcome_.changed += merge(i, pair, 0) ? 1 : 0;
      continue;
    }
    Kids<kArity> terms;
    base::Status why;
    const ProofLog::Reason reason = this->reason(i, 0);
    const auto addition = egraph_.add_missing_to(given, node.op, {canonical, hashes_[i]},
                                                 node.gather(row, terms), why, &reason);
    if (addition == EGraph::Addition::kChanged) ++outcome_.changed;
    if (addition == EGraph::Addition::kRefused) refuse(std::move(why));
  }
}

// Prefetches the end of the list of each class that will get a new node.
void ApplyBlock::prefetch_targets(VarId target) const {
  const auto missing = [&](std::size_t i) { return !found_[i].valid(); };
  for (std::size_t i = 0; i < count_; ++i) {
    if (missing(i)) egraph_.prefetch_row(row(i)[target.index()]);
  }
  for (std::size_t i = 0; i < count_; ++i) {
    if (missing(i)) egraph_.prefetch_list(row(i)[target.index()]);
  }
}

// Merges the pairs of the rule's equations, for rules without a target for the last node.
void ApplyBlock::merge_pairs() {
  for (std::size_t i = 0; i < count_; ++i) {
    bool changed = false;
    for (std::uint32_t e = 0; e < rule_.equations().size(); ++e) {
      const auto& [a, b] = rule_.equations()[e];
      changed |= merge(i, {row(i)[a.index()], row(i)[b.index()]}, e);
    }
    outcome_.changed += changed ? 1 : 0;
  }
}

bool ApplyBlock::merge(std::size_t match, std::pair<ClassId, ClassId> classes,
                       std::uint32_t equation) {
  const ProofLog::Reason why = reason(match, equation);
  const base::Result<bool> merged = egraph_.merge(classes.first, classes.second, &why);
  if (merged.ok()) return *merged;
  refuse(merged.status());
  return false;
}

void ApplyBlock::refuse(base::Status why) {
  if (outcome_.refused++ == 0) outcome_.refusal = std::move(why);
}

ProofLog::Reason ApplyBlock::reason(std::size_t match, std::uint32_t equation) const {
  ProofLog::Reason made;
  if (egraph_.proofs() == nullptr) return made;
  made.kind = ProofLog::Kind::kRule;
  made.classes = {row(match), stride_};
  made.ops = (*matches_)[begin_ + match].ops();
  made.rule = &rule_.form();
  made.equation = equation;
  made.built_left = rule_.builds_left();
  return made;
}

}  // namespace egret::egraph
