// SPDX-License-Identifier: Apache-2.0
// Small models with what makes pipelines hard.
#pragma once

#include "tests/parallel/model.h"

namespace egret::parallel {

// Equal layers, each with a residual connection.
inline ir::Graph layers(std::int64_t batch, std::int64_t width, int count) {
  Model m;
  ir::Value x = m.input("x", {batch, width});
  for (int i = 0; i < count; ++i) {
    const std::string name = "w" + std::to_string(i);
    x = m("add", {x, m("tanh", {m("matmul", {x, m.weight(name.c_str(), {width, width})})})});
  }
  return m.finish(x);
}

// A value of the first operators that the last ones read, and a weight that both ends share: its
// transpose gives the classes, as in a language model with tied embeddings.
inline ir::Graph tied_model(std::int64_t batch) {
  Model m;
  const ir::Value ids = m.input("ids", {batch, 4}, ir::DType::kI64);
  const ir::Value table = m.weight("table", {11, 6});
  const ir::Value first = m("gather", {table, ids}, {{"axis", std::int64_t{0}}});
  ir::Value x = m("tanh", {m("matmul", {first, m.weight("w1", {6, 6})})});
  x = m("tanh", {m("matmul", {x, m.weight("w2", {6, 6})})});
  x = m("relu", {m("matmul", {x, m.weight("w3", {6, 6})})});
  x = m("add", {x, first});
  const ir::Value turned = m("transpose", {table}, {{"perm", ir::Integers{1, 0}}});
  return m.finish(m("matmul", {x, turned}));
}

}  // namespace egret::parallel
