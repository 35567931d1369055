// SPDX-License-Identifier: Apache-2.0
// Models as arguments of verbs: reading them, with the options that say how.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/options/option_table.h"
#include "base/status.h"
#include "frontends/bindings.h"
#include "frontends/onnx.h"
#include "rules/tensors/open_sizes.h"
#include "tools/console/console.h"

namespace egret::tools {

inline constexpr std::int64_t kMostModelBytes = std::int64_t{1} << 31;  // protobuf's own limit

// The numbers at which a model with open sizes is priced, measured and first checked: those given,
// and else by the names of sizes (1 for batches, 128 for sequences, 224 for images).
struct SizeOptions {
  std::vector<std::string> at;  // NAME=SIZE

  static const base::OptionTable<SizeOptions>& table();
};

struct ModelOptions {
  std::vector<std::string> bind;  // NAME=SIZE

  static const base::OptionTable<ModelOptions>& table();
};

// Whether every --bind must name a dimension of the model; one of two compared models may have
// fixed what the other leaves open.
enum class BindNames : unsigned char { kMustExist, kMayBeUnknown };

// Reads an ONNX file, or standard input for "-". Notes of the importer go to the console.
base::Result<frontends::ImportedModel> read_model(const std::string& path,
                                                  const ModelOptions& options, Console& console,
                                                  BindNames names = BindNames::kMustExist);
// The same of what was read before, where `bytes` are given.
base::Result<frontends::ImportedModel> read_model(const std::string& path,
                                                  const std::optional<std::string>& bytes,
                                                  const ModelOptions& options, Console& console,
                                                  BindNames names = BindNames::kMustExist);
// The same with open sizes kept. `open` is made, and becomes the current scope, if the model has
// any; it must outlive the model. Errors: usage for a size in `sizes` that the model lacks.
base::Result<frontends::ImportedModel> read_open_model(const std::string& path,
                                                       const ModelOptions& options,
                                                       const SizeOptions& sizes,
                                                       std::optional<rules::OpenSizes>& open,
                                                       Console& console);
// The same with all sizes known: those that --bind does not set get usual numbers, and a note says
// which.
base::Result<frontends::ImportedModel> read_concrete_model(const std::string& path,
                                                           const ModelOptions& options,
                                                           Console& console,
                                                           BindNames names = BindNames::kMustExist);

}  // namespace egret::tools
