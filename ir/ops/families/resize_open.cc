// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/resize_open.h"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "ir/core/size_reference.h"
#include "ir/core/symbolic_scope.h"

namespace egret::ir {
namespace {

constexpr std::int64_t kLargestPart = 1 << 10;

// An integer that is known, or an i64[1] that is computed.
struct Number {
  std::int64_t known = 0;
  Value computed{};
};

// Positions of output elements i on the input's axis: (factor * i + offset) / under, above -1.
struct Positions {
  Number factor;
  Number offset;
  Number under;
};

class OpenAxis {
 public:
  OpenAxis(Body& b, int axis) : b_(b), axis_(axis) {}

  Value build() {
    const Index out = b_.attrs().size("size");
    const auto size = open_integer(out);
    if (!size) return b_.fail("the size " + to_string(out) + " is open");
    steps_ = b_("iota", {}, {{"size", *size}, {"dtype", std::string("i64")}});
    in_ = number_of(b_.type(b_.input(0)).dims[static_cast<std::size_t>(axis_)], b_.input(0), axis_);
    out_ = number_of(out, steps_, 0);
    if (b_.flag("exclude_outside")) return b_.fail("exclude_outside needs an axis of known size");
    Positions at;
    if (!find_positions(at)) return {};
    return b_.text("mode") == "nearest" ? nearest(at) : interpolated(at);
  }

 private:
  Number number_of(Index size, Value of, int axis) {
    if (size.is_constant()) return {size.constant()};
    const std::int64_t start = axis;
    return {0, b_("shape", {of}, {{"start", start}, {"end", start + 1}})};
  }
  Value value(Number n) {
    return n.computed.valid() ? n.computed
                              : b_.builder().constant(Tensor::of_integers(Integers{n.known}));
  }
  static bool is_known(Number n) { return !n.computed.valid(); }
  static bool is(Number n, std::int64_t known) { return is_known(n) && n.known == known; }
  Number plus(Number x, Number y) {
    if (is(x, 0)) return y;
    if (is(y, 0)) return x;
    if (is_known(x) && is_known(y)) return {x.known + y.known};
    return {0, b_("add", {value(x), value(y)})};
  }
  Number times(Number x, Number y) {
    if (is(x, 1)) return y;
    if (is(y, 1)) return x;
    if (is(x, 0) || is(y, 0)) return {0};
    if (is_known(x) && is_known(y)) return {x.known * y.known};
    return {0, b_("mul", {value(x), value(y)})};
  }
  Number minus(Number x, Number y) { return plus(x, times({-1}, y)); }
  Number at_least_one(Number x) {
    if (is_known(x)) return {std::max<std::int64_t>(x.known, 1)};
    return {0, b_("max", {value(x), value({1})})};
  }

  // The scale as a fraction over / under. 0 stands for new size / old size.
  bool find_positions(Positions& at) {
    const double scale = b_.real("scale");
    Number over = out_;
    Number under = in_;
    if (scale != 0) {
      const auto fraction = dyadic_scale(scale);
      if (!fraction) {
        b_.fail("this scale needs an axis of known size");
        return false;
      }
      over = {fraction->over};
      under = {fraction->under};
    }
    const std::string& rule = b_.text("coordinates");
    const Number centre{2};
    if (rule == "asymmetric") {
      at = {under, {0}, over};
    } else if (rule == "tf_half_pixel_for_nn") {
      at = {times(centre, under), under, times(centre, over)};
    } else if (rule == "align_corners") {
      const Number last = minus(in_, {1});
      at = scale == 0
               ? Positions{last, {0}, at_least_one(minus(out_, {1}))}
               : Positions{times(last, under), {0}, at_least_one(minus(times(over, in_), under))};
    } else if (rule == "half_pixel" || rule == "pytorch_half_pixel" ||
               rule == "half_pixel_symmetric") {
      at = {times(centre, under), minus(under, over), times(centre, over)};
      if (rule == "pytorch_half_pixel") {  // one element lies at 0
        const Number several = several_elements();
        at.factor = times(at.factor, several);
        at.offset = times(at.offset, several);
      } else if (rule == "half_pixel_symmetric") {  // what rounding the size cut off, in halves
        // f32 does not represent it, and positions that are whole numbers may round either way.
        if (b_.text("mode") == "nearest" && !is(under, 1) && scale != 0) {
          b_.fail(rule + " by this scale needs an axis of known size");
          return false;
        }
        at.offset = plus(at.offset, minus(times(in_, over), times(out_, under)));
      }
    } else {
      b_.fail(rule + " needs an axis of known size");
      return false;
    }
    return true;
  }

  // 1 if there is more than one output element, else 0.
  Number several_elements() {
    if (is_known(out_)) return {out_.known > 1 ? 1 : 0};
    return {0, b_("min", {value(minus(out_, {1})), value({1})})};
  }

