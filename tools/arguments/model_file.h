// SPDX-License-Identifier: Apache-2.0
// Models as arguments of verbs: a file or standard input, with what was noticed on the console.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "driver/models/read_model.h"
#include "frontends/onnx.h"
#include "tools/console/console.h"

namespace egret::tools {

using driver::BindNames;
using driver::ModelOptions;
using driver::ModelSource;

inline constexpr std::int64_t kMostModelBytes = std::int64_t{1} << 31;  // protobuf's own limit

// The file, or the bytes of standard input for "-", which can be read once.
base::Result<ModelSource> source_of(const std::string& path);
// For "-": the model's bytes. nullopt for other paths.
base::Result<std::optional<std::string>> bytes_of_standard_input(const std::string& path);

// Notes of the importer go to the console.
void report_notes(const frontends::ImportedModel& model, Console& console);

// Reads an ONNX file, or standard input for "-"; see driver/models/read_model.h.
base::Result<frontends::ImportedModel> read_model(const ModelSource& source,
                                                  const ModelOptions& options, Console& console);
// The same with all sizes known: those that --bind does not set get usual numbers, and a note says
// which.
base::Result<frontends::ImportedModel> read_concrete_model(const ModelSource& source,
                                                           const ModelOptions& options,
                                                           Console& console,
                                                           BindNames names = BindNames::kMustExist);
base::Result<frontends::ImportedModel> read_concrete_model(const std::string& path,
                                                           const ModelOptions& options,
                                                           Console& console,
                                                           BindNames names = BindNames::kMustExist);

}  // namespace egret::tools
