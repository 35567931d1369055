// SPDX-License-Identifier: Apache-2.0
// What every way to compute a placed value costs on a machine, and the cheapest of them.
//
// Time is the sum of the operators' roofline times on one device and of the collectives' alpha-beta
// times. What depends on constants alone is computed before the first run and costs nothing.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "cost/model.h"
#include "extract/extractor.h"
#include "extract/side_rows.h"
#include "parallel/machine.h"
#include "parallel/placed_egraph.h"
#include "parallel/strategies.h"

namespace egret::parallel {

// An input whose next value is an output, by their names: a parameter, or an optimizer's state.
// Both have one placement, so that runs follow each other.
struct Carried {
  std::string input;
  std::string output;
  LeafRole role = LeafRole::kParameter;
};

class Pricing {
 public:
  // `outputs` are the names of the placed e-graph's roots. All arguments outlive this.
  Pricing(const PlacedEGraph& placed, const Machine& machine, std::span<const Carried> carried,
          std::span<const std::string> outputs);

  const egraph::EGraphView& view() const { return view_; }

  struct Search {
    const extract::ExtractorRow* extractor = nullptr;
    extract::Options options{};
    const Strategy* strategy = nullptr;
    bool copied_inputs = false;  // besides what the strategy says
    double price_of_byte = 0;    // seconds for each byte of weights that a device holds
  };
  // The cheapest program. `known` is one to be better than, or nullptr. Errors: bad_input or
  // limit_hit where the strategy allows none.
  base::Result<extract::Solution> cheapest(const Search& search,
                                           const extract::Solution* known = nullptr) const;

  // Without prices of bytes.
  double seconds_of(const extract::Solution& solution) const;

 private:
  using Index = egraph::EGraphView::Index;

  const PlacedEGraph::Placed& value_of(Index node) const {
    return placed_.placed(view_.class_id[view_.node_class[node]]);
  }
  // Whether the node is an input or constant that is simply there.
  bool is_leaf(Index node) const;
  LeafRole role_of(Index leaf) const;
  double price(Index node) const;
  double price_of_operator(Index node, const PlacedEGraph::Meaning& meaning) const;
  double weight_bytes(Index node) const;
  std::vector<double> costs_of(const Search& search) const;
  void find_keeps(std::span<const std::string> outputs);
  std::vector<extract::SideRow> rows_of(std::span<const double> costs) const;
  base::Result<extract::Solution> first_answer(const Search& search,
                                               std::vector<double> costs) const;

  const PlacedEGraph& placed_;
  const Machine& machine_;
  const std::span<const Carried> carried_;
  const std::unique_ptr<cost::Model> model_;
  const egraph::EGraphView view_;
  std::vector<double> costs_;  // by node

  // Of a carried value: a way to keep its next value, and the input under the same placement.
  struct Keep {
    Index keep;
    Index leaf;  // extract::kNoNode where nothing reads it so
  };
  std::vector<std::vector<Keep>> keeps_;  // by carried value
};

}  // namespace egret::parallel
