// SPDX-License-Identifier: Apache-2.0
// Models as users name them: a file or bytes, with the sizes that options give.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/options/option_table.h"
#include "base/status.h"
#include "frontends/bindings.h"
#include "frontends/onnx.h"

namespace egret::driver {

// An ONNX file, or the bytes of one.
struct ModelSource {
  std::string path{};                  // of the file; of bytes: their name in messages
  std::optional<std::string> bytes{};  // none: the file is read
  std::string folder{};                // of the external data of bytes; "" allows none
};

struct ModelOptions {
  std::vector<std::string> bind;         // NAME=SIZE
  std::vector<std::string> input_range;  // NAME=LOW..HIGH

  static const base::OptionTable<ModelOptions>& table();
};

// Whether every --bind must name a dimension of the model; one of two compared models may have
// fixed what the other leaves open.
enum class BindNames : unsigned char { kMustExist, kMayBeUnknown };

// Reads a model. The bindings of `options` are added to `import`. Errors: those of
// frontends::import_onnx(); usage for an --input-range that fits no input.
base::Result<frontends::ImportedModel> read_model(const ModelSource& source,
                                                  const ModelOptions& options,
                                                  frontends::ImportOptions import = {});

// A usual number for a size of this name that first occurs at this axis: 1 for batches, 128 for
// sequences, 224 for images.
std::int64_t usual_size(std::string_view name, int axis);

struct ConcreteModel {
  frontends::ImportedModel model;
  std::string chosen;  // " --bind N=1": the sizes that no option set, which got usual numbers
};
// The same with all sizes known.
base::Result<ConcreteModel> read_concrete_model(const ModelSource& source,
                                                const ModelOptions& options,
                                                BindNames names = BindNames::kMustExist);

// What the model declares, without importing it.
base::Result<std::vector<frontends::DeclaredInput>> declared_inputs(const ModelSource& source);
base::Result<std::vector<frontends::OpenSize>> open_sizes(const ModelSource& source);

}  // namespace egret::driver
