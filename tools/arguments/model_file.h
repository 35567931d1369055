// SPDX-License-Identifier: Apache-2.0
// Models as arguments of verbs: reading them, with the options that say how.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/options/option_table.h"
#include "base/status.h"
#include "frontends/bindings.h"
#include "frontends/onnx.h"
#include "tools/console/console.h"

namespace egret::tools {

inline constexpr std::int64_t kMostModelBytes = std::int64_t{1} << 31;  // protobuf's own limit

struct ModelOptions {
  std::vector<std::string> bind;         // NAME=SIZE
  std::vector<std::string> input_range;  // NAME=LOW..HIGH

  static const base::OptionTable<ModelOptions>& table();
};

// Whether every --bind must name a dimension of the model; one of two compared models may have
// fixed what the other leaves open.
enum class BindNames : unsigned char { kMustExist, kMayBeUnknown };

// For "-": the model's bytes, which can be read once. nullopt for other paths.
base::Result<std::optional<std::string>> bytes_of_standard_input(const std::string& path);

// Reads an ONNX file, or standard input for "-". Notes of the importer go to the console.
base::Result<frontends::ImportedModel> read_model(const std::string& path,
                                                  const ModelOptions& options, Console& console,
                                                  BindNames names = BindNames::kMustExist);
// The same of what was read before, where `bytes` are given.
base::Result<frontends::ImportedModel> read_model(const std::string& path,
                                                  const std::optional<std::string>& bytes,
                                                  const ModelOptions& options, Console& console,
                                                  BindNames names = BindNames::kMustExist);
// The same with the bindings of `options` added to `import`. `bytes`: null to read the file.
base::Result<frontends::ImportedModel> import_model(const std::string& path,
                                                    const std::optional<std::string>& bytes,
                                                    const ModelOptions& options, Console& console,
                                                    frontends::ImportOptions import);
// A usual number for a size of this name that first occurs at this axis: 1 for batches, 128 for
// sequences, 224 for images.
std::int64_t usual_size(std::string_view name, int axis);
// The same with all sizes known: those that --bind does not set get usual numbers, and a note says
// which.
base::Result<frontends::ImportedModel> read_concrete_model(const std::string& path,
                                                           const ModelOptions& options,
                                                           Console& console,
                                                           BindNames names = BindNames::kMustExist);
// The same of what was read before, where `bytes` are given.
base::Result<frontends::ImportedModel> read_concrete_model(const std::string& path,
                                                           const std::optional<std::string>& bytes,
                                                           const ModelOptions& options,
                                                           Console& console,
                                                           BindNames names = BindNames::kMustExist);

}  // namespace egret::tools
