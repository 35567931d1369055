// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/rule_draft.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "rules/generator/quantities.h"
#include "rules/language/expression_parts.h"

namespace egret::rules::generator {

using ir::Attrs;
using ir::AttrValue;
using ir::Integers;

namespace {

using Values = std::vector<AttrValue>;  // by world

bool is_constant(const Values& values) {
  return std::ranges::all_of(values, [&](const AttrValue& v) { return v == values.front(); });
}

// Axes, permutations and flags: what decides how a definition reads, not how large things are.
bool is_structure(const ir::AttrSpec& spec) {
  if (spec.kind == ir::AttrKind::kText || spec.kind == ir::AttrKind::kReal) return true;
  static const std::set<std::string, std::less<>> kNames{
      "axis", "axes", "perm", "keepdims", "k", "step", "causal", "count_include_pad", "ceil_mode"};
  return kNames.contains(spec.name);
}

// A real that laws are about; others are parameters, such as what keeps a quotient finite.
bool is_telling_number(const AttrValue& value) {
  const double* number = std::get_if<double>(&value);
  return number != nullptr && *number == std::round(*number);
}

class Drafter {
 public:
  Drafter(TermTable& terms, const Equality& equality, Openness openness, Preference preference)
      : terms_(terms),
        equality_(equality),
        openness_(openness),
        preference_(preference),
        quantities_(terms.space().worlds(), preference == Preference::kAttributes) {
    worlds_ = terms.space().worlds();
  }

  std::optional<Draft> run() {
    const Variables left = terms_.variables(equality_.left);
    if ((terms_.variables(equality_.right) & ~left) != 0 || terms_.is_start(equality_.left))
      return std::nullopt;
    Rule& rule = draft_.rule;
    rule.name = "candidate";
    rule.tensors.emplace_back("out");
    collect_right_axes();
    rule.sources.push_back({0, source(equality_.left)});
    collect_quantities();
    auto target = build_target(equality_.right);
    if (!target) return std::nullopt;
    rule.targets.push_back({0, *std::move(target)});
    if (openness_ != Openness::kRanks) {
      for (const auto& [start, slot] : slots_)
        rule.conditions.push_back(
            equal(call("rank", {tensor(slot)}), literal(std::int64_t{rank(start)})));
    }
    collect_facts();
    if (!slots_.empty()) draft_.is_float = call("is_float", {tensor(slots_.begin()->second)});
    return std::move(draft_);
  }

 private:
  // An attribute variable.
  struct Group {
    std::string name;
    Values values;
    int slot;
  };

  int rank(std::size_t start) const {
    return terms_.types(terms_.type_of_start(start)).front().rank();
  }
  std::int64_t size(std::size_t start, int axis, World world) const {
    const auto& type = terms_.types(terms_.type_of_start(start))[world];
    return type.dims[static_cast<std::size_t>(axis)].constant();
  }

  int slot_of(std::size_t start) {
    const auto found = slots_.find(start);
    if (found != slots_.end()) return found->second;
    const int slot = static_cast<int>(draft_.rule.tensors.size());
    draft_.rule.tensors.push_back("?" + terms_.space().starts[start].name);
    slots_.emplace(start, slot);
    return slot;
  }

  // The attributes of the steps of an application, by step and world.
  std::vector<std::vector<Attrs>> step_attrs(TermId term) {
    const std::size_t steps = terms_.space().choices[terms_.choice(term)].steps.size();
    std::vector<std::vector<Attrs>> all(steps);
    for (World world = 0; world < worlds_; ++world) {
      const std::vector<Attrs>& attrs = terms_.program(term, world).attrs();
      for (std::size_t i = 0; i < steps; ++i) all[i].push_back(attrs[i]);
    }
    return all;
  }

  // An application's steps, each built by `attr` from its specification and values.
  template <typename Operand, typename MakeAttr>
  std::optional<Term> expand(TermId term, const Operand& operand, const MakeAttr& make_attr) {
    const OperatorChoice& choice = terms_.space().choices[terms_.choice(term)];
    const auto attrs = step_attrs(term);
    std::vector<Term> results;
    for (std::size_t i = 0; i < choice.steps.size(); ++i) {
      const Step& step = choice.steps[i];
      Term made{.kind = Term::Kind::kApply, .op = step.op};
      for (const int from : step.operands) {
        if (from < 0) {
          made.arguments.push_back(results[static_cast<std::size_t>(-from - 1)]);
          continue;
        }
        std::optional<Term> argument =
            operand(terms_.operands(term)[static_cast<std::size_t>(from)]);
        if (!argument) return std::nullopt;
        made.arguments.push_back(*std::move(argument));
      }
      for (const ir::AttrSpec& spec : step.op->attrs()) {
        Values values;
        for (const Attrs& of_world : attrs[i]) values.push_back(*of_world.find(spec.name));
        const bool is_default =
            spec.default_value && is_constant(values) && values.front() == *spec.default_value;
        std::optional<Expr> value = make_attr(spec, values, is_default);
        if (!value) return std::nullopt;
        if (!is_default || value->kind != Expr::Kind::kLiteral)
          made.attrs.push_back({spec.name, *std::move(value)});
      }
      results.push_back(std::move(made));
    }
    return std::move(results.back());
  }

