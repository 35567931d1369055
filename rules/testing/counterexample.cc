// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/counterexample.h"

#include <set>
#include <utility>

#include "base/stop.h"
#include "rules/testing/instance_numbers.h"

namespace egret::rules {
namespace {

constexpr int kComparisons = 200;

class Shrinking {
 public:
  Shrinking(const Instance& instance, Comparison found, Instantiator& instantiator,
            const base::Random& random, KnownOperators& known, std::int64_t most_elements)
      : instance_(instance),
        best_(std::move(found)),
        instantiator_(instantiator),
        random_(random),
        known_(known),
        most_elements_(most_elements) {}

  Comparison run() {
    for (bool smaller = true; smaller && left_ > 0 && !base::stop_requested();) {
      smaller = false;
      const ir::SymbolValues numbers = numbers_of(instantiator_.rule(), instance_).integers;
      std::set<std::int64_t> values;
      for (const auto& [name, number] : numbers) values.insert(number);
      for (const std::int64_t value : values)
        smaller = shrink([&](const auto& one) { return one.second == value; }, value) || smaller;
      for (const auto& number : numbers) {
        const auto is_same = [&](const auto& one) { return one.first == number.first; };
        smaller = shrink(is_same, number.second) || smaller;
      }
    }
    return best_;
  }

 private:
  // Sets the numbers that are meant, which equal `value`, to the smallest value that still refutes:
  // 0 and 1 first, then halfway, then one less.
  template <typename IsMeant>
  bool shrink(const IsMeant& is_meant, std::int64_t value) {
    for (const std::int64_t to : std::set<std::int64_t>{0, 1, value / 2, value - 1}) {
      if (to < 0 || to >= value || left_ <= 0) continue;
      ir::SymbolValues numbers = numbers_of(instantiator_.rule(), instance_).integers;
      bool changes = false;
      for (auto& one : numbers) {
        if (!is_meant(one) || one.second != value) continue;
        one.second = to;
        changes = true;
      }
      if (changes && accept(with_integers(instantiator_.rule(), instance_.choice, numbers)))
        return true;
    }
    return false;
  }

  bool accept(const Choice& choice) {
    --left_;
    for (const auto& [slot, type] : choice.variables) {
      if (instantiator_.sizes() == Sizes::kPositive && type.elements() == 0) return false;
    }
    auto smaller = instantiator_.of(choice, random_.split(1), most_elements_);
    if (!smaller) return false;
    Comparison comparison = compare(instantiator_.rule(), *smaller, random_.split(2), known_);
    if (comparison.outcome != Comparison::Outcome::kDifferent) return false;
    instance_ = *std::move(smaller);
    best_ = std::move(comparison);
    return true;
  }

  Instance instance_;
  Comparison best_;
  Instantiator& instantiator_;
  const base::Random random_;
  KnownOperators& known_;
  const std::int64_t most_elements_;
  int left_ = kComparisons;
};

}  // namespace

Comparison shrunk(const Instance& instance, Comparison found, Instantiator& instantiator,
                  const base::Random& random, KnownOperators& known, std::int64_t most_elements) {
  return Shrinking(instance, std::move(found), instantiator, random, known, most_elements).run();
}

}  // namespace egret::rules
