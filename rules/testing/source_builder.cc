// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/source_builder.h"

#include <algorithm>
#include <utility>

#include "rules/language/expression_reads.h"

namespace egret::rules {

using ir::NodeId;
using ir::TensorType;

std::optional<TensorType> small_type(ir::TypeMemo& known, const ir::Operator& op,
                                     const ir::Attrs& attrs, std::span<const TensorType> inputs,
                                     std::int64_t most_elements) {
  const auto& inferred = known.infer(op, attrs, inputs);
  if (!inferred.ok()) return std::nullopt;
  const auto elements = ir::element_count(inferred->shape());
  if (!elements || *elements > most_elements) return std::nullopt;
  return *inferred;
}

bool Operands::all_built() const {
  return std::ranges::all_of(built, [](const auto& one) { return one.has_value(); });
}

SourceBuilder::SourceBuilder(const Rule& rule, ir::TypeMemo& known, Limits limits)
    : rule_(rule),
      sizes_(limits.sizes),
      environment_(make_environment(rule)),
      sink_(limits.most_elements, known) {}

bool SourceBuilder::build_sources(Application application) {
  for (const Binding& source : rule_.sources) {
    const auto made = build(source.term, application);
    if (!made) return false;
    set_tensor(source.tensor, *made);
  }
  return true;
}

std::optional<Instance> SourceBuilder::run(Application application) {
  if (!build_sources(application) || !bind_sources(rule_, matched_, environment_))
    return std::nullopt;
  return build_targets();
}

std::optional<Instance> SourceBuilder::run_sources(Application application) {
  if (!build_sources(application)) return std::nullopt;
  Instance instance;
  instance.left = sink_.graph();
  instance.splats = splats_;
  instance.signs = signs_;
  instance.choice = choice_;
  return instance;
}

std::optional<SourceBuilder::Handle> SourceBuilder::build(const Term& term,
                                                          Application application) {
  if (term.kind == Term::Kind::kTensor) {
    if (rule_.is_variable(term.slot)) return variables_.at(term.slot);
    return environment_.tensors[static_cast<std::size_t>(term.slot)].identity;
  }
  Operands operands{.built = std::vector<std::optional<Handle>>(term.arguments.size()),
                    .types = std::vector<TensorType>(term.arguments.size())};
  // Applications first: they may give a type to a variable that also occurs here.
  for (const bool tensors : {false, true}) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Term& argument = term.arguments[i];
      if ((argument.kind == Term::Kind::kTensor) != tensors) continue;
      if (tensors && !is_typed(argument.slot)) continue;
      operands.built[i] = build(argument, application);
      if (!operands.built[i]) return std::nullopt;
      operands.types[i] = sink_.facts(*operands.built[i]).type;
    }
  }
  return application(term, std::move(operands));
}

std::optional<SourceBuilder::Handle> SourceBuilder::apply(const Term& term,
                                                          const Operands& operands,
                                                          const ir::Attrs& attrs, TensorType type,
                                                          SplatOf splat_of) {
  std::vector<Handle> arguments;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands.built[i]) {
      arguments.push_back(*operands.built[i]);
      continue;
    }
    const int slot = term.arguments[i].slot;
    const auto known = variables_.find(slot);  // it occurs here twice
    const bool is_refused = sizes_ == Sizes::kPositive && operands.types[i].elements() == 0;
    if (known == variables_.end() && is_refused) return std::nullopt;
    arguments.push_back(
        known != variables_.end()
            ? known->second
            : variable(slot, operands.types[i], splat_of(slot, operands.types[i].dtype)));
  }
  const Handle made = sink_.apply_typed(*term.op, attrs, arguments, std::move(type));
  choice_.attrs[&term] = attrs;
  if (!attrs.empty() || !term.attrs.empty()) {
    attrs_.push_back(attrs);
    matched_.push_back({&term, &attrs_.back()});
    if (term.spread >= 0) spreads_.emplace(term.spread, &attrs_.back());
  }
  return made;
}

