// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/contraction.h"

#include <algorithm>
#include <cmath>

#include "ir/evaluate/lane_memory.h"

namespace egret::ir {
namespace {

// Below these sizes packing costs more than it saves.
constexpr std::int64_t kLeastRows = 3;
constexpr std::int64_t kLeastColumns = 8;
constexpr std::int64_t kLeastDepth = 4;
constexpr double kLeastProducts = 4096;

bool only_variables(const LoopNest& nest, const Affine& form) {
  return std::ranges::all_of(form.parts, [&](const auto& part) {
    return nest.symbol(part.symbol).kind == IndexSymbol::Kind::kVariable;
  });
}

// The conjuncts of a guard; false when one is not an affine inequality.
bool collect_guards(const LoopNest& nest, int id, std::vector<Affine>& into) {
  std::vector<int> open{id};
  while (!open.empty()) {
    const NestGuard& guard = nest.guard(open.back());
    open.pop_back();
    switch (guard.kind) {
      case NestGuard::Kind::kTrue: break;
      case NestGuard::Kind::kAnd:
        open.push_back(guard.b);
        open.push_back(guard.a);
        break;
      case NestGuard::Kind::kLe:
        if (!only_variables(nest, guard.form)) return false;
        into.push_back(guard.form);
        break;
      default: return false;
    }
  }
  return true;
}

bool mentions(const Affine& form, const std::vector<int>& variables) {
  return std::ranges::any_of(variables, [&](int v) { return form.factor(v) != 0; });
}

std::int64_t count(const LoopNest& nest, const std::vector<int>& variables) {
  std::int64_t product = 1;
  for (const int v : variables) product *= nest.extent(v);
  return product;
}

// Matches sum(a[..] * b[..]) over affine reads, with affine guards. Matrix products, convolutions
// and attention scores are all of this form. The layout does not matter: offsets are tabulated
// (contraction_run.cc).
std::optional<Contraction> contraction_of(const LoopNest& nest) {
  const NestNode& root = nest.node(nest.root);
  if (root.op != ExprOp::kReduce || root.reduction != Reduction::kSum) return std::nullopt;
  const NestNode& product = nest.node(root.kids[0]);
  if (product.op != ExprOp::kMul) return std::nullopt;
  const NestNode& a = nest.node(product.kids[0]);
  const NestNode& b = nest.node(product.kids[1]);
  if (a.op != ExprOp::kRead || b.op != ExprOp::kRead || !only_variables(nest, a.form) ||
      !only_variables(nest, b.form)) {
    return std::nullopt;
  }

  Contraction found;
  found.reduced = root.variables;
  found.rows.input = a.input;
  found.rows.form = a.form;
  found.columns.input = b.input;
  found.columns.form = b.form;
  // The roles of einsum: batch in both factors, rows in the first only, columns in the second only.
  for (const int v : nest.output_variables) {
    // A variable of neither factor repeats the result; it counts as a row.
    const bool in_b = b.form.factor(v) != 0;
    if (in_b && a.form.factor(v) != 0) {
      found.batch.push_back(v);
    } else {
      (in_b ? found.columns : found.rows).variables.push_back(v);
    }
  }
  std::vector<Affine> guards;
  if (!collect_guards(nest, root.guard, guards)) return std::nullopt;
  // A guard on both sides (a causal mask) cannot be packed into one factor. A guard on reduced
  // variables alone goes to the rows, where it zeroes the term.
  for (Affine& guard : guards) {
    const bool of_columns = mentions(guard, found.columns.variables);
    if (of_columns && mentions(guard, found.rows.variables)) return std::nullopt;
    (of_columns ? found.columns : found.rows).guards.push_back(std::move(guard));
  }

  // Columns are what lies contiguous in the output, or else the longer side.
  const auto contiguous = [&](const Contraction::Factor& factor) {
    return std::ranges::any_of(factor.variables, [&](int v) {
      return nest.output.factor(v) == 1 && nest.extent(v) >= kLeastColumns;
    });
  };
  if (contiguous(found.rows) ||
      (!contiguous(found.columns) &&
       count(nest, found.rows.variables) > count(nest, found.columns.variables))) {
    // The micro-kernel stores whole rows of a tile, so contiguous columns give contiguous stores.
    std::swap(found.rows, found.columns);
  }
  return found;
}

}  // namespace

std::optional<Contraction> find_any_contraction(const LoopNest& nest) {
  return nest.node(nest.root).is_real() ? contraction_of(nest) : std::nullopt;
}

// A contraction that is large enough for packing to pay, and whose tables fit.
std::optional<Contraction> find_contraction(const LoopNest& nest) {
  auto found = contraction_of(nest);
  if (!found) return std::nullopt;
  const std::int64_t rows = count(nest, found->rows.variables);
  const std::int64_t columns = count(nest, found->columns.variables);
  const std::int64_t depth = count(nest, found->reduced);
  constexpr std::int64_t kMostEntries = std::int64_t{1} << 26;  // of a table
  const bool thick =
      rows >= kLeastRows && columns >= kLeastColumns && depth >= kLeastDepth &&
      static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(depth) >=
          kLeastProducts;
  if (!thick || std::max({rows, columns, depth}) > kMostEntries) return std::nullopt;
  return found;
}

namespace {

// Calls `look` with runs of the values of all elements.
template <typename Look>
void for_values(const Tensor& tensor, const Look& look) {
  constexpr std::int64_t kRun = 1024;
  double values[kRun];
  for (std::int64_t i = 0; i < tensor.elements(); i += kRun) {
    const std::int64_t n = std::min(kRun, tensor.elements() - i);
    load_lanes(tensor.dtype(), tensor.data().data(), i, 1, n, values);
    look(std::span<const double>(values, static_cast<std::size_t>(n)));
  }
}

}  // namespace

bool is_exact_in_f64(const Contraction& contraction, const LoopNest& nest,
                     std::span<const Tensor> inputs) {
  const auto largest = [&](const Contraction::Factor& factor) {
    double most = 0;
    for_values(inputs[static_cast<std::size_t>(factor.input)], [&](std::span<const double> values) {
      for (const double value : values) most = std::max(most, std::abs(value));
    });
    return most;
  };
  const auto terms = static_cast<double>(count(nest, contraction.reduced));
  return largest(contraction.rows) * largest(contraction.columns) * terms < 0x1p53;
}

// Packing replaces excluded elements of one factor by 0. The product is 0 only if the other factor
// is finite there. The test covers the whole tensor, in one pass.
bool zeros_are_neutral(const Contraction& contraction, std::span<const Tensor> inputs) {
  const auto finite = [&](const Contraction::Factor& factor) {
    double sum = 0;  // of zeros, unless something is not finite
    for_values(inputs[static_cast<std::size_t>(factor.input)], [&](std::span<const double> values) {
      // A branch-free test: x * 0 is NaN exactly for infinities and NaN.
      for (const double value : values) sum += value * 0.0;
    });
    return sum == 0;
  };
  return (contraction.rows.guards.empty() || finite(contraction.columns)) &&
         (contraction.columns.guards.empty() || finite(contraction.rows));
}

}  // namespace egret::ir
