// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

void define(Definition& d) {
  const std::int64_t axis = d.axis("axis", d.rank(0));
  if (!d.require_same_dtype() || !d.require_axis(axis, d.rank(0))) return;
  const auto along = static_cast<std::size_t>(axis);
  Dims dims = d.dims(0);
  std::vector<Index> starts;
  Index total = 0;
  for (int input = 0; input < d.input_count(); ++input) {
    if (!d.require_rank(input, d.rank(0))) return;
    for (int k = 0; k < d.rank(0); ++k) {
      if (k == axis) continue;
      if (!d.require(d.dim(input, k) == d.dim(0, k),
                     "input " + std::to_string(input) + " has size " + to_string(d.dim(input, k)) +
                         " in axis " + std::to_string(k) + ", not " + to_string(d.dim(0, k)))) {
        return;
      }
    }
    starts.push_back(total);
    total = total + d.dim(input, static_cast<int>(axis));
  }
  dims[along] = total;

  const auto out = d.output(d.dtype(0), dims);
  const auto part = [&](int input) {
    std::vector<Index> at = out;
    at[along] = out[along] - starts[static_cast<std::size_t>(input)];
    return d.read(input, at);
  };
  // A chain of selects, built from the last part backward: an element belongs to the first part
  // that ends behind it. Of many parts, chains are the leaves of a tree, which is less deep.
  constexpr int kLongestChain = 16;
  const auto end_of = [&](int input) { return starts[static_cast<std::size_t>(input) + 1]; };
  std::vector<std::pair<int, Scalar>> pieces;  // of adjacent parts: the last, and the element
  for (int first = 0; first < d.input_count(); first += kLongestChain) {
    const int last = std::min(first + kLongestChain, d.input_count()) - 1;
    Scalar value = part(last);
    for (int input = last; input-- > first;)
      value = select(out[along] < end_of(input), part(input), value);
    pieces.emplace_back(last, value);
  }
  while (pieces.size() > 1) {
    std::vector<std::pair<int, Scalar>> joined;
    for (std::size_t i = 0; i + 1 < pieces.size(); i += 2) {
      const auto& [last, value] = pieces[i];
      joined.emplace_back(pieces[i + 1].first,
                          select(out[along] < end_of(last), value, pieces[i + 1].second));
    }
    if (pieces.size() % 2 == 1) joined.push_back(pieces.back());
    pieces = std::move(joined);
  }
  d.value(pieces.front().second);
}

OnnxOutputs import(OnnxNode& node) {
  std::vector<Value> inputs;
  for (int i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) return base::bad_input("input " + std::to_string(i) + " is missing");
    inputs.push_back(node.input(i));
  }
  if (inputs.size() == 1) return only_output(inputs[0]);
  if (inputs.empty()) return base::bad_input("takes one input or more");
  const std::int64_t axis = node.axis(node.integer("axis", 1), node.type(inputs[0]).rank());
  return only_output(node.builder().add("concat", inputs, {{"axis", axis}}));
}

}  // namespace

Operator concat() {
  return primitive("concat", "The inputs one after the other along an axis", {"x"})
      .variadic(1)
      .attr("axis", AttrKind::kInteger, "the axis in which the inputs may differ")
      .shown_on({"f32[M,N]", "f32[M,K]"}, {{"axis", std::int64_t{1}}})
      .defined_by(define)
      .onnx_import("Concat", import)
      .onnx_export(same_name_export("Concat"));
}

}  // namespace egret::ir::ops