  Term source(TermId term) {
    if (terms_.is_start(term))
      return {.kind = Term::Kind::kTensor, .slot = slot_of(terms_.start_number(term))};
    return *expand(
        term, [&](TermId operand) { return std::optional(source(operand)); },
        [&](const ir::AttrSpec& spec, const Values& values, bool is_default) {
          return std::optional(source_attr(spec, values, is_default));
        });
  }

  Expr source_attr(const ir::AttrSpec& spec, const Values& values, bool is_default) {
    const bool structure = is_structure(spec);
    const bool fixed = is_telling_number(values.front()) || (is_default && structure) ||
                       (openness_ == Openness::kSizes && (structure || is_default));
    if (fixed && is_constant(values) && spec.name != "dtype") return literal(values.front());
    if (const auto axis = single_axis(spec.name, values); axis && right_axes_.contains(*axis))
      return Expr{.kind = Expr::Kind::kList,
                  .arguments = {open("axis", Values(worlds_, AttrValue(*axis)))}};
    return open(spec.name, values);
  }

  // The attribute variable of this name that has these values.
  Expr open(std::string_view of, const Values& values) {
    for (const Group& group : groups_) {
      if (group.name == of && group.values == values) return attribute(group.slot);
    }
    const int slot = static_cast<int>(draft_.rule.attributes.size());
    std::string name(of);
    for (int i = 2; std::ranges::find(draft_.rule.attributes, name) != draft_.rule.attributes.end();
         ++i)
      name = std::string(of) + std::to_string(i);
    draft_.rule.attributes.push_back(name);
    groups_.push_back({std::string(of), values, slot});
    return attribute(slot);
  }

  // The one axis of a list of axes.
  static std::optional<std::int64_t> single_axis(std::string_view name, const Values& values) {
    const auto* axes = std::get_if<Integers>(&values.front());
    if (name != "axes" || axes == nullptr || axes->size() != 1 || !is_constant(values))
      return std::nullopt;
    return axes->front();
  }

  // Axes that operators of the right side take as a number: a list of the left is written as of
  // that number.
  void collect_right_axes() {
    for (const TermId term : terms_.applications(equality_.right)) {
      for (const std::vector<Attrs>& attrs : step_attrs(term)) {
        const AttrValue* axis = attrs.front().find("axis");
        if (axis != nullptr && std::holds_alternative<std::int64_t>(*axis))
          right_axes_.insert(std::get<std::int64_t>(*axis));
      }
    }
  }

  // Integers that the left side tells: sizes, and attributes.
  void collect_quantities() {
    if (preference_ == Preference::kAttributes) collect_attributes();
    collect_sizes();
    if (preference_ == Preference::kSizes) collect_attributes();
  }
  // Of tensors as the left side has them from left to right: an amount is often counted from the
  // first one.
  void collect_sizes() {
    std::map<int, std::size_t> starts;
    for (const auto& [start, slot] : slots_) starts.emplace(slot, start);
    for (const auto& [slot, start] : starts) {
      for (int axis = 0; axis < rank(start); ++axis) {
        ByWorld values;
        for (World world = 0; world < worlds_; ++world) values.push_back(size(start, axis, world));
        for (const Group& group : groups_) {
          if (group.name == "axis" && is_constant(group.values) &&
              std::get<std::int64_t>(group.values.front()) == axis)
            quantities_.add({call("dim", {tensor(slot), attribute(group.slot)}), values});
        }
        quantities_.add({call("dim", {tensor(slot), literal(std::int64_t{axis})}), values});
      }
    }
  }
  void collect_attributes() {
    for (const Group& group : groups_) {
      if (std::holds_alternative<std::int64_t>(group.values.front())) {
        ByWorld values;
        for (const AttrValue& value : group.values) values.push_back(std::get<std::int64_t>(value));
        quantities_.add({attribute(group.slot), std::move(values), true});
      }
      if (!std::holds_alternative<Integers>(group.values.front())) continue;
      for (std::size_t i = 0; i < std::get<Integers>(group.values.front()).size(); ++i) {
        ByWorld values;
        for (const AttrValue& value : group.values) {
          const auto& list = std::get<Integers>(value);
          values.push_back(i < list.size() ? list[i] : -1);
        }
        quantities_.add({call("at", {attribute(group.slot), literal(static_cast<std::int64_t>(i))}),
                         values, true, ListPlace{group.name, i}});
      }
    }
  }

