// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/search_trie.h"

#include <algorithm>

#include "base/check.h"

namespace egret::egraph {

using Filter = SearchTrie::Filter;

// Compiles one plan to registers, expansions and filters, and inserts it into the trie.
class PlanCompiler {
 public:
  using Register = SearchTrie::Register;

  PlanCompiler(SearchTrie& trie, const Pattern& pattern, const SearchTrie::PerPattern& about,
               const JoinPlanner& planner, const OpTable& ops)
      : trie_(trie), pattern_(pattern), about_(about), ops_(ops) {
    var_.resize(pattern.var_count(), kUnbound);
    op_var_.resize(pattern.op_var_count(), kUnbound);
    // A constant has the same register in all plans of all patterns. Registers of variables begin
    // after the constants, in order of binding. Plans that bind in the same order therefore use the
    // same numbers, whatever their variables are called, and share expansions.
    next_ = static_cast<Register>(trie.constants_.size());
    for (const std::uint32_t leaf : planner.leaves()) {
      const Pattern::Atom& atom = pattern.atoms()[leaf];
      Register& var = var_[atom.result.index()];
      if (var == kUnbound) var = trie.constant(atom.op);
    }
  }

  // Each step becomes an expansion (it enumerates nodes into registers) and a branch (filters on
  // the registers). `siblings` is the list of the trie to which the next expansion belongs.
  SearchTrie::Plan run(const JoinPlan& steps) {
    SearchTrie::Plan plan;
    std::vector<std::uint32_t>* siblings = &trie_.roots_;
    if (steps.empty()) {
      SearchTrie::Expansion once;
      once.once = true;
      enter(plan, siblings, std::move(once));
    }
    for (const JoinStep& step : steps) enter(plan, siblings, expand(step));
    plan.root = plan.expansions.front();
    plan.classes = var_;
    plan.ops = op_var_;
    // Operator register 0 is never written. It stands for an operator variable that no atom
    // captures.
    for (Register& op : plan.ops) op = op == kUnbound ? 0 : op;
    trie_.register_count_ = std::max<std::size_t>(trie_.register_count_, next_);
    trie_.op_register_count_ = std::max<std::size_t>(trie_.op_register_count_, next_op_);
    trie_.depth_ = std::max(trie_.depth_, plan.expansions.size());
    return plan;
  }

 private:
  static constexpr Register kUnbound = 0xffff;

  // Appends a step to the plan's path. Filters are sorted by kind, cheapest first, so that equal
  // filter lists of different plans coincide and share a branch.
  void enter(SearchTrie::Plan& plan, std::vector<std::uint32_t>*& siblings,
             SearchTrie::Expansion expansion) {
    std::stable_sort(filters_.begin(), filters_.end(),
                     [](const Filter& a, const Filter& b) { return a.kind < b.kind; });
    const std::uint32_t e = trie_.add_expansion(*siblings, std::move(expansion));
    const std::uint32_t b = trie_.add_branch(e, std::move(filters_));
    filters_.clear();
    plan.expansions.push_back(e);
    plan.branches.push_back(b);
    siblings = &trie_.branches_[b].expansions;
  }

  // Assigns registers: `out` to the class of the node, the registers from `first_child` on to its
  // children.
  SearchTrie::Expansion expand(const JoinStep& step) {
    SearchTrie::Expansion made;
    made.kind = step.kind;
    if (step.kind == JoinStep::Kind::kEveryClass) {
      made.out = next_++;
      var_[step.via.index()] = made.out;
      return made;
    }
    const Pattern::Atom& atom = pattern_.atoms()[step.atom];
    made.op = atom.op;
    made.base = atom.op.valid() ? ops_.base_of(atom.op) : atom.base;
    made.arity = static_cast<std::uint32_t>(atom.children.size());
    if (step.via.valid()) made.via = var_[step.via.index()];
    // All bound children are candidates; at run time the walk takes the one with the fewest
    // parents.
    if (step.kind == JoinStep::Kind::kParents) {
      for (const VarId child : atom.children) {
        if (var_[child.index()] != kUnbound) made.vias.push_back(var_[child.index()]);
      }
    }
    if (step.kind == JoinStep::Kind::kLookup) {
      for (const VarId child : atom.children) made.lookup.push_back(var_[child.index()]);
    }
    // A node that was reached through its class has that class: no new register, and no filter.
    made.out = step.kind == JoinStep::Kind::kClass ? made.via : next_++;
    if (step.kind != JoinStep::Kind::kClass) {
      bind(atom.result, made.out, EGraph::mask_bit(made.base));
    }
    // Every bound child gets an equality filter, the one that led to the node too: the parents of a
    // class have it as some child, not necessarily as this one.
    if (step.kind != JoinStep::Kind::kLookup) {
      made.first_child = next_;
      for (const VarId child : atom.children) bind(child, next_++, 0);
    }
    if (!atom.op.valid()) bind_operator(step.atom, made);
    // Semi-naive evaluation: this node must be old, so that only one plan finds a match with
    // several new nodes.
    if (step.old) filters_.push_back({Filter::Kind::kOld, 0, 0, 0, 0});
    return made;
  }