SourceBuilder::Handle SourceBuilder::variable(int slot, const TensorType& type,
                                              std::optional<double> splat) {
  const std::string& name = rule_.tensors[static_cast<std::size_t>(slot)];
  const ir::Sign sign = stated_sign(rule_, slot);
  const Handle made = sink_.input(type, name, splat, sign);
  variables_.emplace(slot, made);
  variable_types_.push_back(&choice_.variables.emplace(slot, type).first->second);
  splats_.push_back(splat);
  signs_.push_back(sign);
  set_tensor(slot, made);
  return made;
}

void SourceBuilder::set_tensor(int slot, Handle handle) {
  environment_.tensors[static_cast<std::size_t>(slot)] = {&sink_.facts(handle), handle};
}

const ir::Attrs* SourceBuilder::captured(int spread) const {
  const auto found = spreads_.find(spread);
  return found != spreads_.end() ? found->second : nullptr;
}

bool SourceBuilder::fails(const InstanceConditions& conditions, const Term& term,
                          const ir::Attrs& attrs) {
  if (!conditions.can_fail()) return false;
  // Spreads and `let` attributes are bound for the question alone: bind_sources() binds them.
  for (const auto& [slot, captured] : spreads_)
    environment_.spreads[static_cast<std::size_t>(slot)] = captured;
  if (term.spread >= 0 && !spreads_.contains(term.spread))
    environment_.spreads[static_cast<std::size_t>(term.spread)] = &attrs;
  for (const Rule::Let& let : rule_.lets) {
    if (let.attribute < 0) continue;
    environment_.attributes[static_cast<std::size_t>(let.attribute)] =
        evaluate(let.value, environment_);
  }
  const bool failed = conditions.fail(environment_);
  for (const Rule::Let& let : rule_.lets) {
    if (let.attribute >= 0)
      environment_.attributes[static_cast<std::size_t>(let.attribute)].reset();
  }
  std::ranges::fill(environment_.spreads, nullptr);
  return failed;
}

std::optional<Instance> SourceBuilder::build_targets() {
  Instance instance;
  instance.left = sink_.graph();
  for (const Rule::Let& let : rule_.lets) {
    if (!build_let(rule_, let, environment_, sink_).ok()) return std::nullopt;
  }
  std::vector<std::pair<std::string, NodeId>> outputs;
  for (const Binding& target : rule_.targets) {
    const auto& source = environment_.tensors[static_cast<std::size_t>(target.tensor)];
    const auto built = build_term(rule_, target.term, environment_, sink_);
    if (!built.ok() || !(sink_.facts(*built).type == source.facts->type)) return std::nullopt;
    const std::string& name = rule_.tensors[static_cast<std::size_t>(target.tensor)];
    instance.left.add_output(name, NodeId(source.identity));
    outputs.emplace_back(name, NodeId(*built));
  }
  instance.right = sink_.graph();
  for (const auto& [name, node] : outputs) instance.right.add_output(name, node);
  instance.left = ir::without_dead_nodes(instance.left);
  instance.right = ir::without_dead_nodes(instance.right);
  instance.splats = splats_;
  instance.signs = signs_;
  instance.choice = choice_;
  instance.attributes = environment_.attributes;
  for (const ir::Attrs* captured : environment_.spreads)
    instance.spreads.push_back(captured != nullptr ? *captured : ir::Attrs());
  instance.text = describe();
  return instance;
}

std::string SourceBuilder::describe() {
  std::string text;
  for (const auto& [slot, handle] : variables_) {
    text += "  " + rule_.tensors[static_cast<std::size_t>(slot)] + ": " +
            to_string(sink_.facts(handle).type) + "\n";
  }
  for (std::size_t i = 0; i < rule_.attributes.size(); ++i) {
    if (environment_.attributes[i])
      text +=
          "  ?" + rule_.attributes[i] + " = " + ir::to_string(*environment_.attributes[i]) + "\n";
  }
  for (std::size_t i = 0; i < rule_.spreads.size(); ++i) {
    if (environment_.spreads[i] != nullptr)
      text += "  *" + rule_.spreads[i] + " = " + to_string(*environment_.spreads[i]) + "\n";
  }
  return text;
}

}  // namespace egret::rules