  std::optional<Term> build_target(TermId term) {
    if (terms_.is_start(term))
      return Term{.kind = Term::Kind::kTensor, .slot = slot_of(terms_.start_number(term))};
    return expand(
        term, [&](TermId operand) { return build_target(operand); },
        [&](const ir::AttrSpec& spec, const Values& values, bool is_default) {
          return target_attr(spec, values, is_default);
        });
  }

  std::optional<Expr> target_attr(const ir::AttrSpec& spec, const Values& values, bool is_default) {
    for (const Group& group : groups_) {
      if (group.name == spec.name && group.values == values) return attribute(group.slot);
    }
    if (spec.name == "dtype" && !slots_.empty())
      return call("dtype", {tensor(slots_.begin()->second)});
    if (is_default) return literal(values.front());
    if (std::holds_alternative<std::int64_t>(values.front())) {
      ByWorld wanted;
      for (const AttrValue& value : values) wanted.push_back(std::get<std::int64_t>(value));
      if (spec.name == "axis") {
        if (auto moved = moved_axis(values)) return moved;
      }
      return quantities_.fit(wanted);
    }
    if (spec.name == "perm") {
      if (auto composed = composed_permutation(values, -1)) return composed;
    }
    if (spec.name == "axes") {
      if (auto moved = moved_axes(values)) return moved;
      if (const auto axis = single_axis(spec.name, values)) {
        for (const auto& [slot, open_axis] : open_groups<std::int64_t>("axis")) {
          if (open_axis == *axis)
            return Expr{.kind = Expr::Kind::kList, .arguments = {attribute(slot)}};
        }
      }
    }
    // A number that two operators call by different names.
    if (std::holds_alternative<double>(values.front())) {
      for (const Group& group : groups_) {
        if (group.values == values) return attribute(group.slot);
      }
    }
    if (is_constant(values)) return literal(values.front());
    if (!std::holds_alternative<Integers>(values.front())) return std::nullopt;
    Expr list{.kind = Expr::Kind::kList};
    for (std::size_t i = 0; i < std::get<Integers>(values.front()).size(); ++i) {
      ByWorld wanted;
      for (const AttrValue& value : values) {
        if (std::get<Integers>(value).size() <= i) return std::nullopt;
        wanted.push_back(std::get<Integers>(value)[i]);
      }
      auto element = quantities_.fit(wanted, -1, ListPlace{spec.name, i});
      if (!element) return std::nullopt;
      list.arguments.push_back(*std::move(element));
    }
    return list;
  }

  // An open permutation or axis of the left side, as it is in all worlds.
  template <typename T>
  std::vector<std::pair<int, T>> open_groups(std::string_view name) const {
    std::vector<std::pair<int, T>> found;
    for (const Group& group : groups_) {
      if (group.name == name && is_constant(group.values) &&
          std::holds_alternative<T>(group.values.front()))
        found.emplace_back(group.slot, std::get<T>(group.values.front()));
    }
    return found;
  }

  // p[q[0]], p[q[1]], ...
  static Integers composed(const Integers& p, const Integers& q) {
    Integers result;
    for (const std::int64_t i : q)
      result.push_back(i >= 0 && i < std::ssize(p) ? p[static_cast<std::size_t>(i)] : -1);
    return result;
  }

  // A list of axes, seen through a permutation.
  std::optional<Expr> moved_axes(const Values& values) const {
    if (!is_constant(values)) return std::nullopt;
    const auto& wanted = std::get<Integers>(values.front());
    for (const auto& [perm_slot, perm] : open_groups<Integers>("perm")) {
      for (const auto& [axes_slot, axes] : open_groups<Integers>("axes")) {
        Integers there = composed(perm, axes);
        std::ranges::sort(there);
        const Expr list = attribute(axes_slot);
        if (there == wanted) return call("sorted", {call("compose", {attribute(perm_slot), list})});
        Integers back = composed(perm, wanted);
        std::ranges::sort(back);
        if (back == axes)
          return call("sorted", {call("compose", {call("inverse", {attribute(perm_slot)}), list})});
      }
    }
    return std::nullopt;
  }

