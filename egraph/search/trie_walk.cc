// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/trie_walk.h"

#include <algorithm>
#include <array>

#include "base/small_vector.h"

namespace egret::egraph {

using Kind = JoinStep::Kind;
using FilterKind = SearchTrie::Filter::Kind;

SearchPass::SearchPass(const SearchTrie& trie)
    : trie_(&trie),
      active_(trie.plans().size()),
      live_expansions_(trie.expansion_count()),
      live_branches_(trie.branch_count()) {}

// Counts the active plans through each expansion and branch. A count of 0 prunes it from the walk.
void SearchPass::add(const SearchTrie::Plan& plan, int sign) {
  for (const std::uint32_t e : plan.expansions) live_expansions_[e] += static_cast<unsigned>(sign);
  for (const std::uint32_t b : plan.branches) live_branches_[b] += static_cast<unsigned>(sign);
  active_[trie_->index_of(plan)] = sign > 0 ? 1 : 0;
}

// The entries stay sorted by root, then pattern, then plan. entries_of() is therefore a binary
// search, and the plans of one pattern lie side by side, so a caller sees each pattern once without
// a set.
void SearchPass::activate(const SearchTrie::Plan& plan) {
  const std::uint32_t index = trie_->index_of(plan);
  if (is_active(index)) return;
  add(plan, 1);
  const Entry entry{plan.root, plan.pattern, index};
  entries_.insert(std::lower_bound(entries_.begin(), entries_.end(), entry), entry);
}

// The entries stay. A rule that was stopped must still know which plans to resume for the starts
// that it did not reach (RuleSearch::put_off()).
void SearchPass::deactivate(std::uint32_t pattern) {
  for (const auto plans : {trie_->full_plans(pattern), trie_->incremental_plans(pattern)}) {
    for (const SearchTrie::Plan& plan : plans) {
      if (is_active(trie_->index_of(plan))) add(plan, -1);
    }
  }
}

std::span<const SearchPass::Entry> SearchPass::entries_of(std::uint32_t root) const {
  const auto [begin, end] =
      std::equal_range(entries_.begin(), entries_.end(), Entry{root, 0, 0},
                       [](const Entry& a, const Entry& b) { return a.root < b.root; });
  return {begin, end};
}

ConstantClasses::ConstantClasses(const SearchTrie& trie, const EGraph& egraph)
    : trie_(trie), egraph_(egraph) {
  // Looks each constant up once. A hidden node counts as absent.
  for (const OpId op : trie.constants()) {
    NodeId node = egraph.lookup_node(op, {});
    if (node.valid() && !egraph.visible(node)) node = {};
    nodes_.push_back(node);
    classes_.push_back(node.valid() ? egraph.class_of(node) : ClassId());
  }
}

// The constants of a pattern are the same for all its matches. If one is absent, or if two that
// must be equal are in different classes, the pattern has no match and needs no walk.
bool ConstantClasses::permit(std::uint32_t pattern) const {
  const SearchTrie::Constants& constants = trie_.constants_of(pattern);
  const auto holds = [&](const SearchTrie::Filter& filter) {
    if (filter.kind == FilterKind::kSame) return classes_[filter.a] == classes_[filter.b];
    return (egraph_.mask(classes_[filter.a]) & filter.mask) == filter.mask;
  };
  return std::all_of(constants.all.begin(), constants.all.end(),
                     [&](auto reg) { return classes_[reg].valid(); }) &&
         std::all_of(constants.filters.begin(), constants.filters.end(), holds);
}

bool ConstantClasses::changed(std::uint32_t pattern, const Delta& delta) const {
  const auto& all = trie_.constants_of(pattern).all;
  return std::any_of(all.begin(), all.end(), [&](auto reg) { return delta.has(nodes_[reg]); });
}

TrieWalk::TrieWalk(const SearchTrie& trie, const EGraph& egraph)
    : trie_(trie),
      egraph_(egraph),
      registers_(trie.register_count()),
      op_registers_(trie.op_register_count()),
      frames_(trie.depth()),
      sinks_(trie.pattern_count()),
      own_(trie) {}

// Enumerates all matches by depth-first search. Each register is written by one expansion of a
// path, so a register keeps its value while the frames above it run. Starts are processed in order,
// and all matches of a start precede those of the next. Therefore a stopped walk can resume at a
// start (Sink::stopped_at).
bool TrieWalk::run(const SearchPass& pass, std::span<const ClassId> constants, std::uint32_t root,
                   const Start& start, const WalkLimits& limits) {
  pass_ = &pass;
  limits_ = &limits;
  owns_ = false;
  active_ = pass.active_.data();
  live_expansions_ = pass.live_expansions_.data();
  live_branches_ = pass.live_branches_.data();
  std::copy(constants.begin(), constants.end(), registers_.begin());
  ticks_ = next_check_ = rows_ = bytes_ = 0;
  start_ = start;
  due_.clear();

  // The order of events for one node is fixed: the filters of a branch, the matches that end there,
  // the expansions below it, the next branch. Matches therefore come in the same order on every
  // machine and for every number of threads.
  // One frame per expansion on the current path. frame.branch counts through the expansion's
  // branches; when all are done, the frame advances to its next node. frame.child counts through
  // the expansions below the current branch; 0 means that the branch's filters are not evaluated
  // yet.
  std::size_t depth = 0;
  open(frames_[0], root);
  frames_[0].next = start.nodes.data();
  frames_[0].end = start.nodes.data() + start.nodes.size();
  frames_[0].index = start.class_begin;
  frames_[0].index_end = start.class_end;
  while (true) {
    Frame& frame = frames_[depth];
    const auto& branches = frame.expansion->branches;
    if (frame.branch == branches.size()) {
      if (ticks_ >= next_check_ && !check_limits()) return false;
      if (depth == 0 && !due_.empty()) stop_due_patterns();
      // A node is finished here. Stopped patterns are removed only at depth 0, between two starts.
      const bool above = depth > 0 && frames_[depth - 1].fresh;
      if (live_expansions_[frame.expansion_index] == 0 || !advance(frame, above)) {
        if (depth == 0) break;
        --depth;
        continue;
      }
      frame.branch = frame.child = 0;
    }
    const std::uint32_t b = branches[frame.branch];
    const SearchTrie::Branch& branch = trie_.branch(b);
    if (frame.child == 0) {
      if (live_branches_[b] == 0 || !passes(branch, frame.node)) {
        ++frame.branch;
        continue;
      }
      if (!branch.plans.empty()) emit(branch, frame.fresh);
    }
    if (frame.child < branch.expansions.size()) {
      const std::uint32_t expansion = branch.expansions[frame.child++];
      if (live_expansions_[expansion] == 0) continue;
      const SearchTrie::Expansion& next = trie_.expansion(expansion);
      // A last expansion gets no frame; it only borrows the buffer of the next one.
      if (!next.is_last) {
        open(frames_[++depth], expansion);
      } else if (!walk_last(next, draw(next, frames_[depth + 1].drawn), frame.fresh)) {
        return false;
      }
      continue;
    }
    ++frame.branch;
    frame.child = 0;
  }
  return check_limits();
}

// Prepares a frame before its first node. The list is drawn now: the registers above hold their
// values for the whole life of the frame. Each frame has its own buffer, so lists that are made on
// the way do not allocate once the buffers have grown.
void TrieWalk::open(Frame& frame, std::uint32_t expansion) {
  const SearchTrie::Expansion& e = trie_.expansion(expansion);
  frame.expansion = &e;
  frame.expansion_index = expansion;
  // Counts all branches as done, so that run() first advances to a node.
  frame.branch = static_cast<std::uint32_t>(e.branches.size());
  frame.child = 0;
  frame.next = frame.end = nullptr;
  frame.index = frame.index_end = 0;
  if (&frame == frames_.data()) return;  // run() gives the start
  if (e.kind == Kind::kEveryClass) {
    frame.index_end = egraph_.id_count();
  } else if (e.kind == Kind::kOperator && !e.op.valid()) {
    frame.index_end = egraph_.ops().ops_of(e.base).size();
  } else {
    const auto list = draw(e, frame.drawn);
    frame.next = list.data();
    frame.end = list.data() + list.size();
  }
}

// The list that an expansion enumerates: a list of the e-graph, or one made in `drawn`.
std::span<const NodeId> TrieWalk::draw(const SearchTrie::Expansion& e, std::vector<NodeId>& drawn) {
  switch (e.kind) {
    case Kind::kClass: return draw_class(e);
    case Kind::kOperator: return egraph_.nodes_with(e.op);
    case Kind::kParents: draw_parents(e, drawn); return drawn;
    // The arguments are all bound, so the hash-cons names the only possible node in expected
    // constant time. bind() rejects it if it is hidden.
    case Kind::kLookup: {
      base::SmallVector<ClassId, 8> children;
      for (const auto reg : e.lookup) children.push_back(registers_[reg]);
      const NodeId found = egraph_.lookup_node(e.op, {children.data(), children.size()});
      drawn.clear();
      if (found.valid()) drawn.push_back(found);
      return drawn;
    }
    case Kind::kEveryClass: break;
  }
  return {};
}

// The parents of the bound child with the shortest chain. Filters check the other bound children.
void TrieWalk::draw_parents(const SearchTrie::Expansion& e, std::vector<NodeId>& drawn) {
  const auto bound = [this](SearchTrie::Register reg) {
    return egraph_.parents_bound(registers_[reg]);
  };
  const auto via = std::min_element(e.vias.begin(), e.vias.end(),
                                    [&](auto a, auto b) { return bound(a) < bound(b); });
  drawn.clear();
  for (const NodeId node : egraph_.parents(registers_[*via])) {
    if (!e.op.valid() || egraph_.is(node, e.op)) drawn.push_back(node);
  }
  // Parents of other operators were visited too, so they count as ticks.
  ticks_ += bound(*via) - drawn.size();
}

// The nodes of one operator in a class's list. The list is sorted by operator, so binary search
// finds the range.
std::span<const NodeId> TrieWalk::draw_class(const SearchTrie::Expansion& e) const {
  const auto list = egraph_.nodes(registers_[e.via]);
  // Short lists are not narrowed: bind() skips the nodes of other operators.
  constexpr std::size_t kLinear = 8;
  if (!e.op.valid() || list.size() <= kLinear) return list;
  // A class of k nodes costs O(log k) here. Without the search, a large class (all representations
  // of zero, for example) would be scanned once for each match that reaches it.
  const auto low = std::partition_point(list.begin(), list.end(),
                                        [&](NodeId n) { return egraph_.op(n) < e.op; });
  const auto high =
      std::partition_point(low, list.end(), [&](NodeId n) { return egraph_.op(n) == e.op; });
  return {low, high};
}

// Processes a whole last expansion at once; most search time is spent here. Returns false if a
// limit was reached.
bool TrieWalk::walk_last(const SearchTrie::Expansion& e, std::span<const NodeId> list,
                         bool fresh_above) {
  constexpr std::size_t kChunk = 2048;  // nodes between two looks at the limits
  while (!list.empty()) {
    const auto chunk = list.first(std::min(kChunk, list.size()));
    list = list.subspan(chunk.size());
    // Tries the fast path for a single plan first. It declines when the chunk might reach the
    // limit.
    const std::uint32_t plan = only_plan(e);
    if (plan == kNone || !find_matches_of(e, plan, chunk, fresh_above)) {
      find_matches(e, chunk, fresh_above);
    }
    ticks_ += chunk.size();
    if (ticks_ >= next_check_ && !check_limits()) return false;
  }
  return true;
}

// The general case: several plans, operator variables, or a limit that may be reached. A null
// `delta` means that every match is new: a node above is new already, or the pass is full.
void TrieWalk::find_matches(const SearchTrie::Expansion& e, std::span<const NodeId> list,
                            bool fresh_above) {
  const Delta* const delta = fresh_above ? nullptr : pass_->delta;
  for (const NodeId node : list) {
    if (!bind(e, node)) continue;
    const bool fresh = delta == nullptr || delta->has(node);
    for (const std::uint32_t b : e.branches) {
      if (live_branches_[b] == 0) continue;
      const SearchTrie::Branch& branch = trie_.branch(b);
      if (passes(branch, node)) emit(branch, fresh);
    }
  }
}

// The only active plan that ends with this last expansion, or kNone if there is none or several.
// The answer may change between two chunks, because a pattern can stop.
std::uint32_t TrieWalk::only_plan(const SearchTrie::Expansion& e) const {
  std::uint32_t only = kNone;
  for (const std::uint32_t b : e.branches) {
    for (const std::uint32_t p : trie_.branch(b).plans) {
      if (active_[p] == 0) continue;
      if (only != kNone) return kNone;
      only = p;
    }
  }
  return only;
}

// The rows of a plan whose last expansion enumerates a class. Only the columns of its children
// vary. All other columns were bound by earlier expansions and are copied from the registers once.
class TrieWalk::RowPattern {
 public:
  static constexpr std::size_t kMostColumns = 8;

