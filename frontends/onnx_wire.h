// SPDX-License-Identifier: Apache-2.0
// A walk over the wire form of an ONNX model before it is parsed. It allocates nothing, so it can
// refuse what would make the parser expensive: messages that nest deeper than any model, and files
// of millions of tiny messages, each of which would take a hundred times its bytes in memory. It
// also knows the byte where a broken file breaks, which the parser does not say.
//
// Linear in the number of fields; large fields (weights) are skipped, not read.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"

namespace egret::frontends {

// Errors: bad_input with the byte offset.
base::Status check_model_wire(std::span<const std::byte> bytes);

}  // namespace egret::frontends
