// SPDX-License-Identifier: Apache-2.0
#include "driver/models/read_rank_model.h"

#include <string>
#include <utility>
#include <vector>

namespace egret::driver {

base::Result<ConcreteModel> read_rank_model(const ModelSource& source,
                                            const ModelOptions& options) {
  EGRET_ASSIGN_OR_RETURN(const std::vector<frontends::OpenSize> open, open_sizes(source));
  EGRET_ASSIGN_OR_RETURN(const auto bound, frontends::parse_bindings(options.bind));
  ModelOptions all{.bind = options.bind, .input_range = {}};
  std::string chosen;
  for (const auto& [name, axis] : open) {
    if (bound.contains(name)) continue;
    all.bind.push_back(name + "=" + std::to_string(usual_size(name, axis)));
    chosen += " --bind " + all.bind.back();
  }
  frontends::ImportOptions import{.opaque_nodes = true, .keeps_rounding = false};
  import.allow_unknown_bind = true;
  EGRET_ASSIGN_OR_RETURN(frontends::ImportedModel model,
                         read_model(source, all, std::move(import)));
  return ConcreteModel{std::move(model), std::move(chosen)};
}

}  // namespace egret::driver
