// SPDX-License-Identifier: Apache-2.0
// The cost of every computation of a placed value on a machine, and the cheapest program.
//
// Time is the sum of the operators' roofline times on one device and of the collectives' alpha-beta
// times. A ring costs the sum of all its steps and transfers, without overlap. Where the machine
// fuses, an elementwise operator joins the kernel of an operand (parallel/plan/fusion.h).
// Computation that depends on constants only happens before the first run and is free.
// Communication of such values happens once (runtime/ranks/constant_part.h); each of a thousand
// runs pays a share of it, so that nothing is exchanged that could be computed instead.
//
// A memory limit is a row for each level of the schedule: stored weights and carried values,
// inputs, and the values that wait at that level. The next value of a carried one takes its place.
// At most kMostRows rows, for the levels with the most waiting bytes in the sequential program.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "base/timer.h"
#include "cost/model.h"
#include "extract/core/extractor.h"
#include "extract/extractors/side_rows.h"
#include "parallel/machine/cluster.h"
#include "parallel/placed/placed_egraph.h"
#include "parallel/placed/schedule.h"
#include "parallel/plan/fusion.h"
#include "parallel/plan/strategies.h"

namespace egret::parallel {

// An input whose next value is an output, by name: a parameter or optimizer state. Both have one
// placement, so that runs can follow each other.
struct Carried {
  std::string input;
  std::string output;
  LeafRole role = LeafRole::kParameter;
  std::string again{};  // the input where it is read a second time (parallel/plan/regather.h)
};

// The transfer time of a ring's blocks.
double seconds_to_pass(const RingProgram& ring, const Cluster& machine);

class Pricing {
 public:
  using Index = egraph::EGraphView::Index;

  // `outputs` are the names of the placed e-graph's roots. All arguments outlive this.
  Pricing(const PlacedEGraph& placed, const Cluster& machine, std::span<const Carried> carried,
          std::span<const std::string> outputs);

  const egraph::EGraphView& view() const { return view_; }

  // Multiplies the cost of each node of the view.
  void count(std::span<const double> times);

  struct Search {
    const extract::ExtractorRow* extractor = nullptr;
    extract::Options options{};  // the time is that of all problems that lead to a plan
    const Strategy* strategy = nullptr;
    bool copied_inputs = false;    // in addition to the strategy
    double memory = 0;             // bytes of a device; 0: unlimited
    bool held_only = false;        // the memory is that of what is held all the time
    std::vector<Index> without{};  // nodes that may not be chosen
    // Of exchanges, so much of the independent computing hides them; 0: nothing overlaps.
    double hidden = 0;
    bool free_exchanges = false;  // only computing has costs
  };
  // The cheapest program. `known` is a solution to improve on, or nullptr. Errors: bad_input or
  // limit_hit where the strategy allows none.
  base::Result<extract::Solution> cheapest(const Search& search,
                                           const extract::Solution* known = nullptr) const;

  // The cost of each node of the view; infinite where the search forbids it.
  std::vector<double> costs_of(const Search& search) const;

  // A program with little memory, relative to `search.memory`.
  base::Result<extract::Solution> leanest(const Search& search) const;

  const Schedule& schedule() const { return schedule_; }

  // Before Search::hidden is used. Seconds of independent computing, by class of the sequential
  // e-graph (parallel/plan/independent_work.h).
  void set_independent(std::vector<double> seconds) { independent_ = std::move(seconds); }

  double seconds_of(const extract::Solution& solution) const;
  // The part of it that collectives take.
  double seconds_sending(const extract::Solution& solution) const;
  // The chosen inputs and weights with names, the largest first.
  struct NamedLeaf {
    std::string name;
    Index node = 0;
    Placement placement{};
    double bytes = 0;  // of the whole
  };
  std::vector<NamedLeaf> named_leaves(const extract::Solution& solution) const;
  // Whether it reads an input in blocks.
  bool divides_inputs(const extract::Solution& solution) const;

 private:
  const PlacedEGraph::Placed& value_of(Index node) const {
    return placed_.placed(view_.class_id[view_.node_class[node]]);
  }
  // Whether the node is an input or constant that needs no computation.
  bool is_leaf(Index node) const;
  LeafRole role_of(Index leaf) const;
  double price(Index node) const;
  double price_of_ring(const RingProgram& ring) const;
  double price_of_graph(const ir::Graph& graph) const;
  double price_of_operator(Index node, const PlacedEGraph::Meaning& meaning) const;
  void find_keeps(std::span<const std::string> outputs);
  std::vector<extract::SideRow> rows_of_carried(std::span<const double> costs) const;
  std::vector<extract::SideRow> rows_of_memory(double memory) const;
  std::vector<extract::SideRow> row_of_held(double memory) const;
  void add_held(Index c, double unit, std::span<extract::SideRow> by_level) const;
  void add_kept(double unit, std::span<extract::SideRow> by_level) const;
  void hide_exchanges(const Search& search, std::vector<double>& costs) const;
  std::vector<double> priced(std::vector<double> costs, std::span<const extract::SideRow> memory,
                             double price) const;
  // A start that keeps every carried value in one placement, and a bound at its costs of all such.
  struct Start {
    extract::Solution solution;
    double bound;
  };
  base::Result<Start> with_fixed_keeps(const Search& search, std::vector<double> costs,
                                       const base::Deadline& deadline) const;

  const PlacedEGraph& placed_;
  const Cluster& machine_;
  const std::span<const Carried> carried_;
  const std::unique_ptr<cost::Model> model_;
  const egraph::EGraphView view_;
  const Schedule schedule_;
  const Fusion fusion_;
  std::vector<double> costs_;        // by node
  std::vector<double> counts_;       // by node: how often it counts; empty: once
  std::vector<double> independent_;  // by class of the sequential e-graph; empty: none is known

  // A placement of a carried value's next value, and the leaves that read it under that placement.
  struct Keep {
    Index keep;
    std::vector<Index> leaves;
  };
  std::vector<std::vector<Keep>> keeps_;  // by carried value
};

}  // namespace egret::parallel
