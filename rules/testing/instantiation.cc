// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/instantiation.h"

#include <algorithm>

#include "base/small_vector.h"
#include "rules/language/attribute_pattern.h"
#include "rules/tensors/graph_sink.h"
#include "rules/testing/attribute_sampler.h"

namespace egret::rules {

using base::Random;
using base::Result;
using ir::AttrValue;
using ir::NodeId;
using ir::TensorType;

namespace {

constexpr int kTriesPerOperator = 60;
constexpr int kTriesAgainstHope = 6;    // where no known signature fits what is given
constexpr int kTriesOfAttributes = 20;  // where operands are given
constexpr int kTriesInTheDark = 3000;   // for an operator whose operands are a riddle
constexpr std::int64_t kMaxElements = 4096;

bool draw_the_same(Random a, Random b) { return a.next() == b.next(); }

}  // namespace

// One try at an instance.
class Instantiator::Attempt {
 public:
  Attempt(Instantiator& owner, Random random, const Choice* chosen = nullptr)
      : owner_(owner),
        chosen_(chosen),
        rule_(owner.rule_),
        random_(random),
        environment_(make_environment(owner.rule_)) {
    const std::int64_t sizes = random_.between(1, 10);
    for (int i = 0; i < (sizes <= 4 ? 1 : (sizes <= 7 ? 2 : 3)); ++i)
      palette_.push_back(random_.between(1, 4));
    const std::uint64_t type = random_.below(20);
    main_type_ = type < 17 ? ir::DType::kF32 : (type < 19 ? ir::DType::kI64 : ir::DType::kBool);
  }

  std::optional<Instance> run() {
    for (const Binding& source : rule_.sources) {
      const auto made = source_term(source.term);
      if (!made) return std::nullopt;
      set_tensor(source.tensor, *made);
    }
    std::vector<MatchedTerm> matched;
    for (const auto& [term, attrs] : matched_) matched.push_back({term, attrs});
    if (!bind_sources(rule_, matched, environment_)) return std::nullopt;
    return targets();
  }

 private:
  using Handle = TermSink::Handle;
  using Models = base::SmallVector<const TensorType*, 4>;  // whose shapes a new variable may copy

  void set_tensor(int slot, Handle handle) {
    environment_.tensors[static_cast<std::size_t>(slot)] = {&sink_.facts(handle), handle};
  }
  bool is_typed(int slot) const { return !rule_.is_variable(slot) || variables_.contains(slot); }

  // Types and builds a term of the sources.
  std::optional<Handle> source_term(const Term& term) {
    if (term.kind == Term::Kind::kTensor) {
      if (rule_.is_variable(term.slot)) return variables_.at(term.slot);
      return environment_.tensors[static_cast<std::size_t>(term.slot)].identity;
    }
    // Applications first: they may give a variable that also stands here its type.
    std::vector<std::optional<Handle>> arguments(term.arguments.size());
    for (const bool variables : {false, true}) {
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        const Term& argument = term.arguments[i];
        if ((argument.kind == Term::Kind::kTensor) != variables) continue;
        if (variables && !is_typed(argument.slot)) continue;
        arguments[i] = source_term(argument);
        if (!arguments[i]) return std::nullopt;
      }
    }
    return apply(term, arguments);
  }

  // Draws types for the variables that are new here, and attributes, until the operator takes them.
  std::optional<Handle> apply(const Term& term, std::span<const std::optional<Handle>> given) {
    if (chosen_ != nullptr) return apply_chosen(term, given);
    std::vector<TensorType> types = types_of(given);
    const auto& known = owner_.known_.signatures.of(*term.op, given.size());
    const auto fitting = fitting_signatures(known, given, types);
    const bool all_given = std::ranges::all_of(given, [](const auto& one) { return bool(one); });
    const int tries = known.empty()     ? kTriesInTheDark
                      : fitting.empty() ? kTriesAgainstHope
                      : all_given       ? kTriesOfAttributes
                                        : kTriesPerOperator;
    const auto bound = environment_.attributes;
    const auto order = sampling_order(*term.op);
    ir::Attrs attrs;
    for (int attempt = 0; attempt < tries; ++attempt) {
      const Random before = random_;
      environment_.attributes = bound;
      if (!all_given) draw_types(term, given, types, fitting);
      draw_attrs(term, order, types, attrs);
      if (!fails_already(term, attrs)) {
        auto type = owner_.type_of(*term.op, attrs, types);
        if (type) return build(term, given, types, attrs, *std::move(type));
      }
      if (draw_the_same(random_, before)) break;  // nothing was drawn: nor would the next try
    }
    return std::nullopt;
  }

