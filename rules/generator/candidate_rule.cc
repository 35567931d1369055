// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/candidate_rule.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "rules/generator/variable_splitting.h"

namespace egret::rules::generator {

using ir::Attrs;
using ir::AttrValue;
using ir::Integers;

namespace {

using Values = std::vector<AttrValue>;      // by world
using Numbers = std::vector<std::int64_t>;  // by world

Expr literal(AttrValue value) { return {.kind = Expr::Kind::kLiteral, .value = std::move(value)}; }
Expr call(std::string_view function, std::vector<Expr> arguments) {
  Expr expr{.kind = Expr::Kind::kCall, .function = find_function(function)};
  EGRET_CHECK(expr.function != nullptr, "a function that rules do not have");
  expr.arguments = std::move(arguments);
  return expr;
}
Expr tensor(int slot) { return {.kind = Expr::Kind::kTensor, .slot = slot}; }
Expr attribute(int slot) { return {.kind = Expr::Kind::kAttribute, .slot = slot}; }
Expr equal(Expr a, Expr b) { return call("==", {std::move(a), std::move(b)}); }

bool is_constant(const Values& values) {
  return std::ranges::all_of(values, [&](const AttrValue& v) { return v == values.front(); });
}

// Axes, permutations and flags: what decides how a definition reads, not how large things are.
bool is_structure(const ir::AttrSpec& spec) {
  if (spec.kind == ir::AttrKind::kText || spec.kind == ir::AttrKind::kReal) return true;
  static const std::set<std::string, std::less<>> kNames{
      "axis", "axes", "perm", "keepdims", "k", "step", "count_include_pad", "ceil_mode"};
  return kNames.contains(spec.name);
}

class Drafter {
 public:
  Drafter(TermTable& terms, const Equality& equality, Openness openness)
      : terms_(terms), equality_(equality), openness_(openness) {
    worlds_ = terms.space().worlds();
  }

  std::optional<Draft> run() {
    const Variables left = terms_.variables(equality_.left);
    if ((terms_.variables(equality_.right) & ~left) != 0 || terms_.is_start(equality_.left))
      return std::nullopt;
    Rule& rule = draft_.rule;
    rule.name = "candidate";
    rule.tensors.emplace_back("out");
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
  struct Quantity {
    Expr expr;
    Numbers values;
  };
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
    const bool fixed = is_default || spec.kind == ir::AttrKind::kReal ||
                       (openness_ == Openness::kSizes && is_structure(spec));
    if (fixed && is_constant(values) && spec.name != "dtype") return literal(values.front());
    for (const Group& group : groups_) {
      if (group.name == spec.name && group.values == values) return attribute(group.slot);
    }
    const int slot = static_cast<int>(draft_.rule.attributes.size());
    std::string name = spec.name;
    for (int i = 2; std::ranges::find(draft_.rule.attributes, name) != draft_.rule.attributes.end();
         ++i)
      name = spec.name + std::to_string(i);
    draft_.rule.attributes.push_back(name);
    groups_.push_back({spec.name, values, slot});
    return attribute(slot);
  }

  // Integers that the left side tells: sizes, and attributes.
  void collect_quantities() {
    for (const auto& [start, slot] : slots_) {
      for (int axis = 0; axis < rank(start); ++axis) {
        Numbers values;
        for (World world = 0; world < worlds_; ++world) values.push_back(size(start, axis, world));
        for (const Group& group : groups_) {
          if (group.name == "axis" && is_constant(group.values) &&
              std::get<std::int64_t>(group.values.front()) == axis)
            quantities_.push_back({call("dim", {tensor(slot), attribute(group.slot)}), values});
        }
        quantities_.push_back({call("dim", {tensor(slot), literal(std::int64_t{axis})}), values});
      }
    }
    for (const Group& group : groups_) {
      if (std::holds_alternative<std::int64_t>(group.values.front())) {
        Numbers values;
        for (const AttrValue& value : group.values) values.push_back(std::get<std::int64_t>(value));
        quantities_.push_back({attribute(group.slot), std::move(values)});
      }
      if (!std::holds_alternative<Integers>(group.values.front())) continue;
      for (std::size_t i = 0; i < std::get<Integers>(group.values.front()).size(); ++i) {
        Numbers values;
        for (const AttrValue& value : group.values) {
          const auto& list = std::get<Integers>(value);
          values.push_back(i < list.size() ? list[i] : -1);
        }
        quantities_.push_back(
            {call("at", {attribute(group.slot), literal(static_cast<std::int64_t>(i))}), values});
      }
    }
  }

