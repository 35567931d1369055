// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/text/nest_facts.h"

#include <algorithm>

namespace egret::backends::codegen {

using ir::Affine;
using ir::ExprOp;
using ir::IndexSymbol;
using ir::NestGuard;
using ir::NestNode;

namespace {

// Memoized; nests have no cycles, and recursion is as deep as expressions may be.
template <typename Answer, typename Ask>
bool remembered(std::vector<Answer>& answers, int id, const Ask& ask) {
  const auto i = static_cast<std::size_t>(id);
  if (answers[i] == Answer::kUnknown) {
    const bool yes = ask();
    answers[i] = yes ? Answer::kYes : Answer::kNo;
  }
  return answers[i] == Answer::kYes;
}

}  // namespace

std::int64_t extents(const ir::LoopNest& nest, std::span<const int> symbols) {
  std::int64_t product = 1;
  for (const int symbol : symbols) product *= nest.extent(symbol);
  return product;
}

NestFacts::NestFacts(const ir::LoopNest& nest, std::span<const ir::TensorType> inputs)
    : nest_(nest),
      inputs_(inputs),
      safe_nodes_(nest.nodes.size()),
      safe_symbols_(nest.symbols.size()),
      reduces_(nest.nodes.size()) {}

// Interval arithmetic. The parts are treated as independent, so the range may be too wide but never
// too narrow.
ir::Range NestFacts::range(const Affine& form) const {
  ir::Range range{form.constant, form.constant};
  for (const auto& part : form.parts) range = range + nest_.symbol(part.symbol).range * part.factor;
  return range;
}

bool NestFacts::safe_form(const Affine& form) {
  return std::ranges::all_of(form.parts,
                             [&](const auto& part) { return safe_symbol(part.symbol); });
}

// Whether the symbol can be computed anywhere: no division by a value that may be 0 or negative,
// and no unsafe read.
bool NestFacts::safe_symbol(int id) {
  return remembered(safe_symbols_, id, [&] {
    const IndexSymbol& symbol = nest_.symbol(id);
    switch (symbol.kind) {
      case IndexSymbol::Kind::kVariable: return true;
      case IndexSymbol::Kind::kElement: return safe_node(symbol.element);
      case IndexSymbol::Kind::kDiv:
      case IndexSymbol::Kind::kMod:
        return range(symbol.b).low > 0 && safe_form(symbol.a) && safe_form(symbol.b);
      default: return safe_form(symbol.a) && safe_form(symbol.b);
    }
  });
}

bool NestFacts::safe_guard(int id) {
  const NestGuard& guard = nest_.guard(id);
  switch (guard.kind) {
    case NestGuard::Kind::kTrue:
    case NestGuard::Kind::kFalse: return true;
    case NestGuard::Kind::kLe:
    case NestGuard::Kind::kEq: return safe_form(guard.form);
    case NestGuard::Kind::kScalarLt:
    case NestGuard::Kind::kScalarLe:
    case NestGuard::Kind::kScalarEq: return safe_node(guard.a) && safe_node(guard.b);
    case NestGuard::Kind::kNot: return safe_guard(guard.a);
    default: return safe_guard(guard.a) && safe_guard(guard.b);
  }
}

// Safe to evaluate anywhere, without its guards: no integer division, and no read that could leave
// its input.
bool NestFacts::safe_node(int id) {
  return remembered(safe_nodes_, id, [&] {
    const NestNode& node = nest_.node(id);
    if (!safe_form(node.form)) return false;
    if (node.guard >= 0 && !safe_guard(node.guard)) return false;
    if (!std::ranges::all_of(node.kids, [&](int kid) { return safe_node(kid); })) return false;
    // A division of reals has a result for every divisor; an integer division by 0 is a failure.
    if (node.op == ExprOp::kDiv && !node.is_real()) return false;
    if (node.op != ExprOp::kRead) return true;
    // An axis is checked where its index comes from data, which no range bounds.
    const ir::Range offset = range(node.form);
    return node.checked.empty() && offset.low >= 0 &&
           offset.high < inputs_[static_cast<std::size_t>(node.input)].elements();
  });
}

// Whether the value contains a reduction, which costs a loop wherever it is computed.
bool NestFacts::reduces(int id) {
  return remembered(reduces_, id, [&] {
    const NestNode& node = nest_.node(id);
    return node.op == ExprOp::kReduce ||
           std::ranges::any_of(node.kids, [&](int kid) { return reduces(kid); });
  });
}

// Whether every index, offset and count fits 32 bits with a margin of a factor of 2. Index
// arithmetic in 32 bits is faster on a GPU. Values from data and products of indices have no useful
// bound and exclude it.
bool NestFacts::fits_32_bits() const {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const auto fits = [&](const Affine& form) {
    const ir::Range r = range(form);
    if (r.low < -kMost || r.high > kMost) return false;
    // Partial sums too, in whatever order they are added.
    std::int64_t most = std::abs(form.constant);
    for (const auto& part : form.parts) {
      const ir::Range of = nest_.symbol(part.symbol).range * part.factor;
      most += std::max(std::abs(of.low), std::abs(of.high));
      if (most > kMost) return false;
    }
    return true;
  };
  std::int64_t elements = 1;
  for (const int symbol : nest_.output_variables) elements *= nest_.extent(symbol);
  if (elements > kMost || !fits(nest_.output)) return false;
  for (const IndexSymbol& symbol : nest_.symbols) {
    if (symbol.kind == IndexSymbol::Kind::kElement || symbol.kind == IndexSymbol::Kind::kMul ||
        !fits(symbol.a) || !fits(symbol.b))
      return false;
  }
  for (const NestGuard& guard : nest_.guards) {
    if (!fits(guard.form)) return false;
  }
  return std::ranges::all_of(nest_.nodes, [&](const NestNode& node) {
    double terms = 1;
    for (const int symbol : node.variables) terms *= static_cast<double>(nest_.extent(symbol));
    return terms <= kMost && fits(node.form);
  });
}

}  // namespace egret::backends::codegen