  RowPattern(const SearchTrie::Expansion& e, const SearchTrie::Plan& plan,
             const ClassId* registers) {
    for (std::size_t column = 0; column < plan.classes.size(); ++column) {
      const SearchTrie::Register reg = plan.classes[column];
      row_[column] = registers[reg];
      if (reg < e.first_child || reg >= e.first_child + e.arity) continue;
      children_[count_++] = {column, static_cast<std::size_t>(reg - e.first_child)};
    }
  }
  std::size_t children() const { return count_; }
  // Writes kMostColumns words, of which the first ones are the row. kChildren: the number of
  // columns that are children of the node; kMostColumns stands for any number.
  template <std::size_t kChildren>
  void write(ClassId* row, const ClassId* children) const {
    std::copy(row_.begin(), row_.end(), row);
    const std::size_t count = kChildren == kMostColumns ? count_ : kChildren;
    for (std::size_t i = 0; i < count; ++i) row[children_[i].column] = children[children_[i].child];
  }

 private:
  struct Child {
    std::size_t column;
    std::size_t child;
  };
  std::array<ClassId, kMostColumns> row_;
  std::array<Child, kMostColumns> children_;
  std::size_t count_ = 0;
};

// Instantiates the inner loop for the number of columns that vary. With a constant trip count the
// compiler unrolls the loop over the columns.
void TrieWalk::write_matches(const SearchTrie::Expansion& e, const SearchTrie::Plan& plan,
                             std::span<const NodeId> list, const Delta* delta) {
  const RowPattern pattern(e, plan, registers_.data());
  const auto write = [&]<std::size_t kChildren>() {
    write_rows<kChildren>(pattern, e.op, sinks_[plan.pattern], list, delta);
  };
  switch (pattern.children()) {
    case 1: return write.operator()<1>();
    case 2: return write.operator()<2>();
    default: return write.operator()<RowPattern::kMostColumns>();
  }
}

template <std::size_t kChildren>
void TrieWalk::write_rows(const RowPattern& given, OpId op, Sink& sink,
                          std::span<const NodeId> list, const Delta* delta) {
  constexpr std::size_t kAhead = 8;
  const RowPattern pattern = given;  // in registers
  // Each row is written as a block of kMostColumns words with a constant trip count, and the next
  // row overwrites the excess. The buffer has room for the excess of the last row.
  MatchBuffer::Rows rows(*sink.rows, list.size(), RowPattern::kMostColumns);
  const std::size_t far = list.size() - std::min(kAhead, list.size());
  std::size_t old = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    // The nodes of a list lie anywhere in the arena, so each costs a cache miss. The misses of
    // kAhead nodes overlap.
    if (i < far) egraph_.prefetch(list[i + kAhead]);
    const NodeId node = list[i];
    if (!egraph_.is(node, op)) continue;
    if (delta != nullptr && !delta->has(node)) {
      ++old;
      continue;
    }
    pattern.write<kChildren>(rows.next(), egraph_.children(node).data());
  }
  count_rows(sink, rows.finish(), old);
}

