// SPDX-License-Identifier: Apache-2.0
// Plans against direct evaluation: operators, and random denotations.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/evaluate/direct_evaluation.h"
#include "ir/evaluate/evaluation_program.h"
#include "ir/graph/builder.h"

namespace egret::ir {
namespace {

DType stored(const Denotation& d) { return is_float(d.type.dtype) ? DType::kF64 : d.type.dtype; }

// Equal bits for integers, equal up to the reassociation of sums for reals.
void expect_same(const Tensor& planned, const Tensor& direct, const std::string& what) {
  ASSERT_EQ(to_string(planned.type()), to_string(direct.type())) << what;
  for (std::int64_t i = 0; i < direct.elements(); ++i) {
    if (is_float(direct.dtype())) {
      const double a = planned.f64_at(i);
      const double b = direct.f64_at(i);
      if (std::isnan(a) && std::isnan(b)) continue;
      if (a == b) continue;
      ASSERT_NEAR(a, b, 1e-9 * (1 + std::abs(b))) << what << " element " << i;
    } else {
      ASSERT_EQ(planned.i64_at(i), direct.i64_at(i)) << what << " element " << i;
    }
  }
}

void expect_plan_agrees(const Denotation& denotation, std::span<const Tensor> inputs,
                        const std::string& what) {
  const auto direct = evaluate_directly(denotation, inputs, stored(denotation));
  const auto planned = evaluate_planned(denotation, inputs, stored(denotation));
  ASSERT_EQ(planned.ok(), direct.ok())
      << what << ": " << planned.status().message() << " / " << direct.status().message();
  if (!direct.ok()) return;
  expect_same(*planned, *direct, what);
}

class PlannedOperator : public testing::Test {
 protected:
  void check(std::string_view name, Attrs given, std::vector<TensorType> types) {
    std::vector<Tensor> inputs;
    for (const TensorType& type : types) inputs.push_back(Tensor::random(type, random_));
    check_on(name, std::move(given), inputs);
  }
  void check_on(std::string_view name, Attrs given, std::vector<Tensor> inputs) {
    const Operator& op = get_operator(name);
    const auto attrs = canonical_attrs(op.attrs(), given);
    ASSERT_TRUE(attrs.ok()) << attrs.status().message();
    ASSERT_FALSE(op.is_composite()) << name;
    std::vector<TensorType> types;
    for (const Tensor& input : inputs) types.push_back(input.type());
    const auto denotation = denote(op, *attrs, types);
    ASSERT_TRUE(denotation.ok()) << denotation.status().message();
    std::string what = std::string(name) + to_string(*attrs);
    for (const TensorType& type : types) what += " " + to_string(type);
    expect_plan_agrees(*denotation, inputs, what);
  }
  static Attrs windows(Integers strides, Integers pads, Integers dilations = {1, 1}) {
    return {{"strides", std::move(strides)},
            {"pads", std::move(pads)},
            {"dilations", std::move(dilations)}};
  }
  static Attrs with(Attrs attrs, std::string_view name, AttrValue value) {
    attrs.set(name, std::move(value));
    return attrs;
  }
  Tensor integers(std::initializer_list<std::int64_t> shape, std::int64_t low, std::int64_t high) {
    Tensor result(TensorType(DType::kI64, shape));
    for (std::int64_t i = 0; i < result.elements(); ++i) {
      result.set_i64(i, random_.between(low, high));
    }
    return result;
  }

