// SPDX-License-Identifier: Apache-2.0
// For tests: graphs with random weights, built in few lines, and a comparison of what two graphs
// compute.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"

namespace egret::rules {

class Program {
 public:
  ir::Value input(std::initializer_list<std::int64_t> shape) {
    return b_.input("x" + std::to_string(inputs_++), {ir::DType::kF32, shape});
  }
  ir::Value weight(std::initializer_list<std::int64_t> shape) {
    return b_.constant(ir::Tensor::random({ir::DType::kF32, shape}, random_),
                       "w" + std::to_string(weights_++));
  }
  ir::Value positive(std::initializer_list<std::int64_t> shape) {
    ir::Tensor t = ir::Tensor::random({ir::DType::kF32, shape}, random_);
    for (std::int64_t i = 0; i < t.elements(); ++i) t.set_f64(i, std::abs(t.f64_at(i)) + 0.1);
    return b_.constant(t, "w" + std::to_string(weights_++));
  }
  ir::Value scalar(double value) { return b_.scalar(ir::DType::kF32, value); }
  ir::Value operator()(std::string_view op, std::initializer_list<ir::Value> inputs,
                       ir::Attrs attrs = {}) {
    return b_.add(op, inputs, std::move(attrs));
  }
  ir::Value conv(ir::Value x, ir::Value w, std::int64_t pad = 0, std::int64_t stride = 1) {
    return b_.add("conv", {x, w},
                  {{"strides", ir::Integers{stride, stride}},
                   {"pads", ir::Integers{pad, pad, pad, pad}},
                   {"dilations", ir::Integers{1, 1}}});
  }
  ir::Value fused_conv(ir::Value x, ir::Value w, ir::Value bias, std::int64_t pad = 0) {
    return b_.add("fused_conv", {x, w, bias},
                  {{"strides", ir::Integers{1, 1}},
                   {"pads", ir::Integers{pad, pad, pad, pad}},
                   {"dilations", ir::Integers{1, 1}}});
  }
  ir::Graph finish(std::initializer_list<ir::Value> outputs) {
    int i = 0;
    for (const ir::Value value : outputs) b_.output("y" + std::to_string(i++), value);
    auto graph = b_.finish();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    return *std::move(graph);
  }

 private:
  ir::GraphBuilder b_;
  base::Random random_{5};
  int inputs_ = 0;
  int weights_ = 0;
};

inline void expect_equal(const ir::Graph& a, const ir::Graph& b) {
  base::Random random(11);
  std::vector<ir::Tensor> inputs;
  for (const ir::NodeId id : a.inputs())
    inputs.push_back(ir::Tensor::random(a.node(id).type, random));
  const auto x = ir::interpret(a, inputs);
  const auto y = ir::interpret(b, inputs);
  ASSERT_TRUE(x.ok()) << x.status().message();
  ASSERT_TRUE(y.ok()) << y.status().message();
  ASSERT_EQ(x->size(), y->size());
  for (std::size_t i = 0; i < x->size(); ++i) {
    ASSERT_EQ((*x)[i].elements(), (*y)[i].elements());
    for (std::int64_t k = 0; k < (*x)[i].elements(); ++k) {
      const double u = (*x)[i].f64_at(k);
      const double v = (*y)[i].f64_at(k);
      ASSERT_LE(std::abs(u - v), 1e-5 * (1 + std::abs(u))) << "output " << i << " element " << k;
    }
  }
}

}  // namespace egret::rules