  std::optional<Handle> apply_chosen(const Term& term,
                                     std::span<const std::optional<Handle>> given) {
    std::vector<TensorType> types;
    for (std::size_t i = 0; i < given.size(); ++i)
      types.push_back(given[i] ? sink_.facts(*given[i]).type
                               : chosen_->variables.at(term.arguments[i].slot));
    const ir::Attrs& attrs = chosen_->attrs.at(&term);
    auto type = owner_.type_of(*term.op, attrs, types);
    if (!type) return std::nullopt;
    return build(term, given, types, attrs, *std::move(type));
  }

  // Whether some condition is known to fail with what was drawn so far: asked before the operator
  // is, which costs more. What is not known yet has no value.
  bool fails_already(const Term& term, const ir::Attrs& attrs) {
    if (!owner_.conditions_.can_fail()) return false;
    for (const auto& [slot, captured] : spreads_)
      environment_.spreads[static_cast<std::size_t>(slot)] = captured;
    if (term.spread >= 0 && !spreads_.contains(term.spread))
      environment_.spreads[static_cast<std::size_t>(term.spread)] = &attrs;
    for (const Rule::Let& let : rule_.lets) {
      if (let.attribute < 0) continue;
      environment_.attributes[static_cast<std::size_t>(let.attribute)] =
          evaluate(let.value, environment_);
    }
    const bool fails = owner_.conditions_.fail(environment_);
    for (const Rule::Let& let : rule_.lets) {
      if (let.attribute >= 0)
        environment_.attributes[static_cast<std::size_t>(let.attribute)].reset();
    }
    std::ranges::fill(environment_.spreads, nullptr);
    return fails;
  }

