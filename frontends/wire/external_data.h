// SPDX-License-Identifier: Apache-2.0
// Weights in files beside the model, read without leaving its folder. A model is untrusted: the
// location it names must be a relative path that resolves beneath the folder without "..", symbolic
// links or magic links, to a regular file with one name (a second hard link could be anybody's
// file), and the range must lie inside it. Nothing is opened for longer than one read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace egret::frontends {

struct ExternalRange {
  std::string location;
  std::int64_t offset = 0;
  std::int64_t length = -1;  // -1: as much as is needed
};

// Fills `out` from the range. Errors: bad_input that says what is wrong with location or range;
// unavailable when the file is missing or cannot be read.
base::Status read_external(const std::string& folder, const ExternalRange& range,
                           std::span<std::byte> out);
// The checks alone, so that an impossible tensor is refused before its memory is taken.
base::Status check_external(const std::string& folder, const ExternalRange& range,
                            std::int64_t bytes);

}  // namespace egret::frontends
