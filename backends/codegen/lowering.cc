// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/lowering.h"

#include <vector>

#include "ir/nest/term_graph.h"

namespace egret::backends::codegen {

base::Result<ir::LoopNest> lowered(const ir::Denotation& denotation,
                                   std::span<const ir::TensorType> inputs,
                                   ir::Precision precision) {
  std::vector<ir::Shape> shapes;
  std::vector<ir::DType> types;
  for (const ir::TensorType& input : inputs) {
    shapes.push_back(input.shape());
    types.push_back(input.dtype);
  }
  EGRET_ASSIGN_OR_RETURN(const ir::TermGraph terms, ir::term_graph(denotation, types));
  const ir::Shape shape = denotation.type.shape();
  return ir::loop_nest(terms, shapes, shape, {ir::Shape(shape.size(), 0), shape}, precision);
}

}  // namespace egret::backends::codegen
