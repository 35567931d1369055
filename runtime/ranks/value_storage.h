// SPDX-License-Identifier: Apache-2.0
// Where a rank keeps the values that its plan copies out (Kind::kBack of placed_graph.h), by node:
// in a file without a name, or in memory where there is no folder for one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "backends/cpu/plan/value_file.h"
#include "base/status.h"
#include "ir/graph/graph.h"
#include "parallel/placed/placed_graph.h"

namespace egret::runtime {

class ValueStorage {
 public:
  // In memory.
  ValueStorage() = default;
  // In a file in the folder, with room for all values that the plan copies out. Errors: unavailable
  // where the folder takes no file; limit where its disk is full.
  static base::Result<ValueStorage> in(const std::string& folder,
                                       const parallel::PlacedGraph& graph);

  // Errors: limit where the disk is full; unavailable.
  base::Status put(std::size_t node, const ir::Tensor& value);
  // What was put last. Errors: unavailable.
  base::Result<ir::Tensor> get(std::size_t node, const ir::TensorType& type) const;

 private:
  std::unique_ptr<backends::cpu::ValueFile> file_;
  std::map<std::size_t, std::int64_t> offsets_;  // in the file, by node
  std::map<std::size_t, ir::Tensor> values_;     // without a file
};

}  // namespace egret::runtime