  base::Random random_{1};
};

constexpr DType kF32 = DType::kF32;

TEST_F(PlannedOperator, Pointwise) {
  check("add", {}, {{kF32, {3, 1, 5}}, {kF32, {4, 1}}});
  check("add", {}, {{kF32, {}}, {kF32, {}}});
  check("mul", {}, {{DType::kF16, {300, 7}}, {DType::kF16, {300, 7}}});
  check("relu", {}, {{DType::kBF16, {7, 600}}});
  check("tanh", {}, {{kF32, {1000}}});
  check("relu", {}, {{kF32, {0, 3}}});
  for (const DType type : {DType::kI8, DType::kU8, DType::kI32, DType::kU64, DType::kI64}) {
    check("mul", {}, {{type, {40, 9}}, {type, {9}}});
    check("max", {}, {{type, {40, 9}}, {type, {40, 1}}});
  }
}

TEST_F(PlannedOperator, Movement) {
  check("transpose", {{"perm", Integers{2, 0, 1}}}, {{kF32, {5, 70, 33}}});
  check("transpose", {{"perm", Integers{0, 2, 1, 3}}}, {{kF32, {2, 5, 3, 64}}});
  check("reshape", {{"shape", Integers{6, 35}}}, {{kF32, {2, 3, 5, 7}}});
  check("reshape", {{"shape", Integers{7, 2, 15}}}, {{DType::kI32, {2, 3, 5, 7}}});
  check("concat", {{"axis", std::int64_t{1}}},
        {{kF32, {9, 20, 40}}, {kF32, {9, 1, 40}}, {kF32, {9, 33, 40}}});
  check("concat", {{"axis", std::int64_t{0}}}, {{kF32, {2}}, {kF32, {0}}, {kF32, {3}}});
  check("slice",
        {{"axis", std::int64_t{1}},
         {"start", std::int64_t{8}},
         {"size", std::int64_t{4}},
         {"step", std::int64_t{-2}}},
        {{kF32, {3, 9}}});
  check("reverse", {{"axis", std::int64_t{1}}}, {{kF32, {3, 700}}});
  check("tile", {{"repeats", Integers{2, 3}}}, {{kF32, {5, 7}}});
  check("trilu", {{"upper", std::int64_t{1}}, {"k", std::int64_t{-1}}}, {{kF32, {2, 9, 11}}});
  for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
    check("pad",
          {{"before", Integers{0, 2, 3}},
           {"after", Integers{1, 0, 2}},
           {"mode", std::string(mode)},
           {"value", 2.5}},
          {{kF32, {4, 5, 6}}});
    check("pad",
          {{"before", Integers{2, 3}}, {"after", Integers{1, 2}}, {"mode", std::string(mode)}},
          {{kF32, {80, 90}}});
  }
  check("pad", {{"before", Integers{-1, 3}}, {"after", Integers{1, -2}}, {"value", 2.5}},
        {{kF32, {8, 9}}});
  check("pad",
        {{"before", Integers{1, -2}},
         {"after", Integers{0, -1}},
         {"interior", Integers{2, 1}},
         {"value", 2.5}},
        {{kF32, {8, 9}}});
}

TEST_F(PlannedOperator, Gather) {
  check_on("gather", {{"axis", std::int64_t{0}}},
           {Tensor::random({kF32, {10, 6}}, random_), integers({4, 3}, 0, 9)});
  check_on("gather", {{"axis", std::int64_t{1}}},
           {Tensor::random({kF32, {10, 6}}, random_), integers({5}, 0, 5)});
  check_on("gather_elements", {{"axis", std::int64_t{1}}},
           {Tensor::random({kF32, {300, 6}}, random_), integers({300, 9}, 0, 5)});
  check_on("scatter_elements", {{"axis", std::int64_t{0}}},
           {Tensor::random({kF32, {10, 6}}, random_), integers({4, 6}, 0, 9),
            Tensor::random({kF32, {4, 6}}, random_)});
  for (const char* reduction : {"none", "add", "max"}) {
    check_on("scatter_nd", {{"reduction", std::string(reduction)}},
             {Tensor::random({kF32, {10, 6}}, random_), integers({5, 1}, 0, 9),
              Tensor::random({kF32, {5, 6}}, random_)});
  }
}

TEST_F(PlannedOperator, Reductions) {
  for (const char* op : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"}) {
    for (const Integers& axes : {Integers{0}, Integers{1}, Integers{2}, Integers{0, 2},
                                 Integers{1, 2}, Integers{0, 1, 2}}) {
      check(op, {{"axes", axes}, {"keepdims", std::int64_t{0}}}, {{kF32, {3, 20, 300}}});
      check(op, {{"axes", axes}}, {{DType::kI32, {2, 3, 4}}});
    }
  }
  check("reduce_sum", {{"axes", Integers{1}}}, {{kF32, {3, 0}}});
  check("arg_max", {{"axis", std::int64_t{1}}}, {{kF32, {4, 50}}});
  check("arg_max", {{"axis", std::int64_t{0}}}, {{kF32, {9, 50}}});
  check("arg_min", {{"axis", std::int64_t{1}}, {"select_last_index", std::int64_t{1}}},
        {{DType::kI32, {4, 50}}});
  check("topk_indices", {{"axis", std::int64_t{1}}, {"k", std::int64_t{5}}}, {{kF32, {3, 20}}});
  check("cum_sum", {{"axis", std::int64_t{1}}}, {{kF32, {3, 30}}});
  check("cum_sum",
        {{"axis", std::int64_t{0}}, {"exclusive", std::int64_t{1}}, {"reverse", std::int64_t{1}}},
        {{kF32, {30, 3}}});
  check("lrn", {{"size", std::int64_t{5}}}, {{kF32, {1, 12, 3, 4}}});
}

TEST_F(PlannedOperator, Products) {
  check("matmul", {}, {{kF32, {5, 7}}, {kF32, {7, 9}}});
  check("matmul", {}, {{kF32, {3, 1, 50, 40}}, {kF32, {2, 40, 60}}});
  check("matmul", {}, {{kF32, {1, 300}}, {kF32, {300, 70}}});
  check("matmul", {}, {{kF32, {70, 300}}, {kF32, {300, 1}}});
  check("matmul", {}, {{DType::kI32, {20, 30}}, {DType::kI32, {30, 20}}});
  check("matmul", {}, {{DType::kF16, {20, 30}}, {DType::kF16, {30, 40}}});
  check("matmul", {}, {{kF32, {4, 0}}, {kF32, {0, 5}}});
  // Beyond the blocks of packed products in each direction, and just at their edges.
  check("matmul", {}, {{DType::kF64, {71, 300}}, {DType::kF64, {300, 251}}});
  check("matmul", {}, {{DType::kF64, {64, 256}}, {DType::kF64, {256, 240}}});
  check("matmul", {}, {{kF32, {3, 4, 513}}, {kF32, {3, 513, 12}}});
}

// Packed in f64 as long as no sum can exceed 2^53; beyond that, sums wrap around in lanes.
TEST_F(PlannedOperator, ProductsOfIntegers) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t bound : {std::int64_t{9}, std::int64_t{1} << 22, std::int64_t{1} << 24,
                                   std::int64_t{1} << 40, most}) {
    check_on("matmul", {},
             {integers({20, 300}, -bound, bound), integers({300, 31}, -bound, bound)});
  }
  for (const DType type : {DType::kI8, DType::kU8, DType::kI32, DType::kU64})
    check("matmul", {}, {{type, {2, 20, 300}}, {type, {300, 31}}});
  check("conv", windows({1, 1}, {1, 1, 1, 1}),
        {{DType::kI32, {2, 6, 13, 11}}, {DType::kI32, {8, 6, 3, 3}}});
}

