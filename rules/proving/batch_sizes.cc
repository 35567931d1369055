// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/batch_sizes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "rules/language/expression_reads.h"
#include "rules/proving/generalization.h"
#include "rules/tensors/binding.h"
#include "rules/testing/instance_conditions.h"
#include "rules/testing/instance_numbers.h"

namespace egret::rules {
namespace {

bool is_dim(const Expr& expr) {
  return expr.kind == Expr::Kind::kCall && expr.function->name == "dim";
}

// The sizes of variables on which the rule's attributes depend, or conditions that are no mere
// equations.
class SizesInUse {
 public:
  SizesInUse(const Rule& rule, const Choice& choice)
      : rule_(rule), choice_(choice), nothing_(make_environment(rule)) {
    for (const Binding& source : rule.sources) add(source.term);
    for (const Binding& target : rule.targets) add(target.term);
    for (const Rule::Let& let : rule.lets) {
      if (let.attribute >= 0) {
        add(let.value);
      } else {
        add(let.term);
      }
    }
    for (const Expr& condition : conjuncts(rule)) {
      if (!only_equates_sizes(condition)) add(condition);
    }
  }

  const std::set<std::string>& names() const { return names_; }

 private:
  void add(const Term& term) {
    for_each_subterm(term, [&](const Term& part) {
      for (const Term::Attr& attr : part.attrs) add(attr.value);
      for (const Expr& value : part.value) add(value);
    });
  }

  void add(const Expr& expr) {
    for_each_part(expr, [&](const Expr& part) {
      if (part.kind == Expr::Kind::kCall && part.function->tensors > 0) add_call(part);
    });
  }

  void add_call(const Expr& call) {
    if (reads_of(*call.function) != Reads::kSizes) return;
    const int slot = call.arguments[0].slot;
    const auto variable = choice_.variables.find(slot);
    if (variable == choice_.variables.end() || call.function->tensors > 1) {
      for (const auto& [any, type] : choice_.variables) add_all(any, type);
      return;
    }
    std::optional<ir::AttrValue> axis;
    if (is_dim(call) && is_constant(call.arguments[1]))
      axis = evaluate(call.arguments[1], nothing_);
    const auto* number = axis ? std::get_if<std::int64_t>(&*axis) : nullptr;
    if (number == nullptr) return add_all(slot, variable->second);
    const std::int64_t from_first = *number < 0 ? *number + variable->second.rank() : *number;
    if (from_first >= 0)
      names_.insert(size_name(rule_, slot, static_cast<std::size_t>(from_first)));
  }

  void add_all(int slot, const ir::TensorType& type) {
    for (std::size_t axis = 0; axis < type.dims.size(); ++axis)
      names_.insert(size_name(rule_, slot, axis));
  }

  const Rule& rule_;
  const Choice& choice_;
  Environment nothing_;
  std::set<std::string> names_;
};

// Makes sizes of 1 equal to others, where the rule admits it.
class Spread {
 public:
  Spread(const Rule& rule, const Choice& choice, Instantiator& instantiator)
      : rule_(rule),
        instantiator_(instantiator),
        numbers_(sizes_of(rule, choice)),
        choice_(choice) {
    for (const auto& [name, size] : numbers_) {
      if (size == 1) ones_.push_back(name);
    }
    // Sizes that must be equal become so together, most often along axes at the same distance from
    // the last.
    std::map<std::size_t, std::vector<std::string>> aligned;
    for (const auto& [slot, type] : choice.variables) {
      for (std::size_t axis = 0; axis < type.dims.size(); ++axis)
        aligned[type.dims.size() - axis].push_back(size_name(rule, slot, axis));
    }
    for (const std::string& name : ones_) raise_to_others(name);
    for (const auto& [distance, names] : aligned) raise(names, unused());
    for (const std::string& name : ones_) {
      if (numbers_.at(name) == 1) raise({&name, 1}, unused());
      raise_to_others(name);
    }
    for (const std::string& name : ones_) raise_to_others(name);
  }

  Choice take() && { return std::move(choice_); }

 private:
  // A prime that no size is.
  std::int64_t unused() const {
    for (const std::int64_t prime : {2, 3, 5, 7, 11, 13}) {
      if (std::ranges::none_of(numbers_, [&](const auto& one) { return one.second == prime; }))
        return prime;
    }
    return 17;
  }

  void raise_to_others(const std::string& name) {
    std::set<std::int64_t> others;
    for (const auto& [other, size] : numbers_) {
      if (size > 1) others.insert(size);
    }
    for (const std::int64_t size : others) raise({&name, 1}, size);
  }

