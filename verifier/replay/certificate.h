// SPDX-License-Identifier: Apache-2.0
// A certificate: a proof, as data, that the outputs of two programs are equal.
//
//   {"schema_version": 1, "format": "egret-certificate", "sizes": {"batch": 1},
//    "open": {"time": [1, 2147483648, 512]},             least, most, an example
//    "obligations": {"4*time <= 3": "0:1;2:4"},         never true, by this proof
//    "symbols": [{"input": "x"}, {"operator": "relu"},
//                {"operator": "concat", "attributes": {"axis": "1"}},
//                {"constant": "<content hash>"},
//                {"constant": "<content hash>", "type": "f32[]", "value": "0.5"}],
//    "terms": [[0], [1, 0], ...],                      symbol, children, which are earlier terms
//    "rules": [{"name": "relu-of-relu", "hash": "<content hash of its meaning>"}],
//    "steps": [["rule", 0, 0, 2, 1, [0], []], ...],
//    "outputs": [{"name": "y", "before": 2, "after": 1, "step": 0}]}
//
// Each step proves one equality of terms from earlier ones, which it names by number; -1 stands for
// t = t, and so does an output's step.
//
//   ["sym", p]                                  b = a, from a = b
//   ["trans", p, q, ...]                        a = c, from a = b, b = c
//   ["cong", left, right, p, ...]               f(a, b) = f(c, d), from a = c, b = d
//   ["rule", rule, equation, left, right,       an instance of the rule's equation of that number;
//    [terms], [symbols]]                        the terms of its variables; the operators with
//                                               attributes of its sources, children first
//   ["fold", left, right, precision]            a term of constants, and the constant of its value
//   ["code", name, left, right]                 a step that the checker recomputes
//                                               (verifier/replay/code_steps.h)
//
// Open sizes are symbols, and sizes among attributes may be expressions over them. An obligation is
// a guard that no sizes meet, with its proof (verifier/index/size_facts.h).
//
// A constant without a value is one of the two programs', found by its hash; with it, it has rank
// 0. Sides are terms by number.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/core/attributes.h"
#include "verifier/index/proven_sizes.h"

namespace egret::verifier {

struct Certificate {
  static constexpr std::string_view kFormat = "egret-certificate";
  static constexpr std::int64_t kReflexive = -1;
  // A kind of step as text, and what follows it: l, r the sides, u the rule, q the equation, n the
  // name, S the substitution, O the operators, P any number of premises.
  struct Form {
    std::string_view kind;
    std::string_view items;
  };
  static constexpr Form kForms[] = {{"sym", "P"},       {"trans", "P"},  {"cong", "lrP"},
                                    {"rule", "uqlrSO"}, {"fold", "lrn"}, {"code", "nlr"}};

  struct Symbol {
    enum class Kind : std::uint8_t { kInput, kOperator, kConstant };
    Kind kind = Kind::kOperator;
    std::string name{};  // of an input or operator; of a constant its hash
    std::map<std::string, std::string> attributes{};
    std::string type{};  // of a constant with a value
    std::string value{};
    friend bool operator==(const Symbol&, const Symbol&) = default;
  };
  struct Term {
    std::uint32_t symbol = 0;
    std::vector<std::uint32_t> children{};
  };
  struct Rule {
    std::string name;
    std::string hash;
  };
  struct Step {
    enum class Kind : std::uint8_t {  // in the order of kForms
      kSymmetry,
      kTransitivity,
      kCongruence,
      kRule,
      kFold,
      kCode,
    };
    Kind kind = Kind::kSymmetry;
    std::uint32_t left = 0;  // not of sym and trans
    std::uint32_t right = 0;
    std::vector<std::int64_t> premises{};
    std::uint32_t rule = 0;
    std::uint32_t equation = 0;
    std::vector<std::uint32_t> substitution{};  // terms
    std::vector<std::uint32_t> operators{};     // symbols
    std::string name{};                         // of code; of fold its precision
    friend bool operator==(const Step&, const Step&) = default;
  };
  struct Output {
    std::string name;
    std::uint32_t before = 0;
    std::uint32_t after = 0;
    std::int64_t step = kReflexive;
  };

  bool reals = false;  // nodes that count on rounding are taken apart, too
  std::map<std::string, GivenSize> open;
  SizeProofs obligations;
  std::map<std::string, std::int64_t> sizes;  // to which open sizes were fixed
  std::vector<Symbol> symbols;
  std::vector<Term> terms;
  std::vector<Rule> rules;
  std::vector<Step> steps;
  std::vector<Output> outputs;
};

// Checks the form, that all numbers refer to what the document has, and that children and premises
// come first. Errors: bad_input that names the entry.
base::Result<Certificate> parse_certificate(std::string_view json);

// "step 17 (rule 'relu-of-relu')".
std::string step_name(const Certificate& certificate, std::size_t step);

}  // namespace egret::verifier
