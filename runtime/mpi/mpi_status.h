// SPDX-License-Identifier: Apache-2.0
// Return codes of MPI as errors.
#pragma once

#ifdef EGRET_MPI
#include <mpi.h>

#include <cstddef>
#include <string>

#include "base/status.h"

namespace egret::runtime {

// `what` was done when MPI returned the code.
inline base::Status mpi_status(int code, const char* what) {
  if (code == MPI_SUCCESS) return base::ok();
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {base::StatusCode::kRankFailed,
          std::string(what) + ": " + std::string(text, static_cast<std::size_t>(length))};
}

}  // namespace egret::runtime
#endif
