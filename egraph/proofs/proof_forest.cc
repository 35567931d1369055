// SPDX-License-Identifier: Apache-2.0
#include "egraph/proofs/proof_forest.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"

namespace egret::egraph {

using base::Result;
using base::Status;
using Expression = RuleForm::Expression;

// A rule's merge, decoded from the log.
struct ProofForest::Application {
  const RuleForm* form = nullptr;
  std::uint32_t equation = 0;
  std::vector<LogTerm> terms;  // by variable: of substituted ones and computed terms
  std::vector<OpId> captured_ops;
  std::vector<OpId> computed_ops;
  std::vector<std::pair<LogTerm, LogTerm>> cited;
};

// Groups the merges by final class with a counting sort.
ProofForest::ProofForest(const MergeHistory& history) : history_(history) {
  const std::size_t terms = history.term_count();
  const std::size_t merges = history.merge_count();
  class_begin_.resize(terms + 1, 0);
  std::vector<LogTerm> roots(merges);
  for (Time m = 0; m < merges; ++m) {
    roots[m] = history.root(history.merge(m).a);
    ++class_begin_[roots[m].index() + 1];
  }
  for (std::size_t i = 0; i < terms; ++i) class_begin_[i + 1] += class_begin_[i];
  std::vector<std::uint32_t> next(class_begin_.begin(), class_begin_.end() - 1);
  class_merges_.resize(merges);
  for (Time m = 0; m < merges; ++m) class_merges_[next[roots[m].index()]++] = m;

  ends_.resize(merges);
  first_half_.resize(terms, kNone);
  next_half_.resize(2 * merges, kNone);
  depth_.resize(terms, kNone);
  up_.resize(terms);
}

Status ProofForest::broken(Time link) const {
  const MergeHistory::Merge merge = history_.merge(link);
  const std::string name = merge.kind == ProofLog::Kind::kRule
                               ? "rule '" + history_.log().rule(merge.index)->name() + "'"
                               : "congruence";
  return base::internal_error("merge " + std::to_string(link) + " (" + name +
                              ") does not follow from the merges before it: was the rule applied "
                              "to a match that it does not have?");
}

// Decodes the words of a rule's merge, in the order in which the log writes them: substituted
// variables, captured and computed operators, computed terms, the equation if the rule has several,
// and the cited pairs.
ProofForest::Application ProofForest::read_application(const MergeHistory::Merge& merge) const {
  const WordLog& words = history_.log().merge_words();
  std::size_t at = merge.payload;
  Application made;
  made.form = history_.log().rule(merge.index).get();
  made.terms.resize(made.form->var_count());
  for (const VarId var : made.form->substituted())
    made.terms[var.index()] = history_.term(ClassId(words[at++]));
  for (std::size_t i = 0; i < made.form->captured_ops(); ++i)
    made.captured_ops.emplace_back(words[at++]);
  for (std::size_t i = 0; i < made.form->computed_ops(); ++i)
    made.computed_ops.emplace_back(words[at++]);
  for (const VarId var : made.form->computed_terms())
    made.terms[var.index()] = history_.term(ClassId(words[at++]));
  if (made.form->equations().size() > 1) made.equation = words[at++];
  if (!made.form->may_cite()) return made;
  for (std::size_t pairs = words[at++] / 2; pairs > 0; --pairs, at += 2)
    made.cited.emplace_back(history_.term(ClassId(words[at])),
                            history_.term(ClassId(words[at + 1])));
  return made;
}

OpId ProofForest::operator_of(const Expression& e, const Application& application) const {
  switch (e.kind) {
    case Expression::Kind::kNode: return e.op;
    case Expression::Kind::kCapturedOp: return application.captured_ops[e.operand];
    case Expression::Kind::kComputedOp: return application.computed_ops[e.operand];
    case Expression::Kind::kTerm:
    case Expression::Kind::kComputedTerm: break;
  }
  return {};
}

// The terms of the log that were, at time `at`, congruent to a node whose children's candidates are
// known. The index finds terms by the present classes of their children; the check against time
// `at` follows.
std::vector<LogTerm> ProofForest::candidates_of(const Expression& e, const Application& application,
                                                const Candidates& found, Time at) const {
  std::vector<LogTerm> result;
  // All candidates of a child are congruent. The e-graph is rebuilt, so they are in one class by
  // now and the first one names it. At time `at` they may still have been in several classes, hence
  // fits() tests each.
  base::SmallVector<LogTerm, 8> now;
  for (const VarId child : e.children) {
    if (found[child.index()].empty()) return result;
    now.push_back(history_.root(found[child.index()].front()));
  }
  const auto fits = [&](LogTerm child, VarId var) {
    const LogTerm root = history_.root(child, at);
    return std::ranges::any_of(found[var.index()],
                               [&](LogTerm c) { return history_.root(c, at) == root; });
  };
  history_.for_each_term(operator_of(e, application), {now.data(), now.size()}, [&](LogTerm term) {
    const auto children = history_.children(term);
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (!fits(children[i], e.children[i])) return;
    }
    result.push_back(term);
  });
  std::ranges::reverse(result);  // oldest first
  return result;
}

