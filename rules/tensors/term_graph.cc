// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/term_graph.h"

#include <algorithm>

namespace egret::rules {

using base::Result;
using egraph::BaseId;
using egraph::ClassId;
using egraph::EGraph;
using egraph::Match;
using egraph::NodeId;
using egraph::OpId;
using egraph::OpVarId;
using egraph::Pattern;
using egraph::VarId;

TermGraph::TermGraph(const TensorEGraph& terms, std::vector<ClassId> outputs)
    : outputs_(std::move(outputs)) {
  const EGraph& egraph = terms.egraph();
  // Depth-first with an explicit stack: a term is placed when it is reached again after its
  // children.
  constexpr std::uint32_t kOpen = 0xffffffffU;
  std::vector<ClassId> stack(outputs_.rbegin(), outputs_.rend());
  while (!stack.empty()) {
    const ClassId term = stack.back();
    const auto [found, is_new] = place_.emplace(term, kOpen);
    if (is_new) {
      const auto children = egraph.children(node_of(egraph, term));
      stack.insert(stack.end(), children.rbegin(), children.rend());
      continue;
    }
    stack.pop_back();
    if (found->second != kOpen) continue;
    found->second = static_cast<std::uint32_t>(terms_.size());
    terms_.push_back(term);
  }

  // The users of each term in compressed form: users_[user_begin_[place]] up to the next place.
  // Each user is listed once, although it may use a term twice.
  std::vector<std::pair<std::uint32_t, ClassId>> uses;
  by_base_.resize(egraph.ops().base_count());
  for (const ClassId term : terms_) {
    const NodeId node = node_of(egraph, term);
    by_base_[egraph.ops().base_of(egraph.op(node)).index()].push_back(term);
    const std::size_t first = uses.size();
    for (const ClassId child : egraph.children(node)) {
      const std::pair use(place_.at(child), term);
      if (std::find(uses.begin() + static_cast<std::ptrdiff_t>(first), uses.end(), use) ==
          uses.end())
        uses.push_back(use);
    }
  }
  std::ranges::stable_sort(uses, {}, &std::pair<std::uint32_t, ClassId>::first);
  user_begin_.assign(terms_.size() + 1, 0);
  for (const auto& [place, user] : uses) {
    ++user_begin_[place + 1];
    users_.push_back(user);
  }
  for (std::size_t i = 0; i < terms_.size(); ++i) user_begin_[i + 1] += user_begin_[i];
}

std::span<const ClassId> TermGraph::users(ClassId term) const {
  const std::uint32_t place = place_.at(term);
  return std::span(users_).subspan(user_begin_[place], user_begin_[place + 1] - user_begin_[place]);
}

std::span<const ClassId> TermGraph::with_base(BaseId base) const {
  if (base.index() >= by_base_.size()) return {};
  return by_base_[base.index()];
}

namespace {

// Backtracking over the atoms. Their order prefers atoms that are reached from bound variables:
// through a known term first, then through the users of a bound child.
class MatchSearch {
 public:
  MatchSearch(const TensorEGraph& terms, const TermGraph& program, const Pattern& pattern,
              const std::function<void(const Match&)>& visit)
      : egraph_(terms.egraph()),
        program_(program),
        pattern_(pattern),
        visit_(visit),
        classes_(pattern.var_count()),
        ops_(pattern.op_var_count()) {
    plan();
  }

  void run() {
    const bool all_bound = std::ranges::all_of(planned_, [](bool bound) { return bound; });
    if (all_bound && !steps_.empty()) search(0);
  }

 private:
  struct Step {
    const Pattern::Atom* atom;
    VarId user_of;  // its term uses this one; invalid: any term of the operator
    bool bound;     // its term is known
  };

  void plan() {
    planned_.assign(pattern_.var_count(), false);
    std::vector<const Pattern::Atom*> left;
    for (const Pattern::Atom& atom : pattern_.atoms()) left.push_back(&atom);
    while (!left.empty()) {
      // Greedy: an atom with a known term needs no search, an atom with a bound child searches the
      // users of that child, and a root searches all terms of its operator.
      const auto next = std::ranges::max_element(left, {}, [&](const Pattern::Atom* atom) {
        if (planned_[atom->result.index()]) return 3;
        if (bound_child(*atom).valid()) return 2;
        return is_root(*atom) ? 1 : 0;
      });
      const Pattern::Atom& atom = **next;
      steps_.push_back({&atom, bound_child(atom), planned_[atom.result.index()]});
      planned_[atom.result.index()] = true;
      for (const VarId child : atom.children) planned_[child.index()] = true;
      left.erase(next);
    }
  }
  VarId bound_child(const Pattern::Atom& atom) const {
    for (const VarId child : atom.children) {
      if (planned_[child.index()]) return child;
    }
    return {};
  }
  bool is_root(const Pattern::Atom& atom) const {
    return std::ranges::none_of(pattern_.atoms(), [&](const Pattern::Atom& other) {
      return std::ranges::find(other.children, atom.result) != other.children.end();
    });
  }

