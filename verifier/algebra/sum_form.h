// SPDX-License-Identifier: Apache-2.0
// The normal form of an element's value: a sum of guarded monomials.
//
//   sum of   c * [guards] * factor * factor ...   over bound variables
//
// A term's variables range over integers. The guards alone define their ranges and hold for
// finitely many values. A factor is an element of a tensor, the reciprocal of a sum, a function of
// sums, an extremum or product over guarded variables, an index as a number, or the truth value of
// a comparison of sums. Sums are moved outwards, products are multiplied out, and selections become
// guards. Two values that are equal by the laws of fields and finite sums then differ only in
// variable names, in the form of guards, and in the form of indices (verifier/equality/equality.h).
//
// Semantics: exact real arithmetic. A rule is claimed wherever its left side is a finite number.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/analysis/sign.h"
#include "ir/core/denotation.h"
#include "verifier/index/index_solver.h"

namespace egret::verifier {

using Rational = boost::multiprecision::cpp_rational;

struct Sum;

// The arguments of a factor: immutable, and shared among copies of the factor.
class Arguments {
 public:
  Arguments() = default;
  Arguments(std::vector<Sum> sums);            // NOLINT: implicit as for the vector it stands for
  Arguments(std::initializer_list<Sum> sums);  // NOLINT

  std::size_t size() const;
  const Sum& operator[](std::size_t i) const;
  const Sum& front() const { return (*this)[0]; }
  const Sum* begin() const;
  const Sum* end() const;
  // Whether both are the same object, which is cheap to test.
  bool same(const Arguments& other) const { return sums_ == other.sums_; }

 private:
  std::shared_ptr<const std::vector<Sum>> sums_;  // or nullptr: none
};

struct Factor {
  enum class Kind : std::uint8_t {
    kRead,        // number: which tensor; indices
    kReciprocal,  // arguments[0]
    kQuotient,    // of integers, truncated: arguments[0] over arguments[1]
    kCall,        // function of arguments; number: 1 for a power of integers
    kMaximum,     // of two or more arguments, sorted
    kMinimum,
    kReduce,  // reduction of arguments[0] over variables where guards
    kIndex,   // indices[0], as a number
    kLess,    // [arguments[0] < arguments[1]]
    kLessEqual,
    kEqual,
    kCast,         // number: to which element type
    kFiniteWhere,  // arguments[0] where guards, else minus infinity (verifier/algebra/infinity.h)
  };
  Kind kind = Kind::kRead;
  std::int64_t number = 0;
  ir::Function function = ir::Function::kExp;
  ir::Reduction reduction = ir::Reduction::kSum;
  std::vector<Polynomial> indices{};
  Arguments arguments{};
  std::vector<AtomId> variables{};
  Facts guards{};
  bool truth = false;                  // kRead: elements are 0 or 1
  ir::DType dtype = ir::DType::kF64;   // kRead: of the tensor
  ir::Sign sign = ir::Sign::kUnknown;  // kRead: of all elements of the tensor
};

struct Term {
  Rational coefficient = 1;
  std::vector<AtomId> variables{};
  Facts guards{};
  std::vector<Factor> factors;
};

struct Sum {
  std::vector<Term> terms{};
  bool is_zero() const { return terms.empty(); }
};

// Applies `change` to each argument.
template <typename Change>
Arguments mapped(const Arguments& arguments, const Change& change) {
  std::vector<Sum> result;
  result.reserve(arguments.size());
  for (const Sum& argument : arguments) result.push_back(change(argument));
  return result;
}

// Whether the term has no variables and no guards.
bool is_plain(const Term& term);
// The value of a constant sum, else nullopt.
std::optional<Rational> number_of(const Sum& sum);
// The factor, if the sum is exactly one factor; else nullptr.
const Factor* only_factor(const Sum& sum);

inline bool is_call(const Factor& factor, ir::Function function) {
  return factor.kind == Factor::Kind::kCall && factor.function == function;
}

// Total orders by structure.
int compare(const Factor& a, const Factor& b);
int compare(const Sum& a, const Sum& b);

// Equality up to the names of bound variables. compare() distinguishes such sums.
bool alike(AtomTable& atoms, const Sum& a, const Sum& b);
// Adds up terms that are alike.
Sum joined(AtomTable& atoms, const Sum& sum);

Sum constant_sum(const Rational& value);
Sum factor_sum(Factor factor);
Sum operator+(Sum a, const Sum& b);
Sum scaled(Sum a, const Rational& by);
Sum difference(const Sum& a, const Sum& b);
// The two must not share bound variables.
Sum product(const Sum& a, const Sum& b);
// The sum where the guards hold, and 0 elsewhere.
Sum guarded(Sum a, const Facts& guards);

// Applies a change to every polynomial. Variable capture cannot occur: each instantiation of a
// value has fresh bound variables.
using Change = std::function<Polynomial(const Polynomial&)>;
Sum changed(const Sum& sum, const Change& change);
Sum substitute(AtomTable& atoms, const Sum& sum, const AtomTable::Substitution& by);
Factor substitute(AtomTable& atoms, const Factor& factor, const AtomTable::Substitution& by);
bool occurs(const AtomTable& atoms, AtomId variable, const Sum& in);
// The sum with fresh bound variables.
Sum renamed(AtomTable& atoms, const Sum& sum);

std::string text(const AtomTable& atoms, const Sum& sum);

}  // namespace egret::verifier