TEST_F(PlannedOperator, Convolutions) {
  check("conv", windows({1, 1}, {1, 1, 1, 1}), {{kF32, {2, 6, 13, 11}}, {kF32, {8, 6, 3, 3}}});
  check("conv", windows({2, 2}, {3, 3, 3, 3}), {{kF32, {1, 3, 20, 22}}, {kF32, {5, 3, 7, 7}}});
  check("conv", windows({2, 1}, {0, 2, 1, 0}, {1, 2}),
        {{kF32, {1, 4, 9, 12}}, {kF32, {6, 4, 3, 2}}});
  check("conv", windows({1, 1}, {0, 0, 0, 0}), {{kF32, {1, 16, 9, 9}}, {kF32, {24, 16, 1, 1}}});
  check("conv", with(windows({1, 1}, {1, 1, 1, 1}), "group", std::int64_t{3}),
        {{kF32, {2, 12, 7, 8}}, {kF32, {15, 4, 3, 3}}});
  check("conv", with(windows({2, 2}, {1, 1, 1, 1}), "group", std::int64_t{12}),
        {{kF32, {2, 12, 17, 18}}, {kF32, {12, 1, 3, 3}}});
  check("conv", {{"strides", Integers{2}}, {"pads", Integers{1, 2}}, {"dilations", Integers{1}}},
        {{kF32, {2, 3, 40}}, {kF32, {4, 3, 5}}});
  check("conv_transpose", with(windows({2, 2}, {1, 1, 0, 1}), "output_padding", Integers{0, 1}),
        {{kF32, {1, 4, 5, 6}}, {kF32, {4, 3, 3, 3}}});
  check("max_pool", with(windows({2, 2}, {1, 1, 1, 1}), "kernel", Integers{3, 3}),
        {{kF32, {2, 3, 15, 40}}});
  check("avg_pool", with(windows({2, 1}, {1, 1, 1, 1}), "kernel", Integers{3, 3}),
        {{kF32, {2, 3, 15, 40}}});
}

