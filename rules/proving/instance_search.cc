// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/instance_search.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "base/formats/units.h"
#include "base/function_ref.h"
#include "base/stop.h"
#include "rules/language/attribute_pattern.h"
#include "rules/testing/guard_solver.h"

namespace egret::rules {
namespace {

constexpr std::uint64_t kDraws = 600;  // of sources
constexpr std::size_t kKinds = 64;
constexpr std::size_t kPaths = 1000;     // of a kind
constexpr std::size_t kQuestions = 200;  // of a kind
constexpr int kOfKind = 4;               // instances on different paths of a kind
constexpr int kFruitless = 200;          // changes of numbers in a row that give no new instance
constexpr std::int64_t kMostOfOne = std::int64_t{1} << 22;  // elements of a tensor
constexpr std::int64_t kMostOfAll = std::int64_t{1} << 25;  // elements of all variables
constexpr std::size_t kPathsToExclude = 400;  // of a kind, for each condition left out

std::int64_t elements_of(const Instance& instance) {
  std::int64_t all = 0;
  for (const auto& [slot, type] : instance.choice.variables) all += type.elements();
  return all;
}

using Tries = base::FunctionRef<bool(std::span<const Expr>)>;

// Leaves out one condition after the other, as long as the rest excludes everything. The result is
// minimal: without any one of its conditions something is possible, as far as `excludes` knows.
std::vector<Expr> minimal(std::vector<Expr> conditions, Tries excludes) {
  for (std::size_t i = 0; i < conditions.size();) {
    std::vector<Expr> fewer = conditions;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (excludes(fewer)) {
      conditions = std::move(fewer);
    } else {
      ++i;
    }
  }
  return conditions;
}

std::string text_of(const Rule& rule, std::span<const Expr> conditions) {
  std::string text;
  for (const Expr& condition : conditions)
    text += (text.empty() ? "" : " and ") + to_string(rule, condition);
  return text;
}

void collect(const Expr& expr, Expr::Kind kind, std::set<int>& slots) {
  if (expr.kind == kind) slots.insert(expr.slot);
  for (const Expr& part : expr.arguments) collect(part, kind, slots);
}

bool all_hold(std::span<const Expr> conditions, Environment& environment) {
  return std::ranges::all_of(conditions, [&](const Expr& condition) {
    const auto value = evaluate(condition, environment);
    return value && *value == ir::AttrValue(std::int64_t{1});
  });
}

// Whether no ranks up to 8 and element types satisfy conditions on these alone. False also if the
// conditions name more than two tensors.
bool excludes_structures(const Rule& rule, std::span<const Expr> conditions) {
  constexpr int kMostRank = 8;
  std::set<int> tensors;
  for (const Expr& condition : conditions) collect(condition, Expr::Kind::kTensor, tensors);
  if (conditions.empty() || tensors.size() > 2) return false;
  Environment environment = make_environment(rule);
  std::vector<TensorFacts> facts(tensors.size());
  const auto any_holds = [&](const auto& self, std::size_t place) -> bool {
    if (place == tensors.size()) return all_hold(conditions, environment);
    const int slot = *std::next(tensors.begin(), static_cast<std::ptrdiff_t>(place));
    environment.tensors[static_cast<std::size_t>(slot)] = {&facts[place], 0};
    for (int rank = 0; rank <= kMostRank; ++rank) {
      for (int dtype = 0; dtype < ir::kDTypeCount; ++dtype) {
        facts[place].type = {static_cast<ir::DType>(dtype),
                             ir::Dims(static_cast<std::size_t>(rank), ir::Index(1))};
        if (self(self, place + 1)) return true;
      }
    }
    return false;
  };
  return !any_holds(any_holds, 0);
}

// The real attributes that the conditions name: their values were drawn, not solved for.
std::set<int> real_attributes(const Rule& rule, std::span<const Expr> conditions) {
  std::set<int> named;
  for (const Expr& condition : conditions) collect(condition, Expr::Kind::kAttribute, named);
  std::set<int> real;
  for (const Term* term : source_applications(rule)) {
    for (const ir::AttrSpec& spec : term->op->attrs()) {
      const Expr* pattern = pattern_of(*term, spec.name);
      if (pattern != nullptr && pattern->kind == Expr::Kind::kAttribute &&
          spec.kind == ir::AttrKind::kReal && named.contains(pattern->slot))
        real.insert(pattern->slot);
    }
  }
  return real;
}

// Whether the conditions mention the attribute only in comparisons of itself with numbers.
bool is_compared_with_numbers(const Expr& expr, int slot) {
  std::set<int> attributes;
  collect(expr, Expr::Kind::kAttribute, attributes);
  if (!attributes.contains(slot)) return true;
  static constexpr std::string_view kComparisons[] = {"==", "!=", "<", "<=", ">", ">="};
  const bool compares =
      expr.kind == Expr::Kind::kCall &&
      std::ranges::find(kComparisons, expr.function->name) != std::end(kComparisons);
  if (compares) {
    const auto& sides = expr.arguments;
    for (const std::size_t i : {0, 1}) {
      if (sides[i].kind == Expr::Kind::kAttribute && sides[1 - i].kind == Expr::Kind::kLiteral)
        return true;
    }
    return false;
  }
  const bool joins = expr.kind == Expr::Kind::kAnd || expr.kind == Expr::Kind::kOr;
  return joins && std::ranges::all_of(expr.arguments, [&](const Expr& part) {
           return is_compared_with_numbers(part, slot);
         });
}

// Whether conditions that compare one real attribute with numbers exclude each other.
bool excludes_reals(const Rule& rule, std::span<const Expr> conditions, int slot) {
  if (!std::ranges::all_of(conditions, [&](const Expr& condition) {
        return is_compared_with_numbers(condition, slot);
      }))
    return false;
  Environment environment = make_environment(rule);
  return std::ranges::none_of(InstanceConditions(rule).landmarks(), [&](double landmark) {
    environment.attributes[static_cast<std::size_t>(slot)] = landmark;
    return std::ranges::all_of(conditions, [&](const Expr& condition) {
      const auto value = evaluate(condition, environment);
      return !value || *value == ir::AttrValue(std::int64_t{1});
    });
  });
}

// Whether the conditions depend on what is drawn and not solved for, besides real attributes that
// are named: captured attributes, texts and elements.
bool depends_on_draws(const Expr& expr) {
  if (expr.kind == Expr::Kind::kSpread) return true;
  const bool text =
      expr.kind == Expr::Kind::kLiteral && std::holds_alternative<std::string>(expr.value);
  if (text) return true;  // an element type or a mode
  if (expr.kind == Expr::Kind::kCall && expr.function->name.find("splat") != std::string_view::npos)
    return true;
  return std::ranges::any_of(expr.arguments, depends_on_draws);
}

// The kinds of sources that random draws meet, those with few numbers first.
std::vector<Instance> draw_kinds(Instantiator& instantiator, const base::Random& random) {
  std::map<std::pair<std::size_t, std::string>, Instance> kinds;
  for (std::uint64_t draw = 0; draw < kDraws && !base::stop_requested(); ++draw) {
    auto sources = instantiator.attempt_sources(random.split(draw));
    if (!sources) continue;
    Numbers numbers = numbers_of(instantiator.rule(), *sources);
    kinds.try_emplace({numbers.integers.size(), std::move(numbers.structure)}, *std::move(sources));
  }
  std::vector<Instance> result;
  for (auto& [kind, sources] : kinds) {
    if (result.size() < kKinds) result.push_back(std::move(sources));
  }
  return result;
}

// Whether some kind of sources has numbers with which a rule with these conditions applies.
class Exclusion {
 public:
  Exclusion(const Rule& rule, std::span<const Instance> kinds, verifier::SolverSession& session)
      : rule_(rule), from_(source_applications(rule)), kinds_(kinds), session_(session) {}

