// SPDX-License-Identifier: Apache-2.0
// All small instances of a rule: what its sources may look like over tensors of few axes of sizes 1
// and 2. Sizes and axes that have nothing to do with each other agree among them as often as they
// can, which random instances seldom show: a sum of two concatenations along different axes has the
// type of another, operands that are broadcast have ranks of all combinations.
//
// Depth first through the sources' applications, from the leaves up: what an operator refuses is
// left at once, so that combinations are tried as far as types fit and no further.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "rules/testing/instantiation.h"

namespace egret::rules {

class SmallInstances {
 public:
  // Calls with a choice whose sources are well-typed; false ends the enumeration.
  using Visit = base::FunctionRef<bool(const Choice&)>;

  // Element types, texts, reals and lists (permutations, pads, ...) are those of `examples`, which
  // are instances' choices, at least one. `effort` is for all calls of visit_all(), in types
  // looked up; running an operator's definition takes ten, as does a visit. The rule and the
  // instantiator outlive the enumeration.
  SmallInstances(const Rule& rule, Instantiator& instantiator, std::span<const Choice> examples,
                 std::size_t effort);

  // Of tensors one of which has `axes` axes and none has more; single integer attributes are less
  // than `axes`, at least 0, or as in the examples, those of operators without operands, which are
  // sizes, also 1 and 2. Whether all were visited: neither did the
  // effort come to its end nor did `visit` end it.
  bool visit_all(int axes, Visit visit);
  std::size_t effort_left() const { return effort_; }

 private:
  // One application among the sources; those it takes come before it.
  struct Site {
    const Term* term = nullptr;
    std::vector<int> fresh{};             // variables that stand here first
    int binds = -1;                       // the name of the source that it is
    std::vector<ir::Attrs> examples{};    // different in what is no open integer
    std::vector<std::string> integers{};  // attributes that are one, and left open
    std::vector<std::int64_t> beyond{};   // what they are in the examples
    std::vector<std::int64_t> numbers{};  // what they are tried as
  };

  void add_sites(const Term& term);
  void add_examples(Site& site, std::span<const Choice> examples) const;
  bool go_on_from(std::size_t site);
  bool spend(std::size_t effort);
  bool with_types(std::size_t site, std::size_t fresh);
  bool with_attrs(std::size_t site, std::size_t integer);
  bool apply(std::size_t site);
  const ir::TensorType& type_of(const Term& term) const;

  const Rule& rule_;
  Instantiator& instantiator_;
  std::vector<Site> sites_;
  std::vector<ir::Dims> shapes_;
  int axes_ = 0;
  std::size_t effort_;
  std::optional<Visit> visit_;
  Choice choice_;
  std::map<const Term*, ir::TensorType> types_;
  std::map<int, ir::TensorType> bound_;
};

}  // namespace egret::rules
