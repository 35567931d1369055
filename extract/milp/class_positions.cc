// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/class_positions.h"

#include <utility>

namespace egret::extract {
namespace {

// position(need) + 1 <= position(c) where c chooses one of `users`. With n classes in the
// component, positions are within 0 .. n - 1, and the row holds for any positions where c does not.
// This is the big-M form of the order (as in Miller, Tucker and Zemlin's subtour elimination):
// fractional choices satisfy it easily, so the rows are weak.
Milp::Row order_row(const CoreStructure& structure, ClassIndex c,
                    const std::vector<std::size_t>& users, int position_of_need, int position_of_c,
                    double n) {
  Milp::Row row{-Milp::kInfinite, n - 1, {}, {}};
  row.add(position_of_need, 1);
  row.add(position_of_c, -1);
  for (const std::size_t i : users) row.add(structure.column(c, i), n);
  return row;
}

}  // namespace

// Positions exclude all cycles of a component with one column per class and one row per need. Cuts
// would need one row per cycle, of which there may be exponentially many.
void append_positions(const CoreStructure& structure, const std::set<std::uint32_t>& components,
                      ClassPositions& positions, Milp& program) {
  const Core& core = structure.core;
  std::map<std::uint32_t, double> size;  // of components
  for (const std::uint32_t component : structure.components) size[component] += 1;
  std::vector<ClassIndex> fresh;
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    if (!components.contains(structure.components[c]) || positions.contains(c)) continue;
    positions[c] = static_cast<int>(program.columns.size());
    program.columns.push_back({0, 0, size[structure.components[c]] - 1, false});
    fresh.push_back(c);
  }
  for (const ClassIndex c : fresh) {
    const double n = size[structure.components[c]];
    for (const auto& [need, users] : candidates_by_need(core, c)) {
      if (!structure.same_component(need, c)) continue;
      program.rows.push_back(
          order_row(structure, c, users, positions.at(need), positions.at(c), n));
    }
  }
}

void set_positions(const CoreStructure& structure, std::span<const NodeIndex> chosen,
                   const ClassPositions& positions, std::vector<double>& values) {
  // Raises a position that is not above one it needs, until none moves.
  // The choice is acyclic, so the positions are the lengths of longest paths, and the loop ends.
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& [c, column] : positions) {
      if (chosen[c] == kNoNode) continue;
      double& position = values[static_cast<std::size_t>(column)];
      for (const ClassIndex need : structure.core.classes[c][chosen[c]].needs) {
        const auto other = positions.find(need);
        if (other == positions.end() || !structure.same_component(need, c)) continue;
        const double below = values[static_cast<std::size_t>(other->second)];
        if (position > below) continue;
        position = below + 1;
        moved = true;
      }
    }
  }
}

}  // namespace egret::extract
