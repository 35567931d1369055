// SPDX-License-Identifier: Apache-2.0
#include "verifier/replay/replay_terms.h"

#include <algorithm>
#include <variant>

#include "ir/core/symbolic_scope.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/requirements.h"

namespace egret::verifier {

using base::Result;
using base::Status;
using ir::SymbolicScope;

namespace {

bool same_symbol(const ReplaySymbol& a, const ReplaySymbol& b) {
  return a.kind == b.kind && a.op == b.op && a.attrs == b.attrs && a.name == b.name &&
         a.type == b.type && ir::same_elements(a.data, b.data);
}

}  // namespace

std::size_t ReplayTerms::KeyHash::operator()(const Key& key) const {
  return base::hash_bytes(std::as_bytes(std::span(key.data(), key.size())));
}

SymbolRef ReplayTerms::add_symbol(std::uint64_t hash, ReplaySymbol symbol) {
  std::vector<SymbolRef>& known = symbol_index_[hash];
  for (const SymbolRef one : known) {
    if (same_symbol(symbols_[one.index()], symbol)) return one;
  }
  symbols_.push_back(std::move(symbol));
  return known.emplace_back(symbols_.size() - 1);
}

SymbolRef ReplayTerms::operation(const ir::Operator& op, const ir::Attrs& attrs) {
  const std::uint64_t hash = base::hash_combine(base::hash_string(op.name()), hash_value(attrs));
  return add_symbol(hash, {.kind = ir::NodeKind::kOperator, .op = &op, .attrs = attrs});
}

SymbolRef ReplayTerms::constant(const ir::Tensor& data) {
  return add_symbol(data.content_hash().low, {.kind = ir::NodeKind::kConstant, .data = data});
}

SymbolRef ReplayTerms::input(std::string_view name, const ir::TensorType& type) {
  return add_symbol(base::hash_string(name, 1),
                    {.kind = ir::NodeKind::kInput, .name = std::string(name), .type = type});
}

std::uint32_t ReplayTerms::type_number(const ir::TensorType& type) {
  const auto [found, is_new] =
      type_index_.try_emplace(type, static_cast<std::uint32_t>(types_.size()));
  if (is_new) types_.push_back(type);
  return found->second;
}

// As the import of models does it. Without the limit a certificate could make sizes that double
// with each term.
Status ReplayTerms::check_size(ir::Index size) {
  const SymbolicScope* const scope = SymbolicScope::current();
  if (!meter_.is_short(size))
    return base::bad_input("a size is too long an expression of open sizes");
  if (scope != nullptr && !ir::evaluate(size, scope->examples()))
    return base::bad_input("a size exceeds 64 bits, or is no size of the programs");
  return base::ok();
}

Status ReplayTerms::check_sizes(const ir::Attrs& attrs) {
  for (const auto& [name, value] : attrs.entries()) {
    if (const auto* integer = std::get_if<std::int64_t>(&value))
      EGRET_RETURN_IF_ERROR(check_size(ir::index_of_integer(*integer)));
    if (const auto* integers = std::get_if<ir::Integers>(&value)) {
      for (const std::int64_t one : *integers)
        EGRET_RETURN_IF_ERROR(check_size(ir::index_of_integer(one)));
    }
  }
  return base::ok();
}

const ReplayTerms::Inferred& ReplayTerms::infer(SymbolRef symbol,
                                                std::span<const TermRef> children) {
  Key key{symbol.index()};
  for (const TermRef child : children) key.push_back(terms_[child.index()].type);
  const auto [found, is_new] = inferred_index_.try_emplace(key, inferred_.size());
  if (!is_new) return inferred_[found->second];
  std::vector<ir::TensorType> types;
  for (const TermRef child : children) types.push_back(type(child));
  const ir::Operator& op = *symbols_[symbol.index()].op;
  const ir::Attrs& attrs = symbols_[symbol.index()].attrs;
  Inferred result;
  result.status = ir::check_arity(op, children.size());
  if (result.status.ok()) result.status = check_sizes(attrs);
  SymbolicScope* const scope = SymbolicScope::current();
  if (result.status.ok() && scope != nullptr)
    result.status = ir::check_requirements(op, attrs, types, [](ir::Guard condition) {
      return ir::decided(condition) == std::optional(true);
    });
  if (result.status.ok()) {
    const auto inferred = ir::infer_type(op, attrs, types);
    result.status = inferred.status();
    for (std::size_t axis = 0; result.status.ok() && axis < inferred->dims.size(); ++axis)
      result.status = check_size(inferred->dims[axis]);
    if (result.status.ok()) result.type = type_number(*inferred);
  }
  if (result.status.ok() && !op.is_composite() && !op.is_opaque()) {
    const auto denotation = ir::denote(op, attrs, types);
    EGRET_CHECK(denotation.ok(), "a type was inferred from it");
    result.output = ir::output_facts(*denotation, types);
  }
  if (scope != nullptr && scope->take_undecided() && result.status.ok())
    result.status = base::unsupported(op.name() + " needs a number where a size is open");
  return inferred_.emplace_back(std::move(result));
}

// A value of one element that is computed from constants of one value each.
std::optional<double> ReplayTerms::single_number(SymbolRef symbol,
                                                 std::span<const TermRef> children,
                                                 const ir::TensorType& type) const {
  constexpr std::int64_t kMaxElements = 64;
  if (!type.is_concrete() || type.elements() != 1) return std::nullopt;
  std::vector<ir::Tensor> inputs;
  for (const TermRef child : children) {
    const ReplayFacts& known = facts(child);
    if (!known.splat || !known.type.is_concrete() || known.type.elements() > kMaxElements)
      return std::nullopt;
    inputs.push_back(ir::Tensor::filled(known.type, *known.splat));
  }
  const ReplaySymbol& head = symbols_[symbol.index()];
  const auto value = ir::evaluate(*head.op, head.attrs, inputs);
  return value.ok() ? std::optional(value->f64_at(0)) : std::nullopt;
}

Result<TermRef> ReplayTerms::make(SymbolRef symbol, std::span<const TermRef> children) {
  Key key{symbol.index()};
  for (const TermRef child : children) key.push_back(child.index());
  if (const auto known = term_index_.find(key); known != term_index_.end()) return known->second;
  const ReplaySymbol& head = symbols_[symbol.index()];
  Term term{.symbol = symbol};
  ReplayFacts& made = term.facts;
  if (head.kind == ir::NodeKind::kOperator) {
    const Inferred& inferred = infer(symbol, children);
    EGRET_RETURN_IF_ERROR(inferred.status);
    made.type = types_[inferred.type];
    made.constant = !head.op->is_opaque() && std::ranges::all_of(children, [&](TermRef child) {
      return facts(child).constant;
    });
    made.splat = inferred.output.splat;
    if (inferred.output.moves >= 0)
      made.splat = facts(children[static_cast<std::size_t>(inferred.output.moves)]).splat;
    if (made.constant && !made.splat) made.splat = single_number(symbol, children, made.type);
    ir::Sign least = ir::Sign::kPositive;
    for (const TermRef child : children) least = std::min(least, facts(child).sign);
    made.sign = inferred.output.signs[static_cast<std::size_t>(least)];
  } else if (!children.empty()) {
    return base::bad_input("an input or a constant has no operands");
  } else if (head.kind == ir::NodeKind::kConstant) {
    made = {head.data.type(), true, ir::common_value(head.data), ir::sign_of(head.data)};
  } else {
    made = {head.type, false, std::nullopt, ir::sign_of(head.type.dtype)};
  }
  if (!made.type.is_concrete() && SymbolicScope::current() == nullptr)
    return base::unsupported("the type " + to_string(made.type) + " has an open size");
  if (made.splat) made.sign = std::max(made.sign, ir::sign_of(*made.splat));
  term.type = type_number(made.type);
  for (const TermRef child : children) term.children.push_back(child);
  terms_.push_back(std::move(term));
  return term_index_.emplace(key, TermRef(terms_.size() - 1)).first->second;
}

Result<std::vector<TermRef>> ReplayTerms::add(const ir::Graph& graph,
                                              std::span<const TermRef> inputs) {
  std::vector<TermRef> terms;
  std::size_t next_input = 0;
  for (const ir::Node& node : graph.nodes()) {
    std::vector<TermRef> children;
    for (const ir::NodeId child : node.inputs) children.push_back(terms[child.index()]);
    if (node.kind == ir::NodeKind::kInput && !inputs.empty()) {
      EGRET_CHECK(next_input < inputs.size(), "a body has as many inputs as it has operands");
      terms.push_back(inputs[next_input++]);
      continue;
    }
    const SymbolRef head = node.kind == ir::NodeKind::kInput      ? input(node.name, node.type)
                           : node.kind == ir::NodeKind::kConstant ? constant(node.data)
                                                                  : operation(*node.op, node.attrs);
    auto term = make(head, children);
    if (!term.ok()) return term.status().at("value '" + node.name + "'");
    terms.push_back(*term);
  }
  return terms;
}

bool ReplayTerms::same_type(TermRef a, TermRef b) const {
  return type(a).dtype == type(b).dtype &&
         std::ranges::equal(type(a).dims, type(b).dims, [](ir::Index x, ir::Index y) {
           return ir::decided(x == y) == std::optional(true);
         });
}

bool ReplayTerms::is(TermRef term, std::string_view op) const {
  const ReplaySymbol& symbol = head(term);
  return symbol.kind == ir::NodeKind::kOperator && symbol.op->name() == op;
}

std::string ReplayTerms::text(TermRef term) const {
  const ReplaySymbol& symbol = head(term);
  if (symbol.kind == ir::NodeKind::kInput) return "input '" + symbol.name + "'";
  if (symbol.kind == ir::NodeKind::kConstant) return "a constant of " + to_string(type(term));
  return symbol.op->name() + to_string(symbol.attrs) + " of " + to_string(type(term));
}

}  // namespace egret::verifier
