// SPDX-License-Identifier: Apache-2.0
// Reduction "expensive": drops a candidate whose lower bound is above a known answer.
#pragma once

#include "extract/core/implied.h"

namespace egret::extract {

// The bound of a candidate: what is paid, its own cost, and the cheapest candidate of each class
// that is required or that it implies. Then drops the candidates that have no finite term any more.
// `known_cost` includes Core::paid; infinite: nothing is dropped. Only without negative costs.
// Returns whether a candidate was dropped.
bool drop_expensive(Core& core, const Implied& implied, double known_cost);

}  // namespace egret::extract
