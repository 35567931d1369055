// SPDX-License-Identifier: Apache-2.0
// Where two models as users run them begin to differ.
#pragma once

#include <cstdint>
#include <string>

#include "base/formats/json.h"
#include "base/status.h"
#include "driver/engine/engine.h"
#include "driver/measure/backend_options.h"
#include "driver/measure/first_difference.h"
#include "driver/models/read_model.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// The second of two compared models.
struct ComparedModel {
  const ModelSource& source;
  const ir::Graph& graph;          // its import, with concrete sizes
  const Engine* engine = nullptr;  // that runs the file, with more outputs; null: the backend
  BackendOptions backend{};
  std::int64_t threads = 0;
};

struct DifferenceText {
  base::Json json;   // to_json(FirstDifference); null where there is none
  std::string text;  // some lines; where no difference was found, why
};

// first_difference() of the graph `a` and `b` as it is run, whose outputs are wrong by `report`. An
// error becomes the text: the report holds without an explanation. Models with external data have
// none in an engine.
DifferenceText explain_difference(const ir::Graph& a, const ComparedModel& b,
                                  const CheckReport& report, const CheckOptions& options);

}  // namespace egret::driver
