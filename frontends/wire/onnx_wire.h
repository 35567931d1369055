// SPDX-License-Identifier: Apache-2.0
// A pass over the wire form of an ONNX model before parsing. It allocates nothing and can refuse
// input that would make the parser expensive: deeper nesting than any model has, and millions of
// tiny messages, each of which would take a hundred times its bytes in memory. It also knows the
// byte offset of an error, which the parser does not report.
//
// Linear in the number of fields. Large fields (weights) are skipped, so the file need not be in
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/function_ref.h"
#include "base/status.h"

namespace egret::frontends {

// Errors: bad_input with the byte offset.
base::Status check_model_wire(std::span<const std::byte> bytes);

// Some bytes from `offset` on, at least one; valid until the next call.
using WireReader = base::FunctionRef<base::Result<std::span<const std::byte>>(std::int64_t offset)>;
// The same of so many bytes that lie elsewhere. Fails also as the reader does.
base::Status check_model_wire(std::int64_t size, WireReader read);

}  // namespace egret::frontends