  // Where a permutation puts an axis, or takes it from.
  std::optional<Expr> moved_axis(const Values& values) const {
    if (!is_constant(values)) return std::nullopt;
    const std::int64_t wanted = std::get<std::int64_t>(values.front());
    for (const auto& [perm_slot, perm] : open_groups<Integers>("perm")) {
      for (const auto& [axis_slot, axis] : open_groups<std::int64_t>("axis")) {
        if (axis < 0 || axis >= std::ssize(perm)) continue;
        if (perm[static_cast<std::size_t>(axis)] == wanted)
          return call("at", {attribute(perm_slot), attribute(axis_slot)});
        if (wanted >= 0 && wanted < std::ssize(perm) &&
            perm[static_cast<std::size_t>(wanted)] == axis)
          return call("index_of", {attribute(perm_slot), attribute(axis_slot)});
      }
    }
    return std::nullopt;
  }

  // The inverse of an open permutation, or two of them one after the other; not of `without`.
  std::optional<Expr> composed_permutation(const Values& values, int without) const {
    if (!is_constant(values)) return std::nullopt;
    const auto& wanted = std::get<Integers>(values.front());
    Integers identity(wanted.size());
    for (std::size_t i = 0; i < identity.size(); ++i) identity[i] = static_cast<std::int64_t>(i);
    const auto open = open_groups<Integers>("perm");
    for (const auto& [slot, perm] : open) {
      if (slot != without && composed(perm, wanted) == identity)
        return call("inverse", {attribute(slot)});
    }
    for (const auto& [slot, perm] : open) {
      for (const auto& [next_slot, next] : open) {
        if (slot == without || next_slot == without) continue;
        if (composed(perm, next) == wanted)
          return call("compose", {attribute(slot), attribute(next_slot)});
      }
    }
    return std::nullopt;
  }

  // What holds in all worlds of what the left side leaves open.
  void collect_facts() {
    for (const Group& group : groups_) {
      if (group.name == "dtype") continue;
      if (is_constant(group.values)) {
        std::vector<Expr> ways;
        if (group.name == "perm") {
          if (auto composed = composed_permutation(group.values, group.slot))
            ways.push_back(equal(attribute(group.slot), *std::move(composed)));
        }
        ways.push_back(equal(attribute(group.slot), literal(group.values.front())));
        draft_.alternatives.push_back(std::move(ways));
      } else {
        add_equalities_of(group);
      }
    }
    for (auto a = slots_.begin(); a != slots_.end(); ++a) {
      for (auto b = std::next(a); b != slots_.end(); ++b) {
        if (terms_.type_of_start(a->first) == terms_.type_of_start(b->first)) {
          draft_.same_types.push_back(call("same_type", {tensor(a->second), tensor(b->second)}));
          break;  // the next of its type follows from that one
        }
      }
    }
    add_equal_sizes();
    collect_apart();
  }

  void collect_apart() {
    const auto axes = open_groups<std::int64_t>("axis");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      for (std::size_t j = i + 1; j < axes.size(); ++j) {
        if (axes[i].second != axes[j].second)
          draft_.apart.push_back(call("!=", {attribute(axes[i].first), attribute(axes[j].first)}));
      }
      for (const auto& [slot, list] : open_groups<Integers>("axes")) {
        if (std::ranges::find(list, axes[i].second) == list.end())
          draft_.apart.push_back(
              call("not", {call("contains", {attribute(slot), attribute(axes[i].first)})}));
      }
    }
  }

  // Of an attribute that differs from world to world.
  void add_equalities_of(const Group& group) {
    if (std::holds_alternative<Integers>(group.values.front())) {
      // As one equation: random instances take such an attribute from it.
      Expr list{.kind = Expr::Kind::kList};
      bool known = false;
      for (std::size_t i = 0; i < std::get<Integers>(group.values.front()).size(); ++i) {
        ByWorld wanted;
        for (const AttrValue& value : group.values) wanted.push_back(std::get<Integers>(value)[i]);
        auto element = quantities_.fit(wanted, group.slot);
        if (!element) return;
        known = known || !is_of_lists(*element);
        list.arguments.push_back(*std::move(element));
      }
      if (!known)
        draft_.first_world.push_back(equal(attribute(group.slot), literal(group.values.front())));
      draft_.alternatives.push_back({equal(attribute(group.slot), std::move(list))});
      return;
    }
    if (!std::holds_alternative<std::int64_t>(group.values.front())) return;
    ByWorld wanted;
    for (const AttrValue& value : group.values) wanted.push_back(std::get<std::int64_t>(value));
    add_number_facts(attribute(group.slot), wanted, group.slot);
  }

