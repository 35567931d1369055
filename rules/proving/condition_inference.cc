// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/condition_inference.h"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "rules/language/expression_parts.h"
#include "rules/tensors/binding.h"
#include "rules/testing/instance_walk.h"
#include "rules/testing/tester.h"

namespace egret::rules {

using ir::AttrValue;
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
constexpr std::size_t kMostAlike = 12;  // atoms of classes that are dropped one by one
constexpr int kMostProofs = 8;          // candidates that are tried

enum class Label : std::uint8_t { kEqual, kUnequal, kUnknown };

Label label(const Rule& rule, const Instance& instance, const base::Random& random,
            KnownOperators& operators) {
  for (const auto& [slot, type] : instance.choice.variables) {
    if (type.dtype == ir::DType::kBool) return Label::kUnknown;  // often equal by chance
  }
  bool told = false;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const Comparison comparison = compare(rule, instance, random.split(draw), operators);
    if (comparison.outcome == Outcome::kDifferent) return Label::kUnequal;
    told = told || (comparison.outcome == Outcome::kEqual && !comparison.zeros);
  }
  return told ? Label::kEqual : Label::kUnknown;
}

// The environment in which expressions over an instance are evaluated.
class InstanceEnvironment {
 public:
  InstanceEnvironment(const Rule& rule, const Instance& instance)
      : environment_(make_environment(rule)), spreads_(instance.spreads) {
    for (const auto& [slot, type] : instance.choice.variables)
      facts_[slot] = {type, true, std::nullopt};
    for (const auto& [slot, facts] : facts_)
      environment_.tensors[static_cast<std::size_t>(slot)] = {&facts, 0};
    environment_.attributes = instance.attributes;
    for (std::size_t i = 0; i < spreads_.size(); ++i) environment_.spreads[i] = &spreads_[i];
  }
  InstanceEnvironment(const InstanceEnvironment&) = delete;
  InstanceEnvironment& operator=(const InstanceEnvironment&) = delete;

  std::optional<std::int64_t> integer(const Expr& expr) {
    const auto value = evaluate(expr, environment_);
    const auto* integer = value ? std::get_if<std::int64_t>(&*value) : nullptr;
    return integer != nullptr ? std::optional(*integer) : std::nullopt;
  }

 private:
  Environment environment_;
  std::vector<ir::Attrs> spreads_;
  std::map<int, TensorFacts> facts_;
};

// The integer quantities of a rule, with the structure (ranks, list lengths) of this instance.
std::vector<Expr> quantities(const Instance& like) {
  std::vector<Expr> all;
  for (const auto& [slot, type] : like.choice.variables) {
    for (int axis = 0; axis < type.rank(); ++axis)
      all.push_back(call("dim", {tensor(slot), literal(std::int64_t{axis})}));
  }
  const auto add = [&](const Expr& expr, const AttrValue& value) {
    if (std::holds_alternative<std::int64_t>(value)) all.push_back(expr);
    if (const auto* list = std::get_if<ir::Integers>(&value)) {
      for (std::size_t i = 0; i < list->size(); ++i)
        all.push_back(call("at", {expr, literal(static_cast<std::int64_t>(i))}));
    }
  };
  for (std::size_t i = 0; i < like.attributes.size(); ++i) {
    if (like.attributes[i])
      add({.kind = Expr::Kind::kAttribute, .slot = static_cast<int>(i)}, *like.attributes[i]);
  }
  for (std::size_t i = 0; i < like.spreads.size(); ++i) {
    for (const ir::Attrs::Entry& entry : like.spreads[i].entries())
      add({.kind = Expr::Kind::kSpread, .slot = static_cast<int>(i), .name = entry.name},
          entry.value);
  }
  return all;
}

struct Atom {
  std::size_t left = 0;
  std::optional<std::size_t> right{};  // none: the number
  std::int64_t number = 0;
};

// Atoms with equal truth values on all instances. One represents the others.
struct AtomClass {
  std::vector<Atom> atoms{};
  std::ptrdiff_t held = 0;  // equal instances
};

