// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/instantiation.h"

#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "ir/core/integer_arithmetic.h"
#include "rules/testing/attribute_draws.h"
#include "rules/testing/attribute_sampler.h"
#include "rules/testing/operand_draws.h"
#include "rules/testing/shape_draws.h"
#include "rules/testing/source_builder.h"

namespace egret::rules {

using base::Random;
using ir::TensorType;
using Handle = TermSink::Handle;

namespace {

// Tries for one application.
constexpr int kTriesWithSignature = 60;
constexpr int kTriesWithoutFit = 6;     // no known signature agrees with the built operands
constexpr int kTriesOfAttributes = 20;  // all operands are built
constexpr int kTriesOfUnknown = 3000;   // no call that the operator accepts is known

int most_tries(bool is_known, bool fits, bool all_built) {
  if (!is_known) return kTriesOfUnknown;
  if (!fits) return kTriesWithoutFit;
  return all_built ? kTriesOfAttributes : kTriesWithSignature;
}

bool is_same_stream(Random a, Random b) { return a.next() == b.next(); }

// Whether the element type represents the number.
bool is_of(ir::DType dtype, double number) {
  constexpr double kMost = 1e15;
  if (ir::is_float(dtype)) return true;
  if (!ir::is_integer(dtype) || number != std::trunc(number) || std::abs(number) > kMost)
    return false;
  const auto whole = static_cast<std::int64_t>(number);
  return whole >= ir::lowest_integer(dtype) &&
         (dtype == ir::DType::kU64 || whole <= ir::highest_integer(dtype));
}
bool has_sign(ir::Sign sign, double number) {
  return sign == ir::Sign::kUnknown || number > 0 ||
         (number == 0 && sign == ir::Sign::kNotNegative);
}

// A number that the element type represents.
std::optional<double> draw_splat(const InstanceConditions& conditions, int slot, ir::DType dtype,
                                 Random& random) {
  static constexpr double kNumbers[] = {1.0, 2.0, 0.5, -1.0, 0.0, 0.25, 3.0};
  static constexpr double kWhole[] = {1.0, 2.0, 5.0, -1.0, 0.0, 4.0, 3.0};
  const auto wanted = conditions.splat_of(slot);
  if (!wanted) return std::nullopt;
  if (wanted->number) return wanted->number;
  const std::vector<double>& decisive = conditions.splat_numbers(slot);
  if (!decisive.empty() && random.chance(0.8)) {
    const double number = decisive[random.below(decisive.size())];
    if (is_of(dtype, number) && has_sign(conditions.sign_of(slot), number)) return number;
  }
  std::uint64_t which = random.below(std::size(kNumbers));
  // The fourth and fifth numbers are negative and 0.
  const ir::Sign sign = conditions.sign_of(slot);
  if ((sign != ir::Sign::kUnknown && which == 3) || (sign == ir::Sign::kPositive && which == 4))
    which = 0;
  if (ir::is_float(dtype)) return kNumbers[which];
  if (dtype == ir::DType::kBool) return static_cast<double>(which % 2);
  if (!ir::is_signed_integer(dtype)) return std::abs(kWhole[which]);
  constexpr double kOtherNegative = -3.0;  // what holds for -1 alone is not taken for a law
  return kWhole[which] == -1 && random.chance(0.5) ? kOtherNegative : kWhole[which];
}

// Applications with random types and attributes.
class ApplicationDraws {
 public:
  ApplicationDraws(const InstanceConditions& conditions, KnownSignatures& signatures,
                   ir::TypeMemo& types, SourceBuilder& sources, Random& random, Sizes sizes,
                   std::optional<int> rank = std::nullopt)
      : conditions_(conditions),
        signatures_(signatures),
        types_(types),
        sources_(sources),
        random_(random) {
    palette_.rank = rank;
    palette_.allowed = sizes;
  }

  // Draws types for the variables that are new here, and attributes, until the operator accepts
  // them.
  std::optional<Handle> apply(const Term& term, Operands operands) {
    const auto& known = signatures_.of(*term.op, operands.size(), palette_.rank);
    const auto fitting = fitting_signatures(known, operands);
    const bool all_built = operands.all_built();
    const int tries = most_tries(!known.empty(), !fitting.empty(), all_built);
    const auto order = sampling_order(*term.op);
    auto& bound = sources_.environment().attributes;
    const auto bound_before = bound;
    ir::Attrs attrs;
    for (int attempt = 0; attempt < tries; ++attempt) {
      const Random before = random_;
      bound = bound_before;
      if (!all_built) operand_draws_.draw(term, fitting, operands);
      attribute_draws_.draw(term, order, operands.types, attrs);
      // Conditions first: to infer a type costs more.
      if (!sources_.fails(conditions_, term, attrs)) {
        auto type = small_type(types_, *term.op, attrs, operands.types);
        if (type)
          return sources_.apply(term, operands, attrs, *std::move(type),
                                [&](int slot, ir::DType dtype) {
                                  return draw_splat(conditions_, slot, dtype, random_);
                                });
      }
      if (is_same_stream(random_, before)) break;  // nothing was drawn: the next try is the same
    }
    return std::nullopt;
  }

