// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/generalization.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "ir/analysis/batch_axes.h"
#include "rules/language/attribute_pattern.h"
#include "rules/language/expression_reads.h"
#include "rules/language/index_numbers.h"
#include "rules/language/real_expressions.h"
#include "rules/proving/rewriting_proof.h"
#include "rules/tensors/binding.h"
#include "rules/tensors/graph_sink.h"
#include "rules/testing/instance_conditions.h"

namespace egret::rules {

using base::Result;
using base::Status;
using ir::AttrValue;

namespace {

std::map<std::string, double> splats_by_tensor(const Instance& instance) {
  std::map<std::string, double> splats;
  for (std::size_t i = 0; i < instance.splats.size(); ++i) {
    if (instance.splats[i])
      splats.emplace(instance.left.node(instance.left.inputs()[i]).name, *instance.splats[i]);
  }
  return splats;
}

// A graph that can list what was applied, accepted or not.
class RecordingSink : public GraphSink {
 public:
  struct Application {
    const ir::Operator* op;
    ir::Attrs attrs;
    std::vector<ir::TensorType> operands;
  };
  explicit RecordingSink(bool records) : records_(records) {}

  Result<Handle> apply(const ir::Operator& op, const ir::Attrs& attrs,
                       std::span<const Handle> arguments) override {
    if (records_) {
      Application& one = applications_.emplace_back(Application{&op, attrs, {}});
      for (const Handle argument : arguments) one.operands.push_back(facts(argument).type);
    }
    return GraphSink::apply(op, attrs, arguments);
  }
  const std::deque<Application>& applications() const { return applications_; }

 private:
  bool records_;
  std::deque<Application> applications_;
};

// Builds the rule's two sides over symbols instead of the numbers of one instance. Every decision
// that a type rule or a condition takes about the symbols is recorded as a condition of the family,
// with the outcome that the instance has.
class Generalizer {
 public:
  // The input of the generalization. All of it must outlive the generalizer.
  struct Start {
    const Choice& choice;
    const std::map<std::string, double>& splats;
    const Numbers& numbers;  // reals are needed alone for a trace
    const BatchSizes* batch = nullptr;
    const std::map<std::string, std::string>* equal_attributes = nullptr;
    std::set<int> known_attributes{};  // of a trace: those that conditions equate with numbers
  };
  Generalizer(const Rule& rule, const Start& start, const GeneralizeOptions& options,
              const OpenReals& open)
      : rule_(rule),
        start_(start),
        open_(open),
        integers_(options.integers),
        rewritings_(options.rewritings),
        environment_(make_environment(rule)),
        reals_(start.numbers.reals, open, options.salt),
        sink_(start.batch != nullptr && !start.batch->empty()) {
    if (start.batch == nullptr) return;
    batch_sizes_.resize(start.batch->groups.size());
    for (std::size_t group = 0; group < batch_sizes_.size(); ++group) {
      for (const std::string& name : start.batch->groups[group]) group_of_.emplace(name, group);
    }
  }

  Result<Family> run() {
    EGRET_RETURN_IF_ERROR(sources());
    return targets();
  }

  Trace trace() {
    given_stay_ = true;
    const bool complete = sources().ok() && build_targets().ok();
    Trace trace{scope_.conditions(), scope_.decisions(), scope_.examples(), complete};
    if (start_.batch == nullptr || start_.batch->empty()) return trace;
    const ir::AxisGroups groups(batch_sizes_);
    std::erase_if(trace.decisions,
                  [&](const ir::Decision& decision) { return groups.is_whether_one(decision); });
    trace.exception = exception(groups);
    return trace;
  }

 private:
  void set_tensor(int slot, TermSink::Handle handle) {
    environment_.tensors[static_cast<std::size_t>(slot)] = {&sink_.facts(handle), handle};
  }

  // A group of sizes that are not along a batch axis: an application or a comparison depends on
  // them, or a size of 1 instead would change whether the sizes are equal.
  std::optional<std::size_t> exception(const ir::AxisGroups& groups) {
    note_equated();
    for (const RecordingSink::Application& one : sink_.applications()) {
      if (const auto found = groups.exception(*one.op, one.attrs, one.operands)) return found;
    }
    for (const ir::Decision& decision : scope_.decisions()) {
      if (const auto found = groups.used_in(decision)) return found;
    }
    for (const auto& [a, b] : equated_) {
      for (std::size_t group = 0; group < batch_sizes_.size(); ++group) {
        const ir::Index& size = batch_sizes_[group];
        if (a.same(size) != b.same(size)) return group;
      }
    }
    return std::nullopt;
  }

