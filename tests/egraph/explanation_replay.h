// SPDX-License-Identifier: Apache-2.0
// Random equalities of one e-graph: explains them, every other one shortened, replays the
// certificates and one mutant of each. Prints what it did; a gtest failure where something is
// wrong.
#pragma once

#include <cstddef>
#include <cstdint>

#include "egraph/core/egraph.h"
#include "tests/egraph/certificate_checker.h"

namespace egret::egraph {

void replay(const EGraph& egraph, const checking::CertificateChecker& checker,
            std::size_t equalities, std::uint64_t seed);

}  // namespace egret::egraph
