// SPDX-License-Identifier: Apache-2.0
// Plans of programs with many equal layers, as plans of programs with few layers
// (parallel/plan/equal_layers.h).
//
// The second layer stands for many: its costs count `repeats` times, and it must leave its value in
// the placement in which it finds it. Copies of it can then follow one another, between any first
// and last layers. Plans with different inner layers are not considered.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "extract/core/extractor.h"
#include "parallel/placed/placed_egraph.h"
#include "parallel/plan/equal_layers.h"
#include "parallel/plan/program_writer.h"

namespace egret::parallel {

class TiedLayers {
 public:
  using Index = egraph::EGraphView::Index;

  // Over the placed e-graph of `fewer.graph` and a view of it. All arguments outlive this.
  TiedLayers(const PlacedEGraph& placed, const egraph::EGraphView& view, const FewerLayers& fewer);

  // The multiplicity of each node of the view.
  std::vector<double> counts() const;
  // Operators that read a value inside of another layer: rules may have found some.
  std::vector<Index> crossing() const;
  // The possible placements of the value between layers, and the nodes that are then forbidden.
  const std::vector<Placement>& placements() const { return placements_; }
  std::vector<Index> nodes_against(const Placement& placement) const;
  // The placement of a solution; nullopt where its layers do not fit together.
  std::optional<Placement> placement_of(const extract::Solution& solution) const;

  // The plan of the whole program.
  PlacedGraph repeated(const WrittenProgram& program, const ir::Graph& whole) const;

 private:
  enum class Section : std::uint8_t { kBefore, kRepeated, kAfter };
  Section section_of_value(egraph::ClassId value) const { return sections_[value.index()]; }
  Section section(egraph::ClassId value, bool collective) const;
  bool computes(Index node, egraph::ClassId value) const;

  const PlacedEGraph& placed_;
  const egraph::EGraphView& view_;
  const FewerLayers& fewer_;
  const egraph::ClassId first_, second_;  // seams
  std::vector<Section> sections_;         // by class of the sequential e-graph
  std::vector<bool> depends_;             // on what the first layer reads
  std::vector<Placement> placements_;
};

}  // namespace egret::parallel