  // Sizes that conditions and the types of targets equate.
  void note_equated() {
    for (const Expr& condition : conjuncts(rule_)) {
      if (!only_equates_sizes(condition)) continue;
      note_equated(equated(condition.arguments[0]), equated(condition.arguments[1]));
    }
  }
  void note_equated(const ir::Dims& a, const ir::Dims& b) {
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      equated_.emplace_back(a[i], b[i]);
  }
  // All sizes of a tensor, or the one of dim(tensor, axis). None of a tensor not yet built.
  ir::Dims equated(const Expr& side) {
    const bool all = side.kind == Expr::Kind::kTensor;
    const int slot = all ? side.slot : side.arguments[0].slot;
    const TensorFacts* facts = environment_.tensors[static_cast<std::size_t>(slot)].facts;
    if (facts == nullptr) return {};
    if (all) return facts->type.dims;
    const auto axis = evaluate(side.arguments[1], environment_);
    const auto* number = axis ? std::get_if<std::int64_t>(&*axis) : nullptr;
    if (number == nullptr) return {};
    const std::int64_t k = *number < 0 ? *number + facts->type.rank() : *number;
    if (k < 0 || k >= facts->type.rank()) return {};
    return {facts->type.dims[static_cast<std::size_t>(k)]};
  }

  // A condition on the variables alone is evaluated before the sources are built, because most
  // paths that it excludes then end at once.
  bool excluded_early() {
    return std::ranges::any_of(rule_.conditions, [&](const Expr& condition) {
      const auto value = evaluate(condition, environment_);
      return value && !same_value(*value, AttrValue(std::int64_t{1}));
    });
  }

  Status sources() {
    variables();
    if (excluded_early()) return base::bad_input("a condition does not hold");
    for (const Binding& source : rule_.sources) {
      EGRET_ASSIGN_OR_RETURN(const TermSink::Handle made, source_term(source.term));
      set_tensor(source.tensor, made);
    }
    if (!bind_sources(rule_, matched_, environment_))
      return base::bad_input("the conditions hold for the instance but not for symbolic sizes");
    return base::ok();
  }

  void variables() {
    std::size_t position = 0;
    for (const auto& [slot, type] : start_.choice.variables) {
      ir::Dims dims;
      const std::string& name = rule_.tensors[static_cast<std::size_t>(slot)];
      family_.variables += (position++ == 0 ? "" : ", ") + name + ": " +
                           std::string(to_string(type.dtype)) + " of rank " +
                           std::to_string(type.rank());
      for (std::size_t axis = 0; axis < type.dims.size(); ++axis) {
        const std::int64_t size = type.dims[axis].constant();
        const bool is_open = integers_ && !is_empty_size(type.dims[axis]);
        dims.push_back(is_open ? size_symbol(size_name(rule_, slot, axis), size) : ir::Index(size));
        if (is_open) family_.conditions.push_back(dims.back() >= ir::Index(1));
      }
      std::optional<double> splat;
      if (const auto found = start_.splats.find(name); found != start_.splats.end())
        splat = splats_[name] = unknown_splat(name, type.dtype, found->second);
      const ir::Sign sign = stated_sign(rule_, slot);
      if (sign != ir::Sign::kUnknown) signs_[name] = sign;
      set_tensor(slot, sink_.input({type.dtype, dims}, name, splat, sign));
    }
  }

  // The symbol for a size; sizes along one batch axis share theirs.
  ir::Index size_symbol(const std::string& name, std::int64_t size) {
    const auto group = group_of_.find(name);
    if (group == group_of_.end()) return scope_.symbol(name, size);
    ir::Index& shared = batch_sizes_[group->second];
    if (shared.is_constant())
      shared = scope_.symbol(start_.batch->groups[group->second].front(), size);
    return shared;
  }