 private:
  const InstanceConditions& conditions_;
  KnownSignatures& signatures_;
  ir::TypeMemo& types_;
  SourceBuilder& sources_;
  Random& random_;
  Palette palette_ = draw_palette(random_);
  OperandDraws operand_draws_{conditions_, palette_, sources_, random_};
  AttributeDraws attribute_draws_{conditions_, palette_, sources_, random_};
};

}  // namespace

Instantiator::Instantiator(const Rule& rule, KnownOperators& known, Sizes sizes)
    : rule_(rule),
      known_(known),
      sizes_(sizes),
      conditions_(rule),
      structure_(rule, InstanceConditions::Regard::kStructure) {}

std::optional<Instance> Instantiator::attempt(Random random, std::optional<int> rank) {
  SourceBuilder sources(rule_, types_, {.sizes = sizes_});
  ApplicationDraws draws(conditions_, known_.signatures, types_, sources, random, sizes_, rank);
  return sources.run(
      [&](const Term& term, Operands operands) { return draws.apply(term, std::move(operands)); });
}

std::optional<Instance> Instantiator::attempt_sources(Random random) {
  SourceBuilder sources(rule_, types_, {.sizes = sizes_});
  ApplicationDraws draws(structure_, known_.signatures, types_, sources, random, sizes_);
  return sources.run_sources(
      [&](const Term& term, Operands operands) { return draws.apply(term, std::move(operands)); });
}

std::optional<Instance> Instantiator::of(const Choice& choice, Random random,
                                         std::int64_t most_elements) {
  // Only the numbers of constant tensors are drawn, after the numbers that attempt() draws first.
  draw_palette(random);
  return built(choice, most_elements, [&](int slot, ir::DType dtype) {
    return draw_splat(conditions_, slot, dtype, random);
  });
}

std::optional<Instance> Instantiator::of(const Choice& choice, const std::map<int, double>& splats,
                                         std::int64_t most_elements) {
  bool all_known = true;
  auto instance =
      built(choice, most_elements, [&](int slot, ir::DType dtype) -> std::optional<double> {
        const auto wanted = conditions_.splat_of(slot);
        if (!wanted) return std::nullopt;
        if (wanted->number) return wanted->number;
        const auto given = splats.find(slot);
        const bool fits = given != splats.end() &&
                          has_sign(conditions_.sign_of(slot), given->second) &&
                          (dtype == ir::DType::kBool ? given->second == 0 || given->second == 1
                                                     : is_of(dtype, given->second));
        all_known = all_known && fits;
        return fits ? given->second : 0.0;
      });
  if (!all_known) return std::nullopt;
  return instance;
}

std::optional<Instance> Instantiator::built(const Choice& choice, std::int64_t most_elements,
                                            SourceBuilder::SplatOf splat_of) {
  most_elements_ = most_elements;
  const bool fits = types_fit(choice);
  most_elements_ = kMostElements;
  if (!fits) return std::nullopt;
  SourceBuilder sources(rule_, types_, {.most_elements = most_elements, .sizes = sizes_});
  return sources.run([&](const Term& term, Operands operands) -> std::optional<Handle> {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!operands.built[i]) operands.types[i] = choice.variables.at(term.arguments[i].slot);
    }
    const ir::Attrs& attrs = choice.attrs.at(&term);
    auto type = small_type(types_, *term.op, attrs, operands.types, most_elements);
    if (!type) return std::nullopt;
    return sources.apply(term, operands, attrs, *std::move(type), splat_of);
  });
}

std::optional<TensorType> Instantiator::type_of(const ir::Operator& op, const ir::Attrs& attrs,
                                                std::span<const TensorType> inputs) {
  return small_type(types_, op, attrs, inputs, most_elements_);
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

// Types alone rule out most choices, and are cheap to check.
bool Instantiator::types_fit(const Choice& choice) {
  for (const Binding& source : rule_.sources) {
    auto type = chosen_type(source.term, choice);
    if (!type) return false;
    bound_.insert_or_assign(source.tensor, *std::move(type));
  }
  return true;
}

}  // namespace egret::rules
