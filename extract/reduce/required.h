// SPDX-License-Identifier: Apache-2.0
// Reduction "required": a class that every answer chooses need not be asked for.
#pragma once

#include "extract/core/core.h"
#include "extract/core/implied.h"

namespace egret::extract {

// Drops needs of required classes, makes the needs of a required class with one candidate required,
// and pays for such a candidate where nothing needs its class any more. Needs within a strong
// component stay: a cycle could run through them. Returns whether the core changed. O(size).
bool settle_required(Core& core, const Problem& problem);

// Makes required what required classes imply. Returns whether a class became required.
bool require_implied(Core& core, const Implied& implied);

}  // namespace egret::extract
