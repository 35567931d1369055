// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/topk_binding.h"

namespace egret::ir {

OnnxExport topk_export(int output) {
  return [output](OnnxWriter& writer) {
    const bool largest = writer.attrs().integer("largest") != 0;
    if (!largest) writer.needs_opset(11);
    std::vector<OnnxWriter::Attribute> attributes{{"axis", writer.attrs().integer("axis")}};
    if (!largest) attributes.push_back({"largest", std::int64_t{0}});
    writer.emit("TopK", {writer.input(0), writer.constant_integers({writer.attrs().integer("k")})},
                std::move(attributes), "", 2, output);
    return base::ok();
  };
}

}  // namespace egret::ir
