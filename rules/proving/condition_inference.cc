// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/condition_inference.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/stop.h"
#include "rules/proving/condition_atoms.h"
#include "rules/testing/instance_walk.h"
#include "rules/testing/tester.h"

namespace egret::rules {

using Outcome = Comparison::Outcome;

namespace {

constexpr std::size_t kEnough = 30;  // instances of each kind
constexpr std::size_t kMost = 300;
constexpr int kOutside = 100;
constexpr int kAttempts = 15'000;
constexpr std::uint64_t kFirstAttempts = 6'000;  // for instances of both kinds
constexpr std::uint64_t kMostAttempts = 60'000;  // where some of both were found
constexpr int kWalks = 10;                       // from instances of each kind, of so many steps
constexpr std::uint64_t kSteps = 60;
constexpr int kDraws = 5;  // of tensors, an instance
constexpr std::size_t kFewest = 5;
constexpr double kShare = 0.7;  // of equal instances that an atom holds for
constexpr std::size_t kMostConjuncts = 4;
constexpr std::size_t kMostNodes = 20'000;      // of the search for conjunctions
constexpr std::size_t kMostConjunctions = 300;  // that one search finds
constexpr std::size_t kMostAlike = 12;          // atoms of classes that are dropped one by one
constexpr int kMostProofs = 12;
constexpr int kMostRounds = 60;  // searches; most find examples that exclude their conjunction
constexpr int kInside = 60;      // examples within a conjunction, before it is proven

enum class Label : std::uint8_t { kEqual, kUnequal, kUnknown };

// Labels an instance by several draws of tensors. One difference suffices for "unequal". Results
// with zeros may agree by chance, so "equal" needs one draw without zeros.
Label label(const Rule& rule, const Instance& instance, const base::Random& random,
            KnownOperators& operators) {
  for (const auto& [slot, type] : instance.choice.variables) {
    if (type.dtype == ir::DType::kBool) return Label::kUnknown;  // often equal by chance
  }
  for (const auto& output : instance.left.outputs()) {
    if (instance.left.node(output.node).type.elements() == 0) return Label::kUnknown;
  }
  bool told = false;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const Comparison comparison = compare(rule, instance, random.split(draw), operators);
    if (comparison.outcome == Outcome::kDifferent) return Label::kUnequal;
    told = told || (comparison.outcome == Outcome::kEqual && !comparison.zeros);
  }
  return told ? Label::kEqual : Label::kUnknown;
}

// Atoms with equal truth values on all examples. The first is preferred.
struct AtomClass {
  std::vector<Atom> atoms{};
  std::vector<bool> of_equal{};  // truths
  std::vector<bool> of_unequal{};
};

// A comparison turned around where it is one, so that it stays a fact about reals.
Expr negated(const Expr& condition) {
  static constexpr std::pair<std::string_view, std::string_view> kOpposites[] = {
      {"==", "!="}, {"<", ">="}, {"<=", ">"}};
  Expr result = condition;
  if (condition.kind == Expr::Kind::kCall) {
    for (const auto& [name, opposite] : kOpposites) {
      if (condition.function->name == name) result.function = find_function(opposite);
      if (condition.function->name == opposite) result.function = find_function(name);
    }
    if (result.function != condition.function) return result;
  }
  result = Expr{.kind = Expr::Kind::kCall, .function = find_function("not"), .at = condition.at};
  result.arguments.push_back(condition);
  return result;
}

// One of each class; together they exclude all unequal examples.
struct Conjunction {
  std::vector<std::size_t> classes{};
  std::ptrdiff_t held = 0;  // equal examples
  std::size_t cost = 0;     // of its atoms, by preference
};

// Learns a condition from examples: labels random instances, and searches for conjunctions of atoms
// that exclude the unequal ones. Looks for counterexamples to the best, and proves it if there are
// none.
class Inference {
 public:
  Inference(const Rule& rule, const VerifyOptions& options, KnownOperators& known)
      : rule_(rule),
        options_(options),
        known_(known),
        random_(base::hash_combine(options.seed, 0x636f6e64)) {}