class Inference {
 public:
  Inference(const Rule& rule, const VerifyOptions& options, KnownOperators& known)
      : rule_(rule),
        options_(options),
        known_(known),
        random_(base::hash_combine(options.seed, 0x636f6e64)) {}

  // Tries conjunctions by increasing size, so the first proven one is small. Stops at a condition
  // that is tested to be the weakest, or after kMostProofs proofs.
  std::optional<InferredCondition> run() {
    sample();
    if (equal_.size() < kFewest || unequal_.size() < kFewest) return std::nullopt;
    collect_atoms();
    std::optional<InferredCondition> best;
    int proofs = 0;
    for (std::size_t size = 1; size <= kMostConjuncts; ++size) {
      const bool done = choose({}, 0, size, [&](const std::vector<std::size_t>& chosen) {
        InferredCondition candidate = proven_of(chosen);
        if (is_proven(candidate)) test_outside(candidate);
        const bool weakest = candidate.is_weakest();
        if (!best || is_better(candidate, *best)) best = std::move(candidate);
        return weakest || ++proofs == kMostProofs;
      });
      if (done) break;
    }
    return best;
  }

 private:
  using Numbers = std::vector<std::optional<std::int64_t>>;

  static bool is_proven(const InferredCondition& condition) {
    return condition.verdict.status == Verdict::Status::kProven;
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
      if (quantities_.empty()) quantities_ = quantities(*instance);
      if (quantities_.empty()) continue;  // of scalars alone: all instances have as many numbers
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
    if (known != Label::kUnknown && like.size() < kMost) like.push_back(numbers(instance));
    return known;
  }

  Numbers numbers(const Instance& instance) const {
    InstanceEnvironment environment(rule_, instance);
    Numbers result;
    for (const Expr& quantity : quantities_) result.push_back(environment.integer(quantity));
    return result;
  }

  static bool holds(const Atom& atom, const Numbers& numbers) {
    const auto& left = numbers[atom.left];
    const std::optional<std::int64_t> right = atom.right ? numbers[*atom.right] : atom.number;
    return left && right && *left == *right;
  }

  // Collects the atoms that hold for most equal instances but not for all unequal ones, in
  // descending order of the equal instances that satisfy them.
  void collect_atoms() {
    std::vector<Atom> all;
    for (std::size_t i = 0; i < quantities_.size(); ++i) {
      if (is_constant(i)) continue;
      for (std::size_t k = i + 1; k < quantities_.size(); ++k) {
        if (!is_constant(k)) all.push_back({.left = i, .right = k});
      }
      all.push_back({.left = i, .number = 0});
      all.push_back({.left = i, .number = 1});
    }
    std::map<std::vector<bool>, std::size_t> known;  // truths: class
    for (const Atom& atom : all) {
      std::vector<bool> truth;
      for (const auto* numbers : {&equal_, &unequal_}) {
        for (const Numbers& n : *numbers) truth.push_back(holds(atom, n));
      }
      const auto middle = truth.begin() + std::ssize(equal_);
      const std::ptrdiff_t held = std::count(truth.begin(), middle, true);
      const bool excludes_some = std::find(middle, truth.end(), false) != truth.end();
      if (static_cast<double>(held) < kShare * static_cast<double>(equal_.size()) || !excludes_some)
        continue;
      const std::size_t at = known.try_emplace(std::move(truth), atoms_.size()).first->second;
      if (at == atoms_.size()) atoms_.push_back({{}, held});
      atoms_[at].atoms.push_back(atom);
    }
    std::ranges::stable_sort(atoms_, std::greater(), &AtomClass::held);
    for (const AtomClass& like : atoms_) {
      std::vector<bool>& excludes = excludes_.emplace_back();
      for (const Numbers& n : unequal_) excludes.push_back(!holds(like.atoms.front(), n));
    }
  }

  bool is_constant(std::size_t quantity) const {
    for (const auto* numbers : {&equal_, &unequal_}) {
      for (const Numbers& n : *numbers) {
        if (n[quantity] != equal_.front()[quantity]) return false;
      }
    }
    return true;
  }