  // factor * i + offset, for each output element i.
  Value numerators(Number factor, Number offset) {
    Value all = steps_;
    if (!is(factor, 1)) all = b_("mul", {all, value(factor)});
    return is(offset, 0) ? all : b_("add", {all, value(offset)});
  }

  Value inside(Value from) { return b_("min", {from, value(minus(in_, {1}))}); }
  Value gathered(Value from) {
    return b_("gather", {b_.input(0), from}, {{"axis", std::int64_t{axis_}}});
  }

  // Quotients that truncate toward zero are floors here, but for those of negative numbers above
  // -1, whose element is the first one either way.
  Value nearest(const Positions& at) {
    const std::string& rule = b_.text("nearest");
    const bool rounds = rule != "floor" && rule != "ceil";
    const Number two{rounds ? 2 : 1};
    const Number under = times(two, at.under);
    Number more{0};  // floor((2n + d) / 2d) rounds n / d, and with one less a half goes down
    if (rule == "round_prefer_ceil") more = at.under;
    if (rule == "round_prefer_floor" || rule == "ceil") more = minus(at.under, {1});
    const Value over = numerators(times(two, at.factor), plus(times(two, at.offset), more));
    return gathered(inside(is(under, 1) ? over : b_("div", {over, value(under)})));
  }

  Value interpolated(const Positions& at) {
    const DType dtype = b_.dtype(0);
    if (!is_float(dtype)) return b_.fail("mode " + b_.text("mode") + " needs real elements");
    // One more than the floor, so that no dividend is negative.
    const Value over = numerators(at.factor, plus(at.offset, at.under));
    const Value next = b_("div", {over, value(at.under)});
    const Value rest = b_("sub", {over, b_("mul", {next, value(at.under)})});
    const Value ratio = b_("div", {real(rest), real(value(at.under))});
    std::vector<Value> weights;
    std::int64_t first = -1;
    if (b_.text("mode") == "linear") {
      weights = {b_("sub", {constant(1), ratio}), ratio};
    } else {
      weights = cubic(ratio);
      first = -2;
    }
    Value sum;
    for (std::size_t tap = 0; tap < weights.size(); ++tap) {
      const std::int64_t shift = first + static_cast<std::int64_t>(tap);
      Value from = shift == 0 ? next : b_("add", {next, value({shift})});
      if (shift < 0) from = b_("max", {from, value({0})});
      const Value term = b_("mul", {gathered(inside(from)), along_axis(weights[tap], dtype)});
      sum = sum.valid() ? b_("add", {sum, term}) : term;
    }
    return sum;
  }

  Value real(Value integers) { return b_("cast", {integers}, {{"to", std::string("f64")}}); }
  Value constant(double x) { return b_.scalar(DType::kF64, x); }

  // Keys' kernel, as in resize_axis.cc: a x^3 - 5a x^2 + 8a x - 4a at distances above 1, and
  // (a + 2) x^3 - (a + 3) x^2 + 1 below.
  std::vector<Value> cubic(Value ratio) {
    const double a = b_.real("cubic_coefficient");
    const std::array<double, 4> far{a, -5 * a, 8 * a, -4 * a};
    const std::array<double, 4> near{a + 2, -(a + 3), 0, 1};
    const Value rest = b_("sub", {constant(1), ratio});
    const auto beyond = [&](Value x) { return b_("add", {x, constant(1)}); };
    return {polynomial(far, beyond(ratio)), polynomial(near, ratio), polynomial(near, rest),
            polynomial(far, beyond(rest))};
  }

  Value polynomial(const std::array<double, 4>& coefficients, Value x) {
    Value sum = constant(coefficients[0]);
    for (std::size_t i = 1; i < coefficients.size(); ++i)
      sum = b_("add", {b_("mul", {sum, x}), constant(coefficients[i])});
    return sum;
  }

  // A row that broadcasts along the axis.
  Value along_axis(Value row, DType dtype) {
    const Value cast = b_("cast", {row}, {{"to", std::string(to_string(dtype))}});
    Integers target(static_cast<std::size_t>(b_.rank(0) - axis_), 1);
    if (target.size() == 1) return cast;
    target[0] = kInferredSize;
    return b_("reshape", {cast}, {{"shape", std::move(target)}});
  }

  Body& b_;
  int axis_;
  Value steps_{};
  Number in_;
  Number out_;
};

}  // namespace

std::optional<DyadicScale> dyadic_scale(double scale) {
  DyadicScale fraction;
  while (scale != std::floor(scale) && fraction.under < kLargestPart) {
    scale *= 2;
    fraction.under *= 2;
  }
  if (!(scale >= 1 && scale <= kLargestPart) || scale != std::floor(scale)) return std::nullopt;
  fraction.over = static_cast<std::int64_t>(scale);
  return fraction;
}

Value resize_open_axis(Body& b, int axis) { return OpenAxis(b, axis).build(); }

}  // namespace egret::ir