  bool excludes(std::vector<Expr> conditions) {
    Rule copy = rule_;
    copy.conditions = std::move(conditions);
    const auto terms = source_applications(copy);
    return std::ranges::all_of(kinds_, [&](const Instance& kind) {
      Instance like = kind;
      like.choice.attrs.clear();
      for (std::size_t i = 0; i < terms.size(); ++i) {
        const auto found = kind.choice.attrs.find(from_[i]);
        if (found != kind.choice.attrs.end()) like.choice.attrs.emplace(terms[i], found->second);
      }
      Cover paths(copy, like, session_, {.paths = kPathsToExclude, .questions = kQuestions});
      return !paths.run(like.choice) && !paths.next() && paths.open().empty();
    });
  }

 private:
  const Rule& rule_;
  const std::vector<const Term*> from_;
  std::span<const Instance> kinds_;
  verifier::SolverSession& session_;
};

}  // namespace

InstanceSearch::InstanceSearch(Instantiator& instantiator, base::Random random,
                               verifier::SolverSession* session)
    : rule_(instantiator.rule()),
      instantiator_(instantiator),
      random_(random),
      session_(session != nullptr ? *session : own_) {}

std::optional<Instance> InstanceSearch::next() {
  if (!std::exchange(started_, true)) kinds_ = draw_kinds(instantiator_, random_.split(0));
  if (elements_ >= kMostOfAll) return std::nullopt;
  if (auto instance = next_path()) return instance;
  return next_member();
}

// Instances on paths that none was on before, kind by kind.
std::optional<Instance> InstanceSearch::next_path() {
  for (; kind_ < kinds_.size() && !base::stop_requested(); ++kind_, paths_.reset(), of_kind_ = 0) {
    const Instance& like = kinds_[kind_];
    std::optional<Choice> choice;
    if (paths_ == nullptr) {
      paths_ = std::make_unique<Cover>(rule_, like, session_,
                                       Cover::Limits{.paths = kPaths, .questions = kQuestions});
      if (paths_->run(like.choice)) choice = like.choice;
    }
    while (of_kind_ < kOfKind && !base::stop_requested()) {
      if (!choice) choice = paths_->next();
      if (!choice) break;
      auto instance = accept(*std::exchange(choice, std::nullopt));
      if (!instance) continue;
      ++of_kind_;
      return instance;
    }
    if (open_.empty() && of_kind_ < kOfKind) open_ = paths_->open();
  }
  return std::nullopt;
}

// Changes up to four numbers of an instance and repairs what its path then violates.
std::optional<Instance> InstanceSearch::next_member() {
  constexpr std::int64_t kMostChanges = 3;
  constexpr std::int64_t kFarthest = 9;
  if (found_.empty()) return std::nullopt;
  while (fruitless_ < kFruitless && !base::stop_requested()) {
    base::Random own = random_.split(1).split(changes_++);
    const Instance& from = found_[own.below(found_.size())];
    const Tracer tracer(rule_, from);
    const Trace trace = tracer.trace(from.choice);
    ir::SymbolValues numbers = trace.numbers;
    ++fruitless_;
    if (numbers.empty()) continue;
    for (std::int64_t left = own.between(1, kMostChanges); left > 0; --left) {
      auto& number =
          std::next(numbers.begin(), static_cast<std::ptrdiff_t>(own.below(numbers.size())))
              ->second;
      number = std::max<std::int64_t>(1, number + own.between(-kFarthest, kFarthest));
    }
    const auto fitting = solve_near(trace.conditions, std::move(numbers), own.split(1));
    if (!fitting) continue;
    if (auto instance = accept(tracer.with(from.choice, *fitting))) return instance;
  }
  return std::nullopt;
}

// The instance, if it is one, is new and may be run.
std::optional<Instance> InstanceSearch::accept(const Choice& choice) {
  auto instance = instantiator_.of(choice, random_.split(2).split(seen_.size()), kMostOfOne);
  if (!instance || !seen_.insert(instance->text).second) return std::nullopt;
  fruitless_ = 0;
  elements_ += elements_of(*instance);
  found_.push_back(*instance);
  return instance;
}

InstanceSource::None InstanceSearch::none() {
  if (!open_.empty()) return {.certain = false, .reason = "no instance was found: " + open_};
  std::vector<Expr> conditions = conjuncts(rule_);
  if (kinds_.empty()) return without_kinds(std::move(conditions));
  for (const int slot : real_attributes(rule_, conditions)) {
    const auto excludes = [&](std::span<const Expr> some) {
      return excludes_reals(rule_, some, slot);
    };
    if (excludes(conditions)) {
      return {.certain = true,
              .reason = "no number satisfies " +
                        text_of(rule_, minimal(std::move(conditions), excludes))};
    }
  }
  Exclusion exclusion(rule_, kinds_, session_);
  if (exclusion.excludes({}))
    return {.certain = true,
            .reason = "a target never has the type of its source, whose sizes are at least 1"};
  const std::vector<Expr> core = minimal(std::move(conditions), [&](std::span<const Expr> some) {
    return exclusion.excludes({some.begin(), some.end()});
  });
  if (std::ranges::any_of(core, depends_on_draws) || !real_attributes(rule_, core).empty())
    return {.certain = false, .reason = "no instance was found with " + text_of(rule_, core)};
  return {.certain = true,
          .reason = "no sizes and attributes satisfy " + text_of(rule_, core) + " (" +
                    base::counted(static_cast<std::int64_t>(kinds_.size()), "kind") +
                    " of sources examined)"};
}

// No sources have ranks and element types that satisfy the conditions on these.
InstanceSource::None InstanceSearch::without_kinds(std::vector<Expr> conditions) const {
  std::erase_if(conditions, [](const Expr& condition) { return !is_structural(condition); });
  const auto excludes = [&](std::span<const Expr> some) {
    return excludes_structures(rule_, some);
  };
  if (excludes(conditions)) {
    return {.certain = true,
            .reason = "no ranks and element types satisfy " +
                      text_of(rule_, minimal(std::move(conditions), excludes))};
  }
  const std::string with = conditions.empty() ? "" : " where " + text_of(rule_, conditions);
  return {.certain = false, .reason = "no operands were found that the sources accept" + with};
}

std::unique_ptr<InstanceSource> solved_instances(Instantiator& instantiator, base::Random random) {
  return std::make_unique<InstanceSearch>(instantiator, random);
}

}  // namespace egret::rules