  std::optional<InferredCondition> run() {
    sample();
    if (equal_.size() < kFewest || unequal_.size() < kFewest) return std::nullopt;
    std::optional<InferredCondition> best;
    int proofs = 0;
    for (int round = 0; round < kMostRounds && proofs < kMostProofs; ++round) {
      if (base::stop_requested()) break;
      collect_atoms();
      const auto next = best_conjunction();
      if (!next) break;
      const std::vector<Atom> atoms = first_atoms(*next);
      tried_.insert(text_of(atoms));
      if (is_refuted(atoms)) continue;
      InferredCondition candidate = proven_of(*next);
      ++proofs;
      if (is_proven(candidate)) test_outside(candidate);
      const bool weakest = candidate.weakest != InferredCondition::Weakest::kUnknown;
      if (!best || is_better(candidate, *best)) best = std::move(candidate);
      if (weakest) break;
    }
    // Instances that agree by chance on all tensors tried may hide that a condition is the weakest.
    if (best && is_proven(*best)) prove_weakest(*best);
    return best;
  }

 private:
  static bool is_proven(const InferredCondition& condition) {
    return condition.verdict.status == Verdict::Status::kProven && !condition.verdict.of_empty;
  }
  // A proven condition is better. Between two proven ones, the one whose excluded instances contain
  // the smaller share of equal ones is better.
  static bool is_better(const InferredCondition& a, const InferredCondition& b) {
    if (is_proven(a) != is_proven(b)) return is_proven(a);
    return a.outside_equal * b.outside < b.outside_equal * a.outside;
  }

  // Draws random instances and walks around them. If a rule is nearly true or nearly false, few
  // random instances are of the other kind.
  void sample() {
    Instantiator instantiator(rule_, known_);
    draw(instantiator, 0, kFirstAttempts);
    walk(instantiator);
    if (equal_.empty()) return;  // hopeless; unequal ones there are
    draw(instantiator, kFirstAttempts, kMostAttempts);
    walk(instantiator);
  }
  void draw(Instantiator& instantiator, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t attempt = first; attempt < last; ++attempt) {
      if (equal_.size() >= kEnough && unequal_.size() >= kEnough) return;
      const base::Random stream = random_.split(attempt);
      const auto instance = instantiator.attempt(stream);
      if (!instance) continue;
      if (!quantities_) quantities_.emplace(*instance);
      const Label known = take(*instance, stream.split(1));
      if (known != Label::kUnknown && walks_[known]++ < kWalks) starts_.push_back(instance->choice);
    }
  }
  // Walks from the instances drawn since the last walks.
  void walk(Instantiator& instantiator) {
    for (; walked_ < starts_.size(); ++walked_) {
      InstanceWalk walk(instantiator, starts_[walked_]);
      for (std::uint64_t step = 0; step < kSteps; ++step) {
        const base::Random stream = random_.split(kMostAttempts + walked_ * kSteps + step);
        if (const auto next = walk.step(stream)) take(*next, stream.split(1));
      }
    }
  }
  Label take(const Instance& instance, const base::Random& random) {
    const Label known = label(rule_, instance, random, known_);
    auto& like = known == Label::kEqual ? equal_ : unequal_;
    if (known != Label::kUnknown && like.size() < kMost)
      like.push_back(quantities_->values(rule_, instance));
    return known;
  }

  // The atoms that hold for most equal examples but not for all unequal ones.
  void collect_atoms() {
    std::vector<QuantityValues> all = equal_;
    all.insert(all.end(), unequal_.begin(), unequal_.end());
    classes_.clear();
    std::map<std::pair<std::vector<bool>, std::vector<bool>>, std::size_t> known;
    for (const Atom& atom : all_atoms(*quantities_, all)) {
      AtomClass own{{atom}};
      for (const QuantityValues& values : equal_) own.of_equal.push_back(holds(atom, values));
      const std::ptrdiff_t held = std::ranges::count(own.of_equal, true);
      if (static_cast<double>(held) < kShare * static_cast<double>(equal_.size())) continue;
      for (const QuantityValues& values : unequal_) own.of_unequal.push_back(holds(atom, values));
      if (std::ranges::count(own.of_unequal, false) == 0) continue;
      const auto [found, is_new] =
          known.try_emplace({own.of_equal, own.of_unequal}, classes_.size());
      if (is_new) {
        classes_.push_back(std::move(own));
      } else {
        classes_[found->second].atoms.push_back(atom);
      }
    }
  }

