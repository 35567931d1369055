// SPDX-License-Identifier: Apache-2.0
#include "frontends/wire/onnx_tensor.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/random.h"
#include "frontends/onnx.h"
#include "tests/frontends/onnx_model.h"

namespace egret::frontends {
namespace {

using ir::DType;
using ir::Tensor;

constexpr std::int64_t kLimit = 1 << 20;

std::vector<double> values_of(const onnx::TensorProto& proto) {
  const auto tensor = read_tensor(proto, "", kLimit);
  EXPECT_TRUE(tensor.ok()) << tensor.status().message();
  std::vector<double> values;
  for (std::int64_t i = 0; tensor.ok() && i < tensor->elements(); ++i)
    values.push_back(tensor->f64_at(i));
  return values;
}

TEST(OnnxTensor, EveryElementTypeSurvivesRawStorage) {
  base::Random random(7);
  for (int i = 0; i < ir::kDTypeCount; ++i) {
    const Tensor tensor = Tensor::random(ir::TensorType(static_cast<DType>(i), {3, 0, 2}), random);
    const Tensor full = Tensor::random(ir::TensorType(static_cast<DType>(i), {3, 2}), random);
    for (const Tensor& original : {tensor, full}) {
      onnx::TensorProto proto;
      fill_tensor_proto(proto, original, "t");
      const auto again = read_tensor(proto, "", kLimit);
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_EQ(again->content_hash(), original.content_hash());
    }
  }
}

TEST(OnnxTensor, TypedFieldsAreRead) {
  onnx::TensorProto floats;
  fill_header(&floats, "f", 1, {2});
  floats.add_float_data(1.5F);
  floats.add_float_data(-2);
  EXPECT_EQ(values_of(floats), (std::vector<double>{1.5, -2}));

  onnx::TensorProto halves;
  fill_header(&halves, "h", 10, {2});
  halves.add_int32_data(0x3c00);
  halves.add_int32_data(0xc000);
  EXPECT_EQ(values_of(halves), (std::vector<double>{1, -2}));

  onnx::TensorProto bfloats;
  fill_header(&bfloats, "b", 16, {1});
  bfloats.add_int32_data(0x4040);
  EXPECT_EQ(values_of(bfloats), (std::vector<double>{3}));

  onnx::TensorProto bytes;
  fill_header(&bytes, "i8", 3, {2});
  bytes.add_int32_data(-128);
  bytes.add_int32_data(127);
  EXPECT_EQ(values_of(bytes), (std::vector<double>{-128, 127}));

  onnx::TensorProto bools;
  fill_header(&bools, "bool", 9, {3});
  for (const int value : {0, 1, 7}) bools.add_int32_data(value);
  EXPECT_EQ(values_of(bools), (std::vector<double>{0, 1, 1}));

  onnx::TensorProto words;
  fill_header(&words, "u32", 12, {1});
  words.add_uint64_data(0xffffffff);
  EXPECT_EQ(values_of(words), (std::vector<double>{4294967295.0}));

  onnx::TensorProto doubles;
  fill_header(&doubles, "d", 11, {1});
  doubles.add_double_data(0.1);
  EXPECT_EQ(values_of(doubles), (std::vector<double>{0.1}));
}

TEST(OnnxTensor, AScalarHasNoDims) {
  onnx::TensorProto proto;
  fill_header(&proto, "s", 7, {});
  proto.add_int64_data(-9);
  EXPECT_EQ(values_of(proto), (std::vector<double>{-9}));
}

TEST(OnnxTensor, FilesOfOneTensorRoundTrip) {
  const Tensor tensor = Tensor::of(DType::kF32, ir::Shape{2, 2}, std::vector<double>{1, 2, 3, 4});
  const std::string path = testing::TempDir() + "/egret_tensor.pb";
  std::ofstream(path, std::ios::binary) << write_tensor_proto(tensor, "t");
  const auto again = read_tensor_proto(path);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->content_hash(), tensor.content_hash());
}

}  // namespace
}  // namespace egret::frontends