  // An expression with these values.
  // An expression with these values that does not speak of one attribute variable. Attributes come
  // before sizes where it is given: random instances know them first.
  std::optional<Expr> fit(const Numbers& wanted, int without = -1) const {
    if (without >= 0) {
      for (const Quantity& q : quantities_) {
        if (q.values == wanted && q.expr.kind == Expr::Kind::kAttribute && q.expr.slot != without)
          return q.expr;
      }
    }
    return fit_any(wanted, without);
  }
  std::optional<Expr> fit_any(const Numbers& wanted, int without) const {
    if (std::ranges::all_of(wanted, [&](std::int64_t n) { return n == wanted.front(); }))
      return literal(wanted.front());
    for (const Quantity& q : quantities_) {
      if (q.values == wanted && !mentions(q.expr, without)) return q.expr;
    }
    struct Form {
      std::string_view function;
      std::int64_t (*value)(std::int64_t, std::int64_t);
    };
    static constexpr Form kForms[] = {
        {"+", [](std::int64_t a, std::int64_t b) { return a + b; }},
        {"-", [](std::int64_t a, std::int64_t b) { return a - b; }},
        {"*", [](std::int64_t a, std::int64_t b) { return a * b; }},
        {"/", [](std::int64_t a, std::int64_t b) { return b > 0 && a >= 0 ? a / b : -1; }}};
    const auto try_pair = [&](const Expr& a, const Numbers& x, const Expr& b,
                              const Numbers& y) -> std::optional<Expr> {
      for (const Form& form : kForms) {
        bool fits = true;
        for (World w = 0; w < worlds_ && fits; ++w) fits = form.value(x[w], y[w]) == wanted[w];
        if (fits) return call(form.function, {a, b});
      }
      return std::nullopt;
    };
    for (const Quantity& a : quantities_) {
      if (mentions(a.expr, without)) continue;
      for (const std::int64_t n : {1, 2, 3}) {
        if (auto found = try_pair(a.expr, a.values, literal(n), Numbers(worlds_, n))) return found;
      }
    }
    for (const Quantity& a : quantities_) {
      for (const Quantity& b : quantities_) {
        if (mentions(a.expr, without) || mentions(b.expr, without)) continue;
        if (auto found = try_pair(a.expr, a.values, b.expr, b.values)) return found;
      }
    }
    return std::nullopt;
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
      Numbers wanted;
      for (const AttrValue& value : values) wanted.push_back(std::get<std::int64_t>(value));
      return fit(wanted);
    }
    if (is_constant(values)) return literal(values.front());
    if (!std::holds_alternative<Integers>(values.front())) return std::nullopt;
    Expr list{.kind = Expr::Kind::kList};
    for (std::size_t i = 0; i < std::get<Integers>(values.front()).size(); ++i) {
      Numbers wanted;
      for (const AttrValue& value : values) {
        if (std::get<Integers>(value).size() <= i) return std::nullopt;
        wanted.push_back(std::get<Integers>(value)[i]);
      }
      auto element = fit(wanted);
      if (!element) return std::nullopt;
      list.arguments.push_back(*std::move(element));
    }
    return list;
  }

  // What holds in all worlds of what the left side leaves open.
  void collect_facts() {
    std::vector<Expr>& facts = draft_.facts;
    for (const Group& group : groups_) {
      if (group.name == "dtype") continue;
      if (is_constant(group.values)) {
        draft_.alternatives.push_back(
            {equal(attribute(group.slot), literal(group.values.front()))});
      } else {
        add_equalities_of(group);
      }
    }
    for (auto a = slots_.begin(); a != slots_.end(); ++a) {
      for (auto b = std::next(a); b != slots_.end(); ++b) {
        if (terms_.type_of_start(a->first) == terms_.type_of_start(b->first)) {
          facts.push_back(call("same_type", {tensor(a->second), tensor(b->second)}));
          break;  // the next of its type follows from that one
        }
      }
    }
    add_equal_sizes();
  }