  // Calls `visit` with each conjunction of `size` classes that excludes all unequal instances,
  // until it returns true.
  template <typename Visit>
  bool choose(std::vector<std::size_t> chosen, std::size_t next, std::size_t size,
              const Visit& visit) {
    if (chosen.size() == size) return excludes_all(chosen) && visit(chosen);
    for (std::size_t i = next; i < atoms_.size(); ++i) {
      chosen.push_back(i);
      if (choose(chosen, i + 1, size, visit)) return true;
      chosen.pop_back();
    }
    return false;
  }

  bool excludes_all(const std::vector<std::size_t>& chosen) const {
    for (std::size_t n = 0; n < unequal_.size(); ++n) {
      if (std::ranges::none_of(chosen, [&](std::size_t atom) { return excludes_[atom][n]; }))
        return false;
    }
    return true;
  }

  Expr expression(const Atom& atom) const {
    return equal(quantities_[atom.left],
                 atom.right ? quantities_[*atom.right] : literal(atom.number));
  }

  // The condition of one atom per class. If that is not proven, tries all atoms of the classes and
  // drops those without which the proof still succeeds.
  InferredCondition proven_of(const std::vector<std::size_t>& classes) {
    std::vector<Atom> few;
    std::vector<Atom> all;
    for (const std::size_t like : classes) {
      const std::vector<Atom>& atoms = atoms_[like].atoms;
      few.push_back(atoms.front());
      all.insert(all.end(), atoms.begin(), atoms.end());
    }
    InferredCondition result = under(few);
    if (is_proven(result) || all.size() == few.size() || all.size() > kMostAlike) return result;
    InferredCondition strong = under(all);
    if (!is_proven(strong)) return result;
    for (std::size_t i = 0; i < all.size();) {
      std::vector<Atom> less = all;
      less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
      InferredCondition weaker = under(less);
      if (!is_proven(weaker)) {
        ++i;
        continue;
      }
      strong = std::move(weaker);
      all = std::move(less);
    }
    return strong;
  }
  InferredCondition under(std::vector<Atom> atoms) {
    InferredCondition result;
    result.rule = rule_;
    for (const Atom& atom : atoms) {
      result.rule.conditions.push_back(expression(atom));
      result.text +=
          (result.text.empty() ? "" : " and ") + to_string(rule_, result.rule.conditions.back());
    }
    result.verdict = verify(result.rule, options_, known_);
    conjunctions_[result.text] = std::move(atoms);
    return result;
  }

  // Labels fresh instances that violate the condition.
  void test_outside(InferredCondition& condition) {
    const std::vector<Atom>& atoms = conjunctions_.at(condition.text);
    Instantiator instantiator(rule_, known_);
    const base::Random random(base::hash_combine(options_.seed, 0x6f757473));
    for (std::uint64_t attempt = 0; attempt < kAttempts && condition.outside < kOutside;
         ++attempt) {
      const base::Random stream = random.split(attempt);
      const auto instance = instantiator.attempt(stream);
      if (!instance) continue;
      const Numbers n = numbers(*instance);
      if (std::ranges::all_of(atoms, [&](const Atom& atom) { return holds(atom, n); })) continue;
      const Label known = label(rule_, *instance, stream.split(1), known_);
      if (known == Label::kUnknown) continue;
      ++condition.outside;
      condition.outside_equal += known == Label::kEqual ? 1 : 0;
    }
  }

  const Rule& rule_;
  const VerifyOptions& options_;
  KnownOperators& known_;
  const base::Random random_;
  std::vector<Choice> starts_;  // of walks: instances of either kind
  std::size_t walked_ = 0;      // of them
  std::map<Label, int> walks_;
  std::vector<Expr> quantities_;
  std::vector<Numbers> equal_;
  std::vector<Numbers> unequal_;
  std::vector<AtomClass> atoms_;
  std::vector<std::vector<bool>> excludes_;                // by class: which unequal instances
  std::map<std::string, std::vector<Atom>> conjunctions_;  // that were tried, by their text
};

}  // namespace

std::optional<InferredCondition> infer_condition(const Rule& rule, const VerifyOptions& options,
                                                 KnownOperators& known) {
  return Inference(rule, options, known).run();
}

}  // namespace egret::rules
