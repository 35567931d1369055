// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/mutation.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "ir/graph/operator.h"

namespace egret::rules {
namespace {

using Visit = std::function<void(Term&)>;

// The recursion depth is bounded by the parser.
void for_each_target_term(Term& term, const Visit& visit) {
  visit(term);
  for (Term& argument : term.arguments) for_each_target_term(argument, visit);
}

void for_each_target_term(Rule& rule, const Visit& visit) {
  for (Rule::Let& let : rule.lets) {
    if (let.tensor >= 0) for_each_target_term(let.term, visit);
  }
  for (Binding& target : rule.targets) for_each_target_term(target.term, visit);
}

void for_each_number(Expr& expr, const std::function<void(std::int64_t&)>& visit) {
  if (auto* number = std::get_if<std::int64_t>(&expr.value);
      number != nullptr && expr.kind == Expr::Kind::kLiteral)
    visit(*number);
  for (Expr& part : expr.arguments) for_each_number(part, visit);
}

class Mutation {
 public:
  explicit Mutation(const Rule& rule) : rule_(rule) {}

  std::vector<Mutant> run() && {
    exchange_operands();
    drop_conditions();
    shift_numbers();
    confuse_variables();
    confuse_operators();
    return std::move(mutants_);
  }

 private:
  void add(Rule rule, std::string mistake) {
    rule.name += "-mutant-" + std::to_string(mutants_.size() + 1);
    mutants_.push_back({std::move(rule), std::move(mistake)});
  }

  // Makes one mutant per place where the change applies. `change` counts `skip` down at each
  // applicable place and applies the change at the place where it is 0.
  void at_each_place(const std::function<std::string(Term&, std::size_t& skip)>& change) {
    for (std::size_t place = 0;; ++place) {
      Rule changed = rule_;
      std::size_t skip = place;
      std::string mistake;
      for_each_target_term(changed, [&](Term& term) {
        if (mistake.empty()) mistake = change(term, skip);
      });
      if (mistake.empty()) return;
      add(std::move(changed), std::move(mistake));
    }
  }

  void exchange_operands() {
    at_each_place([](Term& term, std::size_t& skip) -> std::string {
      for (std::size_t i = 0; i + 1 < term.arguments.size(); ++i) {
        if (skip-- > 0) continue;
        std::swap(term.arguments[i], term.arguments[i + 1]);
        return "operands " + std::to_string(i + 1) + " and " + std::to_string(i + 2) + " of " +
               std::string(term.op->name()) + " exchanged";
      }
      return "";
    });
  }

  void drop_conditions() {
    for (std::size_t i = 0; i < rule_.conditions.size(); ++i) {
      Rule changed = rule_;
      if (changed.conditions[i].kind == Expr::Kind::kAnd) {
        for (std::size_t k = 0; k < rule_.conditions[i].arguments.size(); ++k) {
          Rule less = rule_;
          auto& parts = less.conditions[i].arguments;
          const std::string text = to_string(rule_, parts[k]);
          parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(k));
          add(std::move(less), "without the condition " + text);
        }
        continue;
      }
      changed.conditions.erase(changed.conditions.begin() + static_cast<std::ptrdiff_t>(i));
      add(std::move(changed), "without the condition " + to_string(rule_, rule_.conditions[i]));
    }
  }

  void shift_numbers() {
    for (const std::int64_t by : {1, -1}) {
      at_each_place([by](Term& term, std::size_t& skip) -> std::string {
        std::string mistake;
        for (Term::Attr& attr : term.attrs) {
          for_each_number(attr.value, [&](std::int64_t& number) {
            if (!mistake.empty() || skip-- > 0) return;
            mistake = std::to_string(number) + " in " + attr.name + " of " +
                      std::string(term.op->name()) + " off by one";
            number += by;
          });
        }
        return mistake;
      });
    }
  }

  void confuse_variables() {
    at_each_place([this](Term& term, std::size_t& skip) -> std::string {
      if (term.kind != Term::Kind::kTensor || !rule_.is_variable(term.slot)) return "";
      for (std::size_t other = 0; other < rule_.tensors.size(); ++other) {
        const int slot = static_cast<int>(other);
        if (slot == term.slot || !rule_.is_variable(slot) || skip-- > 0) continue;
        const std::string mistake = rule_.tensors[other] + " in place of " +
                                    rule_.tensors[static_cast<std::size_t>(term.slot)];
        term.slot = slot;
        return mistake;
      }
      return "";
    });
  }

  // The operator's result type on square float matrices; nullopt if it rejects them.
  static std::optional<ir::TensorType> type_on_reals(const ir::Operator& op) {
    const std::vector<ir::TensorType> inputs(static_cast<std::size_t>(op.min_inputs()),
                                             ir::TensorType(ir::DType::kF32, {2, 2}));
    auto type = ir::infer_type(op, {}, inputs);
    return type.ok() ? std::optional(*std::move(type)) : std::nullopt;
  }

  // The next two operators in the list that take equally many operands and the same attributes.
  // Operators without attributes must also have the same result type on float matrices.
  static std::vector<const ir::Operator*> alike(const ir::Operator& op) {
    const auto same_attrs = [&](const ir::Operator& other) {
      return std::ranges::equal(op.attrs(), other.attrs(), {}, &ir::AttrSpec::name,
                                &ir::AttrSpec::name);
    };
    constexpr std::size_t kMost = 2;
    std::vector<const ir::Operator*> found;
    const auto all = ir::all_operators();
    const auto self = std::ranges::find(all, &op);
    const auto start = static_cast<std::size_t>(self - all.begin());
    for (std::size_t i = 1; i < all.size() && found.size() < kMost; ++i) {
      const ir::Operator& other = *all[(start + i) % all.size()];
      if (other.min_inputs() != op.min_inputs() || other.max_inputs() != op.max_inputs() ||
          !same_attrs(other))
        continue;
      if (op.attrs().empty() && type_on_reals(op) != type_on_reals(other)) continue;
      found.push_back(&other);
    }
    return found;
  }

  void confuse_operators() {
    at_each_place([](Term& term, std::size_t& skip) -> std::string {
      if (term.kind != Term::Kind::kApply) return "";
      for (const ir::Operator* other : alike(*term.op)) {
        if (skip-- > 0) continue;
        const std::string mistake = other->name() + " in place of " + term.op->name();
        term.op = other;
        return mistake;
      }
      return "";
    });
  }

  const Rule& rule_;
  std::vector<Mutant> mutants_;
};

}  // namespace

std::vector<Mutant> mutants_of(const Rule& rule) { return Mutation(rule).run(); }

}  // namespace egret::rules