  // Of an attribute that differs from world to world.
  void add_equalities_of(const Group& group) {
    if (std::holds_alternative<Integers>(group.values.front())) {
      // As one equation: random instances take such an attribute from it.
      Expr list{.kind = Expr::Kind::kList};
      for (std::size_t i = 0; i < std::get<Integers>(group.values.front()).size(); ++i) {
        Numbers wanted;
        for (const AttrValue& value : group.values) wanted.push_back(std::get<Integers>(value)[i]);
        auto element = fit(wanted, group.slot);
        if (!element) return;
        list.arguments.push_back(*std::move(element));
      }
      draft_.alternatives.push_back({equal(attribute(group.slot), std::move(list))});
      return;
    }
    if (!std::holds_alternative<std::int64_t>(group.values.front())) return;
    Numbers wanted;
    for (const AttrValue& value : group.values) wanted.push_back(std::get<std::int64_t>(value));
    add_number_facts(attribute(group.slot), wanted, group.slot);
  }

  static bool mentions(const Expr& expr, int slot) {
    bool found = false;
    for_each_part(expr, [&](const Expr& part) {
      found = found || (part.kind == Expr::Kind::kAttribute && part.slot == slot);
    });
    return found;
  }

  void add_number_facts(const Expr& of, const Numbers& wanted, int slot) {
    constexpr std::size_t kMost = 3;
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
        bool fits = ways.empty() && !mentions(q.expr, slot);
        for (World w = 0; w < worlds_ && fits; ++w) fits = q.values[w] == n * wanted[w];
        if (fits) ways.push_back(equal(call("*", {of, literal(n)}), q.expr));
      }
    }
    if (!ways.empty()) draft_.alternatives.push_back(std::move(ways));
  }

  // Sizes of different variables, and of one, that agree in all worlds: a spanning chain.
  void add_equal_sizes() {
    struct Place {
      std::size_t start;
      int slot;
      int axis;
    };
    std::map<Numbers, Place> first;
    std::set<TypeId> seen;
    for (const auto& [start, slot] : slots_) {
      if (!seen.insert(terms_.type_of_start(start)).second) continue;
      for (int axis = 0; axis < rank(start); ++axis) {
        Numbers values;
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
  std::size_t worlds_ = 0;
  Draft draft_;
  std::map<std::size_t, int> slots_;  // of start tensors
  std::vector<Group> groups_;
  std::vector<Quantity> quantities_;
};

// Whether random search finds instances of the rule at all: verification needs many.
bool can_be_instantiated(const Rule& rule, KnownSignatures& known) {
  constexpr std::uint64_t kAttempts = 300;
  constexpr int kWanted = 3;
  Instantiator instantiator(rule, known);
  const base::Random random(7);
  int found = 0;
  for (std::uint64_t i = 0; i < kAttempts && found < kWanted; ++i)
    found += instantiator.attempt(random.split(i)) ? 1 : 0;
  return found == kWanted;
}

Verdict verify_if_possible(const Rule& rule, const VerifyOptions& options, KnownSignatures& known) {
  if (can_be_instantiated(rule, known)) return verify(rule, options, known);
  Verdict verdict;
  verdict.reason = "random search finds no instances";
  return verdict;
}

bool is_proven(const Verdict& verdict) { return verdict.status == Verdict::Status::kProven; }

// One search for the most general rule of an equality.
class Search {
 public:
  Search(TermTable& terms, const Equality& equality, const VerifyOptions& options,
         KnownSignatures& known)
      : terms_(terms), equality_(equality), options_(options), known_(known) {}

  std::optional<Generalized> run() {
    for (const Openness openness : {Openness::kRanks, Openness::kAttributes, Openness::kSizes}) {
      const std::optional<Draft> draft = draft_rule(terms_, equality_, openness);
      if (!draft) return std::nullopt;
      if (attempt(draft->rule)) return finished(false);
      // What is wrong for integers alone is refuted.
      if (result_.verdict.status != Verdict::Status::kRefuted || !draft->is_float) continue;
      if (attempt(with(draft->rule, {*draft->is_float}))) return finished(false);
    }
    for (const Openness openness : {Openness::kAttributes, Openness::kSizes}) {
      const Draft draft = *draft_rule(terms_, equality_, openness);
      if (attempt_alternatives(draft) || attempt_all_facts(draft)) return finished(true);
    }
    return result_;
  }

 private:
  static Rule with(Rule rule, const std::vector<Expr>& conditions) {
    rule.conditions.insert(rule.conditions.end(), conditions.begin(), conditions.end());
    return rule;
  }

  bool attempt(Rule rule) {
    result_.verdict = verify_if_possible(rule, options_, known_);
    result_.rule = std::move(rule);
    ++result_.proofs;
    return is_proven(result_.verdict);
  }

  // One fact of each attribute, nothing on how tensors compare: the most general of conditions.
  bool attempt_alternatives(const Draft& draft) {
    constexpr std::size_t kMost = 32;
    std::vector<std::size_t> chosen(draft.alternatives.size(), 0);
    if (chosen.empty()) return false;
    for (std::size_t tries = 0; tries < kMost; ++tries) {
      std::vector<Expr> conditions;
      if (draft.is_float) conditions.push_back(*draft.is_float);
      for (std::size_t i = 0; i < chosen.size(); ++i)
        conditions.push_back(draft.alternatives[i][chosen[i]]);
      if (attempt(with(draft.rule, conditions))) return true;
      std::size_t i = 0;
      while (i < chosen.size() && ++chosen[i] == draft.alternatives[i].size()) chosen[i++] = 0;
      if (i == chosen.size()) return false;
    }
    return false;
  }

  bool attempt_all_facts(const Draft& draft) {
    std::vector<Expr> conditions;
    if (draft.is_float) conditions.push_back(*draft.is_float);
    for (const auto& ways : draft.alternatives)
      conditions.insert(conditions.end(), ways.begin(), ways.end());
    conditions.insert(conditions.end(), draft.facts.begin(), draft.facts.end());
    return attempt(with(draft.rule, conditions));
  }

  // Drops conditions, from the last to the first, as long as the proof goes through; then makes
  // variables that stand twice two.
  Generalized finished(bool with_facts) {
    for (std::size_t i = result_.rule.conditions.size(); i-- > 0;) {
      Rule weaker = result_.rule;
      weaker.conditions.erase(weaker.conditions.begin() + static_cast<std::ptrdiff_t>(i));
      Verdict of_weaker = verify_if_possible(weaker, options_, known_);
      ++result_.proofs;
      if (!is_proven(of_weaker)) continue;
      result_.rule = std::move(weaker);
      result_.verdict = std::move(of_weaker);
    }
    result_.conditional = with_facts && !result_.rule.conditions.empty();
    result_.proofs += split_variables(result_.rule, result_.verdict, options_, known_);
    return std::move(result_);
  }

  TermTable& terms_;
  const Equality& equality_;
  const VerifyOptions& options_;
  KnownSignatures& known_;
  Generalized result_;
};

}  // namespace

std::optional<Draft> draft_rule(TermTable& terms, const Equality& equality, Openness openness) {
  return Drafter(terms, equality, openness).run();
}

std::optional<Generalized> generalize_equality(TermTable& terms, const Equality& equality,
                                               const VerifyOptions& options,
                                               KnownSignatures& known) {
  return Search(terms, equality, options, known).run();
}

ir::Graph sides_in_world(TermTable& terms, std::span<const Equality> equalities, World world) {
  ir::Graph graph;
  std::map<TermId, ir::NodeId> made;
  const auto build = [&](auto&& self, TermId term) -> ir::NodeId {
    const auto found = made.find(term);
    if (found != made.end()) return found->second;
    ir::NodeId result;
    if (terms.is_start(term)) {
      const std::size_t number = terms.start_number(term);
      ir::Node node;
      node.kind = ir::NodeKind::kInput;
      node.name = terms.space().starts[number].name;
      node.type = terms.space().starts[number].types[world];
      result = graph.append(std::move(node));
    } else {
      const OperatorChoice& choice = terms.space().choices[terms.choice(term)];
      const std::vector<Attrs>& attrs = terms.program(term, world).attrs();
      std::vector<ir::NodeId> steps;
      for (std::size_t i = 0; i < choice.steps.size(); ++i) {
        ir::Node node;
        node.op = choice.steps[i].op;
        node.attrs = attrs[i];
        std::vector<ir::TensorType> types;
        for (const int from : choice.steps[i].operands) {
          const ir::NodeId input =
              from < 0 ? steps[static_cast<std::size_t>(-from - 1)]
                       : self(self, terms.operands(term)[static_cast<std::size_t>(from)]);
          node.inputs.push_back(input);
          types.push_back(graph.node(input).type);
        }
        const auto type = ir::infer_type(*node.op, node.attrs, types);
        EGRET_CHECK(type.ok(), "a term of the table has a type");
        node.type = *type;
        steps.push_back(graph.append(std::move(node)));
      }
      result = steps.back();
    }
    made.emplace(term, result);
    return result;
  };
  for (const Equality& equality : equalities) {
    const ir::NodeId left = build(build, equality.left);
    const ir::NodeId right = build(build, equality.right);
    const std::string number = std::to_string(graph.outputs().size() / 2);
    graph.add_output("left" + number, left);
    graph.add_output("right" + number, right);
  }
  return graph;
}

}  // namespace egret::rules::generator
