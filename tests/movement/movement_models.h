// SPDX-License-Identifier: Apache-2.0
// Small programs as exporters write them: with transposes, slices, concatenations, reshapes and
// casts between the operators that compute.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace egret::movement {

struct MovementModel {
  std::string name;
  ir::Graph graph;
  // Kernels of the plan that only move data. Where a kernel could read or write what is moved as
  // it lies, there is none.
  int moving = 0;
};

std::vector<MovementModel> movement_models();

}  // namespace egret::movement