  // A number, or what stands in another list.
  static bool is_of_lists(const Expr& expr) {
    return expr.kind == Expr::Kind::kLiteral ||
           (expr.kind == Expr::Kind::kCall && expr.function->name == "at");
  }

  void add_number_facts(const Expr& of, const ByWorld& wanted, int slot) {
    constexpr std::size_t kMost = 3;  // and multiples
    std::vector<Expr> ways;
    for (const bool attributes : {false, true}) {
      for (const Quantity& q : quantities_) {
        if (ways.size() == kMost || q.values != wanted || mentions(q.expr, slot)) continue;
        if ((q.expr.kind == Expr::Kind::kAttribute) != attributes) continue;
        ways.push_back(equal(of, q.expr));
      }
    }
    for (const Quantity& q : quantities_) {
      for (const std::int64_t n : {2, 3}) {
        bool fits = ways.size() <= kMost && !mentions(q.expr, slot) && !q.is_attribute;
        for (World w = 0; w < worlds_ && fits; ++w) fits = q.values[w] == n * wanted[w];
        if (fits) ways.push_back(equal(call("*", {of, literal(n)}), q.expr));
      }
    }
    add_middles(of, wanted, ways);
    if (!ways.empty()) draft_.alternatives.push_back(std::move(ways));
  }

  // The middle of a tensor that stands behind another one.
  void add_middles(const Expr& of, const ByWorld& wanted, std::vector<Expr>& ways) const {
    constexpr std::size_t kMost = 6;
    const bool open = std::ranges::find(groups_, "axis", &Group::name) != groups_.end();
    const auto sizes_along = [&](const Quantity& q) {
      return !q.is_attribute && (q.expr.arguments[1].kind == Expr::Kind::kAttribute) == open;
    };
    std::size_t found = 0;
    for (const Quantity& before : quantities_) {
      for (const Quantity& halved : quantities_) {
        if (!sizes_along(before) || !sizes_along(halved) || found == kMost) continue;
        if (before.expr.arguments[0].slot == halved.expr.arguments[0].slot) continue;
        bool fits = true;
        for (World w = 0; w < worlds_ && fits; ++w)
          fits = 2 * before.values[w] + halved.values[w] == 2 * wanted[w];
        if (!fits) continue;
        ways.push_back(
            equal(call("*", {of, literal(std::int64_t{2})}),
                  call("+", {call("*", {before.expr, literal(std::int64_t{2})}), halved.expr})));
        ++found;
      }
    }
  }

  // Sizes of different variables, and of one, that agree in all worlds: a spanning chain.
  void add_equal_sizes() {
    struct Place {
      std::size_t start;
      int slot;
      int axis;
    };
    std::map<ByWorld, Place> first;
    std::set<TypeId> seen;
    for (const auto& [start, slot] : slots_) {
      if (!seen.insert(terms_.type_of_start(start)).second) continue;
      for (int axis = 0; axis < rank(start); ++axis) {
        ByWorld values;
        for (World world = 0; world < worlds_; ++world) values.push_back(size(start, axis, world));
        const Expr here = call("dim", {tensor(slot), literal(std::int64_t{axis})});
        const bool constant =
            std::ranges::all_of(values, [&](std::int64_t n) { return n == values.front(); });
        const auto found = first.find(values);
        if (constant) {
          draft_.facts.push_back(equal(here, literal(values.front())));
        } else if (found != first.end()) {
          draft_.facts.push_back(equal(
              here, call("dim",
                         {tensor(found->second.slot), literal(std::int64_t{found->second.axis})})));
        } else {
          first.emplace(values, Place{start, slot, axis});
        }
      }
    }
  }

  TermTable& terms_;
  const Equality& equality_;
  Openness openness_;
  Preference preference_;
  std::size_t worlds_ = 0;
  Draft draft_;
  std::map<std::size_t, int> slots_;  // of start tensors
  std::set<std::int64_t> right_axes_;
  std::vector<Group> groups_;
  Quantities quantities_;
};

}  // namespace

std::optional<Draft> draft_rule(TermTable& terms, const Equality& equality, Openness openness,
                                Preference preference) {
  return Drafter(terms, equality, openness, preference).run();
}

}  // namespace egret::rules::generator
