// SPDX-License-Identifier: Apache-2.0
// The forms that ONNX operators take from opset 7 to 21, both ways.
#include <gtest/gtest.h>

#include "tests/ir/onnx_stub.h"

namespace egret::ir {
namespace {

const TensorType kLine{DType::kF32, {4}};
const TensorType kImage{DType::kF32, {2, 3, 8, 8}};
const TensorType kChannels{DType::kF32, {3}};

Tensor number(double value) { return Tensor::scalar(DType::kF32, value); }

TEST(OnnxForms, ClipBoundsAreAttributesAndThenInputs) {
  const std::string clipped = "= clip(%0) {max=6.0, min=0.0}: f32[4]";
  EXPECT_EQ(import_text({"Clip", 6, {kLine}, {{"min", 0.0}, {"max", 6.0}}}), "%1 " + clipped);
  EXPECT_EQ(import_text({"Clip", 13, {kLine, number(0), number(6)}}), "%3 " + clipped);
  EXPECT_EQ(import_text({"Clip", 13, {kLine, StubInput{}, number(6)}}),
            "%2 = clip(%0) {max=6.0, min=-inf}: f32[4]");
  EXPECT_EQ(import_text({"Clip", 13, {kLine, TensorType(DType::kF32, Dims{}), number(6)}}),
            "%3 = max(%0, %1): f32[4]\n%4 = min(%3, %2): f32[4]");

  const Attrs relu6{{"min", 0.0}, {"max", 6.0}};
  EXPECT_EQ(export_text("clip", relu6, {kLine}, 10), "Clip(a) min=0.0 max=6.0");
  EXPECT_EQ(export_text("clip", relu6, {kLine}, 13), "Clip(a, f32[] {0}, f32[] {6})");
  EXPECT_EQ(export_text("clip", {{"max", 6.0}}, {kLine}, 13), "Clip(a, , f32[] {6})");
}

TEST(OnnxForms, ReductionAxesAreAttributesAndThenInputs) {
  const std::string sum = "= reduce_sum(%0) {axes=[3], keepdims=0}: f32[2,3,8]";
  EXPECT_EQ(
      import_text(
          {"ReduceSum", 11, {kImage}, {{"axes", Integers{-1}}, {"keepdims", std::int64_t{0}}}}),
      "%1 " + sum);
  const Integers last{-1};
  EXPECT_EQ(
      import_text(
          {"ReduceSum", 13, {kImage, Tensor::of_integers(last)}, {{"keepdims", std::int64_t{0}}}}),
      "%2 " + sum);
  EXPECT_EQ(import_text({"ReduceSum", 13, {kImage, TensorType(DType::kI64, {1})}}),
            "axes that are computed at run time");
  EXPECT_EQ(import_text({"ReduceMax", 13, {kLine}}),
            "%1 = reduce_max(%0) {axes=[0], keepdims=1}: f32[1]");
  EXPECT_EQ(import_text({"ReduceSum", 13, {kLine}, {{"noop_with_empty_axes", std::int64_t{1}}}}),
            "");
  EXPECT_EQ(import_text({"ReduceL1", 18, {kLine}, {{"noop_with_empty_axes", std::int64_t{1}}}}),
            "%1 = reduce_l1(%0) {axes=[], keepdims=1}: f32[4]");

  const Attrs over{{"axes", Integers{3}}};
  EXPECT_EQ(export_text("reduce_sum", over, {kImage}, 11), "ReduceSum(a) axes=[3] keepdims=1");
  EXPECT_EQ(export_text("reduce_sum", over, {kImage}, 13), "ReduceSum(a, i64[1] {3}) keepdims=1");
  EXPECT_EQ(export_text("reduce_max", over, {kImage}, 17), "ReduceMax(a) axes=[3] keepdims=1");
  EXPECT_EQ(export_text("reduce_max", over, {kImage}, 18), "ReduceMax(a, i64[1] {3}) keepdims=1");
  EXPECT_EQ(export_text("reduce_l2", {{"axes", Integers{}}}, {kImage}, 18), "body");
  EXPECT_EQ(export_text("reduce_max", {{"axes", Integers{}}}, {kImage}, 18), "Identity(a)");
}

TEST(OnnxForms, ReductionsOverAnImageArePoolings) {
  const Attrs spatial{{"axes", Integers{2, 3}}};
  EXPECT_EQ(export_text("reduce_mean", spatial, {kImage}, 11), "GlobalAveragePool(a)");
  EXPECT_EQ(export_text("reduce_max", spatial, {kImage}, 11), "GlobalMaxPool(a)");
  EXPECT_EQ(import_text({"GlobalAveragePool", 11, {kImage}}),
            "%1 = reduce_mean(%0) {axes=[2, 3], keepdims=1}: f32[2,3,1,1]");
}

TEST(OnnxForms, SoftmaxFlattensBelowOpset13) {
  EXPECT_EQ(import_text({"Softmax", 13, {kImage}}), "%1 = softmax(%0) {axis=3}: f32[2,3,8,8]");
  EXPECT_EQ(import_text({"Softmax", 11, {TensorType(DType::kF32, {2, 5, 1, 1})}}),
            "%1 = softmax(%0) {axis=1}: f32[2,5,1,1]");
  EXPECT_EQ(import_text({"Softmax", 11, {TensorType(DType::kF32, {2, 3, 4})}}),
            "%1 = reduce_max(%0) {axes=[1, 2], keepdims=1}: f32[2,1,1]\n"
            "%2 = sub(%0, %1): f32[2,3,4]\n"
            "%3 = exp(%2): f32[2,3,4]\n"
            "%4 = reduce_sum(%3) {axes=[1, 2], keepdims=1}: f32[2,1,1]\n"
            "%5 = div(%3, %4): f32[2,3,4]");
  const Attrs inner{{"axis", std::int64_t{1}}};
  EXPECT_EQ(export_text("softmax", inner, {kImage}, 13), "Softmax(a) axis=1");
  EXPECT_EQ(export_text("softmax", inner, {kImage}, 12), "body");
  EXPECT_EQ(export_text("softmax", {{"axis", std::int64_t{3}}}, {kImage}, 12), "Softmax(a) axis=3");
}

TEST(OnnxForms, DropoutIsNothingAtInference) {
  EXPECT_EQ(import_text({"Dropout", 7, {kLine}, {{"ratio", 0.5}}}), "%1 = identity(%0): f32[4]");
  const Tensor yes = Tensor::scalar(DType::kBool, 1);
  const Tensor no = Tensor::scalar(DType::kBool, 0);
  EXPECT_EQ(import_text({"Dropout", 13, {kLine, number(0.5), no}}), "%3 = identity(%0): f32[4]");
  EXPECT_EQ(import_text({"Dropout", 13, {kLine, number(0.5), yes}}),
            "dropout in training mode, which is random");
  EXPECT_EQ(import_text({"Dropout", 9, {kLine}, {}, 2}),
            "%1 = identity(%0): f32[4]\n%2 = less(%0, %0): bool[4]\n%3 = not(%2): bool[4]\n"
            "%4 = cast(%3) {to=\"f32\"}: f32[4]");
}

TEST(OnnxForms, BatchNormalizationIsThatOfInference) {
  const std::vector<StubInput> inputs{kImage, kChannels, kChannels, kChannels, kChannels};
  EXPECT_EQ(import_text({"BatchNormalization", 9, inputs, {{"epsilon", 0.5}}}),
            "%5 = batch_norm(%0, %1, %2, %3, %4) {epsilon=0.5}: f32[2,3,8,8]");
  EXPECT_EQ(import_text({"BatchNormalization", 7, inputs, {{"spatial", std::int64_t{0}}}}),
            "BatchNormalization with spatial=0");
  EXPECT_EQ(import_text({"BatchNormalization", 9, inputs, {}, 5}),
            "BatchNormalization in training below opset 14");
}

// What ONNX Runtime's optimizer makes of several operators is their composition again.
TEST(OnnxForms, OperatorsOfOnnxRuntimeAreCompositions) {
  const TensorType wide(DType::kF32, {2, 3, 4}), vector(DType::kF32, {4});
  EXPECT_EQ(import_text({"com.microsoft.BiasGelu", 1, {wide, vector}}),
            "%2 = add(%0, %1): f32[2,3,4]\n%3 = gelu(%2) {approximate=\"none\"}: f32[2,3,4]");
  EXPECT_EQ(import_text({"com.microsoft.BiasGelu", 1, {vector, wide}}),
            "the bias f32[2,3,4] does not broadcast to f32[4]");
  EXPECT_EQ(import_text({"com.microsoft.QuickGelu", 1, {kLine}, {{"alpha", 1.0}}}),
            "%1 = silu(%0): f32[4]");
  EXPECT_EQ(import_text({"com.microsoft.SkipLayerNormalization",
                         1,
                         {wide, wide, vector, StubInput{}, vector},
                         {{"epsilon", 0.5}}}),
            "%4 = add(%0, %1): f32[2,3,4]\n%5 = add(%4, %3): f32[2,3,4]\n"
            "%6 = layer_norm(%5, %2) {axis=2, epsilon=0.5}: f32[2,3,4]");
  EXPECT_EQ(import_text({"com.microsoft.SkipLayerNormalization", 1, {wide, wide, vector}, {}, 2}),
            "mean and deviation, which ONNX Runtime computes on other devices");
}

TEST(OnnxForms, FusedMatMulMovesTheAxesOfItsOperands) {
  const TensorType a(DType::kF32, {5, 2, 3, 7}), b(DType::kF32, {2, 3, 7, 4});
  // Rows first, then the batch.
  EXPECT_EQ(import_text({"com.microsoft.FusedMatMul",
                         1,
                         {a, b},
                         {{"transBatchA", std::int64_t{1}}, {"alpha", 0.5}}}),
            "%2 = transpose(%0) {perm=[1, 2, 0, 3]}: f32[2,3,5,7]\n"
            "%3 = matmul(%2, %1): f32[2,3,5,4]\n%5 = mul(%3, %4): f32[2,3,5,4]");
  const TensorType columns(DType::kF32, {7, 5}), matrix(DType::kF32, {7, 4});
  EXPECT_EQ(import_text(
                {"com.microsoft.FusedMatMul", 1, {columns, matrix}, {{"transA", std::int64_t{1}}}}),
            "%2 = transpose(%0) {perm=[1, 0]}: f32[5,7]\n%3 = matmul(%2, %1): f32[5,4]");
  EXPECT_EQ(
      import_text(
          {"com.microsoft.FusedMatMul", 1, {columns, matrix}, {{"transBatchA", std::int64_t{1}}}}),
      "transBatchA and transBatchB need operands of one rank, at least 3");
}

TEST(OnnxForms, FusedConvAddsItsSummandBeforeTheActivation) {
  const TensorType x(DType::kF32, {1, 2, 5, 5}), w(DType::kF32, {3, 2, 3, 3}),
      bias(DType::kF32, {3}), summand(DType::kF32, {1, 3, 3, 3});
  const std::string conv =
      "fused_conv(%0, %1, %2) {activation=\"none\", dilations=[1, 1], group=1, "
      "pads=[0, 0, 0, 0], strides=[1, 1]}: f32[1,3,3,3]\n";
  EXPECT_EQ(import_text({"com.microsoft.FusedConv",
                         1,
                         {x, w, bias, summand},
                         {{"activation", std::string("Clip")},
                          {"activation_params", std::vector<double>{0, 6}}}}),
            "%4 = " + conv +
                "%5 = add(%4, %3): f32[1,3,3,3]\n"
                "%6 = clip(%5) {max=6.0, min=0.0}: f32[1,3,3,3]");
  EXPECT_EQ(
      import_text(
          {"com.microsoft.FusedConv", 1, {x, w, bias}, {{"activation", std::string("LeakyRelu")}}}),
      "number 'alpha' of activation LeakyRelu is missing");
  EXPECT_EQ(import_text(
                {"com.microsoft.FusedConv", 1, {x, w, bias}, {{"activation", std::string("Erf")}}}),
            "there is no activation 'Erf'");
}

TEST(OnnxForms, TopKTakesKAsAttributeAndThenAsInput) {
  const std::string both = " = topk_values(%0) {axis=3, k=2, largest=1}: f32[2,3,8,2]\n";
  EXPECT_EQ(import_text({"TopK", 9, {kImage}, {{"k", std::int64_t{2}}}, 2}),
            "%1" + both + "%2 = topk_indices(%0) {axis=3, k=2, largest=1}: i64[2,3,8,2]");
  const Integers two{2};
  EXPECT_EQ(import_text({"TopK", 11, {kImage, Tensor::of_integers(two)}, {}, 2}),
            "%2" + both + "%3 = topk_indices(%0) {axis=3, k=2, largest=1}: i64[2,3,8,2]");
  const Attrs top{{"axis", std::int64_t{3}}, {"k", std::int64_t{2}}};
  EXPECT_EQ(export_text("topk_values", top, {kImage}, 11), "TopK(a, i64[1] {2}) axis=3");
  EXPECT_EQ(export_text("topk_indices", top, {kImage}, 11), "TopK(a, i64[1] {2}) axis=3 output 1");
  EXPECT_EQ(export_text("topk_indices", top, {kImage}, 9), "needs opset 10");
}

TEST(OnnxForms, AutomaticPaddingBecomesExplicit) {
  const auto pool = [](const char* auto_pad, std::int64_t kernel, std::int64_t stride) {
    return import_text({"MaxPool",
                        12,
                        {TensorType(DType::kF32, {1, 1, 8})},
                        {{"kernel_shape", Integers{kernel}},
                         {"strides", Integers{stride}},
                         {"auto_pad", std::string(auto_pad)}}});
  };
  EXPECT_EQ(pool("SAME_UPPER", 2, 1),
            "%1 = max_pool(%0) {dilations=[1], kernel=[2], pads=[0, 1], strides=[1]}: f32[1,1,8]");
  EXPECT_EQ(pool("SAME_LOWER", 2, 1),
            "%1 = max_pool(%0) {dilations=[1], kernel=[2], pads=[1, 0], strides=[1]}: f32[1,1,8]");
  EXPECT_EQ(pool("VALID", 3, 2),
            "%1 = max_pool(%0) {dilations=[1], kernel=[3], pads=[0, 0], strides=[2]}: f32[1,1,3]");
  EXPECT_EQ(pool("DIFFERENT", 3, 2), "auto_pad is 'DIFFERENT'");
  const auto open_pool = [](std::int64_t stride) {
    return import_text({"MaxPool",
                        12,
                        {TensorType(DType::kF32, Dims{1, 1, symbolic_dim("W")})},
                        {{"kernel_shape", Integers{2}},
                         {"strides", Integers{stride}},
                         {"auto_pad", std::string("SAME_UPPER")}}});
  };
  // A window that moves by one needs the same padding at every size.
  EXPECT_EQ(open_pool(1),
            "%1 = max_pool(%0) {dilations=[1], kernel=[2], pads=[0, 1], strides=[1]}: f32[1,1,W]");
  // Otherwise it depends on the size.
  EXPECT_EQ(open_pool(2),
            "the size div(div(W + 1, 2)*2 - W, 2) is open; bind it with --bind NAME=SIZE");
}

TEST(OnnxForms, AutomaticPaddingOfConvTransposeSetsTheOutputSize) {
  const auto transpose = [](const char* auto_pad, Index size) {
    return import_text(
        {"ConvTranspose",
         12,
         {TensorType(DType::kF32, Dims{1, 1, size}), TensorType(DType::kF32, {1, 1, 3})},
         {{"strides", Integers{2}},
          {"pads", Integers{1, 1}},
          {"auto_pad", std::string(auto_pad)}}});
  };
  const auto becomes = [](const char* pads, int size) {
    return "%2 = conv_transpose(%0, %1) {dilations=[1], group=1, output_padding=[0], pads=" +
           std::string(pads) + ", strides=[2]}: f32[1,1," + std::to_string(size) + "]";
  };
  EXPECT_EQ(transpose("SAME_UPPER", 8), becomes("[0, 1]", 16));
  EXPECT_EQ(transpose("SAME_LOWER", 8), becomes("[1, 0]", 16));
  EXPECT_EQ(transpose("NOTSET", 8), becomes("[1, 1]", 15));
  EXPECT_EQ(transpose("VALID", 8), becomes("[0, 0]", 17));
  EXPECT_EQ(transpose("DIFFERENT", 8), "auto_pad is 'DIFFERENT'");
  // The output is twice as large at every size, so the padding is the same.
  EXPECT_EQ(transpose("SAME_UPPER", symbolic_dim("W")),
            "%2 = conv_transpose(%0, %1) {dilations=[1], group=1, output_padding=[0], pads=[0, 1], "
            "strides=[2]}: f32[1,1,W*2]");
}

TEST(OnnxForms, CeilModeAddsAWindowThatStartsInTheInput) {
  const auto pool = [](std::int64_t size, std::int64_t kernel, Integers pads,
                       std::int64_t count_include_pad) {
    return import_text({"AveragePool",
                        12,
                        {TensorType(DType::kF32, {1, 1, size})},
                        {{"kernel_shape", Integers{kernel}},
                         {"strides", Integers{2}},
                         {"pads", std::move(pads)},
                         {"ceil_mode", std::int64_t{1}},
                         {"count_include_pad", count_include_pad}}});
  };
  const std::string tail = "dilations=[1], kernel=";
  EXPECT_EQ(pool(6, 3, {0, 0}, 0), "%1 = avg_pool(%0) {count_include_pad=0, " + tail +
                                       "[3], pads=[0, 1], strides=[2]}: f32[1,1,3]");
  // A third window would begin at position 4, behind the input.
  EXPECT_EQ(pool(3, 1, {0, 1}, 0), "%1 = avg_pool(%0) {count_include_pad=0, " + tail +
                                       "[1], pads=[0, 1], strides=[2]}: f32[1,1,2]");
  // Padding counts, the excess does not.
  EXPECT_EQ(pool(6, 4, {1, 0}, 1),
            "%1 = pad(%0) {after=[0, 0, 0], before=[0, 0, 1], interior=[], mode=\"constant\", "
            "value=0.0}: "
            "f32[1,1,7]\n%2 = avg_pool(%1) {count_include_pad=0, " +
                tail + "[4], pads=[0, 1], strides=[2]}: f32[1,1,3]");
}

TEST(OnnxForms, ConvHasABiasOrNot) {
  const TensorType w{DType::kF32, {4, 3, 3, 3}};
  const std::string attrs =
      "dilations=[1, 1], group=1, pads=[1, 1, 1, 1], strides=[2, 2]}: f32[2,4,4,4]";
  const std::map<std::string, StubAttr, std::less<>> given{{"strides", Integers{2, 2}},
                                                           {"pads", Integers{1, 1, 1, 1}}};
  EXPECT_EQ(import_text({"Conv", 11, {kImage, w}, given}), "%2 = conv(%0, %1) {" + attrs);
  EXPECT_EQ(import_text({"Conv", 11, {kImage, w, TensorType(DType::kF32, {4})}, given}),
            "%3 = fused_conv(%0, %1, %2) {activation=\"none\", " + attrs);
  Attrs fused{
      {"strides", Integers{2, 2}}, {"pads", Integers{1, 1, 1, 1}}, {"dilations", Integers{1, 1}}};
  EXPECT_EQ(export_text("fused_conv", fused, {kImage, w, {DType::kF32, {4}}}, 11),
            "Conv(a, b, c) dilations=[1, 1] group=1 pads=[1, 1, 1, 1] strides=[2, 2]");
  fused.set("activation", std::string("relu"));
  EXPECT_EQ(export_text("fused_conv", fused, {kImage, w, {DType::kF32, {4}}}, 11), "body");
}

TEST(OnnxForms, ProductsOfVectorsGetAndLoseAnAxis) {
  const TensorType matrix{DType::kF32, {4, 5}};
  EXPECT_EQ(import_text({"MatMul", 13, {kLine, matrix}}),
            "%2 = reshape(%0) {shape=[1, 4]}: f32[1,4]\n%3 = matmul(%2, %1): f32[1,5]\n"
            "%4 = reshape(%3) {shape=[5]}: f32[5]");
  EXPECT_EQ(import_text({"Gemm",
                         11,
                         {matrix, matrix, TensorType(DType::kF32, {4})},
                         {{"transB", std::int64_t{1}}}}),
            "%3 = transpose(%1) {perm=[1, 0]}: f32[5,4]\n"
            "%4 = fused_matmul(%0, %3, %2) {activation=\"none\"}: f32[4,4]");
}

TEST(OnnxForms, YoungOperatorsAreExportedAsTheirBodyBelowTheirOpset) {
  EXPECT_EQ(export_text("hard_swish", {}, {kLine}, 14), "HardSwish(a)");
  EXPECT_EQ(export_text("hard_swish", {}, {kLine}, 13), "body");
  EXPECT_EQ(export_text("gelu", {}, {kLine}, 20), "Gelu(a) approximate=none");
  EXPECT_EQ(export_text("silu", {}, {kLine}, 21), "body");
  EXPECT_EQ(export_text("where", {}, {TensorType(DType::kBool, {4}), kLine, kLine}, 8),
            "needs opset 9");
}

}  // namespace
}  // namespace egret::ir
