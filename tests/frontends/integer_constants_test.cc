// SPDX-License-Identifier: Apache-2.0
// Integers that no f64 holds, where attributes are real numbers.
#include <gtest/gtest.h>

#include "ir/evaluate/interpreter.h"
#include "tests/frontends/onnx_model.h"

namespace egret::frontends {
namespace {

using ir::DType;
using ir::Tensor;

TEST(IntegerConstants, PadByWhatNoRealNumberHolds) {
  for (const std::int64_t value : {(std::int64_t{1} << 62) + 1, (std::int64_t{1} << 53) + 1,
                                   -(std::int64_t{1} << 62) - 1, std::int64_t{7}}) {
    OnnxModel m(13);
    m.input("x", {2}, kInt64Code);
    m.integers("pads", {1, 2});
    m.initializer("value", kInt64Code, {})->add_int64_data(value);
    m.node("Pad", {"x", "pads", "value"}, {"y"});
    m.output("y");
    const auto imported = m.import();
    ASSERT_TRUE(imported.ok()) << imported.status().message();
    const std::int64_t own[] = {(std::int64_t{1} << 61) + 3, -5};
    const std::vector inputs{Tensor::of_integers(own)};
    const auto outputs = ir::interpret(imported->graph, inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    const auto y = outputs->front().as<std::int64_t>();
    EXPECT_EQ(std::vector(y.begin(), y.end()), (std::vector{value, own[0], own[1], value, value}));
  }
}

}  // namespace
}  // namespace egret::frontends
