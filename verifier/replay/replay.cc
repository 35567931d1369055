// SPDX-License-Identifier: Apache-2.0
#include "verifier/replay/replay.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <variant>

#include "ir/core/symbolic_scope.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/graph_text.h"
#include "ir/graph/open_text.h"
#include "ir/ops/any_operator.h"

namespace egret::verifier {

using base::Result;
using base::Status;
using Step = Certificate::Step;
using Symbol = Certificate::Symbol;

Result<ir::Tensor> FoldedTerms::value(TermRef term, std::string_view precision) {
  if (precision != "f64" && precision != "f32")
    return base::bad_input("there is no precision '" + std::string(precision) + "'");
  if (!terms_.facts(term).constant || !terms_.type(term).is_concrete())
    return base::bad_input("the left side reads an input or has an open size");
  const bool is_wide = precision == "f64";
  auto& values = values_[is_wide ? 0 : 1];
  const ir::InterpretOptions options{.precision =
                                         is_wide ? ir::Precision::kF64 : ir::Precision::kF32};
  std::vector<TermRef> stack{term};
  while (!stack.empty()) {
    const TermRef top = stack.back();
    const std::size_t open = stack.size();
    for (const TermRef child : terms_.children(top)) {
      if (!values.contains(child.index())) stack.push_back(child);
    }
    if (stack.size() > open) continue;
    stack.pop_back();
    if (values.contains(top.index())) continue;
    const ReplaySymbol& head = terms_.head(top);
    if (head.kind == ir::NodeKind::kConstant) {
      values.emplace(top.index(), head.data);
      continue;
    }
    std::vector<ir::Tensor> inputs;
    for (const TermRef child : terms_.children(top)) inputs.push_back(values.at(child.index()));
    EGRET_ASSIGN_OR_RETURN(ir::Tensor value, ir::evaluate(*head.op, head.attrs, inputs, options));
    values.emplace(top.index(), std::move(value));
  }
  const ir::Tensor& wide = values.at(term.index());
  const ir::TensorType& type = terms_.type(term);
  if (wide.dtype() == type.dtype) return wide;
  ir::Tensor rounded(type);
  for (std::int64_t i = 0; i < rounded.elements(); ++i) rounded.set_f64(i, wide.f64_at(i));
  return rounded;
}

namespace {

class Replay {
 public:
  Replay(const Certificate& certificate, const ir::Graph& before, const ir::Graph& after,
         const RuleBook& rules)
      : certificate_(certificate),
        before_(before),
        after_(after),
        rules_(rules),
        code_steps_(terms_),
        folded_(terms_) {}

  Result<ReplayReport> run() {
    if (auto* const scope = ir::SymbolicScope::current()) scope->take_undecided();
    const std::string interface = ir::interface_text(before_);
    if (const std::string other = ir::interface_text(after_); interface != other)
      return base::mismatch("the programs are " + interface + " and " + other);
    if (before_.outputs().size() != certificate_.outputs.size())
      return base::mismatch("the certificate has another number of outputs");
    EGRET_ASSIGN_OR_RETURN(const auto before, terms_.add(before_));
    EGRET_ASSIGN_OR_RETURN(const auto after, terms_.add(after_));
    EGRET_RETURN_IF_ERROR(read_symbols());
    EGRET_RETURN_IF_ERROR(read_terms());
    for (std::size_t i = 0; i < certificate_.steps.size(); ++i) {
      auto proven = check(certificate_.steps[i]);
      if (!proven.ok()) return rejected(proven.status(), step_name(certificate_, i));
      proven_.push_back(*proven);
    }
    for (std::size_t i = 0; i < certificate_.outputs.size(); ++i) {
      const Status status = check_output(i, before, after);
      if (!status.ok()) return rejected(status, "output '" + certificate_.outputs[i].name + "'");
    }
    report_.steps = certificate_.steps.size();
    report_.terms = terms_.size();
    return report_;
  }

 private:
  struct Equality {
    TermRef left;
    TermRef right;
  };

  // What is wrong with a certificate is a mismatch, whatever function found it.
  static Status rejected(const Status& reason, const std::string& place) {
    if (reason.code() == base::StatusCode::kUnsupported ||
        reason.code() == base::StatusCode::kLimit)
      return reason.at(place);
    return base::mismatch(reason.message()).at(place);
  }

