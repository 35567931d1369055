// SPDX-License-Identifier: Apache-2.0
// The losses and times of steps as lines of a file, each written when its step ends: they are there
// also if the program is killed. mpirun kills its ranks a second after Ctrl-C, and may discard what
// they print meanwhile.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "base/status.h"

namespace egret::tools {

class CurveFile {
 public:
  // Without a path nothing is written. Errors: unavailable, where the file cannot be made.
  base::Status open(const std::string& path);
  // Errors: unavailable, where the line cannot be written.
  base::Status add(std::size_t step, double loss, double seconds);

 private:
  base::Status failure() const;

  std::string path_;
  std::ofstream file_;
};

}  // namespace egret::tools
