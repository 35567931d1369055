// SPDX-License-Identifier: Apache-2.0
// An extraction as a page: its cost and bound, the operators that the cost is spent on, the classes
// with the most costly choices, and the chosen terms in the e-graph.
#pragma once

#include <string>

#include "base/formats/json.h"
#include "driver/report/page.h"
#include "egraph/formats/serialized_egraph.h"
#include "extract/core/extractor.h"

namespace egret::driver {

struct ExtractionOrigin {
  std::string file;
  std::string extractor;
  double seconds = 0;
  std::string version;  // of Egret
};

// `document`: the verb's JSON.
ReportPage extract_page(const egraph::SerializedEGraph& file, const extract::Solution& solution,
                        const ExtractionOrigin& origin, base::Json document);

}  // namespace egret::driver
