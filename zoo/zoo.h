// SPDX-License-Identifier: Apache-2.0
// Builders of the models that the field's papers measure, with random weights from a seed. Where a
// paper's artefact measures something other than the model it names (an attention stack without
// softmax called BERT), both exist under different names.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::zoo {

struct ZooOptions {
  std::int64_t batch = 1;
  std::uint64_t seed = 1;
  std::int64_t sequence = 0;  // of transformers; 0: the model's own
};

struct ZooRow {
  std::string_view name;
  std::string_view summary;
  base::Result<ir::Graph> (*build)(const ZooOptions&);
};

// One row a model, in alphabetical order.
std::span<const ZooRow> models();
const ZooRow* find_model(std::string_view name);  // nullptr: none such

}  // namespace egret::zoo