  // Empty ones for those that are not given.
  std::vector<TensorType> types_of(std::span<const std::optional<Handle>> given) {
    std::vector<TensorType> types(given.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i]) types[i] = sink_.facts(*given[i]).type;
    }
    return types;
  }

  // The types of those that are not given, anew.
  void draw_types(const Term& term, std::span<const std::optional<Handle>> given,
                  std::span<TensorType> types, std::span<const Signature* const> fitting) {
    Models models;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i]) {
        models.push_back(&types[i]);
      } else {
        environment_.tensors[static_cast<std::size_t>(term.arguments[i].slot)] = {};
      }
    }
    const Signature* like =
        random_.chance(0.9) && !fitting.empty() ? fitting[random_.below(fitting.size())] : nullptr;
    const bool alike = like != nullptr && random_.chance(0.6);  // in sizes too
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i]) continue;
      const int slot = term.arguments[i].slot;
      std::size_t first = 0;  // a variable that stands here twice has one type
      while (given[first] || term.arguments[first].slot != slot) ++first;
      if (first == i) {
        types[i] = draw_type(slot, like != nullptr ? &like->inputs[i] : nullptr, models);
        if (alike) make_alike(*like, i, given, types);
        owner_.conditions_.fit(slot, types[i], environment_);
        show(slot, types[i]);
      } else {
        types[i] = types[first];
      }
      models.push_back(&types[i]);
    }
  }

  // Those that agree with what is given.
  static std::vector<const Signature*> fitting_signatures(
      const std::vector<Signature>& known, std::span<const std::optional<Handle>> given,
      std::span<const TensorType> types) {
    const auto agrees = [&](const Signature& signature) {
      for (std::size_t i = 0; i < given.size(); ++i) {
        if (given[i] && signature.inputs[i] != std::pair(types[i].rank(), types[i].dtype))
          return false;
      }
      const auto size = [&](const Signature::Axis& at) {
        return given[at.input] ? types[at.input].dims[at.axis].constant() : -1;
      };
      return std::ranges::all_of(signature.equal, [&](const Signature::Equal& pair) {
        const std::int64_t first = pair.first ? size(*pair.first) : 1;
        const std::int64_t second = size(pair.second);
        return first < 0 || second < 0 || first == second;
      });
    };
    std::vector<const Signature*> fitting;
    for (const Signature& signature : known) {
      if (agrees(signature)) fitting.push_back(&signature);
    }
    return fitting;
  }

  // Sizes of operand i that are equal to those of operands that have theirs, in the signature.
  void make_alike(const Signature& like, std::size_t i,
                  std::span<const std::optional<Handle>> given, std::span<TensorType> types) {
    if (types[i].rank() != like.inputs[i].first) return;
    const auto has = [&](const Signature::Axis& at) {
      return (given[at.input] || at.input <= i) && at.axis < types[at.input].dims.size();
    };
    for (const Signature::Equal& pair : like.equal) {
      if (pair.second.input == i) {
        if (!pair.first) types[i].dims[pair.second.axis] = 1;
        if (pair.first && has(*pair.first))
          types[i].dims[pair.second.axis] = types[pair.first->input].dims[pair.first->axis];
      } else if (pair.first && pair.first->input == i && given[pair.second.input]) {
        types[i].dims[pair.first->axis] = types[pair.second.input].dims[pair.second.axis];
      }
    }
  }

  // Lets conditions be evaluated on a type just drawn.
  void show(int slot, const TensorType& type) {
    TensorFacts& shown = shown_[slot];
    shown = {type, true, std::nullopt};
    environment_.tensors[static_cast<std::size_t>(slot)] = {&shown, 0};
  }

  TensorType draw_type(int slot, const std::pair<int, ir::DType>* like, const Models& models) {
    static constexpr int kRanks[] = {0, 1, 1, 2, 2, 3, 3, 4, 4};
    int rank = kRanks[random_.below(std::size(kRanks))];
    ir::DType dtype = main_type_;
    if (random_.chance(0.08)) dtype = random_.chance(0.5) ? ir::DType::kBool : ir::DType::kI64;
    if (like != nullptr) std::tie(rank, dtype) = *like;
    const auto fixed = owner_.conditions_.rank_of(slot);
    if (fixed) rank = *fixed;
    if (const TensorType* model = draw_model(models, 0.4);
        model != nullptr && ((like == nullptr && !fixed) || model->rank() == rank)) {
      return {dtype, model->dims};
    }
    ir::Dims dims;
    for (int i = 0; i < rank; ++i) dims.emplace_back(draw_size(models));
    return {dtype, dims};
  }

  // A tensor of this operator, or any variable so far, that a new one may resemble.
  const TensorType* draw_model(const Models& models, double probability) {
    if (!random_.chance(probability)) return nullptr;
    const Models& from = models.empty() || random_.chance(0.5) ? variable_types_ : models;
    return from.empty() ? nullptr : from[random_.below(from.size())];
  }

  std::int64_t draw_size(const Models& models) {
    if (random_.chance(0.2)) return 1;
    if (const TensorType* model = draw_model(models, 0.35); model != nullptr && model->rank() > 0)
      return model->dims[random_.below(model->dims.size())].constant();
    return palette_[random_.below(palette_.size())];
  }

  // Those of the last try are overwritten: what is drawn later is not looked at.
  void draw_attrs(const Term& term, std::span<const ir::AttrSpec* const> order,
                  std::span<const TensorType> types, ir::Attrs& attrs) {
    for (const ir::AttrSpec* spec : order)
      attrs.set(spec->name, draw_attr(term, *spec, attrs, types));
  }

  AttrValue draw_attr(const Term& term, const ir::AttrSpec& spec, const ir::Attrs& so_far,
                      std::span<const TensorType> types) {
    const Expr* listed = pattern_of(term, spec.name);
    if (listed == nullptr) {
      if (term.spread == Term::kNoSpread) return *spec.default_value;
      if (term.spread >= 0) {
        const auto captured = spreads_.find(term.spread);
        const AttrValue* value =
            captured != spreads_.end() ? captured->second->find(spec.name) : nullptr;
        if (value != nullptr) return *value;
      }
      return sample_attr(spec, so_far, types, random_);
    }
    const Expr& pattern = *listed;
    if (pattern.kind == Expr::Kind::kAttribute)
      return draw_variable(pattern.slot, spec, so_far, types);
    if (pattern.kind == Expr::Kind::kList) return draw_list(pattern, types);
    const auto value = evaluate(pattern, environment_);
    return value && ir::kind_of(*value) == spec.kind ? *value
                                                     : sample_attr(spec, so_far, types, random_);
  }

  AttrValue draw_variable(int slot, const ir::AttrSpec& spec, const ir::Attrs& so_far,
                          std::span<const TensorType> types) {
    auto& bound = environment_.attributes[static_cast<std::size_t>(slot)];
    if (bound && ir::kind_of(*bound) == spec.kind) return *bound;
    for (const auto& definition : owner_.conditions_.definitions()) {
      if (definition.attribute != slot || random_.chance(0.1)) continue;
      auto value = evaluate(*definition.value, environment_);
      // Without operands there is nothing to learn from but the form of the list.
      if (!value && types.empty() && definition.value->kind == Expr::Kind::kList)
        value = draw_list(*definition.value, types);
      if (value && ir::kind_of(*value) == spec.kind) {
        bound = value;
        return *value;
      }
    }
    if (spec.kind == ir::AttrKind::kInteger)
      bound = owner_.conditions_.solve_for(slot, environment_);
    if (!bound) bound = sample_attr(spec, so_far, types, random_);
    return *bound;
  }

  // [?a, 1, ...]: variables in lists are axes; of operators without operands, sizes.
  AttrValue draw_list(const Expr& pattern, std::span<const TensorType> types) {
    static const ir::AttrSpec kAxis{"axis", ir::AttrKind::kInteger, std::nullopt, ""};
    ir::Integers list;
    for (const Expr& element : pattern.arguments) {
      std::optional<AttrValue> value;
      if (element.kind == Expr::Kind::kAttribute) {
        auto& bound = environment_.attributes[static_cast<std::size_t>(element.slot)];
        if (!bound && types.empty()) bound.emplace(std::in_place_type<std::int64_t>, draw_size({}));
        value = draw_variable(element.slot, kAxis, {}, types);
      } else {
        value = evaluate(element, environment_);
      }
      const auto* integer = value ? std::get_if<std::int64_t>(&*value) : nullptr;
      list.push_back(integer != nullptr ? *integer : draw_size({}));
    }
    return list;
  }

  std::optional<Handle> build(const Term& term, std::span<const std::optional<Handle>> given,
                              std::span<const TensorType> types, const ir::Attrs& attrs,
                              TensorType inferred) {
    std::vector<Handle> arguments;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const Term& argument = term.arguments[i];
      if (given[i]) {
        arguments.push_back(*given[i]);
        continue;
      }
      const auto slot = static_cast<std::size_t>(argument.slot);
      if (!variables_.contains(argument.slot)) {
        if (types[i].elements() == 0) return std::nullopt;  // sizes are at least 1
        const std::optional<double> splat = draw_splat(argument.slot);
        const Handle made = sink_.input(types[i], rule_.tensors[slot], splat);
        variables_.emplace(argument.slot, made);
        variable_types_.push_back(
            &choice_.variables.emplace(argument.slot, types[i]).first->second);
        splats_.push_back(splat);
        set_tensor(argument.slot, made);
      }
      arguments.push_back(variables_.at(argument.slot));
    }
    const Handle made = sink_.apply_typed(*term.op, attrs, arguments, std::move(inferred));
    choice_.attrs[&term] = attrs;
    if (!attrs.empty() || !term.attrs.empty()) {
      kept_attrs_.push_back(attrs);
      matched_.emplace_back(&term, &kept_attrs_.back());
      if (term.spread >= 0) spreads_.emplace(term.spread, &kept_attrs_.back());
    }
    return made;
  }

  std::optional<double> draw_splat(int slot) {
    static constexpr double kNumbers[] = {1.0, 2.0, 0.5, -1.0, 0.0, 0.25, 3.0};
    const auto wanted = owner_.conditions_.splat_of(slot);
    if (!wanted) return std::nullopt;
    if (wanted->number) return wanted->number;
    return kNumbers[random_.below(std::size(kNumbers))];
  }

  std::optional<Instance> targets() {
    Instance instance;
    instance.left = sink_.graph();
    for (const Rule::Let& let : rule_.lets) {
      if (!build_let(rule_, let, environment_, sink_).ok()) return std::nullopt;
    }
    for (const Binding& target : rule_.targets) {
      const auto& source = environment_.tensors[static_cast<std::size_t>(target.tensor)];
      const auto built = build_term(rule_, target.term, environment_, sink_);
      if (!built.ok() || !(sink_.facts(*built).type == source.facts->type)) return std::nullopt;
      const std::string& name = rule_.tensors[static_cast<std::size_t>(target.tensor)];
      instance.left.add_output(name, NodeId(source.identity));
      outputs_.emplace_back(name, NodeId(*built));
    }
    instance.right = sink_.graph();
    for (const auto& [name, node] : outputs_) instance.right.add_output(name, node);
    instance.left = ir::without_dead_nodes(instance.left);
    instance.right = ir::without_dead_nodes(instance.right);
    instance.splats = splats_;
    instance.choice = choice_;
    instance.attributes = environment_.attributes;
    for (const ir::Attrs* captured : environment_.spreads)
      instance.spreads.push_back(captured != nullptr ? *captured : ir::Attrs());
    instance.text = describe();
    return instance;
  }

  std::string describe() {
    std::string text;
    for (const auto& [slot, handle] : variables_) {
      text += "  " + rule_.tensors[static_cast<std::size_t>(slot)] + ": " +
              to_string(sink_.facts(handle).type) + "\n";
    }
    for (std::size_t i = 0; i < rule_.attributes.size(); ++i) {
      if (environment_.attributes[i]) {
        text +=
            "  ?" + rule_.attributes[i] + " = " + ir::to_string(*environment_.attributes[i]) + "\n";
      }
    }
    for (std::size_t i = 0; i < rule_.spreads.size(); ++i) {
      if (environment_.spreads[i] != nullptr)
        text += "  *" + rule_.spreads[i] + " = " + to_string(*environment_.spreads[i]) + "\n";
    }
    return text;
  }

  Instantiator& owner_;
  const Choice* chosen_;
  const Rule& rule_;
  Random random_;
  Environment environment_;
  GraphSink sink_{kMaxElements, owner_.types_};
  std::vector<std::int64_t> palette_;
  ir::DType main_type_;
  std::map<int, Handle> variables_;  // by slot
  Models variable_types_;
  std::vector<std::optional<double>> splats_;  // in order of the graph's inputs
  std::deque<ir::Attrs> kept_attrs_;
  std::vector<std::pair<const Term*, const ir::Attrs*>> matched_;
  std::map<int, const ir::Attrs*> spreads_;
  std::map<int, TensorFacts> shown_;  // by slot
  std::vector<std::pair<std::string, NodeId>> outputs_;
  Choice choice_;
};

