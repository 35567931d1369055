// SPDX-License-Identifier: Apache-2.0
// A folder for files that other programs read, which goes with its owner.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace egret::base {

class TemporaryFolder {
 public:
  // In memory where there is such a file system; its name begins with `prefix`. Errors: unavailable
  // where none can be made.
  static Result<std::unique_ptr<TemporaryFolder>> make(std::string_view prefix);

  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // The path of a file in it.
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace egret::base
