// SPDX-License-Identifier: Apache-2.0
// A program as an engine sees it: a file with inputs of given sizes and with outputs to fetch.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "frontends/onnx.h"
#include "ir/core/draw.h"
#include "ir/core/symbol_values.h"
#include "ir/graph/graph.h"

namespace egret::driver {

struct EngineSignature {
  // Whether all inputs are tensors whose sizes the given ones determine. Otherwise nothing below is
  // set.
  bool takes_inputs = false;
  // The inputs, and those outputs whose types are known, as constants without values.
  ir::Graph graph;
  std::vector<std::string> unknown_outputs{};  // their sizes depend on data, or they are no tensors
};

// `info`: of the file; null: all values are tensors. `draws`: one an input. `sizes` may have more
// symbols than the inputs do. Without outputs, a run fetches none.
EngineSignature engine_signature(const ir::Graph& program, const frontends::OnnxModelInfo* info,
                                 std::span<const ir::Draw> draws, const ir::SymbolValues& sizes,
                                 bool with_outputs = true);

}  // namespace egret::driver