// Old matches count against the limit where the scheduler limits all matches of a rule and not only
// the new ones (SearchPass::count_old). They are never stored.
void TrieWalk::count_rows(Sink& sink, std::size_t found, std::size_t old) {
  sink.found += found;
  sink.seen += found + (pass_->count_old ? old : 0);
  rows_ += found;
  bytes_ += found * sink.rows->row_bytes();
}

// As find_matches(), for one plan, with rows written in place. Does nothing and returns false if
// the limit might be reached, if matches are only counted, or if the plan has operator variables.
bool TrieWalk::find_matches_of(const SearchTrie::Expansion& e, std::uint32_t p,
                               std::span<const NodeId> list, bool fresh_above) {
  const SearchTrie::Plan& plan = trie_.plans()[p];
  const SearchTrie::Branch& branch = trie_.branch(plan.branches.back());
  Sink& sink = sinks_[plan.pattern];
  // One plan gives at most one match per node. If more matches are allowed than the list has nodes,
  // the limit cannot be reached here, so the loops below need not test it for each match.
  if (!pass_->keep_rows || sink.limit - sink.seen <= list.size() || !plan.ops.empty()) return false;
  constexpr std::size_t kAhead = 8;
  const Delta* const delta = fresh_above || !pass_->only_new ? nullptr : pass_->delta;
  const std::size_t width = plan.classes.size();
  const SearchTrie::Register* const columns = plan.classes.data();
  ClassId* const registers = registers_.data();
  // In the common case the operator is known, the class is bound, and no filter remains. Each node
  // of the list then gives a row without any test but that of its operator.
  const bool exact = e.op.valid() && e.kind == Kind::kClass;
  const bool filtered = !branch.filters.empty();
  if (exact && !filtered && width <= RowPattern::kMostColumns) {
    return write_matches(e, plan, list, delta), true;
  }
  MatchBuffer::Rows rows(*sink.rows, list.size());
  std::size_t old = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i + kAhead < list.size()) egraph_.prefetch(list[i + kAhead]);
    const NodeId node = list[i];
    if (exact) {
      if (!egraph_.is(node, e.op)) continue;
      const ClassId* const children = egraph_.children(node).data();
      for (std::uint32_t c = 0; c < e.arity; ++c) registers[e.first_child + c] = children[c];
    } else if (!bind(e, node)) {
      continue;
    }
    if (filtered && !passes(branch, node)) continue;
    if (delta != nullptr && !delta->has(node)) {
      ++old;
      continue;
    }
    ClassId* const row = rows.next();
    for (std::size_t column = 0; column < width; ++column) row[column] = registers[columns[column]];
  }
  count_rows(sink, rows.finish(), old);
  return true;
}

