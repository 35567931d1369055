// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "verifier/replay/certificate.h"

namespace egret::rules {

// One line of JSON, which verifier::parse_certificate() reads.
std::string to_json(const verifier::Certificate& certificate);

}  // namespace egret::rules
