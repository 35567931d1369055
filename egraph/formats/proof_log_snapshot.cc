// SPDX-License-Identifier: Apache-2.0
// A proof log in a snapshot. The words are written unchanged. When they are read, everything is
// checked on which the explainer relies: every index; the arity of captured and computed operators;
// that each merge joined two different classes; that the cited terms were equal at that time; and
// that the final classes are those of the e-graph. The check replays the merges in a union-find
// over terms.
#include <string>

#include "egraph/core/op_table.h"
#include "egraph/core/proof_log.h"
#include "egraph/core/rule_form.h"
#include "egraph/core/union_find.h"
#include "egraph/formats/snapshot_file.h"
#include "egraph/formats/snapshot_items.h"

namespace egret::egraph {

using base::Result;
using base::Status;

namespace {

constexpr std::string_view kNames = "proofs.names";
constexpr std::string_view kTerms = "proofs.terms";
constexpr std::string_view kExact = "proofs.exact";
constexpr std::string_view kMerges = "proofs.merges";

void add_words(std::string_view section, const WordLog& log, SnapshotWriter& writer) {
  std::vector<std::uint32_t> words(log.size());
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = log[i];
  writer.add_copy(section, std::as_bytes(std::span(words)));
}

std::string number(std::uint64_t n) { return std::to_string(n); }

}  // namespace

void ProofLog::save(SnapshotWriter& writer) const {
  ItemWriter names;
  names.number(axioms_.size());
  for (const std::string& axiom : axioms_) names.text(axiom);
  names.number(rules_.size());
  for (const auto& rule : rules_) rule->save(names);
  writer.add_copy(kNames, names.bytes());
  std::vector<std::uint64_t> exact;
  for (const Exact& item : exact_order_) exact.push_back(item.begin);
  writer.add_copy(kExact, std::as_bytes(std::span(exact)));
  add_words(kTerms, term_words_, writer);
  add_words(kMerges, merge_words_, writer);
}

class ProofLog::Reading {
 public:
  Reading(const SnapshotFile& file, const OpTable& ops) : file_(file), ops_(ops) {}

  Status run() {
    EGRET_RETURN_IF_ERROR(read_names());
    EGRET_RETURN_IF_ERROR(read_terms());
    return read_merges();
  }
  Status compare(const UnionFind& classes);

  std::unique_ptr<ProofLog> log = std::make_unique<ProofLog>();

 private:
  // A cursor in the words of one merge, after its payload. After the first failure all words read
  // as 0.
  struct Cursor {
    std::span<const std::uint32_t> words;
    std::size_t at = 0;
    std::string wrong;

    std::uint32_t next() {
      if (at < words.size() && wrong.empty()) return words[at++];
      fail("is cut short");
      return 0;
    }
    std::uint32_t below(std::size_t end, const char* what) {
      const std::uint32_t word = next();
      if (word < end) return word;
      fail(std::string("there is no ") + what + " " + number(word));
      return 0;
    }
    void fail(std::string what) {
      if (wrong.empty()) wrong = std::move(what);
    }
  };

  Status read_names();
  Status read_terms();
  Status read_merges();
  void read_merge(Cursor& cursor);
  void read_application(Cursor& cursor, const RuleForm& form);
  void check_op(Cursor& cursor, const RuleForm::Expression& e);
  // Returns the number of an id's term.
  std::uint32_t id(Cursor& cursor) { return term_of_[cursor.below(term_of_.size(), "class")]; }
  std::uint32_t root(std::uint32_t term);