// Binds the next node (or class) of the expansion. Returns false if there is none.
bool TrieWalk::advance(Frame& frame, bool fresh_above) {
  constexpr std::ptrdiff_t kAhead = 8;
  const SearchTrie::Expansion& e = *frame.expansion;
  const Delta* delta = pass_->delta;
  if (e.kind == Kind::kEveryClass || e.once) {
    while (frame.index < frame.index_end) {
      ++ticks_;
      const ClassId id(frame.index++);
      if (!e.once) {
        if (!egraph_.is_canonical(id)) continue;
        registers_[e.out] = id;
      }
      // A match is new if any of its nodes is new, so freshness is inherited from the frame above.
      // A new class can make a match new, as a new node does.
      frame.fresh = fresh_above || delta == nullptr || (!e.once && delta->has(id));
      return true;
    }
    return false;
  }
  while (true) {
    while (frame.next != frame.end) {
      ++ticks_;
      const NodeId node = *frame.next++;
      if (frame.end - frame.next > kAhead) egraph_.prefetch(frame.next[kAhead]);
      if (!bind(e, node)) continue;
      frame.node = node;
      frame.fresh = fresh_above || delta == nullptr || delta->has(node);
      return true;
    }
    // The next operator of a base.
    if (frame.index == frame.index_end) return false;
    const auto list = egraph_.nodes_with(egraph_.ops().ops_of(e.base)[frame.index++]);
    frame.next = list.data();
    frame.end = list.data() + list.size();
  }
}

