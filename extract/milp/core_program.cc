// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/core_program.h"

#include <algorithm>
#include <utility>

#include "extract/core/components.h"

namespace egret::extract {
namespace {

constexpr double kChosen = 0.5;

std::vector<Milp::Column> columns_of(const Core& core) {
  std::vector<Milp::Column> columns;
  for (const auto& candidates : core.classes) {
    for (const Candidate& candidate : candidates) columns.push_back({candidate.cost});
  }
  for (ClassIndex c = 0; c < core.classes.size(); ++c)
    columns.push_back({0, core.required[c] ? 1.0 : 0.0, 1, false});
  return columns;
}

// A chosen class has one candidate.
Milp::Row choice_row(const CoreStructure& structure, ClassIndex c) {
  Milp::Row row{0, 0, {}, {}};
  for (std::size_t i = 0; i < structure.core.classes[c].size(); ++i)
    row.add(structure.column(c, i), 1);
  row.add(structure.column(c), -1);
  return row;
}

// At most as many of `users`, candidates of class `user`, are chosen as candidates of `need` that
// do not imply `user`. A candidate of `need` that implies `user` would close a cycle with a chosen
// candidate of `user`, so it cannot serve this need. Leaving it out tightens the relaxation. One
// row per class and need replaces one per candidate: the candidates exclude each other, so their
// sum is at most 1.
Milp::Row need_row(const CoreStructure& structure, ClassIndex user,
                   const std::vector<std::size_t>& users, ClassIndex need) {
  const auto& classes = structure.core.classes;
  Milp::Row row{-Milp::kInfinite, 0, {}, {}};
  if (users.size() == classes[user].size()) {
    row.add(structure.column(user), 1);
  } else {
    for (const std::size_t i : users) row.add(structure.column(user, i), 1);
  }
  if (!structure.same_component(need, user)) {  // none implies it
    row.add(structure.column(need), -1);
    return row;
  }
  for (std::size_t i = 0; i < classes[need].size(); ++i) {
    const bool circular = std::ranges::any_of(
        classes[need][i].needs, [&](ClassIndex n) { return structure.implied.implies(n, user); });
    if (!circular) row.add(structure.column(need, i), -1);
  }
  return row;
}

// Where costs are negative, a class must not be chosen without a use.
Milp::Row support_row(const CoreStructure& structure, ClassIndex c) {
  Milp::Row row{-Milp::kInfinite, 0, {}, {}};
  for (const CandidateIndex user : structure.flat.users_of(c)) row.add(static_cast<int>(user), -1);
  row.add(structure.column(c), 1);
  return row;
}

// Candidates of `c` by the classes that they imply, without required classes of other components:
// these are chosen in any case.
CandidatesByNeed candidates_by_implied(const CoreStructure& structure, ClassIndex c) {
  const auto& candidates = structure.core.classes[c];
  CandidatesByNeed users;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    for (const ClassIndex other : structure.implied.by(candidates[i])) {
      if (!structure.core.required[other] || structure.same_component(other, c))
        users[other].push_back(i);
    }
  }
  return users;
}

// Whether all of these candidates of `c` need `other` directly.
bool is_need_of_all(const Core& core, ClassIndex c, ClassIndex other,
                    const std::vector<std::size_t>& by) {
  return std::ranges::all_of(by, [&](std::size_t i) {
    return std::ranges::binary_search(core.classes[c][i].needs, other);
  });
}

// Different ways from a class to another add up, which the relaxation does not see in the rows of
// needs. Of several classes that the same candidates imply, the nearest gets a row.
void append_implied_rows(const CoreStructure& structure, ClassIndex c,
                         std::vector<Milp::Row>& rows) {
  const CandidatesByNeed users = candidates_by_implied(structure, c);
  for (const auto& [other, by] : users) {
    if (by.size() < 2 || is_need_of_all(structure.core, c, other, by)) continue;
    const bool nearer = std::ranges::any_of(users, [&, o = other, &b = by](const auto& entry) {
      return entry.first != o && entry.second == b && structure.implied.implies(entry.first, o);
    });
    if (!nearer) rows.push_back(need_row(structure, c, by, other));
  }
}

}  // namespace

CoreStructure::CoreStructure(const Core& solved)
    : core(solved), flat(solved), components(strong_components(solved)), implied(solved) {}

CandidatesByNeed candidates_by_need(const Core& core, ClassIndex c) {
  CandidatesByNeed users;
  for (std::size_t i = 0; i < core.classes[c].size(); ++i) {
    for (const ClassIndex need : core.classes[c][i].needs) users[need].push_back(i);
  }
  return users;
}

// The integer program without acyclicity. Columns: one per candidate, then one per class.
// Candidates are binary; the class columns may be continuous, because a choice row makes each the
// sum of its candidates.
Milp program_of(const CoreStructure& structure) {
  const Core& core = structure.core;
  Milp program{columns_of(core), {}};
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    program.rows.push_back(choice_row(structure, c));
    for (const auto& [need, users] : candidates_by_need(core, c)) {
      if (core.required[need] && !structure.same_component(need, c)) continue;
      program.rows.push_back(need_row(structure, c, users, need));
    }
  }
  if (core.has_negative_costs()) {
    for (ClassIndex c = 0; c < core.classes.size(); ++c) {
      if (!core.required[c]) program.rows.push_back(support_row(structure, c));
    }
  }
  for (ClassIndex c = 0; c < core.classes.size(); ++c)
    append_implied_rows(structure, c, program.rows);
  return program;
}

std::vector<NodeIndex> chosen_of(const CoreStructure& structure, std::span<const double> values) {
  const Core& core = structure.core;
  std::vector<NodeIndex> chosen(core.classes.size(), kNoNode);
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    for (std::size_t i = 0; i < core.classes[c].size(); ++i) {
      if (values[structure.flat.begin[c] + i] > kChosen) chosen[c] = static_cast<NodeIndex>(i);
    }
  }
  return chosen;
}

std::vector<double> values_of(const CoreStructure& structure, std::span<const NodeIndex> chosen,
                              std::size_t columns) {
  std::vector<double> values(columns, 0);
  for (ClassIndex c = 0; c < chosen.size(); ++c) {
    if (chosen[c] == kNoNode) continue;
    values[structure.flat.begin[c] + chosen[c]] = 1;
    values[structure.flat.size() + c] = 1;
  }
  return values;
}

}  // namespace egret::extract
