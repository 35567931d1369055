// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/contractions/contraction_form.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "backends/codegen/text/nest_facts.h"
#include "ir/nest/merge_variables.h"

namespace egret::backends::codegen {
namespace {

using ir::ExprOp;
using ir::IndexSymbol;
using ir::LoopNest;
using ir::NestGuard;
using ir::NestNode;
using ir::VariableSet;

// A side with fewer contiguous columns stores no vectors.
constexpr std::int64_t kFewColumns = 8;

// What a node's value is made of.
class Reach {
 public:
  explicit Reach(const LoopNest& nest)
      : nest_(nest),
        nodes(nest.nodes.size(), false),
        guards(nest.guards.size(), false),
        symbols(nest.symbols.size(), false) {}

  void node(int id) {
    if (id < 0 || seen(nodes, id)) return;
    const NestNode& node = nest_.node(id);
    form(node.form);
    for (const auto& axis : node.checked) form(axis.index);
    for (const int kid : node.kids) this->node(kid);
    guard(node.guard);
  }
  void form(const ir::Affine& form) {
    for (const auto& part : form.parts) symbol(part.symbol);
  }

  void guard(int id) {
    if (id < 0 || seen(guards, id)) return;
    const NestGuard& guard = nest_.guard(id);
    form(guard.form);
    const bool of_guards = guard.kind == NestGuard::Kind::kAnd ||
                           guard.kind == NestGuard::Kind::kOr ||
                           guard.kind == NestGuard::Kind::kNot;
    for (const int kid : {guard.a, guard.b}) of_guards ? this->guard(kid) : node(kid);
  }

 private:
  static bool seen(std::vector<bool>& set, int id) {
    const auto i = static_cast<std::size_t>(id);
    const bool before = set[i];
    set[i] = true;
    return before;
  }
  void symbol(int id) {
    if (seen(symbols, id)) return;
    const IndexSymbol& symbol = nest_.symbol(id);
    form(symbol.a);
    form(symbol.b);
    node(symbol.element);
  }

  const LoopNest& nest_;

 public:
  std::vector<bool> nodes, guards, symbols;
};

// The nest with this root. What the root does not need no longer constrains the merging of
// variables. `bounds` are guards that it keeps.
LoopNest restricted(LoopNest nest, int root, const std::vector<int>& bounds, bool stores) {
  nest.root = root;
  if (!stores) nest.output = ir::Affine();
  Reach reach(nest);
  reach.node(root);
  for (const int guard : bounds) reach.guard(guard);
  reach.form(nest.output);
  for (std::size_t i = 0; i < nest.nodes.size(); ++i) {
    if (!reach.nodes[i]) nest.nodes[i] = NestNode{};
  }
  for (std::size_t i = 0; i < nest.guards.size(); ++i) {
    if (!reach.guards[i]) nest.guards[i] = NestGuard{};
  }
  for (std::size_t i = 0; i < nest.symbols.size(); ++i) {
    if (!reach.symbols[i]) nest.symbols[i].a = nest.symbols[i].b = ir::Affine();
  }
  return nest;
}

class Finder {
 public:
  Finder(const LoopNest& nest, std::span<const ir::TensorType> inputs)
      : nest_(nest), inputs_(inputs), facts_(nest, inputs) {
    for (const int v : nest.output_variables) outputs_ |= nest.symbol(v).depends;
  }

  std::optional<ContractionForm> run() {
    if (!find_sum() || !divide_factors() || !divide_guards() || !divide_variables())
      return std::nullopt;
    ContractionForm form;
    const NestNode& sum = nest_.node(sum_);
    form.sum = sum_;
    form.type = sum.type;
    form.has_guards = !sides_[0].guards.empty() || !sides_[1].guards.empty();
    form.left = factor(sides_[0], rows_, {});
    form.right = factor(sides_[1], {}, columns_);
    form.epilogue = epilogue();
    form.batch = extents(nest_, batch_);
    form.rows = extents(nest_, rows_);
    form.columns = extents(nest_, columns_);
    form.depth = extents(nest_, depth_);
    return form;
  }

 private:
  struct Side {
    std::vector<int> factors, guards;  // nodes, guards
    VariableSet depends = 0;           // output variables
  };

  // The only reduction of the definition.
  bool find_sum() {
    Reach reach(nest_);
    reach.node(nest_.root);
    for (std::size_t i = 0; i < nest_.nodes.size(); ++i) {
      if (!reach.nodes[i] || nest_.nodes[i].op != ExprOp::kReduce) continue;
      if (sum_ >= 0) return false;
      sum_ = static_cast<int>(i);
    }
    if (sum_ < 0) return false;
    const NestNode& sum = nest_.node(sum_);
    if (sum.reduction != ir::Reduction::kSum || sum.type == ir::DType::kBool ||
        extents(nest_, sum.variables) < 1)
      return false;
    // Tiles compute the sum for all elements, also for those to which a select gives another value.
    return facts_.safe_node(sum_) || !is_selected(nest_.root);
  }

