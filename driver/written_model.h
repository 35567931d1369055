// SPDX-License-Identifier: Apache-2.0
// The result of optimize() as an ONNX model.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "driver/models/read_model.h"
#include "driver/optimize.h"
#include "driver/oracle.h"
#include "frontends/onnx.h"

namespace egret::driver {

// The model with the report's manifest in its metadata. `read` is what was read; weights that do
// not fit go to `external_data_path` ("": such a model is refused). Where the original won a race
// in an engine as the file that it is (`as_given`, or null), the result is that file, byte for
// byte, unless it has weights in other files. Errors: those of frontends::export_onnx(), and of
// reading the file.
base::Result<frontends::ExportedModel> written_model(const OptimizeResult& result,
                                                     const frontends::ImportedModel& read,
                                                     const ModelSource* as_given,
                                                     std::string_view egret_version,
                                                     const std::string& external_data_path);

// The same, compared with the given file by the oracle that the options ask for. The report says
// what came of it. Errors also: mismatch where the two differ.
base::Result<frontends::ExportedModel> checked_model(OptimizeResult& result,
                                                     const OracleQuestion& question,
                                                     std::string_view egret_version,
                                                     const std::string& external_data_path);

}  // namespace egret::driver
