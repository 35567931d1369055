// SPDX-License-Identifier: Apache-2.0
// The result of optimize() as an ONNX model.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "driver/optimize.h"
#include "frontends/onnx.h"

namespace egret::driver {

// The model with the report's manifest in its metadata. `info` is that of the model that was read;
// weights that do not fit go to `external_data_path` ("": such a model is refused). Errors: those
// of frontends::export_onnx().
base::Result<frontends::ExportedModel> written_model(const OptimizeResult& result,
                                                     const frontends::OnnxModelInfo& info,
                                                     std::string_view egret_version,
                                                     const std::string& external_data_path);

}  // namespace egret::driver
