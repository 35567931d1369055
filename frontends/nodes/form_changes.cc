// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/form_changes.h"

#include <algorithm>
#include <array>

namespace egret::frontends {
namespace {

struct FormChange {
  std::string_view op_type;
  int opset;
};

// From the operators' schemas in ONNX 1.17, opset 8 and up: an attribute that is gone or has
// another default, a further required input, fewer types. Of AveragePool the meaning of ceil_mode.
constexpr std::array kFormChanges = {FormChange{"AveragePool", 19},
                                     FormChange{"BatchNormalization", 9},
                                     FormChange{"Clip", 11},
                                     FormChange{"DFT", 20},
                                     FormChange{"Dropout", 10},
                                     FormChange{"Dropout", 12},
                                     FormChange{"GlobalLpPool", 22},
                                     FormChange{"GridSample", 20},
                                     FormChange{"Hardmax", 13},
                                     FormChange{"LogSoftmax", 13},
                                     FormChange{"Pad", 11},
                                     FormChange{"ReduceL1", 18},
                                     FormChange{"ReduceL2", 18},
                                     FormChange{"ReduceLogSum", 18},
                                     FormChange{"ReduceLogSumExp", 18},
                                     FormChange{"ReduceMax", 18},
                                     FormChange{"ReduceMean", 18},
                                     FormChange{"ReduceMin", 18},
                                     FormChange{"ReduceProd", 18},
                                     FormChange{"ReduceSum", 13},
                                     FormChange{"ReduceSumSquare", 18},
                                     FormChange{"Resize", 11},
                                     FormChange{"Scan", 9},
                                     FormChange{"Scatter", 11},
                                     FormChange{"Slice", 10},
                                     FormChange{"Softmax", 13},
                                     FormChange{"Split", 13},
                                     FormChange{"Squeeze", 13},
                                     FormChange{"TopK", 10},
                                     FormChange{"Unsqueeze", 13},
                                     FormChange{"Upsample", 9},
                                     FormChange{"Upsample", 10}};

}  // namespace

bool has_same_form(std::string_view op_type, int from, int to) {
  return std::ranges::none_of(kFormChanges, [&](const FormChange& change) {
    return change.op_type == op_type && from < change.opset && change.opset <= to;
  });
}

}  // namespace egret::frontends