// The candidates of every variable, bottom-up: form.order() lists children before their parents.
ProofForest::Candidates ProofForest::find_candidates(const Application& application,
                                                     Time at) const {
  const RuleForm& form = *application.form;
  Candidates found(form.var_count());
  for (const VarId var : form.order()) {
    const LogTerm term = application.terms[var.index()];
    found[var.index()] = term.valid() ? std::vector<LogTerm>{term}
                                      : candidates_of(form.expression(var), application, found, at);
  }
  return found;
}

// Chooses `equal_to` itself if it is a candidate; otherwise the oldest candidate that was equal to
// it; otherwise invalid. The fixed order makes explanations deterministic.
LogTerm ProofForest::choose(const std::vector<LogTerm>& candidates, LogTerm equal_to,
                            Time at) const {
  if (std::ranges::find(candidates, equal_to) != candidates.end()) return equal_to;
  const auto found =
      std::ranges::find_if(candidates, [&](LogTerm c) { return history_.same(c, equal_to, at); });
  return found == candidates.end() ? LogTerm() : *found;
}

// The two terms that a merge joined, from the information at its own time.
Result<ProofForest::Ends> ProofForest::find_ends(Time link) const {
  const MergeHistory::Merge merge = history_.merge(link);
  Ends ends{merge.a, merge.b};
  if (merge.kind == ProofLog::Kind::kAxiom) return ends;
  // The log records the operator and the children of the congruent nodes. The ends are those terms
  // congruent to such a node that were equal to the merged ids.
  if (merge.kind == ProofLog::Kind::kCongruence) {
    const WordLog& words = history_.log().merge_words();
    Expression node;
    node.kind = Expression::Kind::kNode;
    node.op = OpId(merge.index);
    Candidates found;
    for (std::size_t i = 0; i < history_.ops().arity(node.op); ++i) {
      node.children.emplace_back(i);
      found.push_back({history_.term(ClassId(words[merge.payload + i]))});
    }
    const auto candidates = candidates_of(node, {}, found, link);
    ends = {choose(candidates, merge.a, link), choose(candidates, merge.b, link)};
  } else {
    const Application application = read_application(merge);
    const Candidates found = find_candidates(application, link);
    const auto [left, right] = application.form->equations()[application.equation];
    ends = {choose(found[left.index()], merge.a, link),
            choose(found[right.index()], merge.b, link)};
  }
  if (!ends.from.valid() || !ends.to.valid()) return broken(link);
  return ends;
}