// Writes the node into the expansion's registers. Returns false if the expansion does not enumerate
// this node.
bool TrieWalk::bind(const SearchTrie::Expansion& e, NodeId node) {
  if (e.op.valid()) {
    if (!egraph_.is(node, e.op)) return false;
  } else {
    const OpId op = egraph_.op(node);
    if (!egraph_.visible(node) || egraph_.ops().base_of(op) != e.base ||
        egraph_.ops().arity(op) != e.arity) {
      return false;
    }
    op_registers_[e.op_out] = op;
  }
  if (e.kind == Kind::kClass) {
    // A postponed start list may be older than the e-graph's present state.
    if (&e == frames_[0].expansion && egraph_.class_of(node) != registers_[e.via]) return false;
  } else {
    registers_[e.out] = egraph_.class_of(node);
    if (e.kind == Kind::kLookup) return true;
  }
  const ClassId* children = egraph_.children(node).data();
  for (std::uint32_t i = 0; i < e.arity; ++i) registers_[e.first_child + i] = children[i];
  return true;
}

// The filters are sorted by cost (PlanCompiler::enter()). Registers hold canonical ids, because the
// e-graph is clean during a search. Equality of ids is therefore equality of classes.
bool TrieWalk::passes(const SearchTrie::Branch& branch, NodeId node) const {
  for (const SearchTrie::Filter& filter : branch.filters) {
    bool holds = true;
    switch (filter.kind) {
      case FilterKind::kSame: holds = registers_[filter.a] == registers_[filter.b]; break;
      case FilterKind::kSameOperator:
        holds = op_registers_[filter.a] == op_registers_[filter.b];
        break;
      case FilterKind::kAccepts:
        holds = trie_.symbols(filter.table).accepts[op_registers_[filter.a].index()];
        break;
      case FilterKind::kOld: holds = pass_->delta == nullptr || !pass_->delta->has(node); break;
      case FilterKind::kNeeds:
        holds = (egraph_.mask(registers_[filter.a]) & filter.mask) == filter.mask;
        break;
    }
    if (!holds) return false;
  }
  return true;
}

