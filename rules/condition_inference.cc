// SPDX-License-Identifier: Apache-2.0
#include "rules/condition_inference.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "rules/tester.h"

namespace egret::rules {

using ir::AttrValue;
using Outcome = Comparison::Outcome;

namespace {

constexpr std::size_t kEnough = 30;  // instances of each kind
constexpr std::size_t kMost = 300;
constexpr int kOutside = 100;
constexpr int kAttempts = 15'000;
constexpr int kDraws = 5;  // of tensors, an instance
constexpr std::size_t kFewest = 5;
constexpr double kShare = 0.7;  // of equal instances that an atom holds for
constexpr std::size_t kMostConjuncts = 4;
constexpr int kMostProofs = 6;  // candidates that are tried

enum class Label : std::uint8_t { kEqual, kUnequal, kUnknown };

Label label(const Rule& rule, const Instance& instance, const base::Random& random) {
  for (const auto& [slot, type] : instance.choice.variables) {
    if (type.dtype == ir::DType::kBool) return Label::kUnknown;  // often equal by chance
  }
  bool told = false;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    const Comparison comparison = compare(rule, instance, random.split(draw));
    if (comparison.outcome == Outcome::kDifferent) return Label::kUnequal;
    told = told || (comparison.outcome == Outcome::kEqual && !comparison.zeros);
  }
  return told ? Label::kEqual : Label::kUnknown;
}

// What expressions see of an instance.
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

Expr literal(std::int64_t number) { return {.kind = Expr::Kind::kLiteral, .value = number}; }

Expr call(std::string_view function, Expr a, Expr b) {
  Expr expr{.kind = Expr::Kind::kCall, .function = find_function(function)};
  expr.arguments.push_back(std::move(a));
  expr.arguments.push_back(std::move(b));
  return expr;
}

// The integers of a rule that an instance has.
std::vector<Expr> quantities(const Instance& like) {
  std::vector<Expr> all;
  for (const auto& [slot, type] : like.choice.variables) {
    for (int axis = 0; axis < type.rank(); ++axis)
      all.push_back(call("dim", {.kind = Expr::Kind::kTensor, .slot = slot}, literal(axis)));
  }
  const auto add = [&](const Expr& expr, const AttrValue& value) {
    if (std::holds_alternative<std::int64_t>(value)) all.push_back(expr);
    if (const auto* list = std::get_if<ir::Integers>(&value)) {
      for (std::size_t i = 0; i < list->size(); ++i)
        all.push_back(call("at", expr, literal(static_cast<std::int64_t>(i))));
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
  std::ptrdiff_t held = 0;  // equal instances
};

class Inference {
 public:
  Inference(const Rule& rule, const VerifyOptions& options, KnownSignatures& known)
      : rule_(rule), options_(options), known_(known) {}

  std::optional<InferredCondition> run() {
    sample();
    if (equal_.size() < kFewest || unequal_.size() < kFewest) return std::nullopt;
    collect_atoms();
    std::optional<InferredCondition> best;
    int proofs = 0;
    for (std::size_t size = 1; size <= kMostConjuncts && proofs < kMostProofs; ++size) {
      choose({}, 0, size, [&](const std::vector<std::size_t>& chosen) {
        InferredCondition candidate = proven(chosen);
        const bool done = candidate.verdict.status == Verdict::Status::kProven;
        if (done || !best) {
          best = std::move(candidate);
          best_ = chosen;
        }
        return done || ++proofs == kMostProofs;
      });
      if (best) break;
    }
    if (best) test_outside(*best);
    return best;
  }

 private:
  using Numbers = std::vector<std::optional<std::int64_t>>;

  void sample() {
    Instantiator instantiator(rule_, known_);
    const base::Random random(base::hash_combine(options_.seed, 0x636f6e64));
    const auto enough = [&] { return equal_.size() >= kEnough && unequal_.size() >= kEnough; };
    for (std::uint64_t attempt = 0; attempt < kAttempts && !enough(); ++attempt) {
      const base::Random stream = random.split(attempt);
      const auto instance = instantiator.attempt(stream);
      if (!instance) continue;
      if (quantities_.empty()) quantities_ = quantities(*instance);
      const Label known = label(rule_, *instance, stream.split(1));
      if (known == Label::kUnknown) continue;
      auto& like = known == Label::kEqual ? equal_ : unequal_;
      if (like.size() < kMost) like.push_back(numbers(*instance));
    }
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

  // Those that hold for (nearly) all equal instances and not for all others; those that hold for
  // most first. Of atoms that no instance tells apart, one.
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
    std::set<std::vector<bool>> known;
    for (Atom& atom : all) {
      std::vector<bool> truth;
      for (const auto* numbers : {&equal_, &unequal_}) {
        for (const Numbers& n : *numbers) truth.push_back(holds(atom, n));
      }
      const auto middle = truth.begin() + std::ssize(equal_);
      atom.held = std::count(truth.begin(), middle, true);
      const bool excludes_some = std::find(middle, truth.end(), false) != truth.end();
      if (static_cast<double>(atom.held) < kShare * static_cast<double>(equal_.size()) ||
          !excludes_some || !known.insert(truth).second)
        continue;
      atoms_.push_back(atom);
    }
    std::ranges::stable_sort(atoms_, std::greater(), &Atom::held);
    for (const Atom& atom : atoms_) {
      std::vector<bool>& excludes = excludes_.emplace_back();
      for (const Numbers& n : unequal_) excludes.push_back(!holds(atom, n));
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

  // Calls `visit` with each conjunction of so many atoms that excludes all unequal instances, until
  // it returns true.
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
    return call("==", quantities_[atom.left],
                atom.right ? quantities_[*atom.right] : literal(atom.number));
  }

  InferredCondition proven(const std::vector<std::size_t>& chosen) {
    InferredCondition result;
    result.rule = rule_;
    for (const std::size_t atom : chosen) {
      result.rule.conditions.push_back(expression(atoms_[atom]));
      result.text +=
          (result.text.empty() ? "" : " and ") + to_string(rule_, result.rule.conditions.back());
    }
    result.verdict = verify(result.rule, options_, known_);
    return result;
  }

  // Labels fresh instances that do not satisfy the condition.
  void test_outside(InferredCondition& condition) {
    Instantiator instantiator(rule_, known_);
    const base::Random random(base::hash_combine(options_.seed, 0x6f757473));
    for (std::uint64_t attempt = 0; attempt < kAttempts && condition.outside < kOutside;
         ++attempt) {
      const base::Random stream = random.split(attempt);
      const auto instance = instantiator.attempt(stream);
      if (!instance) continue;
      const Numbers n = numbers(*instance);
      if (std::ranges::all_of(best_, [&](std::size_t atom) { return holds(atoms_[atom], n); }))
        continue;
      const Label known = label(rule_, *instance, stream.split(1));
      if (known == Label::kUnknown) continue;
      ++condition.outside;
      condition.outside_equal += known == Label::kEqual ? 1 : 0;
    }
  }

  const Rule& rule_;
  const VerifyOptions& options_;
  KnownSignatures& known_;
  std::vector<Expr> quantities_;
  std::vector<Numbers> equal_;
  std::vector<Numbers> unequal_;
  std::vector<Atom> atoms_;
  std::vector<std::vector<bool>> excludes_;  // by atom: which unequal instances
  std::vector<std::size_t> best_;            // atoms of the best candidate
};

}  // namespace

std::optional<InferredCondition> infer_condition(const Rule& rule, const VerifyOptions& options,
                                                 KnownSignatures& known) {
  return Inference(rule, options, known).run();
}

}  // namespace egret::rules
