// SPDX-License-Identifier: Apache-2.0
#include "base/system/nameless_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

namespace egret::base {

NamelessFile::NamelessFile(const std::string& folder) {
  std::string name = folder + "/.egret-values-XXXXXX";
  descriptor_ = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ >= 0) unlink(name.c_str());
}

NamelessFile::~NamelessFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace egret::base