// Finds the ends of all merges of the class. Then a breadth-first search from the root sets depths
// and upward hops. n terms need exactly n - 1 merges, so the links form a tree.
Status ProofForest::grow(LogTerm term) {
  const LogTerm root = history_.root(term);
  if (depth_[root.index()] != kNone) return base::ok();
  const auto links = std::span(class_merges_)
                         .subspan(class_begin_[root.index()],
                                  class_begin_[root.index() + 1] - class_begin_[root.index()]);
  for (const Time link : links) {
    EGRET_ASSIGN_OR_RETURN(const Ends ends, find_ends(link));
    ends_[link] = ends;
  }
  // Link m has two half-edges: 2m at its `from` end and 2m + 1 at its `to` end. Each term has a
  // linked list of its half-edges.
  for (const Time link : links) {
    next_half_[2 * link] = std::exchange(first_half_[ends_[link].from.index()], 2 * link);
    next_half_[2 * link + 1] = std::exchange(first_half_[ends_[link].to.index()], 2 * link + 1);
  }
  depth_[root.index()] = 0;
  std::vector<LogTerm> reached{root};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for_each_link(reached[i], [&](Time link, LogTerm other) {
      if (depth_[other.index()] != kNone) return;
      depth_[other.index()] = depth_[reached[i].index()] + 1;
      up_[other.index()] = {link, ends_[link].from == other};
      reached.push_back(other);
    });
  }
  EGRET_CHECK(reached.size() == links.size() + 1, "the links of a class are a tree");
  return base::ok();
}

// Climbs from the deeper end until both ends meet at the lowest common ancestor. The hops of the
// `to` side are collected in reverse order and direction. O(depth of the tree).
Result<std::vector<ProofForest::Hop>> ProofForest::path(LogTerm from, LogTerm to) {
  EGRET_CHECK(history_.same(from, to), "a way between terms that are not equal");
  EGRET_RETURN_IF_ERROR(grow(from));
  std::vector<Hop> there;
  std::vector<Hop> back;
  while (from != to) {
    const bool climb_from = depth_[from.index()] >= depth_[to.index()];
    LogTerm& low = climb_from ? from : to;
    const Hop hop = up_[low.index()];
    if (climb_from) {
      there.push_back(hop);
    } else {
      back.push_back({hop.link, !hop.forward});
    }
    low = hop.forward ? ends_[hop.link].to : ends_[hop.link].from;
  }
  there.insert(there.end(), back.rbegin(), back.rend());
  return there;
}

// The number of hops of path(), by the same climb.
Result<std::uint32_t> ProofForest::distance(LogTerm a, LogTerm b) {
  EGRET_RETURN_IF_ERROR(grow(a));
  std::uint32_t hops = 0;
  for (; a != b; ++hops) {
    LogTerm& low = depth_[a.index()] >= depth_[b.index()] ? a : b;
    const Hop hop = up_[low.index()];
    low = hop.forward ? ends_[hop.link].to : ends_[hop.link].from;
  }
  return hops;
}

// Makes the points of a rule's instance, from the roots of its expressions down: the anchor of a
// node determines the anchors of its children.
class ProofForest::Instantiation {
 public:
  Instantiation(ProofForest& forest, const Application& application, Time at)
      : forest_(forest),
        application_(application),
        candidates_(forest.find_candidates(application, at)),
        at_(at) {}

  // The point of a variable, congruent to a term that was equal to `equal_to` at that time.
  PointId make(VarId var, LogTerm equal_to) {
    const PointId point = get(var, equal_to);
    complete();
    return point;
  }
  PointId make(const Expression& node, LogTerm equal_to) {
    const auto candidates = forest_.candidates_of(node, application_, candidates_, at_);
    const PointId point = add(node, forest_.choose(candidates, equal_to, at_));
    complete();
    return point;
  }
  bool failed() const { return failed_; }

 private:
  struct Open {
    PointId point;
    const Expression* node;
  };

