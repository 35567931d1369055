// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/hash.h"
#include "base/system/file.h"
#include "tests/paths.h"

namespace egret::backends {

// The line that includes cuda_on_cpu.h into emitted text. It says which version that is, as
// compiled text is kept by what it says.
inline std::string include_cuda_on_cpu() {
  const std::string path = EGRET_SOURCE_DIR "/tests/codegen/cuda_on_cpu.h";
  const auto text = base::read_file(path, 1 << 20);
  return "#include \"" + path + "\"  // " +
         base::content_hash(text.ok() ? *text : std::string()).to_hex() + "\n";
}

}  // namespace egret::backends