  Status read_symbols() {
    for (std::size_t s = 0; s < terms_.symbol_count(); ++s) {
      const ReplaySymbol& symbol = terms_.symbol(SymbolRef(s));
      if (symbol.kind == ir::NodeKind::kConstant)
        known_.emplace(symbol.data.content_hash().to_hex(), SymbolRef(s));
      if (symbol.kind == ir::NodeKind::kInput) inputs_.emplace(symbol.name, SymbolRef(s));
    }
    for (std::size_t i = 0; i < certificate_.symbols.size(); ++i) {
      auto symbol = read_symbol(certificate_.symbols[i]);
      if (!symbol.ok()) return rejected(symbol.status(), "symbol " + std::to_string(i));
      symbols_.push_back(*symbol);
    }
    return base::ok();
  }

  Result<SymbolRef> read_symbol(const Symbol& given) {
    if (given.kind == Symbol::Kind::kOperator) return read_operator(given);
    if (given.kind == Symbol::Kind::kConstant && !given.type.empty()) return read_constant(given);
    const auto& table = given.kind == Symbol::Kind::kInput ? inputs_ : known_;
    const auto found = table.find(given.name);
    if (found == table.end())
      return base::mismatch("no program has the input or constant '" + given.name + "'");
    return found->second;
  }

  Result<SymbolRef> read_operator(const Symbol& given) {
    const ir::Operator* op = ir::find_any_operator(given.name);
    if (op == nullptr) return base::mismatch("there is no operator '" + given.name + "'");
    ir::Attrs attrs;
    for (const auto& [name, text] : given.attributes) {
      EGRET_ASSIGN_OR_RETURN(ir::AttrValue value, ir::parse_open_attr(text));
      attrs.set(name, std::move(value));
    }
    EGRET_ASSIGN_OR_RETURN(const ir::Attrs canonical, ir::canonical_attrs(op->attrs(), attrs));
    EGRET_RETURN_IF_ERROR(terms_.check_sizes(canonical));
    return terms_.operation(*op, canonical);
  }

  Result<SymbolRef> read_constant(const Symbol& given) {
    EGRET_ASSIGN_OR_RETURN(const ir::TensorType type, ir::parse_type(given.type));
    EGRET_ASSIGN_OR_RETURN(const ir::AttrValue value, ir::parse_attr_value(given.value));
    if (type.rank() != 0 || !std::holds_alternative<double>(value))
      return base::bad_input("a constant with a value is a real of rank 0");
    const ir::Tensor tensor = ir::Tensor::scalar(type.dtype, std::get<double>(value));
    if (tensor.content_hash().to_hex() != given.name)
      return base::mismatch("its content hash is not " + given.name);
    return terms_.constant(tensor);
  }

  Status read_terms() {
    for (std::size_t i = 0; i < certificate_.terms.size(); ++i) {
      const Certificate::Term& given = certificate_.terms[i];
      std::vector<TermRef> children;
      for (const std::uint32_t child : given.children) children.push_back(numbered_[child]);
      auto term = terms_.make(symbols_[given.symbol], children);
      if (!term.ok()) return rejected(term.status(), "term " + std::to_string(i));
      numbered_.push_back(*term);
    }
    return base::ok();
  }

  Result<Equality> check(const Step& step) {
    const Equality stated{numbered(step.left), numbered(step.right)};
    switch (step.kind) {
      case Step::Kind::kSymmetry: {
        EGRET_ASSIGN_OR_RETURN(const Equality of, premise(step.premises[0]));
        return Equality{of.right, of.left};
      }
      case Step::Kind::kTransitivity: return chain(step);
      case Step::Kind::kCongruence: return congruence(step, stated);
      case Step::Kind::kRule: return rule(step, stated);
      case Step::Kind::kFold: {
        ++report_.folds;
        const ReplaySymbol& constant = terms_.head(stated.right);
        if (constant.kind != ir::NodeKind::kConstant)
          return base::mismatch("the right side is no constant");
        EGRET_ASSIGN_OR_RETURN(const ir::Tensor value, folded_.value(stated.left, step.name));
        if (!ir::same_elements(value, constant.data))
          return base::mismatch("the constant is not the value of the left side");
        return stated;
      }
      case Step::Kind::kCode:
        ++report_.code_steps;
        EGRET_RETURN_IF_ERROR(code_steps_.check(step.name, stated.left, stated.right));
        return stated;
    }
    return base::internal_error("a step of no kind");
  }

  TermRef numbered(std::uint32_t term) const {
    return term < numbered_.size() ? numbered_[term] : TermRef();
  }

