// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/contractions/window_form.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "backends/codegen/text/nest_facts.h"

namespace egret::backends::codegen {
namespace {

using Axis = WindowForm::Axis;

// Vectors of elements so far apart need no copy.
constexpr std::int64_t kMostApart = 2;

// All forms on which a factor's value depends.
void for_each_form(const ir::LoopNest& nest, const std::function<void(const ir::Affine&)>& visit) {
  for (const ir::NestNode& node : nest.nodes) visit(node.form);
  for (const ir::NestGuard& guard : nest.guards) visit(guard.form);
  for (const ir::IndexSymbol& symbol : nest.symbols) {
    visit(symbol.a);
    visit(symbol.b);
  }
}

// Makes the two one position of the axis, if every form allows it.
bool joined(const ir::LoopNest& nest, int term, Axis& axis) {
  std::int64_t stride = 0, dilation = 0;
  bool fits = true;
  for_each_form(nest, [&](const ir::Affine& form) {
    const std::int64_t x = form.factor(axis.column), k = form.factor(term);
    if (x == 0 && k == 0) return;
    if (x == 0 || k == 0) {
      fits = false;
      return;
    }
    if (stride == 0) {
      const std::int64_t common = std::gcd(x, k) * (x < 0 ? -1 : 1);
      stride = x / common;
      dilation = k / common;
    }
    fits = fits && x * dilation == k * stride;
  });
  if (!fits || stride == 0) return false;
  // A position is one value of the column variable or of the window's.
  if (stride > 1 && dilation != 1 && dilation != -1) return false;
  axis.term = term;
  axis.window = nest.extent(term);
  axis.stride = stride;
  axis.dilation = dilation;
  // Each position between is the one of some term. Windows that share no position are none: the
  // rows of a matrix, which lie side by side in memory, and its columns.
  if (std::abs(dilation) > 1 && std::abs(dilation) >= axis.extent) return false;
  return axis.window > stride || (axis.window == stride && stride <= kMostApart);
}

bool is_guarded(const ContractionForm::Part& part) {
  return !part.bounds.empty() || std::ranges::any_of(part.nest.nodes, [](const ir::NestNode& node) {
    return node.op == ir::ExprOp::kSelect;
  });
}

// Whether values of the only batch variable are neighbours in the output, and in what is read.
bool batch_is_contiguous(const ContractionForm& form) {
  const auto& epilogue = form.epilogue;
  if (form.left.batch.size() != 1 || form.right.batch.size() != 1 || epilogue.batch.size() != 1)
    return false;
  if (epilogue.nest.output.factor(epilogue.batch[0]) != 1) return false;
  const int lane = form.right.batch[0];
  const ir::LoopNest& nest = form.right.nest;
  return std::ranges::none_of(form.right.bounds,
                              [&](int id) { return nest.guard(id).form.factor(lane) != 0; }) &&
         std::ranges::all_of(nest.nodes, [&](const ir::NestNode& node) {
           const std::int64_t factor = node.form.factor(lane);
           return factor == 0 || factor == 1;
         });
}

}  // namespace

std::int64_t WindowForm::outer_extent() const {
  std::int64_t total = 1;
  for (const Axis& axis : outer) total *= axis.extent;
  return total;
}

std::int64_t WindowForm::outer_windows() const {
  std::int64_t total = 1;
  for (const Axis& axis : outer) total *= axis.window;
  return total;
}

std::optional<WindowForm> window_form(const ContractionForm& form) {
  const ContractionForm::Part& right = form.right;
  const bool checked = std::ranges::any_of(
      right.nest.nodes, [](const ir::NestNode& node) { return !node.checked.empty(); });
  if (right.columns.empty() || checked || is_guarded(form.left)) return std::nullopt;
  WindowForm result;
  std::vector<int> terms = right.depth;
  std::vector<Axis> axes;
  for (const int column : right.columns) {
    Axis axis{.column = column, .extent = right.nest.extent(column)};
    for (const int term : right.depth) {
      Axis both = axis;
      if (std::ranges::find(terms, term) == terms.end() || !joined(right.nest, term, both))
        continue;
      axis = both;
      std::erase(terms, term);
      result.window *= axis.window;
      break;
    }
    axes.push_back(axis);
  }
  if (result.window <= 1 ||
      !std::equal(terms.begin(), terms.end(), right.depth.begin(),
                  right.depth.begin() + static_cast<std::ptrdiff_t>(terms.size())))
    return std::nullopt;
  result.others = terms;
  result.other_terms = extents(right.nest, terms);
  result.line = axes.back();
  axes.pop_back();
  if (!axes.empty()) {
    result.rows = axes.back();
    axes.pop_back();
  }
  result.outer = axes;
  result.lanes_in_batch = batch_is_contiguous(form);
  // The epilogue's innermost variable must hold whole lines.
  const auto& epilogue = form.epilogue;
  if (epilogue.columns.empty() ||
      epilogue.nest.extent(epilogue.columns.back()) % result.line.extent != 0)
    return std::nullopt;
  return result;
}

}  // namespace egret::backends::codegen