  // The stand-in for the number that all elements of a variable are.
  double unknown_splat(const std::string& name, ir::DType dtype, double splat) {
    if (!open_.is_open(name, splat)) return splat;
    if (ir::is_float(dtype)) return unknown_real(name, splat);
    const auto whole = static_cast<std::int64_t>(splat);
    if (whole < kLeastNamed || dtype == ir::DType::kBool || !integers_) return splat;
    const bool negated = is_negated(whole);
    const std::int64_t magnitude = negated ? -whole : whole;
    const ir::Index made = scope_.symbol(number_name(element_name(name), whole), magnitude);
    family_.conditions.push_back(made >= ir::Index(negated ? 1 : 0));
    family_.reals.insert(name);
    const double stand_in =
        reals_.stand_in({.kind = verifier::RealTerm::Kind::kIndex, .index = made}, magnitude);
    return negated ? -stand_in : stand_in;
  }

  double unknown_real(const std::string& name, double real) {
    family_.reals.insert(name);
    return reals_.unknown(real);
  }

  // Whether the rule itself fixes the attribute.
  static bool is_given(const Term& term, const std::string& name) {
    const Expr* pattern = pattern_of(term, name);
    return pattern != nullptr ? pattern->kind != Expr::Kind::kAttribute
                              : term.spread == Term::kNoSpread;
  }
  // Whether the rule admits only one number: the default, a number in the source, or an attribute
  // that a condition equates with a number.
  bool stays_number(const Term& term, const std::string& name) const {
    if (!given_stay_) return false;
    const Expr* pattern = pattern_of(term, name);
    return pattern != nullptr ? is_known(*pattern) : term.spread == Term::kNoSpread;
  }
  // The same of one element of a list.
  bool stays_number(const Term& term, const std::string& name, std::size_t element) const {
    if (!given_stay_) return false;
    const Expr* pattern = pattern_of(term, name);
    return pattern != nullptr && pattern->kind == Expr::Kind::kList &&
           element < pattern->arguments.size() && is_known(pattern->arguments[element]);
  }
  bool is_known(const Expr& pattern) const {
    return is_constant(pattern) || (pattern.kind == Expr::Kind::kAttribute &&
                                    start_.known_attributes.contains(pattern.slot));
  }

  // The name of the first of the attributes that equal this one; `element` follows that of a list.
  std::string shared_name(const std::string& attribute, const std::string& element) const {
    if (start_.equal_attributes != nullptr) {
      const auto first = start_.equal_attributes->find(attribute);
      if (first != start_.equal_attributes->end()) return first->second + element;
    }
    return attribute + element;
  }

  std::int64_t symbolic(const std::string& name, std::int64_t value) {
    if (value < kLeastNamed || !integers_) return value;
    const auto known = named_integers_.find(number_name(name, value));
    if (known != named_integers_.end()) return known->second;
    const bool negated = is_negated(value);
    const ir::Index made = scope_.symbol(number_name(name, value), negated ? -value : value);
    family_.conditions.push_back(made >= ir::Index(negated ? 1 : 0));
    const std::int64_t integer = scope_.integer_of(negated ? ir::Index(0) - made : made);
    named_integers_.emplace(number_name(name, value), integer);
    return integer;
  }

  ir::Attrs symbolic_attrs(const Term& term) {
    const auto terms = source_applications(rule_);
    const auto number = std::ranges::find(terms, &term) - terms.begin();
    ir::Attrs result;
    for (const auto& [name, value] : start_.choice.attrs.at(&term).entries()) {
      const std::string prefix = std::to_string(number) + "." + name;
      if (stays_number(term, name)) {
        result.set(name, value);
        continue;
      }
      if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        result.set(name, symbolic(shared_name(prefix, ""), *integer));
      } else if (const auto* list = std::get_if<ir::Integers>(&value)) {
        ir::Integers integers;
        for (std::size_t k = 0; k < list->size(); ++k)
          integers.push_back(
              stays_number(term, name, k)
                  ? (*list)[k]
                  : symbolic(shared_name(prefix, "." + std::to_string(k)), (*list)[k]));
        result.set(name, std::move(integers));
      } else if (const auto* real = std::get_if<double>(&value);
                 real != nullptr && open_.is_open(prefix, *real) && !is_given(term, name)) {
        result.set(name, unknown_real(prefix, *real));
      } else {
        result.set(name, value);
      }
    }
    return result;
  }

