// SPDX-License-Identifier: Apache-2.0
// The part of RuleSearch that decides how each rule is searched.
#include "egraph/search/rule_search.h"

#include <algorithm>

#include "base/check.h"
#include "egraph/search/inverse_rules.h"
#include "egraph/search/start_lists.h"

namespace egret::egraph {

namespace {

// Spare buffers count against no limit, so they are kept small relative to the remaining memory.
constexpr std::size_t kMostSpare = std::size_t{16} << 20;
constexpr std::size_t kSpareShare = 16;

}  // namespace

RuleSearch::RuleSearch(std::span<const Pattern* const> patterns, const OpTable& ops,
                       std::vector<std::uint32_t> inverse_of)
    : trie_(patterns, ops),
      patterns_(patterns.begin(), patterns.end()),
      inverse_of_(std::move(inverse_of)),
      rules_(patterns.size()) {
  // A rule without an inverse is listed as its own.
  for (auto i = static_cast<std::uint32_t>(inverse_of_.size()); i < rules_.size(); ++i)
    inverse_of_.push_back(i);
}

// The search of all rules is one walk of the trie per pass. A pass holds the rules that are
// searched in the same mode since the same state, so the rules of a pass share the prefixes of
// their plans.
std::optional<StopReason> RuleSearch::run(const EGraph& egraph, std::span<const Request> requests,
                                          const Room& room, Budget& budget,
                                          base::ThreadPool* pool) {
  EGRET_CHECK(egraph.clean(), "search before rebuild()");
  EGRET_CHECK(requests.size() == rules_.size(), "one request for each rule");
  egraph_ = &egraph;
  now_ = Sighting::now(egraph);
  trie_.learn_symbols(egraph.ops());
  spare_.keep_at_most(std::min<std::size_t>(kMostSpare, room.bytes / kSpareShare));
  reset(requests);
  const ConstantClasses constants(trie_, egraph);
  make_passes(constants, room, budget);
  make_pending_passes(constants);
  make_items(constants);
  std::optional<StopReason> stop = run_items(constants, room, budget, pool);
  // An incremental search counts only new matches, so known + seen is an upper bound of all
  // matches. Where it exceeds the limit, a second pass counts all matches.
  if (!stop && make_count_pass(constants)) {
    make_items(constants);
    stop = run_items(constants, room, budget, pool);
  }
  conclude();
  return stop;
}

void RuleSearch::reset(std::span<const Request> requests) {
  deltas_.clear();
  passes_.clear();
  pass_modes_.clear();
  items_.clear();
  made_starts_.clear();
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    Rule& rule = rules_[i];
    rule.request = requests[i];
    rule.mode = Mode::kNone;
    rule.counting = rule.closed = rule.skipped = false;
    rule.seen = rule.seen_before_wave = 0;
    rule.put_off.clear();
    release(i);
    rule.found.exceeded = false;
    rule.found.seconds = 0;
  }
  for (const auto& worker : workers_) worker->open.assign(rules_.size(), nullptr);
}

void RuleSearch::make_passes(const ConstantClasses& constants, const Room& room, Budget& budget) {
  for (std::uint32_t i = 0; i < rules_.size(); ++i) {
    Rule& rule = rules_[i];
    if (rule.request.limit == 0 || has_said_all(i, room, budget)) continue;
    const Delta* delta = nullptr;
    rule.mode = choose_mode(constants, i, delta);
    if (rule.mode == Mode::kNone) continue;
    SearchPass& pass = pass_for(rule.mode, delta, !rule.request.resume);
    if (rule.mode == Mode::kIncremental) {
      for (const SearchTrie::Plan& plan : trie_.incremental_plans(i)) pass.activate(plan);
    } else {
      // A full or a filtered search runs the cheapest full plan. A filtered one keeps only matches
      // with a new node.
      pass.activate(*cheapest_plan(*egraph_, constants, trie_, i).plan);
    }
  }
}