  // Whether the sum is computed under a condition.
  bool is_selected(int id) const {
    const NestNode& node = nest_.node(id);
    if (id == sum_) return false;
    if (node.op == ExprOp::kSelect) {
      Reach reach(nest_);
      reach.node(id);
      return reach.nodes[static_cast<std::size_t>(sum_)];
    }
    return std::ranges::any_of(node.kids, [&](int kid) { return is_selected(kid); });
  }

  // Factors that share output variables, or whose output variables another factor has, are one
  // side. Exactly two sides with output variables of their own may remain.
  bool divide_factors() {
    std::vector<int> factors, open{nest_.node(sum_).kids[0]};
    while (!open.empty()) {
      const int id = open.back();
      open.pop_back();
      const NestNode& node = nest_.node(id);
      if (node.op == ExprOp::kMul) {
        open.push_back(node.kids[1]);
        open.push_back(node.kids[0]);
      } else {
        factors.push_back(id);
      }
    }
    if (factors.size() < 2) return false;
    // Longest lists of output variables first: the others join them.
    std::ranges::stable_sort(factors, std::greater{}, [&](int id) {
      return std::popcount(nest_.node(id).depends & outputs_);
    });
    sides_.assign(2, {});
    for (const int id : factors) {
      const VariableSet depends = nest_.node(id).depends & outputs_;
      Side& first = sides_[0];
      const bool fits_first = (depends & ~first.depends) == 0;
      Side& side =
          first.factors.empty() || (fits_first && !sides_[1].factors.empty()) ? first : sides_[1];
      if (!side.factors.empty() && (depends & ~side.depends) != 0) return false;
      side.factors.push_back(id);
      side.depends |= depends;
    }
    return true;
  }

  // Each conjunct of the sum's guard goes to a side that has its output variables, and to the other
  // one too if that reads out of range without it.
  bool divide_guards() {
    bool unsafe[2], any = false;
    for (std::size_t i = 0; i < 2; ++i) {
      unsafe[i] = !std::ranges::all_of(sides_[i].factors,
                                       [&](int factor) { return facts_.safe_node(factor); });
    }
    std::vector<int> open{nest_.node(sum_).guard};
    while (!open.empty()) {
      const int id = open.back();
      open.pop_back();
      const NestGuard& guard = nest_.guard(id);
      if (guard.kind == NestGuard::Kind::kTrue) continue;
      if (guard.kind == NestGuard::Kind::kAnd) {
        open.push_back(guard.b);
        open.push_back(guard.a);
        continue;
      }
      const VariableSet depends = guard.depends & outputs_;
      bool taken = false;
      for (std::size_t i = 0; i < 2; ++i) {
        if ((depends & ~sides_[i].depends) != 0 || (taken && !unsafe[i])) continue;
        sides_[i].guards.push_back(id);
        taken = true;
      }
      if (!taken) return false;
      any = true;
    }
    return !any ||
           ((!unsafe[0] || !sides_[0].guards.empty()) && (!unsafe[1] || !sides_[1].guards.empty()));
  }

  // Roles, and the order of variables: as in the output, the contiguous one innermost.
  bool divide_variables() {
    std::vector<int> ordered = nest_.output_variables;
    std::ranges::stable_sort(ordered, std::greater{},
                             [&](int v) { return std::abs(nest_.output.factor(v)); });
    std::vector<int> own[2];
    for (const int v : ordered) {
      const VariableSet bit = nest_.symbol(v).depends;
      const bool first = (sides_[0].depends & bit) != 0, second = (sides_[1].depends & bit) != 0;
      // Each value of another variable would compute the sum again.
      if (!first && !second && nest_.extent(v) > 1) return false;
      if (first == second) {
        batch_.push_back(v);
      } else {
        own[first ? 0 : 1].push_back(v);
      }
    }
    const auto contiguous = [&](const std::vector<int>& variables) {
      return !variables.empty() && std::abs(nest_.output.factor(variables.back())) == 1 &&
             extents(nest_, variables) >= kFewColumns;
    };
    const bool swap = contiguous(own[0]) ||
                      (!contiguous(own[1]) && extents(nest_, own[0]) > extents(nest_, own[1]));
    if (swap) std::swap(sides_[0], sides_[1]);
    set_depth();
    rows_ = own[swap ? 1 : 0];
    columns_ = own[swap ? 0 : 1];
    // Each element's sum must depend on a variable of the innermost loop, or the writer would move
    // what follows it out of that loop.
    return !columns_.empty();
  }

