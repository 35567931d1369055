// SPDX-License-Identifier: Apache-2.0
#include "egraph/core/proof_log.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "egraph/core/rule_form.h"

namespace egret::egraph {

ProofLog::ProofLog() : axioms_{"given"} {}
ProofLog::~ProofLog() = default;

std::size_t ProofLog::KeyHash::operator()(const Key& key) const {
  return base::hash_bytes(std::as_bytes(std::span(key.data(), key.size())));
}

ProofLog::Key ProofLog::key(OpId op, std::span<const ClassId> children) {
  Key made{op.index()};
  for (const ClassId child : children) made.push_back(child.index());
  return made;
}

void ProofLog::add_term(OpId op, std::span<const ClassId> children, bool exact) {
  if (exact) {
    const auto [entry, fresh] = exact_.try_emplace(key(op, children), ClassId(ids_));
    if (fresh)
      exact_order_.push_back({static_cast<std::uint32_t>(children.size()), term_words_.size()});
  }
  push_term(op.index(), children);
  ++ids_;
}

void ProofLog::push_term(std::uint32_t head, std::span<const ClassId> children) {
  term_words_.push(head);
  for (const ClassId child : children) term_words_.push(child.index());
  ++terms_;
}

void ProofLog::add_birth(OpId op, std::span<const ClassId> children, ClassId id,
                         const Reason& reason) {
  const std::uint32_t rule = rule_index(*reason.rule);
  push(Kind::kBirth, rule, id, ClassId(terms_));
  push_application(reason, rule);
  push_term(op.index() | kNoId, children);
}

ClassId ProofLog::find_exact(OpId op, std::span<const ClassId> children) const {
  const auto entry = exact_.find(key(op, children));
  return entry == exact_.end() ? ClassId() : entry->second;
}

// Forms are shared pointers, and a run records the same form many times in a row. Hence the lookup
// first tries the last form, then the address, then equality of content.
std::uint32_t ProofLog::rule_index(const std::shared_ptr<const RuleForm>& form) {
  if (form.get() == last_form_) return last_rule_;
  const auto [entry, fresh] =
      rule_index_.try_emplace(form, static_cast<std::uint32_t>(rules_.size()));
  if (fresh) {
    const auto equal =
        std::ranges::find_if(rules_, [&](const auto& known) { return *known == *form; });
    entry->second = static_cast<std::uint32_t>(equal - rules_.begin());
    if (equal == rules_.end()) rules_.push_back(form);
  }
  last_form_ = form.get();
  last_rule_ = entry->second;
  return last_rule_;
}

std::uint32_t ProofLog::axiom_index(std::string_view name) {
  const auto found = std::ranges::find(axioms_, name);
  if (found == axioms_.end()) axioms_.emplace_back(name);
  return static_cast<std::uint32_t>(std::ranges::find(axioms_, name) - axioms_.begin());
}

std::uint32_t ProofLog::enter(std::string_view axiom) {
  return std::exchange(ambient_, axiom_index(axiom));
}

void ProofLog::push(Kind kind, std::uint32_t index, ClassId a, ClassId b) {
  EGRET_DCHECK(index >> kKindShift == 0);
  merge_words_.push((static_cast<std::uint32_t>(kind) << kKindShift) | index);
  merge_words_.push(a.index());
  merge_words_.push(b.index());
}

void ProofLog::add_merge(ClassId a, ClassId b, const Reason* reason) {
  if (reason == nullptr) return push(Kind::kAxiom, ambient_, a, b);
  switch (reason->kind) {
    case Kind::kAxiom: push(Kind::kAxiom, axiom_index(reason->axiom), a, b); break;
    case Kind::kCongruence:
      push(Kind::kCongruence, reason->op.index(), a, b);
      for (const ClassId child : reason->classes) merge_words_.push(child.index());
      break;
    case Kind::kRule: {
      const std::uint32_t rule = rule_index(*reason->rule);
      push(Kind::kRule, rule, a, b);
      push_application(*reason, rule);
      break;
    }
    case Kind::kBirth: break;  // add_birth()
  }
}

// The layout is described in the header. The reader recovers all lengths from the rule form, so
// only what varies is logged.
void ProofLog::push_application(const Reason& reason, std::uint32_t rule) {
  const RuleForm& form = *rules_[rule];
  for (const VarId var : form.substituted()) merge_words_.push(reason.classes[var.index()].index());
  for (const OpId op : reason.ops) merge_words_.push(op.index());
  for (const OpId op : computed_ops_) merge_words_.push(op.index());
  for (const VarId var : form.computed_terms())
    merge_words_.push(reason.classes[var.index()].index());
  if (form.equations().size() > 1) merge_words_.push(reason.equation);
  if (!form.may_cite()) return;
  merge_words_.push(static_cast<std::uint32_t>(2 * cited_.size()));
  for (const auto& [a, b] : cited_) {
    merge_words_.push(a.index());
    merge_words_.push(b.index());
  }
}

void ProofLog::restore(const Mark& mark) {
  if (mark == this->mark()) return;
  ++restores_;
  for (; !exact_order_.empty() && exact_order_.back().begin >= mark.term_words;
       exact_order_.pop_back()) {
    const Exact& last = exact_order_.back();
    Key content;
    for (std::size_t i = 0; i <= last.arity; ++i) content.push_back(term_words_[last.begin + i]);
    exact_.erase(content);
  }
  term_words_.truncate(mark.term_words);
  merge_words_.truncate(mark.merge_words);
  terms_ = mark.terms;
  ids_ = mark.ids;
}

std::size_t ProofLog::bytes() const {
  return term_words_.bytes() + merge_words_.bytes() +
         exact_.bucket_count() * (sizeof(Key) + sizeof(ClassId) + 1) +
         exact_order_.capacity() * sizeof(exact_order_[0]);
}

}  // namespace egret::egraph