// Chooses the cheapest mode. The estimate first compares the nodes visited at the first step. If
// that favors the full plan, it adds the expected cost of the second step (descent) to both sides.
// The descent costs more to estimate, because it samples the lists of the found classes.
RuleSearch::Mode RuleSearch::choose_mode(const ConstantClasses& constants, std::uint32_t rule,
                                         const Delta*& delta) {
  if (!constants.permit(rule)) return Mode::kNone;
  if (!rules_[rule].applied) return Mode::kFull;
  delta = delta_since(*rules_[rule].applied);
  if (delta == nullptr) return Mode::kFull;
  // A constant is bound before the walk and is no step of an incremental plan. If it is new,
  // matches of old nodes alone may be new.
  if (constants.changed(rule, *delta)) {
    delta = nullptr;
    return Mode::kFull;
  }
  if (delta->empty()) return Mode::kIncremental;  // from nothing
  if (trie_.incremental_plans(rule).empty()) return Mode::kFiltered;
  // For a resumed rule, a filtered search would postpone all starts instead of only new ones.
  if (rules_[rule].request.resume) return Mode::kIncremental;
  const auto incremental = trie_.incremental_plans(rule);
  std::uint64_t cost = 0;
  for (const SearchTrie::Plan& plan : incremental)
    cost += plan_cost(*egraph_, constants, trie_, plan, delta);
  const PlanChoice full = cheapest_plan(*egraph_, constants, trie_, rule);
  if (cost <= full.cost) return Mode::kIncremental;
  for (const SearchTrie::Plan& plan : incremental)
    cost += descent_cost(*egraph_, constants, trie_, plan, delta);
  const std::uint64_t descent = descent_cost(*egraph_, constants, trie_, *full.plan, nullptr);
  return cost <= full.cost + descent ? Mode::kIncremental : Mode::kFiltered;
}

// All matches of the present state were applied, and their equations hold.
bool RuleSearch::is_done(std::uint32_t index) const {
  const Rule& rule = rules_[index];
  return rule.applied == now_ && rule.pending.empty() && rule.all_hold;
}

// Whether the inverse shows that all matches of this rule add nothing, although its new matches
// were not searched. Counting needs one table per pattern node, so it must fit into the memory
// limit.
bool RuleSearch::has_said_all(std::uint32_t index, const Room& room, Budget& budget) {
  const std::uint32_t inverse = inverse_of_[index];
  if (inverse == index || egraph_->has_hidden() || is_done(index) || !is_done(inverse))
    return false;
  const auto count_nodes = [&](std::uint32_t rule) {
    std::uint64_t nodes = 0;
    for (const Pattern::Atom& atom : patterns_[rule]->atoms())
      nodes += egraph_->nodes_with(atom.op).size();
    return nodes;
  };
  const std::size_t most_atoms =
      std::max(patterns_[index]->atoms().size(), patterns_[inverse]->atoms().size());
  if (most_atoms * egraph_->id_count() * sizeof(std::uint64_t) > room.bytes) return false;
  budget.spend(count_nodes(index) + count_nodes(inverse));
  // The matches of the inverse, all of them applied, are matches of this rule too
  // (inverse_rules.h). Equal counts therefore mean that this rule has no others.
  const auto matches = count_matches(*egraph_, *patterns_[index]);
  Rule& rule = rules_[index];
  if (!matches || *matches > rule.request.limit) return false;
  if (matches != count_matches(*egraph_, *patterns_[inverse])) return false;
  rule.seen = *matches;
  rule.all_hold = true;
  rule.pending.clear();
  return true;
}

// The changes since a sighting, shared by all rules with that sighting; null if the e-graph's
// record does not reach back that far.
const Delta* RuleSearch::delta_since(const Sighting& seen) {
  for (const auto& delta : deltas_) {
    if (delta->seen() == seen) return delta.get();
  }
  std::optional<Delta> delta = Delta::since(*egraph_, seen);
  if (!delta) return nullptr;
  deltas_.push_back(std::make_unique<Delta>(*std::move(delta)));
  return deltas_.back().get();
}

// The pass with these parameters; makes it if there is none.
SearchPass& RuleSearch::pass_for(Mode mode, const Delta* delta, bool count_old) {
  const bool only_new = mode == Mode::kFiltered;
  count_old = count_old && only_new;
  for (std::uint32_t i = 0; i < passes_.size(); ++i) {
    SearchPass& pass = passes_[i];
    if (pass_modes_[i] == mode && pass.delta == delta && pass.count_old == count_old) return pass;
  }
  passes_.emplace_back(trie_);
  passes_.back().delta = delta;
  passes_.back().only_new = only_new;
  passes_.back().count_old = count_old;
  pass_modes_.push_back(mode);
  return passes_.back();
}

