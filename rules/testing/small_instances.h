// SPDX-License-Identifier: Apache-2.0
// Enumerates all small instances of a rule: its sources over tensors of few axes with sizes 1 and
// 2, and also 0 where the instantiator allows it. Unrelated sizes and axes then coincide in all
// possible ways, which random instances rarely show. Examples: a sum of two concatenations along
// different axes has the type of another one; broadcast operands have ranks in all combinations.
//
// Depth-first through the sources' applications, from the leaves up. A combination that an operator
// rejects is dropped at once, so the search extends only well-typed prefixes.
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
  // Called with a choice whose sources are well-typed; returning false ends the enumeration.
  using Visit = base::FunctionRef<bool(const Choice&)>;

  // `examples` are choices of instances, at least one. They provide element types, texts, reals and
  // lists (permutations, pads, ...). `effort` bounds all calls of visit_all() together. A type
  // lookup costs 1; running an operator's definition and a visit cost 10 each. The rule and the
  // instantiator must outlive the enumeration.
  SmallInstances(const Rule& rule, Instantiator& instantiator, std::span<const Choice> examples,
                 std::size_t effort);

  // Enumerates instances in which some tensor has `axes` axes and none has more. Single integer
  // attributes take the values 0 .. axes-1 and those of the examples. For operators without
  // operands they are sizes and also take 1 and 2. Returns whether all instances were visited:
  // neither did the effort run out nor did `visit` end it.
  bool visit_all(int axes, Visit visit);
  std::size_t effort_left() const { return effort_; }

 private:
  // One application among the sources. The applications that it takes as arguments come before it.
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