  // The recursion depth is the number of atoms.
  void search(std::size_t depth) {
    if (depth == steps_.size()) {
      // A visitor may add to the e-graph, but it does not change what is bound here.
      visit_(Match(classes_, ops_));
      return;
    }
    const Step& step = steps_[depth];
    if (step.bound) {
      try_term(depth, classes_[step.atom->result.index()]);
      return;
    }
    const BaseId base =
        step.atom->op.valid() ? egraph_.ops().base_of(step.atom->op) : step.atom->base;
    const auto candidates = step.user_of.valid() ? program_.users(classes_[step.user_of.index()])
                                                 : program_.with_base(base);
    for (const ClassId term : candidates) try_term(depth, term);
  }

  void try_term(std::size_t depth, ClassId term) {
    const Pattern::Atom& atom = *steps_[depth].atom;
    const NodeId node = node_of(egraph_, term);
    const OpId op = egraph_.op(node);
    if (atom.op.valid() ? op != atom.op
                        : egraph_.ops().base_of(op) != atom.base ||
                              egraph_.ops().arity(op) != atom.children.size())
      return;
    if (atom.capture.valid() && !pattern_.allowed(atom.capture, op)) return;
    const OpId captured = atom.capture.valid() ? ops_[atom.capture.index()] : op;
    if (captured.valid() && captured != op) return;
    if (atom.capture.valid()) ops_[atom.capture.index()] = op;
    // The trail undoes the bindings of this branch.
    const std::size_t mark = trail_.size();
    if (take(atom.result, term) && take_children(atom, node)) search(depth + 1);
    for (; trail_.size() > mark; trail_.pop_back()) classes_[trail_.back().index()] = {};
    if (atom.capture.valid()) ops_[atom.capture.index()] = captured;
  }
  bool take_children(const Pattern::Atom& atom, NodeId node) {
    const auto children = egraph_.children(node);
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (!take(atom.children[i], children[i])) return false;
    }
    return true;
  }
  bool take(VarId var, ClassId term) {
    ClassId& bound = classes_[var.index()];
    if (bound.valid()) return bound == term;
    bound = term;
    trail_.push_back(var);
    return true;
  }

  const EGraph& egraph_;
  const TermGraph& program_;
  const Pattern& pattern_;
  const std::function<void(const Match&)>& visit_;
  std::vector<Step> steps_;
  std::vector<bool> planned_;  // variables that the steps so far bind
  std::vector<ClassId> classes_;
  std::vector<OpId> ops_;
  std::vector<VarId> trail_;
};

}  // namespace

void for_each_match(const TensorEGraph& terms, const TermGraph& program, const Pattern& pattern,
                    const std::function<void(const Match&)>& visit) {
  MatchSearch(terms, program, pattern, visit).run();
}

std::vector<Replacement> replacements(TensorEGraph& terms, const egraph::Rewrite& rule,
                                      const Match& match) {
  auto sides = rule.sides(terms.egraph(), match);
  if (!sides) return {};
  for (const auto& [from, to] : *sides) {
    if (terms.type(from) != terms.type(to)) return {};
  }
  std::erase_if(*sides, [](const Replacement& side) { return side.first == side.second; });
  return *std::move(sides);
}

// One pass, children first: a term is rebuilt only if a child was replaced.
Result<std::vector<ClassId>> replaced(TensorEGraph& terms, const TermGraph& program,
                                      std::span<const Replacement> by) {
  EGraph& egraph = terms.egraph();
  boost::unordered_flat_map<ClassId, ClassId, std::hash<ClassId>> now;
  const auto current = [&](ClassId term) {
    const auto found = now.find(term);
    return found == now.end() ? term : found->second;
  };
  for (const auto& [from, to] : by) now.emplace(from, to);
  base::SmallVector<ClassId, 8> children;
  for (const ClassId term : program.terms()) {
    if (now.contains(term)) continue;
    const NodeId node = node_of(egraph, term);
    children.clear();
    bool changed = false;
    for (const ClassId child : egraph.children(node)) {
      children.push_back(current(child));
      changed = changed || children.back() != child;
    }
    if (!changed) continue;
    EGRET_ASSIGN_OR_RETURN(const ClassId made,
                           egraph.add(egraph.op(node), {children.data(), children.size()}));
    now.emplace(term, made);
  }
  std::vector<ClassId> outputs;
  for (const ClassId output : program.outputs()) outputs.push_back(current(output));
  return outputs;
}

std::vector<ClassId> terms_of(TensorEGraph& terms, const ir::Graph& graph) {
  TensorLanguage& language = terms.language();
  std::vector<ClassId> term_of;
  for (const ir::Node& node : graph.nodes()) {
    std::vector<ClassId> children;
    for (const ir::NodeId input : node.inputs) children.push_back(term_of[input.index()]);
    const bool known = std::ranges::all_of(children, &ClassId::valid);
    term_of.push_back(known ? terms.egraph().lookup(language.node(node), children) : ClassId());
  }
  return term_of;
}

Result<ir::Graph> to_graph(const TensorEGraph& terms, const TermGraph& program) {
  Selection selection;
  selection.node_of.resize(terms.egraph().id_count());
  for (const ClassId term : program.terms())
    selection.node_of[term.index()] = node_of(terms.egraph(), term);
  return terms.to_graph(selection, program.outputs());
}

}  // namespace egret::rules
