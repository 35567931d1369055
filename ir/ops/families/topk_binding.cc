// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/topk_binding.h"

#include "ir/graph/onnx_arguments.h"

namespace egret::ir {

OnnxExport topk_export(int output) {
  return [output](OnnxWriter& writer) -> base::Status {
    const bool largest = writer.attrs().integer("largest") != 0;
    if (!largest) writer.needs_opset(11);
    std::vector<OnnxWriter::Attribute> attributes{{"axis", writer.attrs().integer("axis")}};
    if (!largest) attributes.push_back({"largest", std::int64_t{0}});
    EGRET_ASSIGN_OR_RETURN(const Integers k,
                           open_integers(std::vector<Index>{writer.attrs().size("k")}));
    writer.emit("TopK", {writer.input(0), writer.constant_integers(k)}, std::move(attributes), "",
                2, output);
    return base::ok();
  };
}

}  // namespace egret::ir