  void raise(std::span<const std::string> names, std::int64_t size) {
    ir::SymbolValues raised = numbers_;
    for (const std::string& name : names) {
      std::int64_t& number = raised.at(name);
      if (number == 1) number = size;
    }
    if (raised == numbers_) return;
    Choice next = with_integers(rule_, choice_, raised);
    if (!instantiator_.of(next, base::Random(1))) return;
    numbers_ = std::move(raised);
    choice_ = std::move(next);
  }

  const Rule& rule_;
  Instantiator& instantiator_;
  ir::SymbolValues numbers_;
  std::vector<std::string> ones_;
  Choice choice_;
};

void add_variables(const Rule& rule, const Term& term, std::set<int>& slots) {
  for_each_subterm(term, [&](const Term& part) {
    if (part.kind != Term::Kind::kTensor) return;
    if (rule.is_variable(part.slot)) {
      slots.insert(part.slot);
      return;
    }
    for (const Binding& source : rule.sources) {
      if (source.tensor == part.slot) add_variables(rule, source.term, slots);
    }
  });
}

// Sizes that the path requires to be equal, in groups; those that the rule uses otherwise, or that
// are 1, are left out with their groups.
//
// The members of a group must occur in one source. Along the axis, its output then has the size of
// all members that do not have size 1.
std::vector<std::vector<std::string>> equal_sizes(const Rule& rule, const Choice& choice,
                                                  const Trace& trace) {
  std::map<std::string, int> slots;
  std::map<std::string, std::string> parents;
  for (const auto& [slot, type] : choice.variables) {
    for (std::size_t axis = 0; axis < type.dims.size(); ++axis)
      slots.emplace(size_name(rule, slot, axis), slot);
  }
  const auto root = [&](std::string name) {
    for (auto up = parents.find(name); up != parents.end(); up = parents.find(name))
      name = up->second;
    return name;
  };
  for (const ir::Decision& decision : trace.decisions) {
    if (decision.is_value || decision.outcome == 0 || decision.on->op != ir::ExprOp::kIndexEq)
      continue;
    const std::string a = root(std::string(decision.on->kids[0]->name));
    const std::string b = root(std::string(decision.on->kids[1]->name));
    if (a != b && slots.contains(a) && slots.contains(b))
      parents.emplace(std::max(a, b), std::min(a, b));
  }
  std::map<std::string, std::vector<std::string>> groups;
  for (const auto& [name, slot] : slots) groups[root(name)].push_back(name);

  std::vector<std::set<int>> sources;
  for (const Binding& source : rule.sources)
    add_variables(rule, source.term, sources.emplace_back());
  const SizesInUse in_use(rule, choice);
  std::vector<std::vector<std::string>> kept;
  for (auto& group : groups) {
    std::vector<std::string>& members = group.second;
    const bool is_open = std::ranges::all_of(members, [&](const std::string& name) {
      return trace.numbers.at(name) > 1 && !in_use.names().contains(name);
    });
    const bool in_one = std::ranges::any_of(sources, [&](const std::set<int>& variables) {
      return std::ranges::all_of(
          members, [&](const std::string& name) { return variables.contains(slots.at(name)); });
    });
    if (is_open && in_one) kept.push_back(std::move(members));
  }
  return kept;
}

}  // namespace

BatchSizes BatchSizes::without(std::size_t group) const {
  BatchSizes rest = *this;
  rest.groups.erase(rest.groups.begin() + static_cast<std::ptrdiff_t>(group));
  return rest;
}

bool only_equates_sizes(const Expr& condition) {
  if (condition.kind != Expr::Kind::kCall) return false;
  if (condition.function->name == "same_type") return true;
  return condition.function->name == "==" && is_dim(condition.arguments[0]) &&
         is_dim(condition.arguments[1]);
}

BatchSizes batch_sizes(const Rule& rule, const Instance& like, Instantiator& instantiator) {
  const Choice spread = Spread(rule, like.choice, instantiator).take();
  const Trace trace = Tracer(rule, like).trace(spread);
  BatchSizes sizes;
  if (!trace.complete) return sizes;
  for (std::vector<std::string>& group : equal_sizes(rule, spread, trace)) {
    const BatchSizes alone{{group}};
    if (!Tracer(rule, like, alone).trace(spread).exception)
      sizes.groups.push_back(std::move(group));
  }
  return sizes;
}

}  // namespace egret::rules
