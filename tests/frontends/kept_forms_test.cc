// SPDX-License-Identifier: Apache-2.0
// Forms of operators that Egret does not define, or that engines read differently, stay in the
// model as they are. A comparison of single nodes with ONNX Runtime found them
// (tests/oracle/operator_matrix.py).
#include <gtest/gtest.h>

#include "ir/evaluate/interpreter.h"
#include "ir/ops/opaque.h"
#include "tests/frontends/onnx_model.h"

namespace egret::frontends {
namespace {

// The model imported so that unknown nodes stay.
ImportedModel kept(const OnnxModel& model) {
  ImportOptions options;
  options.opaque_nodes = true;
  auto imported = model.import(options);
  EXPECT_TRUE(imported.ok()) << imported.status().message();
  return std::move(imported).value_or(ImportedModel());
}

// An output of a stated type, which a node that stays must have.
void output(OnnxModel& model, const std::vector<std::int64_t>& dims, int code = kFloatCode) {
  model.output("y");
  auto* type = model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type();
  type->set_elem_type(code);
  for (const std::int64_t size : dims) type->mutable_shape()->add_dim()->set_dim_value(size);
}

bool stays(const OnnxModel& model) { return ir::has_undefined(kept(model).graph); }

TEST(KeptForms, ReductionsOfIntegersWithARootOrALogarithm) {
  for (const char* type : {"ReduceL2", "ReduceLogSum", "ReduceLogSumExp"}) {
    OnnxModel m;
    m.input("x", {2, 3}, kInt64Code);
    m.node(type, {"x"}, {"y"});
    output(m, {1, 1}, kInt64Code);
    EXPECT_TRUE(stays(m)) << type;
  }
}

TEST(KeptForms, ShrinkOfIntegersByReals) {
  for (const bool whole : {true, false}) {
    OnnxModel m;
    m.input("x", {3}, kInt64Code);
    m.node("Shrink", {"x"}, {"y"}).real("lambd", whole ? 2 : 1.5F);
    output(m, {3}, kInt64Code);
    EXPECT_EQ(stays(m), !whole);
  }
}

TEST(KeptForms, SqueezeOfAnEmptyList) {
  for (const std::int64_t size : {1, 2}) {
    OnnxModel m;
    m.input("x", {size, 3});
    m.integers("axes", {});
    m.node("Squeeze", {"x", "axes"}, {"y"});
    output(m, {size, 3});
    EXPECT_EQ(stays(m), size == 1);  // without axes of size 1 all readings agree
  }
}

TEST(KeptForms, AWindowBeyondThePaddedInputWithCeilMode) {
  OnnxModel m;
  m.input("x", {1, 1, 2, 5});
  m.node("MaxPool", {"x"}, {"y"}).integers("kernel_shape", {3, 1}).integer("ceil_mode", 1);
  output(m, {1, 1, 0, 5});
  EXPECT_TRUE(stays(m));
}

TEST(KeptForms, AResizeToNothing) {
  OnnxModel m;
  m.input("x", {1, 1, 1, 4});
  auto* scales = m.initializer("scales", kFloatCode, {4});
  for (const float scale : {1.0F, 1.0F, 0.5F, 2.0F}) scales->add_float_data(scale);
  m.node("Resize", {"x", "", "scales"}, {"y"});
  output(m, {1, 1, 0, 8});
  EXPECT_TRUE(stays(m));
}

// ONNX since opset 22: a norm of 0 gives 0.
TEST(LpNormalization, OfZerosIsZero) {
  for (const std::int64_t p : {1, 2}) {
    OnnxModel m;
    m.input("x", {2, 2});
    m.node("LpNormalization", {"x"}, {"y"}).integer("p", p);
    output(m, {2, 2});
    const auto model = m.import();
    ASSERT_TRUE(model.ok()) << model.status().message();
    const std::int64_t shape[] = {2, 2};
    const double values[] = {0, 0, 3, -4};
    const ir::Tensor x = ir::Tensor::of(ir::DType::kF32, shape, values);
    const auto outputs = ir::interpret(ir::expand_bodies(model->graph), std::span(&x, 1));
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    EXPECT_EQ((*outputs)[0].f64_at(0), 0);
    EXPECT_EQ((*outputs)[0].f64_at(1), 0);
    EXPECT_NEAR((*outputs)[0].f64_at(2), p == 1 ? 3.0 / 7 : 0.6, 1e-6);
  }
}

}  // namespace
}  // namespace egret::frontends
