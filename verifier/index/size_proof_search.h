// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "verifier/index/size_facts.h"

namespace egret::verifier {

// A proof that the guard is contradictory, which facts.contradictory() accepts. nullopt: none was
// found with a few summands. A bounded amount of work a case.
std::optional<std::string> find_size_proof(SizeFacts& facts, ir::Guard guard);

}  // namespace egret::verifier