TEST_F(PlannedOperator, StoresProductsInTheirType) {
  const Tensor inputs[] = {Tensor::random({kF32, {9, 40}}, random_),
                           Tensor::random({kF32, {40, 30}}, random_)};
  const TensorType types[] = {inputs[0].type(), inputs[1].type()};
  const auto denotation = denote(get_operator("matmul"), {}, types);
  ASSERT_TRUE(denotation.ok());
  const auto wide = evaluate_planned(*denotation, inputs, DType::kF64);
  const auto narrow = evaluate_planned(*denotation, inputs, kF32, {.precision = Precision::kF32});
  ASSERT_TRUE(wide.ok() && narrow.ok());
  ASSERT_EQ(narrow->dtype(), kF32);
  for (std::int64_t i = 0; i < wide->elements(); ++i) {
    EXPECT_EQ(narrow->f64_at(i), static_cast<double>(static_cast<float>(wide->f64_at(i))));
  }
}

TEST_F(PlannedOperator, PropagatesNaN) {
  const double nan = std::nan("");
  Tensor x = Tensor::of(kF32, Shape{2, 3}, std::vector<double>{1, nan, 2, 4, 3, 5});
  check_on("reduce_max", {{"axes", Integers{1}}}, {x});
  check_on("reduce_min", {{"axes", Integers{0}}}, {x});
  check_on("max", {}, {x, Tensor::filled({kF32, {2, 3}}, 2)});
  check_on("arg_max", {{"axis", std::int64_t{1}}}, {x});
  Tensor wide = Tensor::random({kF32, {1, 4, 9, 9}}, random_);
  Tensor kernel = Tensor::random({kF32, {8, 4, 3, 3}}, random_);
  kernel.set_f64(7, INFINITY);  // a tap that padding excludes at the border must not make NaN
  check_on("conv", windows({1, 1}, {1, 1, 1, 1}), {wide, kernel});
}

TEST_F(PlannedOperator, ReportsIndicesThatAreOutOfRange) {
  const Tensor x = Tensor::random({kF32, {5, 2}}, random_);
  const Tensor indices = Tensor::of_integers(std::vector<std::int64_t>{1, 7});
  const Tensor inputs[] = {x, indices};
  const auto denotation = [&] {
    const TensorType types[] = {x.type(), indices.type()};
    auto pool = std::make_shared<ExprPool>();
    Attrs none;
    Definition d(none, types, pool);
    const auto out = d.output(DType::kF32, {2, 2});
    d.value(d.read(0, {index_of(d.read(1, {out[0]})), out[1]}));
    return *std::move(d).finish();
  }();
  const auto result = evaluate_planned(denotation, inputs, DType::kF32);
  EXPECT_EQ(result.status().code(), base::StatusCode::kBadInput);
  EXPECT_EQ(result.status().message(), "index 7 is outside of axis 0 of size 5");
}

// ---- Random denotations