  // Of the small conjunctions that exclude all unequal examples and were not tried, the one with
  // the most equal examples and the simplest atoms.
  std::optional<Conjunction> best_conjunction() {
    found_.clear();
    nodes_ = 0;
    order_unequal();
    for (std::size_t size = 1; size <= kMostConjuncts && found_.size() < kMostConjunctions; ++size)
      extend({}, size);
    const auto order = [](const Conjunction& one) {
      return std::tuple(-one.held, one.classes.size(), one.cost, one.classes);
    };
    std::ranges::sort(found_, {}, order);
    for (Conjunction& one : found_) {
      if (!tried_.contains(text_of(first_atoms(one)))) return std::move(one);
    }
    return std::nullopt;
  }

  // The unequal examples, those first that the fewest atoms exclude.
  void order_unequal() {
    std::vector<std::pair<std::size_t, std::size_t>> counted;
    for (std::size_t n = 0; n < unequal_.size(); ++n) {
      std::size_t excluding = 0;
      for (const AtomClass& one : classes_) excluding += one.of_unequal[n] ? 0 : 1;
      counted.emplace_back(excluding, n);
    }
    std::ranges::sort(counted);
    order_.clear();
    for (const auto& [excluding, n] : counted) order_.push_back(n);
  }

  // Branches on the first unequal example that is not excluded (a search for hitting sets).
  void extend(const std::vector<std::size_t>& chosen, std::size_t size) {
    if (++nodes_ > kMostNodes * size || found_.size() >= kMostConjunctions) return;
    const auto open = std::ranges::find_if(order_, [&](std::size_t n) {
      return std::ranges::none_of(chosen,
                                  [&](std::size_t k) { return !classes_[k].of_unequal[n]; });
    });
    if (open == order_.end()) return note(chosen);
    if (chosen.size() == size) return;
    for (std::size_t k = 0; k < classes_.size(); ++k) {
      if (classes_[k].of_unequal[*open]) continue;
      std::vector<std::size_t> more = chosen;
      more.push_back(k);
      extend(more, size);
    }
  }

  void note(std::vector<std::size_t> chosen) {
    Conjunction one{.classes = std::move(chosen)};
    std::ranges::sort(one.classes);
    if (std::ranges::any_of(found_, [&](const auto& other) {
          return std::ranges::includes(one.classes, other.classes);
        }))
      return;
    for (const std::size_t k : one.classes)
      one.cost += static_cast<std::size_t>(classes_[k].atoms.front().form);
    for (std::size_t n = 0; n < equal_.size(); ++n) {
      one.held += std::ranges::all_of(one.classes,
                                      [&](std::size_t k) { return bool(classes_[k].of_equal[n]); })
                      ? 1
                      : 0;
    }
    found_.push_back(std::move(one));
  }

  std::vector<Atom> first_atoms(const Conjunction& conjunction) const {
    std::vector<Atom> atoms;
    for (const std::size_t k : conjunction.classes) atoms.push_back(classes_[k].atoms.front());
    return atoms;
  }
  Rule under(const std::vector<Atom>& atoms) const {
    Rule rule = rule_;
    for (const Atom& atom : atoms) rule.conditions.push_back(expression(atom, *quantities_));
    return rule;
  }
  std::string text_of(const std::vector<Atom>& atoms) const {
    std::string text;
    for (const Atom& atom : atoms)
      text += (text.empty() ? "" : " and ") + to_string(rule_, expression(atom, *quantities_));
    return text;
  }

  // Whether an unequal instance satisfies the atoms, or hardly any instance does. Examples of
  // either kind are kept.
  bool is_refuted(const std::vector<Atom>& atoms) {
    const Rule rule = under(atoms);
    Instantiator instantiator(rule, known_);
    int inside = 0;
    for (std::uint64_t attempt = 0; attempt < kFirstAttempts && inside < kInside; ++attempt) {
      const base::Random stream = random_.split(kMostAttempts + attempt).split(tried_.size());
      const auto instance = instantiator.attempt(stream);
      if (!instance) continue;
      ++inside;
      if (take(*instance, stream.split(1)) == Label::kUnequal) return true;
    }
    return inside < kInside / 2;
  }