  // A variable has one point per anchor, because the anchor determines the children of the point.
  PointId get(VarId var, LogTerm equal_to) {
    if (const LogTerm term = application_.terms[var.index()]; term.valid()) return point(term);
    const LogTerm anchor = forest_.choose(candidates_[var.index()], equal_to, at_);
    if (const auto known = known_.find({var, anchor}); known != known_.end()) return known->second;
    return known_[{var, anchor}] = add(application_.form->expression(var), anchor);
  }
  PointId add(const Expression& node, LogTerm anchor) {
    failed_ |= !anchor.valid();
    if (failed_) return {};
    const PointId point(forest_.point_count());
    forest_.virtual_.push_back({forest_.operator_of(node, application_), anchor, {}});
    open_.push_back({point, &node});
    return point;
  }
  // Makes the children of all open points, with an explicit stack. The children of a point get the
  // children of its anchor as anchors.
  void complete() {
    while (!open_.empty() && !failed_) {
      const Open top = open_.back();
      open_.pop_back();
      const std::size_t index = top.point.index() - forest_.history_.term_count();
      const LogTerm anchor = forest_.virtual_[index].anchor;
      std::vector<PointId> children;
      for (std::size_t i = 0; i < top.node->children.size(); ++i)
        children.push_back(get(top.node->children[i], forest_.history_.children(anchor)[i]));
      forest_.virtual_[index].children = std::move(children);
    }
  }

  ProofForest& forest_;
  const Application& application_;
  const Candidates candidates_;
  const Time at_;
  std::map<std::pair<VarId, LogTerm>, PointId> known_;
  std::vector<Open> open_;
  bool failed_ = false;
};

// The rule's equation with all its variables replaced by terms, as it was applied at that time. The
// log keeps only the classes of the match's variables, so the terms are reconstructed: each is
// chosen so that congruence joins it to the ends of the link.
Result<ProofForest::Instance> ProofForest::instance(Time link) {
  const MergeHistory::Merge merge = history_.merge(link);
  Instance made;
  if (merge.kind == ProofLog::Kind::kAxiom) {
    made.left = point(merge.a);
    made.right = point(merge.b);
    return made;
  }
  EGRET_CHECK(merge.kind == ProofLog::Kind::kRule, "congruence is no instance of anything");
  const Application application = read_application(merge);
  const RuleForm& form = *application.form;
  Instantiation instantiation(*this, application, link);
  const auto [left, right] = form.equations()[application.equation];
  // Each side is congruent to its end of the link, so congruence joins it to the neighbours in a
  // path.
  made.left = instantiation.make(left, ends_[link].from);
  made.right = instantiation.make(right, ends_[link].to);
  // A premise states that the term of a variable equals a node of the pattern. Its proof is a goal
  // of its own.
  for (const RuleForm::Premise& premise : form.premises()) {
    const LogTerm term = application.terms[premise.var.index()];
    made.premises.emplace_back(point(term), instantiation.make(premise.is, term));
  }
  if (instantiation.failed()) return broken(link);
  for (const auto& [a, b] : application.cited) made.premises.emplace_back(point(a), point(b));
  made.equation = application.equation;
  for (const VarId var : form.substituted())
    made.substitution.push_back(point(application.terms[var.index()]));
  made.captured_ops = application.captured_ops;
  return made;
}

OpId ProofForest::op(PointId point) const {
  const std::size_t terms = history_.term_count();
  if (point.index() < terms) return history_.op(LogTerm(point.index()));
  return virtual_[point.index() - terms].op;
}

std::size_t ProofForest::arity(PointId point) const {
  const std::size_t terms = history_.term_count();
  if (point.index() < terms) return history_.children(LogTerm(point.index())).size();
  return virtual_[point.index() - terms].children.size();
}

PointId ProofForest::child(PointId point, std::size_t i) const {
  const std::size_t terms = history_.term_count();
  if (point.index() < terms) return PointId(history_.children(LogTerm(point.index()))[i].index());
  return virtual_[point.index() - terms].children[i];
}

LogTerm ProofForest::anchor(PointId point) const {
  const std::size_t terms = history_.term_count();
  if (point.index() < terms) return LogTerm(point.index());
  return virtual_[point.index() - terms].anchor;
}

}  // namespace egret::egraph
