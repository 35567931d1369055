// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/scatter_definition.h"

#include "ir/core/index_arithmetic.h"
#include "ir/graph/onnx_arguments.h"

namespace egret::ir {

bool require_scatter_reduction(Definition& d, const std::string& reduction) {
  for (const char* known : {"none", "add", "mul", "max", "min"}) {
    if (reduction == known) return d.ok();
  }
  return d.fail("reduction must be none, add, mul, max or min, not " + reduction);
}

// A scatter as a gather: each element of the result folds all updates that hit it. Without a
// reduction the update with the last place wins, which makes the result deterministic. The
// definition is quadratic and states the meaning; kernels do not compute this way.
Scalar scattered(Definition& d, const std::string& reduction, const ScatteredElement& element) {
  const auto over = [&](Reduction kind, const Definition::BoxBody& body,
                        const Definition::BoxWhere& where = {}) {
    return d.reduce_box(kind, element.extents, body, where);
  };
  if (reduction == "add") {
    return element.x + over(Reduction::kSum, element.update, element.hits);
  }
  if (reduction == "mul") {
    return element.x * over(Reduction::kProd, element.update, element.hits);
  }
  if (reduction == "max" || reduction == "min") {
    const bool greatest = reduction == "max";
    return over(greatest ? Reduction::kMax : Reduction::kMin, [&](std::span<const Index> place) {
      const Scalar candidate = select(element.hits(place), element.update(place), element.x);
      return greatest ? max(element.x, candidate) : min(element.x, candidate);
    });
  }
  // Places count from 1; 0 says that none hits.
  const Index last = index_of(over(Reduction::kMax, [&](std::span<const Index> place) {
    return select(element.hits(place), scalar_of(linear_index(place, element.extents) + 1), 0);
  }));
  return select(1 <= last, element.update(multi_index(last - 1, element.extents)), element.x);
}

base::Status write_scatter(OnnxWriter& writer, std::string_view op_type,
                           std::vector<OnnxWriter::Attribute> attributes) {
  const std::string& reduction = writer.attrs().text("reduction");
  if (reduction != "none") {
    const bool extremum = reduction == "max" || reduction == "min";
    EGRET_RETURN_IF_ERROR(require_opset(writer, extremum ? 18 : 16, op_type));
    attributes.push_back({"reduction", reduction});
  }
  writer.emit(op_type, {writer.input(0), writer.input(1), writer.input(2)}, std::move(attributes));
  return base::ok();
}

}  // namespace egret::ir
