// SPDX-License-Identifier: Apache-2.0
// Plans as JSON: what `egret plan` writes and `egret run` reads.
//
//   {"schema_version": 1, "model": "mlp.onnx", "model_hash": "05c1..", "bind": [],
//    "machine": "local", "mesh": "x=4", "time_s": .., "bound_s": .., "memory_bytes": ..,
//    "communication": [{"collective": "all_reduce", "axis": "x", "bytes": .., "count": 1,
//                       "time_s": ..}],
//    "baselines": {"data": .., "single": .., "tensor": ..},
//    "placements": {"x": "x:R", "w1": "x:S(1)", ..},
//    "program": [{"input": "x", "placement": "x:R", "type": "f32[4,64]"},
//                {"constant": "w1", "hash": "7f3a..", "placement": "x:S(1)", "type": ..},
//                {"op": "matmul", "attributes": {}, "inputs": [0, 1], "placement": .., "type": ..},
//                {"collective": "all_reduce", "axis": "x", "from": "P(sum)", "to": "R",
//                 "inputs": [2], "placement": .., "type": ..},
//                {"ring": [{"op": "matmul", "attributes": {}, "inputs": [-1, -2],
//                           "placement": "x:S(0)", "step": "P(sum)"}], "axis": "x",
//                 "steps": ["S(1)", "S(0)"], "passes": [1], "inputs": [0, 1], ..}],
//    "outputs": [{"name": "y", "node": 3}], "carried": [], "seconds": ..}
//
// A ring (parallel/ring/ring.h) lists the operators of a step, which read earlier ones or, as -1 -
// k, the ring's input k; how a step reads the inputs; and which inputs circulate.
//
// Types and attributes are those of the whole; what a rank holds follows from the placements.
// Weights are named by the hash of type and contents and stay in the model's file; small ones are
// written out besides ("values"). model_hash is that of the whole model, so that the plan is run
// with no other one. `bytes` of a communication is what one rank sends, and `time_s` what that
// takes, all counts together.
// "interrupted" is true where the search ended early: the plan is the best so far.
// A node with "again" computes the value of that node again, and then the plan is "in_order": ranks
// run the nodes as listed and free a value after its last reader. "recomputation" has the number of
// such computations, fused operators as one, and what they take.
// A plan of a training step has "training", the options of the step, and "carried": nodes of inputs
// and the outputs that are their next values, [{"node": 0, "output": 1}].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "base/status.h"
#include "parallel/placed/program_reader.h"
#include "parallel/plan/planner.h"

namespace egret::parallel {

// The origin of a plan.
struct PlanOrigin {
  std::string model;  // a path relative to the plan's folder, or an absolute one
  std::vector<std::string> bind;
  std::string machine;
  std::string model_hash{};
  std::optional<base::Json> training{};  // the options of the training step
};

base::Json to_json(const ParallelPlan& plan, const PlanOrigin& origin);

// Errors: bad_input where the file is no plan, for an unknown schema_version too.
base::Result<PlanOrigin> read_origin(const base::Json& plan);

}  // namespace egret::parallel
