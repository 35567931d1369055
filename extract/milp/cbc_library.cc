// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/cbc_library.h"

#include <cstddef>
#include <cstdlib>
#include <string>

#include "base/lack_of_memory.h"
#include "base/system/shared_library.h"

namespace egret::extract {
namespace {

// What CBC, LAPACK and OpenBLAS take: 60 MiB for their code and data and 128 MiB for the buffer of
// one thread (OpenBLAS 0.3.21), and some room.
constexpr std::size_t kNeededBytes = std::size_t{224} << 20;

base::Result<CbcFunctions> load() {
  if (!base::has_room(kNeededBytes)) return base::limit_hit("not enough memory to load CBC");
  // CBC's linear algebra is sequential here: a buffer for each processor would be wasted.
  ::setenv("OPENBLAS_NUM_THREADS", "1", 0);
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
