// SPDX-License-Identifier: Apache-2.0
#include "egraph/apply_block.h"

#include <algorithm>

#include "base/check.h"
#include "egraph/node_hash.h"

namespace egret::egraph {

bool ApplyBlock::suits(const Rewrite& rule, const EGraph& egraph) {
  return rule.is_plain() && (egraph.analysis_ == nullptr || egraph.analysis_->accepts_all_nodes());
}

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

bool ApplyBlock::fits() const {
  const std::size_t words = max_nodes() * (EGraph::kHeader + kMaxChildren);
  return !egraph_.is_full(words);
}

ApplyBlock::Outcome ApplyBlock::apply(const MatchBuffer& matches, std::size_t begin,
                                      std::size_t count) {
  EGRET_DCHECK(count <= kMatches);
  matches_ = &matches;
  begin_ = begin;
  count_ = count;
  load();
  if (egraph_.proofs() != nullptr) egraph_.proofs()->begin_application();
  const auto steps = rule_.steps();
  const VarId target = rule_.only_target();
  const std::size_t inner = steps.size() - (target.valid() ? 1 : 0);
  for (std::size_t i = 0; i < inner; ++i) {
    with_arity(steps[i], [&]<std::size_t kArity>() { build<kArity>(steps[i], vars_ + i); });
  }
  if (target.valid()) {
    with_arity(steps.back(),
               [&]<std::size_t kArity>() { build_into<kArity>(steps.back(), target); });
  } else {
    merge_pairs();
  }
  return std::exchange(outcome_, {});
}

// Canonical rows; and what load() of the next block will look at is asked for.
void ApplyBlock::load() {
  const auto classes = matches_->classes(begin_, count_);
  const auto next = matches_->classes(begin_ + count_, kMatches);
  if (egraph_.is_large()) {
    for (const ClassId id : next) egraph_.prefetch_class(id);
  }
  const ClassId* from = classes.data();
  for (std::size_t i = 0; i < count_; ++i, from += vars_) {
    ClassId* const to = row(i);
    for (const std::uint32_t var : used_) to[var] = egraph_.find(from[var]);
  }
  merges_ = egraph_.merge_count();
}

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

// The children of the step's node for a match: kArity of them, or as many as there are.
template <std::size_t kArity>
std::span<ClassId> ApplyBlock::gather(const Rewrite::Step& step, std::size_t match,
                                      Kids& kids) const {
  const ClassId* const classes = row(match);
  const std::size_t size = kArity == kMaxChildren ? step.children.size() : kArity;
  for (std::size_t i = 0; i < size; ++i) kids[i] = classes[step.children[i].index()];
  return {kids.data(), size};
}

// Finds out, for all matches, where the step's node is likely to be.
template <std::size_t kArity>
void ApplyBlock::seek(const Rewrite::Step& step) {
  const OpId op = std::get<OpId>(step.make);
  if (merges_ != egraph_.merge_count()) {  // Analysis::modify() was at work
    for (ClassId& id : std::span(rows_).first(count_ * stride_)) id = egraph_.find(id);
    merges_ = egraph_.merge_count();
  }
  for (std::size_t i = 0; i < count_; ++i) {
    Kids kids;
    hashes_[i] = node_hash(op, gather<kArity>(step, i, kids));
    egraph_.hash_cons_.prefetch(hashes_[i]);
  }
  for (std::size_t i = 0; i < count_; ++i) {
    found_[i] = egraph_.hash_cons_.peek(hashes_[i]);
    if (found_[i].valid()) __builtin_prefetch(&egraph_.words_[found_[i].index()]);
  }
}

// Whether the node is op(kids).
template <std::size_t kArity>
bool ApplyBlock::is_node(NodeId node, OpId op, std::span<const ClassId> kids) const {
  if constexpr (kArity == kMaxChildren) return egraph_.is_node(node, op, kids);
  const ClassId* const record = &egraph_.words_[node.index()];
  bool same = (record->index() & EGraph::kOpMask) == op.index();
  for (std::size_t i = 0; i < kArity; ++i) same &= record[EGraph::kHeader + i] == kids[i];
  return same;
}

// The step's node for a match, or invalid if there is none yet. `kids` are made canonical.
template <std::size_t kArity>
NodeId ApplyBlock::take(OpId op, std::size_t match, std::span<ClassId> kids) {
  if (merges_ != egraph_.merge_count()) {  // since seek()
    for (ClassId& kid : kids) kid = egraph_.find(kid);
    hashes_[match] = node_hash(op, kids);
  } else if (const NodeId node = found_[match]; node.valid() && is_node<kArity>(node, op, kids)) {
    return node;
  }
  return egraph_.hash_cons_.find(hashes_[match],
                                 [&](NodeId node) { return is_node<kArity>(node, op, kids); });
}

// An inner node of the right side: its class goes into a column of the rows.
template <std::size_t kArity>
void ApplyBlock::build(const Rewrite::Step& step, std::size_t column) {
  const OpId op = std::get<OpId>(step.make);
  seek<kArity>(step);
  egraph_.counts_.ticks += count_;
  for (std::size_t i = 0; i < count_; ++i) {
    Kids kids;
    const std::span<ClassId> canonical = gather<kArity>(step, i, kids);
    const NodeId node = take<kArity>(op, i, canonical);
    if (node.valid()) {
      row(i)[column] = egraph_.class_of(node);
      continue;
    }
    Kids given;
    base::Status why;
    row(i)[column] = egraph_.add_missing(op, {canonical, hashes_[i]},
                                         gather<kArity>(step, i, given), why, false);
    EGRET_CHECK(row(i)[column].valid(), "the analysis accepts all nodes");
  }
}

// The top node of the right side, which belongs to a class that there is.
template <std::size_t kArity>
void ApplyBlock::build_into(const Rewrite::Step& step, VarId target) {
  const OpId op = std::get<OpId>(step.make);
  seek<kArity>(step);
  if (egraph_.is_large()) prefetch_targets(target);
  egraph_.counts_.ticks += count_;
  for (std::size_t i = 0; i < count_; ++i) {
    Kids kids;
    const std::span<ClassId> canonical = gather<kArity>(step, i, kids);
    const NodeId node = take<kArity>(op, i, canonical);
    const ClassId given = row(i)[target.index()];
    if (node.valid()) {
      const ClassId known = egraph_.class_of(node);
      if (known == egraph_.find(given)) continue;
      const auto pair = rule_.builds_left() ? std::pair(known, given) : std::pair(given, known);
      outcome_.changed += merge(i, pair, 0) ? 1 : 0;
      continue;
    }
    Kids terms;
    base::Status why;
    const ProofLog::Reason reason = this->reason(i, 0);
    const auto addition = egraph_.add_missing_to(given, op, {canonical, hashes_[i]},
                                                 gather<kArity>(step, i, terms), why, &reason);
    if (addition == EGraph::Addition::kChanged) ++outcome_.changed;
    if (addition == EGraph::Addition::kRefused) refuse(std::move(why));
  }
}

// New nodes go to the end of their class's list.
void ApplyBlock::prefetch_targets(VarId target) const {
  const auto missing = [&](std::size_t i) { return !found_[i].valid(); };
  for (std::size_t i = 0; i < count_; ++i) {
    if (missing(i)) egraph_.prefetch_row(row(i)[target.index()]);
  }
  for (std::size_t i = 0; i < count_; ++i) {
    if (missing(i)) egraph_.prefetch_list(row(i)[target.index()]);
  }
}

// The rule's equations, where no node is built for just one of them.
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
  made.rule = &rule_;
  made.equation = equation;
  made.built_left = rule_.builds_left();
  return made;
}

}  // namespace egret::egraph