  // Binds a variable to a register, or adds an equality filter if it is bound already. `has`: the
  // mask bits that the class is known to have. A variable that is bound already had its mask tested
  // when it was bound.
  void bind(VarId var, Register reg, std::uint64_t has) {
    Register& bound = var_[var.index()];
    if (bound != kUnbound) {
      filters_.push_back({Filter::Kind::kSame, reg, bound, 0, 0});
      return;
    }
    bound = reg;
    const std::uint64_t needs = about_.needs[var.index()] & ~has;
    if (needs != 0) filters_.push_back({Filter::Kind::kNeeds, reg, 0, 0, needs});
  }

  // An operator variable behaves like a class variable: the first atom that captures it binds it,
  // and each later one must have the same operator.
  void bind_operator(std::uint32_t atom, SearchTrie::Expansion& made) {
    made.op_out = next_op_++;
    filters_.push_back({Filter::Kind::kAccepts, made.op_out, 0, about_.symbols[atom], 0});
    Register& bound = op_var_[pattern_.atoms()[atom].capture.index()];
    if (bound == kUnbound) {
      bound = made.op_out;
    } else {
      filters_.push_back({Filter::Kind::kSameOperator, made.op_out, bound, 0, 0});
    }
  }

  SearchTrie& trie_;
  const Pattern& pattern_;
  const SearchTrie::PerPattern& about_;
  const OpTable& ops_;
  std::vector<Register> var_;
  std::vector<Register> op_var_;
  Register next_ = 0;
  Register next_op_ = 1;
  std::vector<Filter> filters_;  // of the step at hand
};

SearchTrie::SearchTrie(std::span<const Pattern* const> patterns, const OpTable& ops) {
  // Constants occupy the first registers, so all of them must be known before any plan is compiled.
  for (const Pattern* pattern : patterns) {
    const JoinPlanner planner(*pattern);
    for (const std::uint32_t leaf : planner.leaves()) {
      (void)constant(pattern->atoms()[leaf].op);
    }
  }
  register_count_ = constants_.size();
  op_register_count_ = 1;
  for (const Pattern* pattern : patterns) add_pattern(*pattern, ops);
  for (Expansion& expansion : expansions_) expansion.is_last = is_last(expansion);
}

// A last expansion has no expansions below it and enumerates a single list. TrieWalk::walk_last()
// processes it in a tight loop.
bool SearchTrie::is_last(const Expansion& expansion) const {
  if (expansion.once || expansion.kind == Kind::kEveryClass) return false;
  if (expansion.kind == Kind::kOperator && !expansion.op.valid()) return false;
  return std::all_of(expansion.branches.begin(), expansion.branches.end(),
                     [this](std::uint32_t b) { return branches_[b].expansions.empty(); });
}

// Compiles every full and every incremental plan of a pattern. All of them share one trie, and the
// search activates the plans it needs (SearchPass). Unused plans cost memory but no time.
void SearchTrie::add_pattern(const Pattern& pattern, const OpTable& ops) {
  const JoinPlanner planner(pattern);
  PerPattern made;
  made.needs.resize(pattern.var_count());
  made.symbols.resize(pattern.atoms().size());
  for (std::size_t i = 0; i < pattern.atoms().size(); ++i) {
    const Pattern::Atom& atom = pattern.atoms()[i];
    EGRET_CHECK(!atom.op.valid() || ops.arity(atom.op) == atom.children.size(),
                "a pattern node with the wrong number of children");
    // The class of a variable must contain a node for every atom of which it is the result. The
    // mask of these operators rejects most classes before anything is enumerated.
    made.needs[atom.result.index()] |=
        EGraph::mask_bit(atom.op.valid() ? ops.base_of(atom.op) : atom.base);
    if (atom.op.valid()) continue;
    made.symbols[i] = static_cast<std::uint32_t>(symbols_.size());
    symbols_.push_back({&pattern, atom.capture, atom.base, atom.children.size(), {}, {}});
  }
  add_constants(pattern, planner, made);

  // Whether a plan starts at a node that is a child of another pattern node, and so climbs to its
  // parents.
  const auto is_inner = [&](const JoinPlan& steps) {
    if (steps.empty() || steps[0].kind != Kind::kOperator) return false;
    const VarId top = pattern.atoms()[steps[0].atom].result;
    return std::any_of(
        pattern.atoms().begin(), pattern.atoms().end(), [&](const Pattern::Atom& atom) {
          return std::find(atom.children.begin(), atom.children.end(), top) != atom.children.end();
        });
  };
  const auto add = [&](const JoinPlan& steps, bool incremental) {
    Plan plan = PlanCompiler(*this, pattern, made, planner, ops).run(steps);
    plan.pattern = static_cast<std::uint32_t>(patterns_.size());
    plan.incremental = incremental;
    plan.climbs = is_inner(steps);
    branches_[plan.branches.back()].plans.push_back(static_cast<std::uint32_t>(plans_.size()));
    plans_.push_back(std::move(plan));
  };
  made.full_begin = static_cast<std::uint32_t>(plans_.size());
  for (const JoinPlan& steps : planner.full_plans()) add(steps, false);
  made.incremental_begin = static_cast<std::uint32_t>(plans_.size());
  for (const JoinPlan& steps : planner.incremental_plans()) add(steps, true);
  made.end = static_cast<std::uint32_t>(plans_.size());
  patterns_.push_back(std::move(made));
}

// Collects the tests on constants, which hold or fail for the whole e-graph. They are evaluated
// once per search and not at each node.
void SearchTrie::add_constants(const Pattern& pattern, const JoinPlanner& planner,
                               PerPattern& made) {
  std::vector<Register> first(pattern.var_count(), 0xffff);
  for (const std::uint32_t leaf : planner.leaves()) {
    const Pattern::Atom& atom = pattern.atoms()[leaf];
    const Register reg = constant(atom.op);
    made.constants.all.push_back(reg);
    Register& bound = first[atom.result.index()];
    if (bound == 0xffff) {
      bound = reg;
      made.constants.filters.push_back(
          {Filter::Kind::kNeeds, reg, 0, 0, made.needs[atom.result.index()]});
    } else {
      made.constants.filters.push_back({Filter::Kind::kSame, reg, bound, 0, 0});
    }
  }
}

// Linear search: a rule set has few constants, and this runs only during construction.
SearchTrie::Register SearchTrie::constant(OpId op) {
  const auto found = std::find(constants_.begin(), constants_.end(), op);
  const auto index = static_cast<std::size_t>(found - constants_.begin());
  if (found == constants_.end()) constants_.push_back(op);
  return static_cast<Register>(index);
}

bool SearchTrie::Expansion::draws_like(const Expansion& other) const {
  return once == other.once && kind == other.kind && op == other.op && base == other.base &&
         arity == other.arity && via == other.via && vias == other.vias && out == other.out &&
         first_child == other.first_child && lookup == other.lookup && op_out == other.op_out;
}

// Reuses a sibling that enumerates the same nodes into the same registers. This is where plans
// share their prefixes.
std::uint32_t SearchTrie::add_expansion(std::vector<std::uint32_t>& siblings, Expansion expansion) {
  for (const std::uint32_t sibling : siblings) {
    if (expansions_[sibling].draws_like(expansion)) return sibling;
  }
  const auto index = static_cast<std::uint32_t>(expansions_.size());
  expansions_.push_back(std::move(expansion));
  siblings.push_back(index);
  return index;
}

// Reuses a branch with the same filters, so that its subtree is walked once for all its plans.
std::uint32_t SearchTrie::add_branch(std::uint32_t expansion, std::vector<Filter> filters) {
  for (const std::uint32_t branch : expansions_[expansion].branches) {
    if (branches_[branch].filters == filters) return branch;
  }
  const auto index = static_cast<std::uint32_t>(branches_.size());
  branches_.push_back({std::move(filters), {}, {}});
  expansions_[expansion].branches.push_back(index);
  return index;
}

// Operators are only ever added, so only those since the last call are tested.
void SearchTrie::learn_symbols(const OpTable& ops) {
  if (known_ops_ == ops.op_count()) return;
  for (Symbols& symbols : symbols_) {
    symbols.accepts.resize(ops.op_count());
    const auto all = ops.ops_of(symbols.base);
    for (auto op = std::lower_bound(all.begin(), all.end(), OpId(known_ops_)); op != all.end();
         ++op) {
      if (ops.arity(*op) != symbols.arity) continue;
      if (!symbols.pattern->allowed(symbols.capture, *op)) continue;
      symbols.accepts[op->index()] = true;
      symbols.accepted.push_back(*op);
    }
  }
  known_ops_ = ops.op_count();
}

std::span<const SearchTrie::Plan> SearchTrie::full_plans(std::uint32_t pattern) const {
  const PerPattern& p = patterns_[pattern];
  return std::span(plans_).subspan(p.full_begin, p.incremental_begin - p.full_begin);
}

std::span<const SearchTrie::Plan> SearchTrie::incremental_plans(std::uint32_t pattern) const {
  const PerPattern& p = patterns_[pattern];
  return std::span(plans_).subspan(p.incremental_begin, p.end - p.incremental_begin);
}

}  // namespace egret::egraph
