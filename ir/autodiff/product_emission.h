// SPDX-License-Identifier: Apache-2.0
// The emission of one sum of products; internal to ir/autodiff/sum_of_products.h.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/autodiff/bilinear.h"
#include "ir/autodiff/domain_reduction.h"
#include "ir/autodiff/sum_of_products.h"
#include "ir/autodiff/tensor_steps.h"

namespace egret::ir::autodiff {

using View = AxisView::Kind;

// Labels of window axes, beside the symbols of the nest.
inline constexpr int kFirstWindowLabel = 1 << 24;

// One tensor as indexed by the loop variables.
struct Seen {
  Shape shape;
  std::vector<Affine> axes;
  std::vector<AxisView> views{};
  Value tensor{};  // invalid for the target

  bool any(View kind) const {
    return std::ranges::any_of(views, [&](const AxisView& v) { return v.kind == kind; });
  }
};

class ProductEmission {
 public:
  ProductEmission(Emitter& emitter, const SumOfProducts& sum)
      : e_(emitter),
        b_(emitter.builder()),
        coefficient_(sum.coefficient),
        reduction_(emitter.nest(), domain_of(emitter, sum)) {
    for (const Factor& factor : sum.factors) factors_.push_back(seen(factor));
    for (const Factor& factor : sum.divisors) divisors_.push_back(seen(factor));
    target_ = {sum.target_shape, sum.target};
    for (const int guard : sum.guards) reduction_.assume(guard);
    for (const int guard : reduction_.opaque()) masks_.push_back(seen(e_.guard(guard)));
  }

  // nullopt: try again without divisions.
  std::optional<Value> run(bool divisions);

 private:
  static Domain domain_of(Emitter& emitter, const SumOfProducts& sum);
  Seen seen(const Factor& factor) const {
    return {.shape = shape_of(b_, factor.tensor), .axes = factor.axes, .tensor = factor.tensor};
  }
  Seen seen(const Labelled& x) const {
    Factor factor{x.value, {}};
    for (const int var : x.vars) factor.axes.push_back(Affine::of_symbol(var));
    return seen(factor);
  }
  std::vector<Seen*> all() {
    std::vector<Seen*> list{&target_};
    for (auto* group : {&factors_, &divisors_, &masks_}) {
      for (Seen& s : *group) list.push_back(&s);
    }
    return list;
  }

  void look();
  void look(Seen& s) const;
  bool any_window() {
    return std::ranges::any_of(all(), [](const Seen* s) { return s->any(View::kWindow); });
  }

  Value nothing() { return zeros(b_, e_.real(), target_.shape); }
  std::int64_t size_of(int var) const { return extent(reduction_.domain().at(var)); }

  // ---- Tensors as they are seen

  // Axes whose variables occur nowhere else in the tensor, and that are boxes, are direct.
  std::vector<bool> direct_axes(const Seen& s) const;

  // The loop variables that a form depends on, through its symbols. Promoted symbols count as
  // variables.
  std::vector<int> variables_of(const Affine& form) const;

  // The tensor over its variables. Window axes keep their elements, under labels of their own.
  Labelled labelled(const Seen& s);

  Labelled boxes(Value x, const Seen& s);

  // The joint offset of elements along the axes that are not direct, and the joint size of these
  // axes.
  struct Places {
    Labelled at;
    std::int64_t count = 1;
  };
  Places places(const Seen& s, const std::vector<bool>& direct);

  // A tensor over full variables, restricted to the reduced ranges.
  Labelled within_domain(const Labelled& x);

  static std::vector<int> indirect_first(const std::vector<bool>& direct);

  // s with all axes that are not direct merged into one leading axis.
  Seen flattened(const Seen& s, const std::vector<bool>& direct, std::int64_t count) const;

  Labelled gathered(const Seen& s, const std::vector<bool>& direct);

  // ---- The product

  struct Piece {
    Labelled x;
    bool windowed = false;
  };

  // The factors over their variables, divided and masked, merged to at most `most` pieces.
  std::vector<Piece> pieces(std::span<const int> needed, std::size_t most);

  std::optional<double> constant_number(const Labelled& x) const;

  // The variables that `needed` or a piece other than i has.
  static std::vector<int> elsewhere(std::span<const Piece> list, std::size_t i,
                                    std::span<const int> needed);

  static Piece* covering(std::vector<Piece>& list, std::span<const int> vars);

  void divide(std::vector<Piece>& list, const Labelled& by);

  // Zeros where the mask does not hold. Excluded elements may be infinite, so factors are
  // multiplied before the mask is applied, where that adds no variables.
  void mask(std::vector<Piece>& list, const Labelled& mask);

  // Replaces the two pieces with the smallest product by their product.
  void merge_two(std::vector<Piece>& list, std::span<const int> needed);

  // A variable that nothing depends on multiplies the sum by its extent.
  void count_idle(std::span<const int> used);

  std::optional<Value> without_windows();

  // A promoted division can only label an axis; no index tensor is computed from it.
  bool usable_as_variable(int symbol);

  // Writes a product over the variables of the target's (direct) axes into the target's shape.
  Value placed(const Labelled& product, const Seen& s);

  Value scattered(const Labelled& product, const std::vector<bool>& direct,
                  std::span<const int> needed);

  // ---- Windows

  struct Window {
    std::size_t axis;  // of the tensor with the window
    int u, v;
    std::int64_t a, b, constant, size;
  };

  std::optional<Value> through_windows();
  // Accumulates onto windows of the target tap by tap, for products that depend on position and tap
  // together.
  std::optional<Value> unrolled(const Labelled& product);
  std::optional<Value> as_convolution(const Seen& image, std::vector<Window> windows);
  bool padded_with_zeros(const Seen& image, std::span<const Window> windows);

  Emitter& e_;
  GraphBuilder& b_;
  double coefficient_;
  DomainReduction reduction_;
  std::vector<Seen> factors_, divisors_, masks_;
  Seen target_;
  std::map<const Affine*, int> windows_;  // labels of window axes
};

}  // namespace egret::ir::autodiff
