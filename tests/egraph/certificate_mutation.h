// SPDX-License-Identifier: Apache-2.0
// Certificates made wrong on purpose: each mutation changes what some step says.
#pragma once

#include <optional>
#include <string>

#include "base/formats/json.h"
#include "base/random.h"

namespace egret::checking {

struct Mutant {
  std::string what;  // "substitution of step 3"
  base::Json document;
};

// A random mutation that applies to the certificate (tree or flat), if the one drawn does.
std::optional<Mutant> mutate(const base::Json& certificate, base::Random& random);

}  // namespace egret::checking
