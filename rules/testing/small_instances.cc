// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/small_instances.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <variant>

#include "rules/language/attribute_pattern.h"

namespace egret::rules {
namespace {

constexpr int kLargestSize = 2;
constexpr std::size_t kMostExamples = 6;  // of lists and texts, of one application
// Costs relative to a cached type lookup, which costs 1.
constexpr std::size_t kInference = 10;
constexpr std::size_t kVisit = 10;

// All shapes of at most `axes` axes with sizes from `least` to 2, fewest axes first.
std::vector<ir::Dims> shapes_of(int axes, std::int64_t least) {
  std::vector<ir::Dims> shapes{{}};
  // Breadth first: the list grows while it is read, and ends at the first shape of full rank.
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (std::ssize(shapes[i]) == axes) break;
    for (std::int64_t size = least; size <= kLargestSize; ++size) {
      ir::Dims longer = shapes[i];
      longer.emplace_back(size);
      shapes.push_back(std::move(longer));
    }
  }
  return shapes;
}

// Whether two applications agree on the attributes that both capture or bind to the same variable.
bool same_where_shared(const Term& a, const ir::Attrs& of_a, const Term& b, const ir::Attrs& of_b) {
  for (const auto& [name, value] : of_a.entries()) {
    const Expr* first = pattern_of(a, name);
    if (first == nullptr) {
      const ir::AttrValue* other = of_b.find(name);
      const bool shared = a.spread >= 0 && a.spread == b.spread && pattern_of(b, name) == nullptr;
      if (shared && other != nullptr && !(*other == value)) return false;
      continue;
    }
    if (first->kind != Expr::Kind::kAttribute) continue;
    for (const Term::Attr& listed : b.attrs) {
      const bool same_variable =
          listed.value.kind == Expr::Kind::kAttribute && listed.value.slot == first->slot;
      const ir::AttrValue* other = same_variable ? of_b.find(listed.name) : nullptr;
      if (other != nullptr && !(*other == value)) return false;
    }
  }
  return true;
}

// Whether the rule leaves the attribute open.
bool is_open(const Term& term, const std::string& name) {
  const Expr* pattern = pattern_of(term, name);
  return pattern != nullptr ? pattern->kind == Expr::Kind::kAttribute
                            : term.spread != Term::kNoSpread;
}

}  // namespace

// A site is an application in a source, arguments before users. A variable is typed at the first
// site that uses it.
SmallInstances::SmallInstances(const Rule& rule, Instantiator& instantiator,
                               std::span<const Choice> examples, std::size_t effort)
    : rule_(rule), instantiator_(instantiator), effort_(effort), choice_(examples.front()) {
  for (const Binding& source : rule.sources) {
    add_sites(source.term);
    if (source.term.kind == Term::Kind::kApply) sites_.back().binds = source.tensor;
  }
  std::set<int> typed;
  for (Site& site : sites_) {
    for (const Term& argument : site.term->arguments) {
      const bool variable = argument.kind == Term::Kind::kTensor && rule.is_variable(argument.slot);
      if (variable && typed.insert(argument.slot).second) site.fresh.push_back(argument.slot);
    }
    add_examples(site, examples);
  }
}

void SmallInstances::add_sites(const Term& term) {
  if (term.kind != Term::Kind::kApply) return;
  for (const Term& argument : term.arguments) add_sites(argument);
  sites_.emplace_back().term = &term;
}

// Lists and texts are taken from examples. Open integers are enumerated, with the values of the
// examples in addition.
void SmallInstances::add_examples(Site& site, std::span<const Choice> examples) const {
  std::set<std::string> known;
  std::set<std::int64_t> beyond;
  for (const Choice& example : examples) {
    const ir::Attrs& attrs = example.attrs.at(site.term);
    ir::Attrs rest;
    for (const auto& [name, value] : attrs.entries()) {
      const auto* integer = std::get_if<std::int64_t>(&value);
      if (integer == nullptr || !is_open(*site.term, name)) {
        rest.set(name, value);
      } else {
        beyond.insert(*integer);
        if (known.empty()) site.integers.push_back(name);
      }
    }
    if (known.size() == kMostExamples) continue;
    if (known.insert(to_string(rest)).second) site.examples.push_back(attrs);
  }
  site.beyond.assign(beyond.begin(), beyond.end());
}