  Result<TermSink::Handle> source_term(const Term& term) {
    if (term.kind == Term::Kind::kTensor)
      return environment_.tensors[static_cast<std::size_t>(term.slot)].identity;
    if (term.kind == Term::Kind::kScalar) return base::unsupported("a source contains a number");
    std::vector<TermSink::Handle> arguments;
    for (const Term& argument : term.arguments) {
      EGRET_ASSIGN_OR_RETURN(const TermSink::Handle made, source_term(argument));
      arguments.push_back(made);
    }
    kept_.push_back(symbolic_attrs(term));
    matched_.push_back({&term, &kept_.back()});
    return sink_.apply(*term.op, kept_.back(), arguments);
  }

  struct Sides {
    ir::Graph left;
    ir::Graph right;
  };

  Result<Sides> build_targets() {
    Sides sides{.left = sink_.graph(), .right = {}};
    // Expressions over open numbers in the rule get stand-ins for their results.
    Rule rule = rule_;
    RealExpressions computed(rule_, environment_, reals_);
    computed.replace_in(rule);
    computed.collect_facts();
    std::vector<std::pair<std::string, ir::NodeId>> outputs;
    for (const Rule::Let& let : rule.lets)
      EGRET_RETURN_IF_ERROR(build_let(rule, let, environment_, sink_));
    for (const Binding& target : rule.targets) {
      const auto source = environment_.tensors[static_cast<std::size_t>(target.tensor)];
      EGRET_ASSIGN_OR_RETURN(const TermSink::Handle built,
                             build_term(rule, target.term, environment_, sink_));
      EGRET_RETURN_IF_ERROR(require_same_type(sink_.facts(built).type, source.facts->type));
      const std::string& name = rule_.tensors[static_cast<std::size_t>(target.tensor)];
      sides.left.add_output(name, ir::NodeId(source.identity));
      outputs.emplace_back(name, ir::NodeId(built));
    }
    sides.right = sink_.graph();
    for (const auto& [name, node] : outputs) sides.right.add_output(name, node);
    return sides;
  }

  Result<Family> targets() {
    EGRET_ASSIGN_OR_RETURN(const Sides sides, build_targets());
    const auto& [left, right] = sides;
    verifier::RealNumbers reals = reals_.numbers();
    reals.rounded = rule_.has_tag(kRounding);
    reals.signs = signs_;
    EGRET_ASSIGN_OR_RETURN(verifier::Obligation obligation,
                           verifier::Obligation::of(left, right, splats_, reals));
    for (const ir::Guard& requirement : obligation.requirements()) scope_.decide(requirement);
    family_.obligation = std::make_shared<verifier::Obligation>(std::move(obligation));
    if (!integers_) family_.sides = {left, right};
    if (rewritings_ != nullptr) {
      EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Graph> graphs,
                             replay(*rewritings_, left, right));
      for (const ir::Graph& graph : graphs) {
        EGRET_ASSIGN_OR_RETURN(verifier::Obligation one,
                               verifier::Obligation::of(left, graph, splats_, reals));
        family_.on_the_way.push_back(std::make_shared<verifier::Obligation>(std::move(one)));
      }
    }
    family_.conditions.insert(family_.conditions.end(), scope_.conditions().begin(),
                              scope_.conditions().end());
    family_.example = scope_.examples();
    family_.structure = start_.numbers.structure;
    family_.reals_structure = structure_of_reals(start_.numbers, family_.reals);
    return family_;
  }

  // A target must have its source's type. The equality of sizes becomes a condition.
  Status require_same_type(const ir::TensorType& a, const ir::TensorType& b) {
    note_equated(a.dims, b.dims);
    bool same = a.dtype == b.dtype && a.rank() == b.rank();
    for (std::size_t i = 0; same && i < a.dims.size(); ++i)
      same = scope_.decide(a.dims[i] == b.dims[i]);
    return same ? base::ok() : base::bad_input("the types of source and target differ");
  }

  const Rule& rule_;
  const Start start_;
  const OpenReals& open_;
  const bool integers_;
  bool given_stay_ = false;  // what the rule says of integer attributes stays a number
  const Rewritings* rewritings_;
  ir::SymbolicScope scope_;
  Environment environment_;
  StandIns reals_;
  IndexNumbers index_numbers_{[this](double number) -> std::optional<ir::Index> {
    const verifier::RealTerm term = reals_.meaning(number);
    if (term.kind != verifier::RealTerm::Kind::kIndex) return std::nullopt;
    return term.index;
  }};
  RecordingSink sink_;
  std::map<std::string, std::size_t> group_of_;  // batch axes, by the names of sizes
  std::vector<ir::Index> batch_sizes_;
  std::map<std::string, std::int64_t> named_integers_;  // of attributes, by the names of symbols
  std::vector<std::pair<ir::Index, ir::Index>> equated_;
  Family family_;
  std::map<std::string, double> splats_;
  std::map<std::string, ir::Sign> signs_;
  std::deque<ir::Attrs> kept_;
  std::vector<MatchedTerm> matched_;
};

}  // namespace

