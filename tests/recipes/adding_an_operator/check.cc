// SPDX-License-Identifier: Apache-2.0
// What follows from one file and one row: the operator parses, infers, interprets, and goes through
// ONNX and back. Prints the first thing that does not hold and exits with 1.
#include <iostream>
#include <string>

#include "frontends/onnx.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/graph_text.h"

namespace {

using namespace egret;

constexpr std::string_view kText =
    "egret-graph 1\n"
    "%0 = input \"x\" : f32[N,5]\n"
    "%1 = neighbour_sum(%0) {distance=2}\n"
    "output \"y\" = %1\n";

base::Status expect(bool holds, const std::string& what) {
  return holds ? base::ok() : base::mismatch("this does not hold: " + what);
}

base::Status check_values(const ir::Graph& graph) {
  const double in[] = {1, 2, 3, 4, 5, 10, 20, 30, 40, 50};
  const ir::Tensor x = ir::Tensor::of(ir::DType::kF32, ir::Shape{2, 5}, in);
  EGRET_ASSIGN_OR_RETURN(const auto out, ir::interpret(graph, std::span(&x, 1)));
  const double sums[] = {4, 6, 8, 40, 60, 80};
  EGRET_RETURN_IF_ERROR(expect(out.at(0).shape() == ir::Shape({2, 3}), "the result is [2,3]"));
  for (std::int64_t i = 0; i < 6; ++i) {
    EGRET_RETURN_IF_ERROR(expect(out[0].f64_at(i) == sums[i], "element " + std::to_string(i)));
  }
  return base::ok();
}

base::Status check() {
  EGRET_ASSIGN_OR_RETURN(const ir::Graph graph, ir::parse_graph(kText));
  const ir::Node& node = graph.node(graph.outputs().at(0).node);
  EGRET_RETURN_IF_ERROR(expect(to_string(node.type) == "f32[N,3]", "the type over N is f32[N,3]"));
  EGRET_RETURN_IF_ERROR(check_values(graph));

  const auto wide = ir::parse_graph(
      "egret-graph 1\n%0 = input \"x\" : f32[5]\n%1 = neighbour_sum(%0) {distance=7}\n");
  EGRET_RETURN_IF_ERROR(expect(!wide.ok(), "a distance beyond the axis is refused"));

  EGRET_ASSIGN_OR_RETURN(const auto model, frontends::export_onnx(graph, {}));
  EGRET_ASSIGN_OR_RETURN(const auto back,
                         frontends::import_onnx_bytes(std::as_bytes(std::span(model.bytes)), ""));
  EGRET_RETURN_IF_ERROR(
      expect(model.bytes.find("NeighbourSum") != std::string::npos, "ONNX has its name"));
  EGRET_RETURN_IF_ERROR(expect(back.graph.operator_count() == 1, "ONNX brings one operator back"));
  return check_values(back.graph);
}

}  // namespace

int main() {
  const base::Status status = check();
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