class RandomDenotation {
 public:
  explicit RandomDenotation(std::uint64_t seed) : random_(seed) {
    const int inputs = 1 + static_cast<int>(random_.below(3));
    for (int i = 0; i < inputs; ++i) {
      std::vector<std::int64_t> shape;
      for (std::uint64_t k = random_.below(4); k > 0; --k) shape.push_back(random_.between(1, 7));
      if (random_.chance(0.2) && !shape.empty()) shape.back() = random_.between(200, 600);
      const DType types[] = {DType::kF32, DType::kF32, DType::kF64,
                             DType::kI32, DType::kU8,  DType::kI64};
      types_.emplace_back(types[random_.below(6)], shape);
      tensors_.push_back(Tensor::random(types_.back(), random_));
    }
    Definition d(none_, types_, std::make_shared<ExprPool>());
    d_ = &d;
    Dims dims;
    for (std::uint64_t k = random_.below(4); k > 0; --k) dims.push_back(random_.between(1, 6));
    if (random_.chance(0.15) && !dims.empty()) dims.back() = random_.between(250, 600);
    for (const Index& dim : dims) extents_.push_back(dim.constant());
    const DType outs[] = {DType::kF32, DType::kF32, DType::kI32, DType::kU8, DType::kBool};
    const DType out_type = outs[random_.below(5)];
    vars_ = d.output(out_type, dims);
    const Scalar value = scalar(4);
    d.value(out_type == DType::kBool ? cast(out_type, value) : value);
    denotation_ = *std::move(d).finish();
  }
  const Denotation& denotation() const { return denotation_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  // Any index expression; not nailed to a range.
  Index index(int depth) {
    if (depth == 0 || random_.chance(0.3)) {
      if (vars_.empty() || random_.chance(0.2)) return random_.between(-3, 9);
      return vars_[random_.below(vars_.size())];
    }
    switch (random_.below(8)) {
      case 0: return index(depth - 1) + index(depth - 1);
      case 1: return index(depth - 1) - index(depth - 1);
      case 2: return index(depth - 1) * random_.between(-3, 4);
      case 3: return div(index(depth - 1), random_.between(1, 6));
      case 4: return mod(index(depth - 1), random_.between(1, 6));
      case 5: return min(index(depth - 1), index(depth - 1));
      case 6: return max(index(depth - 1), index(depth - 1));
      default: return index(depth - 1) * index(depth - 1);
    }
  }
  // In range for a size: clamped, wrapped, or guarded by the caller.
  Index in_range(std::int64_t size, int depth) {
    const Index i = index(depth);
    return random_.chance(0.5) ? mod(i, size) : max(0, min(i, size - 1));
  }
  Scalar read(int depth) {
    const int input = static_cast<int>(random_.below(types_.size()));
    std::vector<Index> at;
    Guard inside = true;
    for (const Index& dim : types_[static_cast<std::size_t>(input)].dims) {
      const std::int64_t size = dim.constant();
      if (random_.chance(0.4)) {  // a guarded affine index
        const Index i = index(1);
        inside = inside && within(0, i, size);
        at.push_back(i);
      } else if (random_.chance(0.15) && depth > 0) {
        at.push_back(mod(index_of(scalar(0)), size));
      } else {
        at.push_back(in_range(size, 2));
      }
    }
    return select(inside, d_->read(input, at), random_.between(-2, 2) * 0.5);
  }
  Guard guard(int depth) {
    switch (random_.below(depth > 0 ? 7 : 2)) {
      case 0: return index(2) <= index(1);
      case 1: return index(1) == index(1);
      case 2: return guard(depth - 1) && guard(depth - 1);
      case 3: return guard(depth - 1) || guard(depth - 1);
      case 4: return !guard(depth - 1);
      case 5: return less(scalar(depth - 1), scalar(depth - 1));
      default: return less_equal(scalar(depth - 1), scalar(depth - 1));
    }
  }
  Scalar scalar(int depth) {
    if (depth == 0) {
      if (random_.chance(0.7)) return read(0);
      return random_.chance(0.5) ? scalar_of(index(1))
                                 : Scalar(static_cast<double>(random_.between(-3, 3)));
    }
    switch (random_.below(12)) {
      case 0: return scalar(depth - 1) + scalar(depth - 1);
      case 1: return scalar(depth - 1) - scalar(depth - 1);
      case 2: return scalar(depth - 1) * scalar(depth - 1);
      case 3: return max(scalar(depth - 1), scalar(depth - 1));
      case 4: return min(scalar(depth - 1), scalar(depth - 1));
      case 5: return -scalar(depth - 1);
      case 6: return call(Function::kTanh, {scalar(depth - 1)});
      case 7: return select(guard(1), scalar(depth - 1), scalar(depth - 1));
      case 8: return cast(random_.chance(0.5) ? DType::kI8 : DType::kF16, scalar(depth - 1));
      case 9: {
        const Scalar x = read(depth - 1);
        return x * x + x;
      }
      default: {
        const Reduction kinds[] = {Reduction::kSum, Reduction::kMax, Reduction::kMin,
                                   Reduction::kProd};
        const std::int64_t extent =
            random_.chance(0.1) ? random_.between(100, 300) : random_.between(1, 4);
        if (reductions_ > 2) return scalar(depth - 1);
        ++reductions_;
        const Reduction kind = kinds[extent > 5 ? random_.below(3) : random_.below(4)];
        const bool guarded = random_.chance(0.5);
        const Index k = d_->pool().fresh_var();
        vars_.push_back(k);
        const Guard where = guarded ? guard(1) : Guard(true);
        const Scalar body = scalar(depth - 1);
        vars_.pop_back();
        --reductions_;
        return d_->pool().reduce(kind, k, extent, where, body);
      }
    }
  }

  base::Random random_;
  Attrs none_;
  std::vector<TensorType> types_;
  std::vector<Tensor> tensors_;
  std::vector<std::int64_t> extents_;
  std::vector<Index> vars_;
  Definition* d_ = nullptr;
  int reductions_ = 0;
  Denotation denotation_;
};

TEST(PlannedRandom, AgreesWithDirectEvaluation) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const RandomDenotation made(seed);
    const std::string text = to_string(made.denotation().value);
    expect_plan_agrees(made.denotation(), made.tensors(),
                       "seed " + std::to_string(seed) + ": " + text);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace egret::ir
