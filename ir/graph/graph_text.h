// SPDX-License-Identifier: Apache-2.0
// The text form of graphs, to read, diff, write by hand, and compare in tests.
//
//   egret-graph 1
//   name "classifier"
//   meta "producer" = "trainer 2"
//   %0 = input "x" : f32[N,784]
//   %1 = constant #7f3a...c2 "w" : f32[784,10]
//   %2 = constant {0, 0.5} : f32[2]
//   %3 = matmul(%0, %1) "logits" : f32[N,10]
//   %4 = softmax(%3) {axis=1} : f32[N,10]
//   output "y" = %4
//
// Text and graph determine each other: parse_graph(to_text(g)) has the nodes of g in their order,
// dead ones included, and equal text means equal graphs. Small constants are written out; the data
// of the others stays in a table by content hash. The types of operators are redundant: they may be
// left out, and where they stand they are checked. `//` comments run to the end of the line.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::ir {

struct GraphTextOptions {
  std::int64_t inline_elements = 8;  // constants up to this size are written out
};

using DataTable = std::map<base::ContentHash, Tensor>;

std::string to_text(const Graph& graph, const GraphTextOptions& options = {});
// The constants that to_text() with the same options refers to by hash.
DataTable constant_data(const Graph& graph, const GraphTextOptions& options = {});

// Errors: bad_input "line L, column C: REASON".
base::Result<Graph> parse_graph(std::string_view text, const DataTable& data = {});

// "f32[N,3,2*(H + 1)]" back to a type. Errors as above.
base::Result<TensorType> parse_type(std::string_view text);

}  // namespace egret::ir
