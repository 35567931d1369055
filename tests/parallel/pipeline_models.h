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

// Layers of multi-head attention and a multilayer perceptron, with residual connections.
inline ir::Graph attention_layers(std::int64_t batch, int count) {
  constexpr std::int64_t kTokens = 4, kWidth = 8, kHeads = 4;
  Model m;
  ir::Value x = m.input("x", {batch, kTokens, kWidth});
  for (int i = 0; i < count; ++i) {
    const auto product = [&](ir::Value value, const char* name, std::int64_t rows,
                             std::int64_t columns) {
      return m("matmul", {value, m.weight((name + std::to_string(i)).c_str(), {rows, columns})});
    };
    const auto heads = [&](const char* name, ir::Integers order) {
      const ir::Integers shape{batch, kTokens, kHeads, kWidth / kHeads};
      return m("transpose", {m("reshape", {product(x, name, kWidth, kWidth)}, {{"shape", shape}})},
               {{"perm", std::move(order)}});
    };
    const ir::Value scores = m("matmul", {heads("q", {0, 2, 1, 3}), heads("k", {0, 2, 3, 1})});
    const ir::Value weights = m("softmax", {scores}, {{"axis", std::int64_t{3}}});
    const ir::Value mixed = m("matmul", {weights, heads("v", {0, 2, 1, 3})});
    const ir::Value rows = m("transpose", {mixed}, {{"perm", ir::Integers{0, 2, 1, 3}}});
    const ir::Value flat = m("reshape", {rows}, {{"shape", ir::Integers{batch, kTokens, kWidth}}});
    x = m("add", {x, product(flat, "o", kWidth, kWidth)});
    const ir::Value inner = m("relu", {product(x, "up", kWidth, 2 * kWidth)});
    x = m("add", {x, product(inner, "down", 2 * kWidth, kWidth)});
  }
  return m.finish(x);
}

}  // namespace egret::parallel