  // The condition of one atom of each class. If that is not proven, tries all atoms of the classes
  // and drops those without which the proof still succeeds.
  InferredCondition proven_of(const Conjunction& conjunction) {
    const std::vector<Atom> few = first_atoms(conjunction);
    std::vector<Atom> all;
    for (const std::size_t k : conjunction.classes)
      all.insert(all.end(), classes_[k].atoms.begin(), classes_[k].atoms.end());
    InferredCondition result = proven_under(few);
    if (is_proven(result) || all.size() == few.size() || all.size() > kMostAlike) return result;
    InferredCondition strong = proven_under(all);
    if (!is_proven(strong)) return result;
    for (std::size_t i = 0; i < all.size();) {
      std::vector<Atom> less = all;
      less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
      InferredCondition weaker = proven_under(less);
      if (!is_proven(weaker)) {
        ++i;
        continue;
      }
      strong = std::move(weaker);
      all = std::move(less);
    }
    return strong;
  }
  InferredCondition proven_under(std::vector<Atom> atoms) {
    InferredCondition result;
    result.rule = under(atoms);
    result.text = text_of(atoms);
    result.verdict = verify(result.rule, options_, known_);
    conjunctions_[result.text] = std::move(atoms);
    return result;
  }

  // Labels fresh instances that violate the condition. It is tested to be the weakest if none of
  // them is equal.
  void test_outside(InferredCondition& condition) {
    const std::vector<Atom>& atoms = conjunctions_.at(condition.text);
    Instantiator instantiator(rule_, known_);
    const base::Random random(base::hash_combine(options_.seed, 0x6f757473));
    for (std::uint64_t attempt = 0; attempt < kAttempts && condition.outside < kOutside;
         ++attempt) {
      const base::Random stream = random.split(attempt);
      const auto instance = instantiator.attempt(stream);
      if (!instance) continue;
      const QuantityValues values = quantities_->values(rule_, *instance);
      if (std::ranges::all_of(atoms, [&](const Atom& atom) { return holds(atom, values); }))
        continue;
      const Label known = label(rule_, *instance, stream.split(1), known_);
      if (known == Label::kUnknown) continue;
      ++condition.outside;
      condition.outside_equal += known == Label::kEqual ? 1 : 0;
      if (known == Label::kEqual && equal_.size() < kMost) equal_.push_back(values);
    }
    if (condition.outside > 0 && condition.outside_equal == 0)
      condition.weakest = InferredCondition::Weakest::kTested;
  }

  // The instances outside of a conjunction, without overlap: those that violate the first atom,
  // those that satisfy it and violate the second, and so on.
  void prove_weakest(InferredCondition& condition) const {
    const VerifyOptions how = differing(options_);
    Rule rule = rule_;
    int rank = 0;
    for (const Atom& atom : conjunctions_.at(condition.text)) {
      const Expr holds = expression(atom, *quantities_);
      Rule outside = rule;
      outside.conditions.push_back(negated(holds));
      rule.conditions.push_back(holds);
      const Verdict verdict = verify(outside, how, known_);
      if (verdict.excludes_instances) continue;
      if (verdict.status != Verdict::Status::kProven || !verdict.cover.open.empty()) {
        condition.why_not_proven =
            verdict.status == Verdict::Status::kProven ? verdict.cover.open : verdict.reason;
        return;
      }
      rank = std::max(rank, verdict.cover.rank);
    }
    condition.weakest = InferredCondition::Weakest::kProven;
    condition.weakest_rank = rank;
  }

  const Rule& rule_;
  const VerifyOptions& options_;
  KnownOperators& known_;
  const base::Random random_;
  std::vector<Choice> starts_;  // of walks: instances of either kind
  std::size_t walked_ = 0;      // of them
  std::map<Label, int> walks_;
  std::optional<Quantities> quantities_;
  std::vector<QuantityValues> equal_;
  std::vector<QuantityValues> unequal_;
  std::vector<AtomClass> classes_;
  std::vector<std::size_t> order_;  // of the unequal examples
  std::vector<Conjunction> found_;
  std::size_t nodes_ = 0;
  std::set<std::string> tried_;
  std::map<std::string, std::vector<Atom>> conjunctions_;  // that were proven, by their text
};

}  // namespace

std::string_view to_string(InferredCondition::Weakest weakest) {
  switch (weakest) {
    case InferredCondition::Weakest::kUnknown: return "";
    case InferredCondition::Weakest::kTested: return "tested";
    case InferredCondition::Weakest::kProven: return "proven";
  }
  return "";
}

std::optional<InferredCondition> infer_condition(const Rule& rule, const VerifyOptions& options,
                                                 KnownOperators& known) {
  return Inference(rule, options, known).run();
}

}  // namespace egret::rules
