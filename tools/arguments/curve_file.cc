// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/curve_file.h"

#include <limits>

namespace egret::tools {

base::Status CurveFile::failure() const {
  return base::unavailable("cannot write the curve of losses").at(path_);
}

base::Status CurveFile::open(const std::string& path) {
  path_ = path;
  if (path.empty()) return base::ok();
  file_.open(path, std::ios::trunc);
  file_.precision(std::numeric_limits<double>::max_digits10);
  file_ << "step,loss,seconds" << std::endl;
  return file_ ? base::ok() : failure();
}

base::Status CurveFile::add(std::size_t step, double loss, double seconds) {
  if (path_.empty()) return base::ok();
  file_ << step << ',' << loss << ',' << seconds << std::endl;  // a whole line reaches the system
  return file_ ? base::ok() : failure();
}

}  // namespace egret::tools
