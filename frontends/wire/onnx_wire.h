// SPDX-License-Identifier: Apache-2.0
// A walk over the wire form of an ONNX model before it is parsed. It allocates nothing, so it can
// refuse what would make the parser expensive: messages that nest deeper than any model, and files
// of millions of tiny messages, each of which would take a hundred times its bytes in memory. It
// also knows the byte where a broken file breaks, which the parser does not say.
//
// Linear in the number of fields; large fields (weights) are skipped, not read, so that a file need
// not be in memory for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/function_ref.h"
#include "base/status.h"

namespace egret::frontends {

// Errors: bad_input with the byte offset.
base::Status check_model_wire(std::span<const std::byte> bytes);

// The bytes from `offset` on, as many as come easily and at least one; good until the next call.
using WireReader = base::FunctionRef<base::Result<std::span<const std::byte>>(std::int64_t offset)>;
// The same of so many bytes that lie elsewhere. Fails also as the reader does.
base::Status check_model_wire(std::int64_t size, WireReader read);

}  // namespace egret::frontends