// Adds one pass for each postponed piece. Its plans may begin at the roots of other rules' plans,
// so the pieces cannot share a pass.
void RuleSearch::make_pending_passes(const ConstantClasses& constants) {
  for (std::uint32_t i = 0; i < rules_.size(); ++i) {
    Rule& rule = rules_[i];
    if (rule.request.limit == 0) continue;
    if (rule.mode == Mode::kFull) rule.pending.clear();  // all will be found anew
    if (!constants.permit(i)) continue;  // whatever makes it permitted again will be new
    for (const Pending& pending : rule.pending) {
      passes_.emplace_back(trie_);
      pass_modes_.push_back(Mode::kNone);
      for (const std::uint32_t plan : pending.plans) passes_.back().activate(trie_.plans()[plan]);
      add_items(static_cast<std::uint32_t>(passes_.size() - 1), pending.root,
                {pending.nodes, pending.class_begin, pending.class_end});
    }
  }
}

// Adds a counting pass for rules whose upper bound exceeds the limit. Returns whether there are
// any.
bool RuleSearch::make_count_pass(const ConstantClasses& constants) {
  passes_.clear();
  pass_modes_.clear();
  items_.clear();
  passes_.emplace_back(trie_);
  pass_modes_.push_back(Mode::kFull);
  SearchPass& pass = passes_.back();
  pass.keep_rows = false;
  bool any = false;
  for (std::uint32_t i = 0; i < rules_.size(); ++i) {
    Rule& rule = rules_[i];
    if (rule.mode != Mode::kIncremental || rule.closed || rule.request.resume) continue;
    if (rule.known + rule.seen <= rule.request.limit) continue;
    rule.counting = any = true;
    rule.seen = rule.seen_before_wave = 0;
    pass.activate(*cheapest_plan(*egraph_, constants, trie_, i).plan);
  }
  return any;
}

// Updates the bounds for the next search. After an incremental search `seen` counts only new
// matches, so the earlier bound is added. A full search or a counting pass counts all matches.
void RuleSearch::conclude() {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    Rule& rule = rules_[i];
    rule.found_before = rule.found.rows.size();
    rule.found.exceeded = rule.closed;
    if (rule.closed && !rule.request.resume) release(i);
    if (rule.mode == Mode::kIncremental && !rule.counting) rule.seen += rule.known;
  }
}

// Marks the rule as applied up to now_. Its postponed pieces become pending.
void RuleSearch::commit(std::size_t index, bool all_hold) {
  Rule& rule = rules_[index];
  EGRET_CHECK(!rule.found.exceeded || rule.request.resume, "some matches were not found");
  if (rule.request.limit == 0) return;
  rule.applied = now_;
  rule.all_hold = rule.all_hold && all_hold;
  rule.known = rule.seen;
  rule.pending = std::move(rule.put_off);
  rule.put_off.clear();
}

void RuleSearch::release(std::size_t index) {
  Found& found = rules_[index].found;
  for (MatchBuffer& rows : found.rows.take_buffers()) spare_.keep(std::move(rows));
  found.count = 0;
}

bool RuleSearch::has_pending() const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [](const Rule& rule) { return !rule.pending.empty(); });
}

// After this no delta is trusted, so the next search of each rule is full.
void RuleSearch::forget() {
  for (Rule& rule : rules_) {
    rule.applied.reset();
    rule.known = 0;
    rule.pending.clear();
    rule.all_hold = true;
  }
}

std::size_t RuleSearch::bytes() const {
  std::size_t bytes = 0;
  for (const Rule& rule : rules_) {
    // Unused capacity and spare buffers are excluded: they depend on the threads' timing.
    bytes += rule.found.rows.bytes();
    for (const Pending& pending : rule.pending) bytes += pending.nodes.size() * sizeof(NodeId);
  }
  return bytes;
}

}  // namespace egret::egraph
