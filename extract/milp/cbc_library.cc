// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/cbc_library.h"

#include <algorithm>
#include <cstddef>
#include <thread>

#include "base/lack_of_memory.h"
#include "base/system/shared_library.h"

namespace egret::extract {
namespace {

// What CBC, LAPACK and OpenBLAS take, and some room: 55 MiB for code and data, and buffers of 128
// MiB (OpenBLAS 0.3.21 with OpenMP): one with one thread, two with two.
std::size_t needed_bytes() {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  return 80 * kMiB + 128 * kMiB * std::max(2U, std::thread::hardware_concurrency());
}

base::Result<CbcFunctions> load() {
  if (!base::has_room(needed_bytes())) return base::limit_hit("not enough memory to load CBC");
  EGRET_ASSIGN_OR_RETURN(const base::FindSymbol find,
                         base::open_shared_library({EGRET_CBC_LIBRARY}));
  CbcFunctions functions;
  base::SymbolTable table(find);
#define EGRET_CBC_FUNCTION(name) table.fill(functions.name, "Cbc_" #name);
  EGRET_CBC_FUNCTIONS(EGRET_CBC_FUNCTION)
#undef EGRET_CBC_FUNCTION
  EGRET_RETURN_IF_ERROR(table.status("CBC"));
  return functions;
}

}  // namespace

base::Result<const CbcFunctions*> cbc_functions() {
  static const base::Result<CbcFunctions> loaded = load();
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

}  // namespace egret::extract
