// SPDX-License-Identifier: Apache-2.0
// The program of a plan (`egret plan`), simulated. All ranks run the same program on parts of equal
// sizes, so one device of the simulator stands for all.
//
// The device computes in the program's order; the collectives of each mesh axis run on a stream of
// their own, as soon as their inputs are there; of a program with an order, no earlier than their
// place in it. On machines where exchanges do not overlap
// (Cluster::overlaps) they take their turn between computations. Prices are those of the planner
// (roofline times of the parts, alpha-beta times of collectives), so the difference to the plan's
// predicted time is what overlap can hide.
#pragma once

#include <string>
#include <vector>

#include "parallel/machine/cluster.h"
#include "parallel/placed/placed_graph.h"
#include "parallel/simulator/event_simulator.h"

namespace egret::parallel {

struct PlannedTask {
  std::string name;  // of the operator or collective
  bool communicates = false;
};

struct PlanSimulation {
  EventSimulator simulator;
  std::vector<PlannedTask> tasks;  // beside those of the simulator
  std::vector<std::string> stream_names;
  std::vector<std::string> link_names;  // one an axis
  double compute_s = 0;                 // the sum of computations
  double communication_s = 0;           // the sum of collectives
  double exposed_s = 0;                 // communication while nothing is computed

  double seconds() const { return simulator.timeline().end_s; }
  double sequential_s() const { return compute_s + communication_s; }  // nothing overlaps
};

// OVERLAP_SLOWDOWN: of computation beside communication. MACHINE has the mesh of the plan. What
// depends on constants only is computed before and costs nothing. Errors: bad_input where the mesh
// is another one or an operator has no price; limit, on base::stop_requested().
base::Result<PlanSimulation> simulate_plan(const PlacedGraph& plan, const Cluster& machine,
                                           double overlap_slowdown = 0);

}  // namespace egret::parallel