// Makes as many reals unknown as possible: first all together, then one after the other.
Result<Family> generalize(const Rule& rule, const Instance& instance,
                          const GeneralizeOptions& options) {
  const auto splats = splats_by_tensor(instance);
  const Numbers numbers = numbers_of(rule, instance);
  const Generalizer::Start start{instance.choice, splats, numbers};
  for (const bool negative : {false, true}) {
    Result<Family> all =
        Generalizer(rule, start, options, {.all = true, .zero_is_negative = negative}).run();
    if (all.ok()) return all;
  }
  OpenReals open;
  Result<Family> best = Generalizer(rule, start, options, open).run();
  if (!best.ok()) return best;
  // Greedy: a real that cannot be unknown together with the earlier ones stays a number.
  for (const auto& [name, real] : numbers.reals) {
    open.names.insert(name);
    Result<Family> more = Generalizer(rule, start, options, open).run();
    if (more.ok()) {
      best = std::move(more);
    } else {
      open.names.erase(name);
    }
  }
  return best;
}

namespace {

// Whether all attributes that a variable stands for have this value in a choice. They need not if
// the choice comes from a search without regard to conditions.
bool has_attribute(const Choice& choice, int variable, const AttrValue& value) {
  const auto is_it = [&](const Expr& pattern) {
    return pattern.kind == Expr::Kind::kAttribute && pattern.slot == variable;
  };
  const auto agrees = [&](const Expr& pattern, const AttrValue& attribute) {
    if (is_it(pattern)) return attribute == value;
    const auto* list = std::get_if<ir::Integers>(&attribute);
    if (pattern.kind != Expr::Kind::kList || list == nullptr) return true;
    for (std::size_t k = 0; k < std::min(list->size(), pattern.arguments.size()); ++k) {
      if (is_it(pattern.arguments[k]) && !(AttrValue((*list)[k]) == value)) return false;
    }
    return true;
  };
  return std::ranges::all_of(choice.attrs, [&](const auto& applied) {
    return std::ranges::all_of(applied.second.entries(), [&](const ir::Attrs::Entry& entry) {
      const Expr* pattern = pattern_of(*applied.first, entry.name);
      return pattern == nullptr || agrees(*pattern, entry.value);
    });
  });
}

}  // namespace

Tracer::Tracer(const Rule& rule, const Instance& like, BatchSizes batch)
    : rule_(rule),
      splats_(splats_by_tensor(like)),
      numbers_(numbers_of(rule, like)),
      batch_(std::move(batch)),
      equal_attributes_(rules::equal_attributes(rule)) {
  Environment nothing = make_environment(rule);
  const InstanceConditions conditions(rule);
  for (const InstanceConditions::Definition& one : conditions.definitions()) {
    if (!is_constant(*one.value)) continue;
    const auto value = evaluate(*one.value, nothing);
    if (value && has_attribute(like.choice, one.attribute, *value))
      known_attributes_.insert(one.attribute);
  }
}

Trace Tracer::trace(const Choice& choice) const {
  const OpenReals open;
  return Generalizer(rule_,
                     {choice, splats_, numbers_, &batch_, &equal_attributes_, known_attributes_},
                     {}, open)
      .trace();
}

Choice Tracer::with(const Choice& choice, ir::SymbolValues integers) const {
  add_equal_attributes(equal_attributes_, integers);
  return with_integers(rule_, choice, integers);
}

Family unconditional_family(const Rule& rule, const Instance& instance) {
  Numbers numbers = numbers_of(rule, instance);
  Family family;
  family.reals_structure = structure_of_reals(numbers, {});
  family.structure = std::move(numbers.structure);
  for (const auto& [name, integer] : numbers.integers) {
    if (integer >= 0) family.example[name] = integer;
  }
  return family;
}

}  // namespace egret::rules
