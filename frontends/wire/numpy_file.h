// SPDX-License-Identifier: Apache-2.0
// Arrays as NumPy writes them: .npy files, and .npz archives of them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "ir/core/tensor.h"

namespace egret::frontends {

// Whether the bytes begin as an .npy file, or as a ZIP archive, do.
bool is_npy(std::string_view bytes);
bool is_npz(std::string_view bytes);

// Either order of bytes and of axes is read. Errors: bad_input for damage and sizes beyond the
// limit; unsupported for element types that Egret lacks (complex numbers, texts, structures).
base::Result<ir::Tensor> read_npy(std::string_view bytes, std::int64_t limit_bytes);
// The member of this name (without ".npy"), or the only one. Errors also: bad_input that lists the
// members if neither is there.
base::Result<ir::Tensor> read_npz(std::string_view bytes, std::string_view name,
                                  std::int64_t limit_bytes);

}  // namespace egret::frontends
