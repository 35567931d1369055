// SPDX-License-Identifier: Apache-2.0
// Checks the certificate of a plan, without an e-graph and without a solver.
//
// What an accepted certificate says: the ranks that run the plan's program hold, under its
// placements, values whose wholes are the model's outputs, in real arithmetic. Each operator on
// parts follows laws, which are derived again from the operator's definition. Exchanges and rings
// change no whole. Without placements and exchanges the program is one for one device
// (parallel/placed/sequential_program.h), and the certificate proves that this one equals the model
// (verifier/replay/replay.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "base/status.h"
#include "ir/graph/graph.h"
#include "parallel/laws/law_steps.h"
#include "parallel/placed/placed_graph.h"
#include "parallel/replay/plan_certificate.h"
#include "verifier/replay/replay.h"

namespace egret::parallel {

// The programs between which a certificate stands.
struct PlanPrograms {
  ir::Graph model;  // or its training step
  PlacedGraph placed;
  ir::Graph sequential;                  // the plan's program without placements
  std::optional<base::Json> training{};  // the options of the step
};

// Reads the program of a plan's file for this model. For a plan of a training step the model is the
// step that ir::training_step() makes of it. Weights that the plan folded are folded again, and
// found by their hash. Errors: mismatch that names the node that follows no law.
base::Result<PlanPrograms> read_plan_programs(const base::Json& plan, const ir::Graph& model,
                                              LawCache& laws);

// The laws that an operator's node follows. Errors: those of law_steps().
base::Result<std::vector<LawStep>> laws_of_node(const PlacedGraph& graph, const PlacedNode& node,
                                                LawCache& laws);
std::string hash_of(const LawStep& step);
std::string hash_of(const Ring& ring, const Mesh& mesh);

// A rule that lookups in tables may be rewritten with (parallel/ring/lookup_in_blocks.h), known to
// the replay by this hash.
std::string hash_of_lookup(std::int64_t blocks);

struct PlanReplayReport {
  verifier::ReplayReport model;
  std::size_t nodes = 0;      // of a rank's program
  std::size_t laws = 0;       // distinct statements
  std::size_t law_steps = 0;  // their uses
  std::size_t exchanges = 0;
  std::size_t rings = 0;
  Mesh mesh;
  std::optional<base::Json> training{};  // the options of the step, for a plan of one
};

// `model` is the one that the plan was made for, by its hash. Errors: mismatch that names the first
// wrong node of the plan, or step of the certificate.
base::Result<PlanReplayReport> replay_plan(const PlanCertificate& certificate,
                                           const base::Json& plan, const ir::Graph& model,
                                           const verifier::RuleBook& rules);

}  // namespace egret::parallel
