// SPDX-License-Identifier: Apache-2.0
// A file without a name, which the system removes however the process ends.
#pragma once

#include <string>

namespace egret::base {

class NamelessFile {
 public:
  // In a folder; the descriptor is negative where none can be made, and errno says why.
  explicit NamelessFile(const std::string& folder);
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;
  ~NamelessFile();

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

}  // namespace egret::base