  const SnapshotFile& file_;
  const OpTable& ops_;
  std::vector<std::uint32_t> term_of_;  // by id
  std::vector<bool> has_id_;            // by term
  std::vector<std::uint32_t> parent_;   // the replay's union-find over terms
  std::size_t merges_ = 0;
  std::vector<OpId> captured_;  // of the application that is being read
  std::vector<OpId> computed_;
};

Status ProofLog::Reading::read_names() {
  ItemReader items(file_, kNames);
  log->axioms_.clear();
  for (std::size_t left = items.count(); left > 0 && items.ok(); --left)
    log->axioms_.push_back(items.text());
  for (std::size_t left = items.count(); left > 0 && items.ok(); --left)
    log->rules_.push_back(std::make_shared<const RuleForm>(items, ops_));
  if (log->axioms_.empty() || log->axioms_[0] != "given") items.fail("has no axiom 'given'");
  return items.finish();
}

Status ProofLog::Reading::read_terms() {
  EGRET_ASSIGN_OR_RETURN(const auto words, file_.values<std::uint32_t>(kTerms));
  EGRET_ASSIGN_OR_RETURN(const auto exact, file_.values<std::uint64_t>(kExact));
  std::size_t exacts = 0;
  for (std::size_t at = 0; at < words.size(); ++log->terms_) {
    const auto wrong = [&](const char* what) {
      return file_.corrupt(kTerms, "term " + number(log->terms_) + ": " + what);
    };
    const std::size_t begin = at;
    const OpId op(words[at] & ~kNoId);
    const bool has_id = (words[at++] & kNoId) == 0;
    if (op.index() >= ops_.op_count()) return wrong("its operator does not exist");
    const std::size_t arity = ops_.arity(op);
    if (words.size() - at < arity) return wrong("is cut short");
    Key content{op.index()};
    for (std::size_t i = 0; i < arity; ++i, ++at) {
      // Children have lower ids than their parent, so the terms of the log are finite.
      if (words[at] >= log->ids_) return wrong("a child was made later");
      content.push_back(words[at]);
    }
    if (exacts < exact.size() && exact[exacts] == begin) {
      if (!has_id || !log->exact_.try_emplace(std::move(content), log->ids_).second)
        return file_.corrupt(kExact, "item " + number(exacts) + " cannot be");
      log->exact_order_.push_back({static_cast<std::uint32_t>(arity), begin});
      ++exacts;
    }
    has_id_.push_back(has_id);
    if (!has_id) continue;
    term_of_.push_back(static_cast<std::uint32_t>(log->terms_));
    ++log->ids_;
  }
  if (exacts != exact.size())
    return file_.corrupt(kExact, "item " + number(exacts) + " is no term");
  for (const std::uint32_t word : words) log->term_words_.push(word);
  return base::ok();
}

Status ProofLog::Reading::read_merges() {
  EGRET_ASSIGN_OR_RETURN(const auto words, file_.values<std::uint32_t>(kMerges));
  parent_.resize(log->terms_);
  for (std::uint32_t i = 0; i < parent_.size(); ++i) parent_[i] = i;
  Cursor cursor{words, 0, {}};
  for (; cursor.at < words.size(); ++merges_) {
    read_merge(cursor);
    if (!cursor.wrong.empty())
      return file_.corrupt(kMerges, "merge " + number(merges_) + ": " + cursor.wrong);
  }
  for (const std::uint32_t word : words) log->merge_words_.push(word);
  return base::ok();
}

// Checks one merge and repeats it in the union-find. A log never joins what is equal already: the
// count in compare() relies on that.
void ProofLog::Reading::read_merge(Cursor& cursor) {
  const std::uint32_t head = cursor.next();
  const auto kind = static_cast<Kind>(head >> kKindShift);
  const std::uint32_t index = head & ((1U << kKindShift) - 1);
  std::uint32_t a = id(cursor);
  std::uint32_t b = 0;
  if (kind == Kind::kBirth) {
    b = cursor.below(log->terms_, "term");
    if (cursor.wrong.empty() && has_id_[b]) cursor.fail("what was born has a class of its own");
  } else {
    b = id(cursor);
  }
  if (!cursor.wrong.empty()) return;
  switch (kind) {
    case Kind::kAxiom:
      if (index >= log->axioms_.size()) cursor.fail("its axiom does not exist");
      break;
    case Kind::kCongruence:
      if (index >= ops_.op_count()) return cursor.fail("its operator does not exist");
      for (std::size_t i = 0, arity = ops_.arity(OpId(index)); i < arity; ++i) id(cursor);
      break;
    case Kind::kRule:
    case Kind::kBirth:
      if (index >= log->rules_.size()) return cursor.fail("its rule does not exist");
      read_application(cursor, *log->rules_[index]);
      break;
  }
  a = root(a);
  b = root(b);
  if (a == b) cursor.fail("the two were one already");
  parent_[b] = a;
}

void ProofLog::Reading::read_application(Cursor& cursor, const RuleForm& form) {
  captured_.clear();
  computed_.clear();
  for (std::size_t i = 0; i < form.substituted().size(); ++i) id(cursor);
  for (std::size_t i = 0; i < form.captured_ops(); ++i)
    captured_.emplace_back(cursor.below(ops_.op_count(), "operator"));
  for (std::size_t i = 0; i < form.computed_ops(); ++i)
    computed_.emplace_back(cursor.below(ops_.op_count(), "operator"));
  for (std::size_t i = 0; i < form.computed_terms().size(); ++i) id(cursor);
  if (form.equations().size() > 1) cursor.below(form.equations().size(), "equation");
  if (!cursor.wrong.empty()) return;
  for (std::size_t var = 0; var < form.var_count(); ++var)
    check_op(cursor, form.expression(VarId(var)));
  for (const RuleForm::Premise& premise : form.premises()) check_op(cursor, premise.is);
  if (!form.may_cite()) return;
  const std::uint32_t cited = cursor.next();
  if (cited % 2 != 0) cursor.fail("half of an equality was cited");
  for (std::uint32_t i = 0; i < cited && cursor.wrong.empty(); i += 2) {
    const std::uint32_t a = id(cursor);
    if (root(a) != root(id(cursor))) cursor.fail("what was cited was not equal");
  }
}

// Checks that a captured or computed operator of this application fits its node.
void ProofLog::Reading::check_op(Cursor& cursor, const RuleForm::Expression& e) {
  using ExpressionKind = RuleForm::Expression::Kind;
  const bool is_captured = e.kind == ExpressionKind::kCapturedOp;
  if (!is_captured && e.kind != ExpressionKind::kComputedOp) return;
  const OpId op = is_captured ? captured_[e.operand] : computed_[e.operand];
  if (ops_.arity(op) != e.children.size()) cursor.fail("an operator has another arity");
  if (is_captured && ops_.base_of(op) != e.base) cursor.fail("another operator was captured");
}

// With path halving (Tarjan and van Leeuwen, 1984).
std::uint32_t ProofLog::Reading::root(std::uint32_t term) {
  for (; parent_[term] != term; term = parent_[term]) parent_[term] = parent_[parent_[term]];
  return term;
}

// The replay must end with the partition of the e-graph. The first test (each merged id has the
// same root as its class) shows that the log merges enough. Each merge reduces the number of
// classes of terms by one, so terms - merges is their final number; equality with the number of
// e-graph classes shows that the log does not merge more.
Status ProofLog::Reading::compare(const UnionFind& classes) {
  if (classes.size() != term_of_.size())
    return file_.corrupt(kTerms, "is not one term for each class that was ever made");
  std::size_t roots = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const ClassId id = classes.find(ClassId(i));
    if (id.index() == i) ++roots;
    if (root(term_of_[i]) != root(term_of_[id.index()]))
      return file_.corrupt(kMerges, "nothing says why class " + number(i) + " was merged");
  }
  if (roots + merges_ != log->terms_)
    return file_.corrupt(kMerges, "says more than what is equal in the e-graph");
  return base::ok();
}

Result<std::unique_ptr<ProofLog>> ProofLog::load(const SnapshotFile& file, const OpTable& ops,
                                                 const UnionFind& classes) {
  Reading reading(file, ops);
  EGRET_RETURN_IF_ERROR(reading.run());
  EGRET_RETURN_IF_ERROR(reading.compare(classes));
  return std::move(reading.log);
}

}  // namespace egret::egraph
