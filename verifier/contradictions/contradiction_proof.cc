// SPDX-License-Identifier: Apache-2.0
#include "verifier/contradictions/contradiction_proof.h"

#include <algorithm>
#include <utility>

namespace egret::verifier {
namespace {

using Kind = ContradictionProof::Kind;
using Relation = QueryFact::Relation;
using Step = ContradictionProof::Step;
using Summand = ContradictionProof::Summand;

constexpr std::size_t kMostFactors = 8;

bool are_unknowns(const Query& query, const QueryProduct& product) {
  return std::ranges::is_sorted(product) && std::ranges::all_of(product, [&](std::uint32_t node) {
           return node < query.nodes().size() && query.nodes()[node].op == Query::Op::kUnknown;
         });
}

bool is_square(const QueryProduct& product) {
  if (product.size() % 2 != 0) return false;
  for (std::size_t i = 0; i + 1 < product.size(); i += 2) {
    if (product[i] != product[i + 1]) return false;
  }
  return true;
}

// Adds the summand's value. False if it is not known to be at least 0; `strict`: it is above.
bool add_summand(const QueryCase& one, const Summand& summand, QueryPolynomial& sum, bool& strict) {
  if (summand.facts.empty() || summand.facts.size() > kMostFactors ||
      !are_unknowns(one.atoms().query(), summand.unknowns))
    return false;
  QueryPolynomial value{{summand.unknowns, 1}};
  bool equation = false;
  bool positive = summand.unknowns.empty();
  for (const std::int64_t name : summand.facts) {
    const auto fact = one.fact(name);
    if (!fact) return false;
    equation = equation || fact->relation == Relation::kZero;
    positive = positive && fact->relation == Relation::kPositive;
    value = product_of(value, fact->value);
  }
  if (!equation && (summand.factor <= 0 || !is_square(summand.unknowns))) return false;
  strict = strict || (positive && !equation);
  add_to(sum, value, summand.factor);
  return true;
}

bool adds_up(const QueryCase& one, const std::vector<Summand>& summands) {
  QueryPolynomial sum;
  bool strict = false;
  for (const Summand& summand : summands) {
    if (!add_summand(one, summand, sum, strict)) return false;
  }
  if (sum.empty()) return strict;
  return sum.size() == 1 && sum.begin()->first.empty() && sum.begin()->second < 0;
}

bool is_whole(const Query& query, const QueryPolynomial& value) {
  return query.sort() == Query::Sort::kInteger && std::ranges::all_of(value, [&](const auto& term) {
           return denominator(term.second) == 1 && are_unknowns(query, term.first);
         });
}

// `left`: how many more steps may be visited. A tree visits each once.
bool check(QueryCase one, const ContradictionProof& proof, std::size_t at, std::size_t depth,
           std::size_t& left) {
  one.conclude();
  if (one.is_contradictory()) return true;
  if (at >= proof.steps.size() || depth > kMostCasesDeep || left == 0) return false;
  --left;
  const Step& step = proof.steps[at];
  if (step.kind == Kind::kConflict) return false;
  if (step.kind == Kind::kSum) return adds_up(one, step.sum);
  if (step.first >= at || step.second >= at) return false;
  QueryCase other = one;
  switch (step.kind) {
    case Kind::kTruth:
      if (step.node >= one.truths().size() || !one.atoms().is_formula(step.node)) return false;
      one.assume(step.node, true);
      other.assume(step.node, false);
      break;
    case Kind::kApart: {
      if (step.node >= one.truths().size() || !one.atoms().is_comparison(step.node) ||
          one.atoms().query().nodes()[step.node].op != Query::Op::kEqual ||
          one.truth(step.node) >= 0)
        return false;
      auto up = one.atoms().difference(one.truths(), step.node);
      if (!up) return false;
      QueryPolynomial down;
      add_to(down, *up, -1);
      const bool whole = one.atoms().query().sort() == Query::Sort::kInteger;
      if (whole) {
        add_to(*up, {{{}, 1}}, -1);
        add_to(down, {{{}, 1}}, -1);
      }
      const Relation relation = whole ? Relation::kNonNegative : Relation::kPositive;
      one.assume({std::move(*up), relation});
      other.assume({std::move(down), relation});
      break;
    }
    case Kind::kBound: {
      if (!is_whole(one.atoms().query(), step.value)) return false;
      QueryPolynomial above = step.value;
      add_to(above, {{{}, step.bound}}, -1);
      QueryPolynomial below;
      add_to(below, above, -1);
      add_to(above, {{{}, 1}}, -1);
      one.assume({std::move(below), Relation::kNonNegative});
      other.assume({std::move(above), Relation::kNonNegative});
      break;
    }
    default: return false;
  }
  return check(std::move(one), proof, step.first, depth + 1, left) &&
         check(std::move(other), proof, step.second, depth + 1, left);
}

}  // namespace

bool is_contradictory(QueryCase one, const ContradictionProof& proof, std::size_t step) {
  std::size_t left = proof.steps.size();
  return check(std::move(one), proof, step, 0, left);
}

bool is_contradictory(const Query& query, const ContradictionProof& proof) {
  const QueryAtoms atoms(query);
  QueryCase all(atoms);
  for (const std::uint32_t assertion : proof.assertions) {
    if (assertion >= query.assertions().size()) return false;
    all.assume(query.assertions()[assertion], true);
  }
  if (proof.steps.empty()) return false;
  return is_contradictory(std::move(all), proof, proof.steps.size() - 1);
}

namespace {

using base::Json;
using base::Result;

// Whole numbers as numbers, others as "a/b".
Json json_of(const ExactRational& number) {
  if (denominator(number) == 1 && abs(numerator(number)) < (std::int64_t{1} << 53))
    return static_cast<std::int64_t>(numerator(number));
  return number.str();
}

Result<ExactRational> rational_of(const Json& json) {
  if (json.is_number()) {
    EGRET_ASSIGN_OR_RETURN(const std::int64_t whole, json.as_integer());
    return ExactRational(whole);
  }
  EGRET_ASSIGN_OR_RETURN(const std::string text, json.as_string());
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t sign = text.starts_with("-") ? 1 : 0;
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string top = text.substr(sign, slash - sign);
  const std::string bottom = slash < text.size() ? text.substr(slash + 1) : "1";
  constexpr std::size_t kMostDigits = 200;
  for (const std::string& part : {top, bottom}) {
    if (part.empty() || part.size() > kMostDigits || !std::ranges::all_of(part, is_digit))
      return base::bad_input("'" + text + "' is no number");
  }
  // A zero in front would make the digits octal ones.
  const auto digits = [](const std::string& part) {
    const std::size_t first = std::min(part.find_first_not_of('0'), part.size() - 1);
    return boost::multiprecision::cpp_int(part.substr(first));
  };
  if (digits(bottom) == 0) return base::bad_input("'" + text + "' divides by 0");
  const ExactRational value(digits(top), digits(bottom));
  return sign == 1 ? ExactRational(-value) : value;
}

template <typename Integer>
Json list_of(const std::vector<Integer>& numbers) {
  Json list = Json::array();
  for (const Integer number : numbers) list.push(static_cast<std::int64_t>(number));
  return list;
}

template <typename Integer>
Result<std::vector<Integer>> numbers_of(const Json& json) {
  if (!json.is_array()) return base::bad_input("a list of numbers is missing");
  std::vector<Integer> numbers;
  for (const Json& item : json.items()) {
    EGRET_ASSIGN_OR_RETURN(const std::int64_t number, item.as_integer());
    if (!std::in_range<Integer>(number)) return base::bad_input("a number is out of range");
    numbers.push_back(static_cast<Integer>(number));
  }
  return numbers;
}

Json json_of(const Step& step) {
  const auto cases = [&](Json json) {
    return json.push(std::uint64_t{step.first}).push(std::uint64_t{step.second});
  };
  switch (step.kind) {
    case Kind::kConflict: return "conflict";
    case Kind::kSum: {
      Json list = Json::array().push("sum");
      for (const Summand& one : step.sum) {
        Json json = Json::array().push(json_of(one.factor)).push(list_of(one.facts));
        if (!one.unknowns.empty()) json.push(list_of(one.unknowns));
        list.push(std::move(json));
      }
      return list;
    }
    case Kind::kTruth: return cases(Json::array().push("truth").push(std::int64_t{step.node}));
    case Kind::kApart: return cases(Json::array().push("apart").push(std::int64_t{step.node}));
    case Kind::kBound: {
      Json value = Json::array();
      for (const auto& [product, coefficient] : step.value)
        value.push(Json::array().push(json_of(coefficient)).push(list_of(product)));
      return cases(Json::array().push("bound").push(std::move(value)).push(step.bound));
    }
  }
  return {};
}

Result<Step> step_of(const Json& json) {
  if (json.is_string()) return Step{};
  if (!json.is_array() || json.items().size() < 2 || !json.items()[0].is_string())
    return base::bad_input("a step is malformed");
  const std::vector<Json>& items = json.items();
  EGRET_ASSIGN_OR_RETURN(const std::string kind, items[0].as_string());
  Step step;
  if (kind == "sum") {
    step.kind = Kind::kSum;
    for (std::size_t i = 1; i < items.size(); ++i) {
      if (!items[i].is_array() || items[i].items().size() < 2)
        return base::bad_input("a summand is malformed");
      const std::vector<Json>& parts = items[i].items();
      Summand one;
      EGRET_ASSIGN_OR_RETURN(one.factor, rational_of(parts[0]));
      EGRET_ASSIGN_OR_RETURN(one.facts, numbers_of<std::int64_t>(parts[1]));
      if (parts.size() > 2) {
        EGRET_ASSIGN_OR_RETURN(one.unknowns, numbers_of<std::uint32_t>(parts[2]));
      }
      step.sum.push_back(std::move(one));
    }
    return step;
  }
  const std::size_t given = kind == "bound" ? 5 : 4;
  if (items.size() != given) return base::bad_input("a step is malformed");
  EGRET_ASSIGN_OR_RETURN(const std::int64_t first, items[given - 2].as_integer());
  EGRET_ASSIGN_OR_RETURN(const std::int64_t second, items[given - 1].as_integer());
  step.first = static_cast<std::size_t>(first);
  step.second = static_cast<std::size_t>(second);
  if (kind == "bound") {
    step.kind = Kind::kBound;
    if (!items[1].is_array()) return base::bad_input("a step is malformed");
    for (const Json& term : items[1].items()) {
      if (!term.is_array() || term.items().size() != 2)
        return base::bad_input("a term is malformed");
      EGRET_ASSIGN_OR_RETURN(const ExactRational coefficient, rational_of(term.items()[0]));
      EGRET_ASSIGN_OR_RETURN(QueryProduct product, numbers_of<std::uint32_t>(term.items()[1]));
      add_to(step.value, {{std::move(product), 1}}, coefficient);
    }
    EGRET_ASSIGN_OR_RETURN(step.bound, items[2].as_integer());
    return step;
  }
  if (kind != "truth" && kind != "apart")
    return base::bad_input("'" + kind + "' is no kind of step");
  step.kind = kind == "truth" ? Kind::kTruth : Kind::kApart;
  EGRET_ASSIGN_OR_RETURN(const std::int64_t node, items[1].as_integer());
  if (!std::in_range<std::uint32_t>(node)) return base::bad_input("a number is out of range");
  step.node = static_cast<std::uint32_t>(node);
  return step;
}

}  // namespace

Json json_of(const ContradictionProof& proof) {
  Json steps = Json::array();
  for (const Step& step : proof.steps) steps.push(json_of(step));
  return Json::object().set("uses", list_of(proof.assertions)).set("steps", std::move(steps));
}

Result<ContradictionProof> parse_contradiction_proof(const Json& json) {
  const Json* uses = json.find("uses");
  const Json* steps = json.find("steps");
  if (uses == nullptr || steps == nullptr || !steps->is_array())
    return base::bad_input("a proof has \"uses\" and \"steps\"");
  ContradictionProof proof;
  EGRET_ASSIGN_OR_RETURN(proof.assertions, numbers_of<std::uint32_t>(*uses));
  for (const Json& step : steps->items()) {
    EGRET_ASSIGN_OR_RETURN(Step made, step_of(step));
    proof.steps.push_back(std::move(made));
  }
  return proof;
}

}  // namespace egret::verifier
