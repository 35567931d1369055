// SPDX-License-Identifier: Apache-2.0
// A model with open sizes, ready to run: the first use of an assignment of sizes makes a plan for
// it, which is kept.
//
//   EGRET_ASSIGN_OR_RETURN(auto plans, driver::SizedPlans::of_file("model.onnx"));
//   EGRET_ASSIGN_OR_RETURN(auto outputs, plans.run(inputs));  // of any sizes that the model takes
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/recently_used.h"
#include "base/status.h"
#include "frontends/onnx.h"
#include "ir/core/symbol_values.h"
#include "ir/graph/graph.h"

namespace egret::driver {

struct SizedPlanOptions {
  std::string backend = "cpu";
  backends::CompileOptions compile{};
  frontends::ImportOptions import{};  // `bind` fixes sizes for all runs
  // The plans that are kept; the one that was used the longest time ago goes first. Each holds its
  // own packed weights.
  std::size_t most_plans = 16;
};

// Not safe for concurrent use, like the plans.
class SizedPlans {
 public:
  struct Plan {
    ir::SymbolValues sizes;
    ir::Graph graph;  // of these sizes; without the weights, unless the maker kept them
    std::unique_ptr<backends::ExecutablePlan> plan;
  };
  // Makes the graph and its plan for values of all open sizes.
  using Maker = std::function<base::Result<Plan>(const ir::SymbolValues&)>;

  // Plans of a model with these inputs.
  SizedPlans(std::vector<frontends::DeclaredInput> inputs, Maker maker, std::size_t most_plans);
  // Plans of an ONNX model, which is read again for each. Errors: those of the file; usage for a
  // backend that does not exist; those of Backend::availability().
  static base::Result<SizedPlans> of_file(const std::string& path, SizedPlanOptions options = {});
  // The bytes are copied. `folder`: as in frontends::import_onnx_bytes().
  static base::Result<SizedPlans> of_bytes(std::span<const std::byte> bytes,
                                           const std::string& folder,
                                           SizedPlanOptions options = {});

  // With open sizes as symbols.
  const std::vector<frontends::DeclaredInput>& inputs() const { return inputs_; }
  // The open sizes that the inputs have. Errors: bad_input for a number of inputs, types or sizes
  // that the model does not take, and for two values of one size.
  base::Result<ir::SymbolValues> sizes_of(std::span<const ir::Tensor> inputs) const;
  // The plan for these sizes. It lives until most_plans others were used after it. Errors: those of
  // import and compilation; a failure is not kept.
  base::Result<Plan*> at(const ir::SymbolValues& sizes);
  // The outputs of one run. Errors: as above, and of the run.
  base::Result<std::vector<ir::Tensor>> run(std::span<const ir::Tensor> inputs);

  std::size_t kept() const { return plans_.size(); }
  std::int64_t made() const { return made_; }  // plans since the beginning

 private:
  std::vector<frontends::DeclaredInput> inputs_;
  Maker maker_;
  base::RecentlyUsed<ir::SymbolValues, Plan> plans_;
  std::int64_t made_ = 0;
};

}  // namespace egret::driver