Instantiator::Instantiator(const Rule& rule, KnownOperators& known)
    : rule_(rule), known_(known), conditions_(rule) {}

std::optional<Instance> Instantiator::attempt(Random random) {
  return Attempt(*this, random).run();
}

std::optional<Instance> Instantiator::of(const Choice& choice, Random random) {
  if (!types_fit(choice)) return std::nullopt;
  return Attempt(*this, random, &choice).run();
}

std::optional<TensorType> Instantiator::type_of(const ir::Operator& op, const ir::Attrs& attrs,
                                                std::span<const TensorType> inputs) {
  const auto& inferred = types_.infer(op, attrs, inputs);
  if (!inferred.ok() || inferred->elements() > kMaxElements) return std::nullopt;
  return *inferred;
}

std::optional<TensorType> Instantiator::chosen_type(const Term& source, const Choice& choice) {
  if (source.kind == Term::Kind::kTensor)
    return rule_.is_variable(source.slot) ? choice.variables.at(source.slot)
                                          : bound_.at(source.slot);
  std::vector<TensorType> types;
  for (const Term& argument : source.arguments) {
    auto type = chosen_type(argument, choice);
    if (!type) return std::nullopt;
    types.push_back(*std::move(type));
  }
  return type_of(*source.op, choice.attrs.at(&source), types);
}

// Most choices are no instance for their types alone, which costs little to see.
bool Instantiator::types_fit(const Choice& choice) {
  for (const Binding& source : rule_.sources) {
    auto type = chosen_type(source.term, choice);
    if (!type) return false;
    bound_.insert_or_assign(source.tensor, *std::move(type));
  }
  return true;
}

std::vector<const Term*> source_applications(const Rule& rule) {
  std::vector<const Term*> all;
  for (const Binding& source : rule.sources) {
    for_each_subterm(source.term, [&](const Term& term) {
      if (term.kind == Term::Kind::kApply) all.push_back(&term);
    });
  }
  return all;
}

}  // namespace egret::rules