  Result<Equality> premise(std::int64_t step) const {
    if (step < 0 || step >= std::ssize(proven_))
      return base::mismatch("premise " + std::to_string(step) + " is no earlier step");
    return proven_[static_cast<std::size_t>(step)];
  }

  Result<Equality> chain(const Step& step) const {
    if (step.premises.empty()) return base::mismatch("there are no premises");
    EGRET_ASSIGN_OR_RETURN(Equality whole, premise(step.premises[0]));
    for (std::size_t i = 1; i < step.premises.size(); ++i) {
      EGRET_ASSIGN_OR_RETURN(const Equality next, premise(step.premises[i]));
      if (next.left != whole.right)
        return base::mismatch("premise " + std::to_string(i) + " begins with " +
                              terms_.text(next.left) + ", and the one before ends with " +
                              terms_.text(whole.right));
      whole.right = next.right;
    }
    return whole;
  }

  Result<Equality> congruence(const Step& step, const Equality& stated) const {
    const auto left = terms_.children(stated.left);
    const auto right = terms_.children(stated.right);
    if (terms_.symbol_of(stated.left) != terms_.symbol_of(stated.right) ||
        left.size() != right.size() || left.size() != step.premises.size())
      return base::mismatch("the sides are " + terms_.text(stated.left) + " and " +
                            terms_.text(stated.right) + ", with " +
                            std::to_string(step.premises.size()) + " premises");
    for (std::size_t i = 0; i < left.size(); ++i) {
      Equality operand{left[i], left[i]};
      if (step.premises[i] != Certificate::kReflexive) {
        EGRET_ASSIGN_OR_RETURN(operand, premise(step.premises[i]));
      }
      if (operand.left != left[i] || operand.right != right[i])
        return base::mismatch("premise " + std::to_string(i) + " is not about the operands");
    }
    return stated;
  }

  Result<Equality> rule(const Step& step, const Equality& stated) {
    ++report_.rule_steps;
    std::vector<TermRef> substitution;
    for (const std::uint32_t term : step.substitution) substitution.push_back(numbered(term));
    std::vector<SymbolRef> operators;
    for (const std::uint32_t symbol : step.operators) operators.push_back(symbols_[symbol]);
    EGRET_ASSIGN_OR_RETURN(const RuleSides sides,
                           rules_.instance(certificate_.rules[step.rule].hash,
                                           {step.equation, substitution, operators}, terms_));
    if (sides.left != stated.left)
      return base::mismatch("the left side is " + terms_.text(stated.left) + ", the rule's is " +
                            terms_.text(sides.left));
    if (sides.right != stated.right)
      return base::mismatch("the right side is " + terms_.text(stated.right) + ", the rule's is " +
                            terms_.text(sides.right));
    return stated;
  }

  Status check_output(std::size_t i, std::span<const TermRef> before,
                      std::span<const TermRef> after) const {
    const Certificate::Output& output = certificate_.outputs[i];
    if (before_.outputs()[i].name != output.name)
      return base::mismatch("the programs call it '" + before_.outputs()[i].name + "'");
    if (numbered(output.before) != before[before_.outputs()[i].node.index()])
      return base::mismatch("term " + std::to_string(output.before) +
                            " is not what the first program computes");
    if (numbered(output.after) != after[after_.outputs()[i].node.index()])
      return base::mismatch("term " + std::to_string(output.after) +
                            " is not what the second program computes");
    Equality shown{numbered(output.before), numbered(output.before)};
    if (output.step != Certificate::kReflexive) {
      EGRET_ASSIGN_OR_RETURN(shown, premise(output.step));
    }
    if (shown.left != numbered(output.before) || shown.right != numbered(output.after))
      return base::mismatch("its step proves another equality");
    return base::ok();
  }

  const Certificate& certificate_;
  const ir::Graph& before_;
  const ir::Graph& after_;
  const RuleBook& rules_;
  ReplayTerms terms_;
  CodeSteps code_steps_;
  FoldedTerms folded_;
  std::map<std::string, SymbolRef> known_;  // constants of the programs, by hash
  std::map<std::string, SymbolRef> inputs_;
  std::vector<SymbolRef> symbols_;  // by number in the certificate
  std::vector<TermRef> numbered_;   // terms, likewise
  std::vector<Equality> proven_;    // by step
  ReplayReport report_;
};

}  // namespace

Result<ReplayReport> replay(const Certificate& certificate, const ir::Graph& before,
                            const ir::Graph& after, const RuleBook& rules) {
  return Replay(certificate, before, after, rules).run();
}

}  // namespace egret::verifier
