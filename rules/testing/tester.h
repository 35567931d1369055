// SPDX-License-Identifier: Apache-2.0
// Random testing of rules: many small instances (rules/testing/instantiation.h) on random tensors.
// The reference interpreter evaluates both sides in f64, and the results are compared. A rule that
// passes is *tested*, which is evidence but no proof.
//
// Instances that are few are repeated with other tensors. A rule without instances whose sizes are
// at least 1 is tested with sizes of 0, if such instances exist.
//
// Tensors hold small dyadic numbers, so sums and products are exact. Elements where the left side
// is not finite are ignored. Rules tagged `rounding` hold up to the rounding of a constant and are
// compared with that tolerance.
//
// Deterministic for a seed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rules/language/rule.h"
#include "rules/testing/instance_source.h"
#include "rules/testing/instantiation.h"

namespace egret::rules {

struct TestOptions {
  int checks = 10'000;            // instances wanted
  int attempts_per_check = 1000;  // give up when fewer than one in so many attempts is an instance
  std::uint64_t seed = 1;
  // Of instances that random numbers rarely meet; null: none.
  MakeInstanceSource solved = nullptr;
};

// Tensors on which the two sides of a rule differ.
struct Difference {
  std::vector<std::pair<std::string, ir::Tensor>> inputs;  // of the left side, by name
  std::string output;                                      // where they differ; empty: right fails
  ir::Tensor left;
  ir::Tensor right;
};
// The same as text, with shapes and attributes.
struct Counterexample {
  std::string text{};
  std::shared_ptr<const Difference> difference{};
};

struct TestReport {
  enum class Verdict : std::uint8_t {
    kTested,      // as many checks as wanted (fewer, but 8, of large tensors), all passed
    kRefuted,     // see counterexample
    kUntestable,  // see reason
  };
  Verdict verdict = Verdict::kUntestable;
  int checks = 0;  // instances compared
  int attempts = 0;
  bool right_fails = false;  // in the counterexample
  bool is_vacuous = false;   // no instance exists, if none was found
  bool of_empty = false;     // no sizes of at least 1 satisfy the conditions: some size was 0
  std::string reason;        // of kUntestable
  // Shapes, attributes, tensors and both values, ready to print.
  std::string counterexample;
  std::shared_ptr<const Difference> difference{};  // of kRefuted: its tensors
};

// One tensor per input of the instance: small dyadic numbers, or the number that the conditions
// require.
std::vector<ir::Tensor> random_inputs(const Instance& instance, base::Random& random);

// The result of comparing both sides of an instance on random tensors.
struct Comparison {
  enum class Outcome : std::uint8_t {
    kEqual,
    kDifferent,
    kVoid,  // the left side cannot be evaluated, or has no finite element
  };
  Outcome outcome = Outcome::kVoid;
  bool right_fails = false;    // of kDifferent: as a whole, perhaps where nothing reads it
  bool zeros = false;          // or undefined: an element of the left side, that may read nothing
  std::string counterexample;  // of kDifferent
  std::shared_ptr<const Difference> difference{};
};
Comparison compare(const Rule& rule, const Instance& instance, base::Random random,
                   KnownOperators& known);

TestReport test_rule(const Rule& rule, const TestOptions& options, KnownOperators& known);
inline TestReport test_rule(const Rule& rule, const TestOptions& options = {}) {
  KnownOperators known;
  return test_rule(rule, options, known);
}

std::string_view to_string(TestReport::Verdict verdict);  // "tested", "refuted", "untestable"

}  // namespace egret::rules
