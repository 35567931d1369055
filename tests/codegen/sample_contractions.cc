// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/sample_contractions.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "ir/graph/builder.h"

namespace egret::backends::codegen {
namespace {

using ir::DType;
using ir::Integers;
using ir::Shape;
using ir::Value;

enum class Values { kAny, kPairs, kFragments };

class Sampler {
 public:
  Sampler(std::uint64_t seed, Values values, bool constants = false)
      : random_(seed), values_(values), constants_(constants) {
    static constexpr DType kTypes[] = {DType::kF32, DType::kF32, DType::kF32,  DType::kF32,
                                       DType::kF64, DType::kF64, DType::kBF16, DType::kF16,
                                       DType::kI32, DType::kI64, DType::kI8,   DType::kU8,
                                       DType::kI16, DType::kU32, DType::kU64};
    static constexpr DType kTypesOfPairs[] = {DType::kF32, DType::kBF16, DType::kI32, DType::kU32,
                                              DType::kI8};
    static constexpr DType kTypesOfFragments[] = {DType::kF32, DType::kF16, DType::kBF16,
                                                  DType::kI32, DType::kU32};
    switch (values) {
      case Values::kAny: type_ = one_of(kTypes); break;
      case Values::kPairs: type_ = one_of(kTypesOfPairs); break;
      case Values::kFragments: type_ = one_of(kTypesOfFragments); break;
    }
    stored_ = type_ != DType::kF32           ? type_
              : values == Values::kFragments ? one_of({DType::kF32, DType::kF16, DType::kBF16})
                                             : DType::kBF16;
  }

  ir::Graph depthwise_graph() {
    b_.output("y", epilogue(depthwise()));
    auto graph = std::move(b_).finish();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    return *std::move(graph);
  }

  ir::Graph graph() {
    Value y{};
    switch (random_.below(6)) {
      case 0:
      case 1: y = product(); break;
      case 2: y = einsum(); break;
      case 3: y = transposed_convolution(); break;
      default: y = convolution(); break;
    }
    b_.output("y", epilogue(y));
    auto graph = std::move(b_).finish();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    return *std::move(graph);
  }

 private:
  template <typename T, std::size_t N>
  T one_of(const T (&values)[N]) {
    return values[random_.below(N)];
  }
  DType one_of(std::initializer_list<DType> types) {
    return types.begin()[random_.below(types.size())];
  }
  std::int64_t size() {
    static constexpr std::int64_t kSizes[] = {1, 2, 3, 5, 8, 13, 16, 17, 31, 33, 40};
    static constexpr std::int64_t kSizesOfFragments[] = {1, 3, 8, 16, 17, 24, 32, 40, 64, 72, 80};
    return values_ == Values::kFragments ? one_of(kSizesOfFragments) : one_of(kSizes);
  }

  // An input, or a constant where there may be some.
  Value leaf(const ir::TensorType& type) {
    if (constants_ && random_.chance(0.5)) return b_.constant(ir::Tensor::random(type, random_));
    return b_.input("x" + std::to_string(inputs_++), type);
  }

  // Of values that fit bf16 or 16 bits, or the operands of tensor cores.
  Value narrow_input(const Shape& shape) {
    static constexpr DType kIntegers[] = {DType::kI8, DType::kU8, DType::kI16};
    const DType stored = is_float(type_)                 ? stored_
                         : values_ == Values::kFragments ? one_of({DType::kI8, DType::kU8})
                                                         : one_of(kIntegers);
    Value x = leaf(ir::TensorType(stored, shape));
    const bool differs = stored != type_;
    if (differs) x = b_.add("cast", {x}, {{"to", std::string(to_string(type_))}});
    if ((type_ == DType::kBF16 || type_ == DType::kF16) && random_.chance(0.3))
      x = b_.add("relu", {x});
    if (values_ == Values::kFragments) return x;
    if (type_ == DType::kI32 && stored == DType::kU8 && random_.chance(0.5)) {
      const Value zero =
          b_.input("x" + std::to_string(inputs_++), ir::TensorType(stored, Shape{1}));
      x = b_.add("sub", {x, b_.add("cast", {zero}, {{"to", std::string("i32")}})});
    }
    return x;
  }