  // The variables of the sum: last the one along which most reads are contiguous (of a convolution
  // with channels last, the channels).
  void set_depth() {
    depth_ = nest_.node(sum_).variables;
    if (depth_.size() < 2) return;
    Reach reach(nest_);
    reach.node(sum_);
    const auto contiguous_reads = [&](int v) {
      int count = 0;
      for (std::size_t i = 0; i < nest_.nodes.size(); ++i) {
        const NestNode& node = nest_.nodes[i];
        if (reach.nodes[i] && node.op == ExprOp::kRead && node.form.factor(v) == 1) ++count;
      }
      return nest_.extent(v) > 1 ? count : -1;
    };
    std::size_t best = depth_.size() - 1;
    for (std::size_t i = best; i-- > 0;) {
      if (contiguous_reads(depth_[i]) > contiguous_reads(depth_[best])) best = i;
    }
    const auto at = depth_.begin() + static_cast<std::ptrdiff_t>(best);
    std::rotate(at, at + 1, depth_.end());
  }

  static int added(LoopNest& nest, NestNode node) {
    for (const int kid : node.kids) node.depends |= nest.node(kid).depends;
    if (node.guard >= 0) node.depends |= nest.guard(node.guard).depends;
    nest.nodes.push_back(std::move(node));
    return static_cast<int>(nest.nodes.size()) - 1;
  }

  // The product of a side's factors where its guards hold, else 0.
  ContractionForm::Part factor(const Side& side, std::vector<int> rows, std::vector<int> columns) {
    LoopNest nest = nest_;
    const ir::DType type = nest_.node(sum_).type;
    int root = side.factors[0];
    for (std::size_t i = 1; i < side.factors.size(); ++i)
      root = added(nest, {.op = ExprOp::kMul, .type = type, .kids = {root, side.factors[i]}});
    // The guards of a padded operand stand in the factor itself.
    std::vector<int> open = side.guards, bounds;
    bool exclude = true;
    for (bool more = root < static_cast<int>(nest_.nodes.size()); more;) {
      const NestNode node = nest.node(root);
      more = node.op == ExprOp::kSelect && is_zero(nest.node(node.kids[1]));
      if (!more) break;
      exclude = false;
      open.push_back(node.guard);
      root = node.kids[0];
    }
    while (!open.empty()) {
      const int id = open.back();
      open.pop_back();
      const NestGuard& guard = nest.guard(id);
      if (guard.kind == NestGuard::Kind::kTrue) continue;
      if (guard.kind == NestGuard::Kind::kAnd) {
        open.insert(open.end(), {guard.a, guard.b});
      } else if (guard.kind == NestGuard::Kind::kLe && is_of_variables(guard.form)) {
        bounds.push_back(id);
      } else {
        exclude = false;
        const int zero = added(nest, {.op = ExprOp::kConst, .type = type});
        root =
            added(nest, {.op = ExprOp::kSelect, .type = type, .kids = {root, zero}, .guard = id});
      }
    }
    LoopNest own = restricted(std::move(nest), root, bounds, false);
    return merged({std::move(own), batch_, std::move(rows), std::move(columns), depth_,
                   std::move(bounds), exclude});
  }

  static bool is_zero(const NestNode& node) {
    return node.op == ExprOp::kConst && node.real == 0 && node.integer == 0;
  }
  bool is_of_variables(const ir::Affine& form) const {
    return std::ranges::all_of(form.parts, [&](const auto& part) {
      return nest_.symbol(part.symbol).kind == IndexSymbol::Kind::kVariable;
    });
  }

  // The root over a read in the place of the sum.
  ContractionForm::Part epilogue() const {
    LoopNest nest = nest_;
    NestNode read{.op = ExprOp::kRead, .type = nest.node(sum_).type};
    read.input = static_cast<int>(inputs_.size());
    read.depends = nest.node(sum_).depends;
    nest.nodes[static_cast<std::size_t>(sum_)] = std::move(read);
    return merged(
        {restricted(std::move(nest), nest_.root, {}, true), batch_, rows_, columns_, {}, {}, true});
  }

  static ContractionForm::Part merged(ContractionForm::Part part) {
    for (auto* variables : {&part.batch, &part.rows, &part.columns, &part.depth})
      ir::merge_neighbours(part.nest, *variables);
    return part;
  }

  const LoopNest& nest_;
  std::span<const ir::TensorType> inputs_;
  NestFacts facts_;
  VariableSet outputs_ = 0;
  int sum_ = -1;
  std::vector<Side> sides_;  // that of the rows first
  std::vector<int> batch_, rows_, columns_, depth_;
};

}  // namespace

std::optional<ContractionForm> contraction_form(const LoopNest& nest,
                                                std::span<const ir::TensorType> inputs) {
  return Finder(nest, inputs).run();
}

}  // namespace egret::backends::codegen