bool SmallInstances::visit_all(int axes, Visit visit) {
  axes_ = axes;
  shapes_ = shapes_of(axes, instantiator_.sizes() == Sizes::kWithZero ? 0 : 1);
  for (Site& site : sites_) {
    site.numbers.clear();
    // Integer attributes of operators without operands are sizes.
    const int end = site.term->arguments.empty() ? std::max(axes, kLargestSize + 1) : axes;
    for (int i = 0; i < end; ++i) site.numbers.push_back(i);
    std::ranges::copy_if(site.beyond, std::back_inserter(site.numbers),
                         [end](std::int64_t number) { return number < 0 || number >= end; });
  }
  visit_.emplace(visit);
  return go_on_from(0);
}

// A depth-first enumeration site by site: types of the fresh variables, then examples, then open
// integers, then the type of the application. A combination whose types do not fit ends its branch.
bool SmallInstances::go_on_from(std::size_t site) {
  if (site < sites_.size()) return with_types(site, 0);
  int most = 0;
  for (const auto& [slot, type] : choice_.variables) most = std::max(most, type.rank());
  // Choices with fewer axes belong to an earlier call.
  if (most < axes_) return true;  // of fewer axes
  return spend(kVisit) && (*visit_)(choice_);
}

// Counts work in deterministic units instead of time, so that the same instances are visited on
// every machine.
bool SmallInstances::spend(std::size_t effort) {
  if (effort > effort_) return false;
  effort_ -= effort;
  return true;
}

bool SmallInstances::with_types(std::size_t site, std::size_t fresh) {
  const std::vector<int>& slots = sites_[site].fresh;
  if (fresh == slots.size()) {
    for (const ir::Attrs& example : sites_[site].examples) {
      choice_.attrs.at(sites_[site].term) = example;
      if (!with_attrs(site, 0)) return false;
    }
    return true;
  }
  const std::optional<int> rank = instantiator_.rank_of(slots[fresh]);
  for (const ir::Dims& shape : shapes_) {
    if (rank && std::ssize(shape) != *rank) continue;
    choice_.variables.at(slots[fresh]).dims = shape;
    if (!with_types(site, fresh + 1)) return false;
  }
  return true;
}

bool SmallInstances::with_attrs(std::size_t site, std::size_t integer) {
  const Site& here = sites_[site];
  if (integer == here.integers.size()) return apply(site);
  for (const std::int64_t value : here.numbers) {
    choice_.attrs.at(here.term).set(here.integers[integer], value);
    if (!with_attrs(site, integer + 1)) return false;
  }
  return true;
}

bool SmallInstances::apply(std::size_t site) {
  const Site& here = sites_[site];
  const ir::Attrs& attrs = choice_.attrs.at(here.term);
  for (std::size_t earlier = 0; earlier < site; ++earlier) {
    const Term& other = *sites_[earlier].term;
    if (!same_where_shared(*here.term, attrs, other, choice_.attrs.at(&other))) return true;
  }
  if (!spend(1)) return false;
  std::vector<ir::TensorType> inputs;
  for (const Term& argument : here.term->arguments) inputs.push_back(type_of(argument));
  const std::size_t before = instantiator_.inferred();
  const auto type = instantiator_.type_of(*here.term->op, attrs, inputs);
  if (!spend(kInference * (instantiator_.inferred() - before))) return false;
  if (!type) return true;
  types_.insert_or_assign(here.term, *type);
  if (here.binds >= 0) bound_.insert_or_assign(here.binds, *type);
  return go_on_from(site + 1);
}

const ir::TensorType& SmallInstances::type_of(const Term& term) const {
  if (term.kind == Term::Kind::kApply) return types_.at(&term);
  return rule_.is_variable(term.slot) ? choice_.variables.at(term.slot) : bound_.at(term.slot);
}

}  // namespace egret::rules
