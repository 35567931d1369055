// SPDX-License-Identifier: Apache-2.0
// Readings of what ranks hold. The ranks hold the same elements, so these are copies of a tensor;
// they may also be the blocks of a larger one: of any tensor whose elements are all equal, and of
// the result of an operator that makes its output's blocks from copies, such as a broadcast to the
// size of a block. Which of these a program means shows where the value meets blocks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"
#include "parallel/laws/law_cache.h"
#include "parallel/placed/placed_graph.h"
#include "parallel/ranks/whole_operator.h"

namespace egret::parallel {

class ValueReadings {
 public:
  // Readings are nodes of `placed`, after those that they read. `preferred`: operators of which one
  // is taken if several fit, as text_of() has them.
  ValueReadings(PlacedGraph& placed, std::set<std::string> preferred)
      : placed_(placed), preferred_(std::move(preferred)) {}

  // The operator on wholes of which this one is the part. Where none reads the operands as they
  // are, other readings of them take their places, and are added to the program. At most 256
  // combinations of readings are tried, through at most 32 operators above each other.
  std::optional<WholeOperator> whole_of(const ir::Node& node, std::vector<std::size_t>& operands);

  // Call it when outputs are added. Removes readings that none of them needs, and nodes of which
  // only another reading is needed. Larger constants get their elements.
  void finish();

  static std::string text_of(const ir::Operator& op, const ir::Attrs& attrs);

 private:
  using Key = std::tuple<std::size_t, int, int>;

  std::optional<WholeOperator> fitting(const ir::Operator& op, const ir::Attrs& part_attrs,
                                       const ir::TensorType& part,
                                       const std::vector<std::size_t>& operands,
                                       const Placement* output = nullptr);
  std::optional<WholeOperator> with_blocks(const ir::Node& node, std::vector<std::size_t>& operands,
                                           std::size_t which, int axis);
  std::optional<std::size_t> as_blocks(std::size_t number, int axis, int dim, int depth);
  std::optional<std::size_t> uniform_blocks(std::size_t number, int axis, int dim);
  std::optional<std::size_t> operator_blocks(std::size_t number, int axis, int dim, int depth);
  std::optional<WholeOperator> with_operands(std::size_t number, const Placement& output, int axis,
                                             int depth, std::vector<std::size_t>& operands,
                                             std::size_t which);
  bool is_uniform(std::size_t number);
  void drop_from(std::size_t first);

  PlacedGraph& placed_;
  std::set<std::string> preferred_;
  LawCache laws_;
  std::map<Key, std::size_t> known_;             // readings as blocks: number, axis, dimension
  std::map<std::size_t, bool> uniform_;          // by number of a constant
  std::map<std::size_t, std::size_t> unfilled_;  // constants, by which they are filled
  std::int64_t enlarged_bytes_ = 0;              // of larger constants
  int trials_ = 0;                               // of combinations, for one operator
};

}  // namespace egret::parallel
