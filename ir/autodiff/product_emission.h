// SPDX-License-Identifier: Apache-2.0
// One sum of products on its way to a graph: the inside of ir/autodiff/sum_of_products.h.
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

// One tensor as it is looked at through the variables.
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

  // Loop variables, through the symbols that a form names; promoted symbols as themselves.
  std::vector<int> variables_of(const Affine& form) const;

  // The tensor over its variables. Window axes keep their elements, under labels of their own.
  Labelled labelled(const Seen& s);

  Labelled boxes(Value x, const Seen& s);

  // Where elements lie on the axes that are not direct, counted over these axes alone; and those
  // axes' sizes together.
  struct Places {
    Labelled at;
    std::int64_t count = 1;
  };
  Places places(const Seen& s, const std::vector<bool>& direct);

  // A tensor over whole variables, over what is left of their ranges.
  Labelled within_domain(const Labelled& x);

  static std::vector<int> indirect_first(const std::vector<bool>& direct);

  // What is left of s when the axes that are not direct are one axis in front.
  Seen flattened(const Seen& s, const std::vector<bool>& direct, std::int64_t count) const;

  Labelled gathered(const Seen& s, const std::vector<bool>& direct);

  // ---- The product

  struct Piece {
    Labelled x;
    bool windowed = false;
  };

  // Factors over their variables, divided and masked; `most` pieces are left at most.
  std::vector<Piece> pieces(std::span<const int> needed, std::size_t most);

  std::optional<double> constant_number(const Labelled& x) const;

  // The variables that something but piece i needs.
  static std::vector<int> elsewhere(std::span<const Piece> list, std::size_t i,
                                    std::span<const int> needed);

  static Piece* covering(std::vector<Piece>& list, std::span<const int> vars);

  void divide(std::vector<Piece>& list, const Labelled& by);

  // Zeros where the mask does not hold. What is excluded may be infinite, so a product is made
  // before it is masked where that costs nothing.
  void mask(std::vector<Piece>& list, const Labelled& mask);

  // The two whose product is smallest become one.
  void merge_two(std::vector<Piece>& list, std::span<const int> needed);

  // Variables that are summed over though nothing depends on them count as often as they run.
  void count_idle(std::span<const int> used);

  std::optional<Value> without_windows();

  // A division that became a variable can only be a label: no tensor is computed of it.
  bool usable_as_variable(int symbol);

  // The target's tensor of a product over the variables of its (direct) axes.
  Value placed(const Labelled& product, const Seen& s);

  Value scattered(const Labelled& product, const std::vector<bool>& direct,
                  std::span<const int> needed);

  // ---- Windows

  struct Window {
    std::size_t axis;  // of the tensor that has them
    int u, v;
    std::int64_t a, b, constant, size;
  };

  std::optional<Value> through_windows();
  // Onto windows of the target, tap by tap: for what depends on position and tap together.
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