  // An input of the type, perhaps stored in another type, or behind what prologues are made of.
  Value input(const Shape& shape) {
    if (values_ != Values::kAny) return narrow_input(shape);
    const bool narrow = random_.chance(0.2);
    static constexpr DType kStored[] = {DType::kBF16, DType::kI8, DType::kU8, DType::kF32};
    const DType stored = narrow ? one_of(kStored) : type_;
    Value x = leaf(ir::TensorType(stored, shape));
    if (stored != type_) x = b_.add("cast", {x}, {{"to", std::string(to_string(type_))}});
    if (is_float(type_) && random_.chance(0.15)) x = b_.add("relu", {x});
    if (is_float(type_) && random_.chance(0.1)) {
      const Value scale = leaf(ir::TensorType(type_, Shape{shape.back()}));
      x = b_.add("mul", {x, scale});
    }
    return x;
  }

  // An input whose value has this shape, but which may lie in memory in another order.
  Value ordered(const Shape& shape) {
    if (random_.chance(0.6) || shape.size() < 2) return input(shape);
    Integers perm(shape.size());
    for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int64_t>(i);
    for (std::size_t i = perm.size(); i-- > 1;) std::swap(perm[i], perm[random_.below(i + 1)]);
    Shape stored(shape.size());
    for (std::size_t i = 0; i < perm.size(); ++i)
      stored[static_cast<std::size_t>(perm[i])] = shape[i];
    return b_.add("transpose", {input(stored)}, {{"perm", perm}});
  }

  Value product() {
    Shape left{size(), size()}, right{left[1], size()};
    bool has_batch = true;
    for (auto batch = random_.between(0, 2); batch > 0; --batch) {
      const std::int64_t count = random_.between(1, 3);
      left.insert(left.begin(), random_.chance(0.3) ? 1 : count);
      has_batch = has_batch && random_.chance(0.7);
      if (has_batch) right.insert(right.begin(), random_.chance(0.3) ? 1 : count);
    }
    const Value a = ordered(left);
    return b_.add("matmul", {a, ordered(right)});
  }

  Value einsum() {
    static constexpr const char* kEquations[] = {
        "bmk,bnk->bmn", "mk,kn->nm",    "bhmd,bhnd->bhmn", "abk,ck->acb", "ka,kb->ab",
        "bmk,kn->bnm",  "kbm,bkn->bmn", "mkl,lkn->mn",     "mkl,nkl->nm", "bij,bkj->ibk"};
    const std::string equation = one_of(kEquations);
    std::int64_t sizes[26] = {};
    Shape shapes[2];
    int operand = 0;
    for (const char letter : equation.substr(0, equation.find('-'))) {
      if (letter == ',') {
        ++operand;
        continue;
      }
      std::int64_t& extent = sizes[letter - 'a'];
      if (extent == 0) extent = letter == 'b' || letter == 'h' ? random_.between(1, 3) : size();
      shapes[operand].push_back(extent);
    }
    const Value a = input(shapes[0]);
    return b_.add("einsum", {a, input(shapes[1])}, {{"equation", equation}});
  }

  struct Window {
    Integers strides, pads, dilations;
    Shape image, kernel;
  };
  Window window() {
    const auto axes = static_cast<std::size_t>(random_.between(1, 3));
    Window w;
    w.pads.resize(2 * axes);
    for (std::size_t i = 0; i < axes; ++i) {
      w.kernel.push_back(random_.between(1, 3));
      w.strides.push_back(random_.between(1, 3));
      w.dilations.push_back(random_.between(1, 2));
      w.pads[i] = random_.between(0, 2);
      w.pads[i + axes] = random_.between(0, 2);
      w.image.push_back(random_.between(5, axes == 1 ? 60 : axes == 2 ? 14 : 7));
    }
    return w;
  }

  Value convolution() {
    const Window w = window();
    const std::int64_t group = random_.chance(0.3) ? random_.between(2, 3) : 1;
    std::int64_t channels = random_.between(1, 9);
    if (values_ == Values::kFragments && random_.chance(0.6)) channels = 8 * random_.between(1, 5);
    Shape x{random_.between(1, 2), channels * group};
    Shape k{random_.between(1, 20) * group, x[1] / group};
    x.insert(x.end(), w.image.begin(), w.image.end());
    k.insert(k.end(), w.kernel.begin(), w.kernel.end());
    const Value image = ordered(x);
    return b_.add(
        "conv", {image, ordered(k)},
        {{"strides", w.strides}, {"pads", w.pads}, {"dilations", w.dilations}, {"group", group}});
  }

  // The axis of channels last, from behind the batch, or back.
  Value moved(const Value& x, bool last) {
    const auto rank = static_cast<std::int64_t>(b_.type(x).shape().size());
    Integers perm{0};
    if (!last) perm.push_back(rank - 1);
    for (std::int64_t i = last ? 2 : 1; i < (last ? rank : rank - 1); ++i) perm.push_back(i);
    if (last) perm.push_back(1);
    return b_.add("transpose", {x}, {{"perm", perm}});
  }

