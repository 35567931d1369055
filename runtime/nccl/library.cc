// SPDX-License-Identifier: Apache-2.0
#include "runtime/nccl/library.h"

#include "backends/cuda/api/shared_library.h"

namespace egret::runtime::nccl {
namespace {

Library load() {
  Library library;
  library.has_nccl = backends::cuda::open_shared_library(
      "NCCL", {"libnccl.so.2"}, backends::cuda::kNameItsFolder,
      [&](const backends::cuda::FindSymbol& find) {
        backends::cuda::SymbolTable table(find);
        table.fill(library.functions.error_text, "ncclGetErrorString");
#define EGRET_NCCL_FUNCTION(name, symbol, arguments) table.fill(library.functions.name, #symbol);
#include "runtime/nccl/functions.def"
#undef EGRET_NCCL_FUNCTION
        return table.status("NCCL");
      });
  if (!library.has_nccl.ok()) return library;
  library.functions.version(&library.version);
  if (library.version < kOldest)
    library.has_nccl =
        base::unavailable("NCCL " + version_text(library.version) +
                          " is too old; Egret needs at least " + version_text(kOldest));
  return library;
}

}  // namespace

const Library& system_library() {
  static const Library library = load();
  return library;
}

std::string version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

}  // namespace egret::runtime::nccl
