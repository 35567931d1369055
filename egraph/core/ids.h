// SPDX-License-Identifier: Apache-2.0
// The engine's id types. All are dense 32-bit indices; none is ever a pointer.
#pragma once

#include <cstdint>

#include "base/id.h"

namespace egret::egraph {

using BaseId = base::Id<struct BaseIdTag>;  // base operator: a name ("conv2d")
using OpId = base::Id<struct OpIdTag>;      // operator: base + arity + payload ("conv2d{stride=1}")
using ClassId = base::Id<struct ClassIdTag>;  // e-class
using NodeId = base::Id<struct NodeIdTag>;    // e-node; grows in order of creation
using Epoch = std::uint32_t;                  // which state of an e-graph; see EGraph::epoch()
using VarId = base::Id<struct VarIdTag>;      // class variable of one Pattern
using OpVarId = base::Id<struct OpVarIdTag>;  // operator variable of one Pattern

}  // namespace egret::egraph