// A match is complete for each active plan of this branch. `fresh`: some node of the match is new.
void TrieWalk::emit(const SearchTrie::Branch& branch, bool fresh) {
  for (const std::uint32_t p : branch.plans) {
    if (active_[p] == 0) continue;
    const SearchTrie::Plan& plan = trie_.plans()[p];
    Sink& sink = sinks_[plan.pattern];
    const bool wanted = fresh || !pass_->only_new;
    if (!wanted && !pass_->count_old) continue;
    if (wanted && pass_->keep_rows) {
      sink.rows->push(registers_.data(), plan.classes, op_registers_.data(), plan.ops);
      ++sink.found;
      ++rows_;
      bytes_ += sink.rows->row_bytes();
    }
    // The comparison is for equality, so the pattern stops once, although later matches of the same
    // start may still be counted.
    if (++sink.seen != sink.limit) continue;
    if (sink.whole_starts) {
      due_.push_back(plan.pattern);
    } else {
      stop_pattern(plan.pattern);
    }
  }
}

// A resumed pattern stops only between two starts. A later search then continues at the next start,
// and no match is found twice or missed.
void TrieWalk::stop_due_patterns() {
  for (const std::uint32_t pattern : due_) stop_pattern(pattern);
  due_.clear();
}

// The pattern has enough matches. From now on nothing is done for it alone. The pass is shared with
// other walks, so this walk first makes private copies.
void TrieWalk::stop_pattern(std::uint32_t pattern) {
  Sink& sink = sinks_[pattern];
  sink.stopped = true;
  const Frame& frame = frames_[0];
  sink.stopped_at = frame.next != nullptr
                        ? static_cast<std::size_t>(frame.next - start_.nodes.data())
                        : frame.index - start_.class_begin;
  if (!owns_) {
    own_ = *pass_;
    owns_ = true;
    active_ = own_.active_.data();
    live_expansions_ = own_.live_expansions_.data();
    live_branches_ = own_.live_branches_.data();
  }
  own_.deactivate(pattern);
}

// Adds the counts since the last check to the totals that all walks share. A walk may exceed a
// limit by the work between two checks.
bool TrieWalk::check_limits() {
  // The clock and the shared counters are read once in so many ticks.
  constexpr std::uint64_t kCheckEvery = 2048;
  next_check_ = ticks_ + kCheckEvery;
  const WalkLimits& limits = *limits_;
  bool within = ticks_ <= limits.ticks;
  // Writing shared counters makes other threads wait, so they are written only if they matter.
  const auto tally = [&](std::atomic<std::uint64_t>* total, std::uint64_t most,
                         std::uint64_t& count) {
    if (total == nullptr || most == Limits::kNone || count == 0) return;
    const std::uint64_t all = total->fetch_add(count, std::memory_order_relaxed) + count;
    count = 0;
    within = within && all <= most;
  };
  tally(limits.all_rows, limits.rows, rows_);
  tally(limits.all_bytes, limits.bytes, bytes_);
  if (limits.budget != nullptr) within = within && !limits.budget->is_late();
  if (limits.stop == nullptr) return within;
  if (!within) limits.stop->store(true, std::memory_order_relaxed);
  return within && !limits.stop->load(std::memory_order_relaxed);
}

}  // namespace egret::egraph