  Value depthwise() {
    const bool channels_last = random_.chance(0.4);
    const auto axes = static_cast<std::size_t>(random_.between(1, 3));
    Integers strides, dilations, pads(2 * axes);
    const std::int64_t groups = channels_last ? random_.between(3, 40) : random_.between(1, 5);
    const std::int64_t channels = random_.chance(0.3) ? random_.between(2, 3) : 1;
    const std::int64_t multiplier = random_.chance(0.3) ? random_.between(2, 3) : 1;
    Shape x{random_.between(1, 2)}, k{groups * multiplier, channels};
    if (!channels_last) x.push_back(groups * channels);
    for (std::size_t i = 0; i < axes; ++i) {
      k.push_back(random_.between(1, axes == 1 ? 7 : axes == 2 ? 5 : 3));
      // Windows that share no position do not slide.
      strides.push_back(random_.between(1, std::min<std::int64_t>(3, k.back())));
      dilations.push_back(random_.chance(0.7) ? 1 : 2);
      pads[i] = random_.between(0, 2);
      pads[i + axes] = random_.between(0, 2);
      x.push_back(random_.between(10, axes == 1 ? 150 : axes == 2 ? 40 : 12));
    }
    if (channels_last) x.push_back(groups * channels);
    Value image = channels_last ? moved(input(x), false) : ordered(x);
    const Value y =
        b_.add("conv", {image, ordered(k)},
               {{"strides", strides}, {"pads", pads}, {"dilations", dilations}, {"group", groups}});
    return channels_last ? moved(y, true) : y;
  }

  Value transposed_convolution() {
    Window w = window();
    w.pads.assign(w.pads.size(), random_.between(0, 1));
    const std::int64_t group = random_.chance(0.3) ? 2 : 1;
    Shape x{random_.between(1, 2), random_.between(1, 6) * group};
    Shape k{x[1], random_.between(1, 12)};
    x.insert(x.end(), w.image.begin(), w.image.end());
    k.insert(k.end(), w.kernel.begin(), w.kernel.end());
    const Value image = ordered(x);
    return b_.add("conv_transpose", {image, ordered(k)},
                  {{"strides", w.strides},
                   {"pads", w.pads},
                   {"dilations", w.dilations},
                   {"output_padding", Integers(w.strides.size(), 0)},
                   {"group", group}});
  }

  // A bias along some axis, functions, a change of layout.
  Value epilogue(Value y) {
    const Shape shape = b_.type(y).shape();
    if (random_.chance(0.4)) {
      Shape bias = shape;
      for (auto& extent : bias) {
        if (random_.chance(0.6)) extent = 1;
      }
      const Value add = b_.input("x" + std::to_string(inputs_++), ir::TensorType(type_, bias));
      y = b_.add(random_.chance(0.7) ? "add" : "mul", {y, add});
    }
    if (is_float(type_) && random_.chance(0.3)) y = b_.add("relu", {y});
    if (is_float(type_) && random_.chance(0.15)) y = b_.add("tanh", {y});
    if (shape.size() > 1 && random_.chance(0.25)) {
      Integers perm;
      for (std::size_t i = shape.size(); i-- > 0;) perm.push_back(static_cast<std::int64_t>(i));
      y = b_.add("transpose", {y}, {{"perm", perm}});
    }
    if (random_.chance(0.1)) y = b_.add("cast", {y}, {{"to", std::string("f32")}});
    return y;
  }

  base::Random random_;
  Values values_;
  bool constants_;
  DType type_, stored_;
  ir::GraphBuilder b_;
  int inputs_ = 0;
};

}  // namespace

ir::Graph random_contraction(std::uint64_t seed) { return Sampler(seed, Values::kAny).graph(); }

ir::Graph random_narrow(std::uint64_t seed) { return Sampler(seed, Values::kPairs).graph(); }

ir::Graph random_fragments(std::uint64_t seed) { return Sampler(seed, Values::kFragments).graph(); }

ir::Graph random_with_constants(std::uint64_t seed) {
  return Sampler(seed, seed % 3 == 0 ? Values::kFragments : Values::kAny, true).graph();
}

ir::Graph random_depthwise(std::uint64_t seed) {
  return Sampler(seed, Values::kAny).depthwise_graph();
}

}  // namespace egret::backends::codegen
