// SPDX-License-Identifier: Apache-2.0
// C++ source compiled at run time by the compiler of this machine, and loaded.
//
// Compiled objects are kept in the kernel cache (kernel_cache.h), named by a hash of the source,
// the flags, the compiler and the processor. The compiler is $EGRET_HOST_COMPILER, else c++, g++ or
// clang++ of the PATH.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace egret::backends::codegen {

class HostLibrary {
 public:
  HostLibrary(const HostLibrary&) = delete;
  HostLibrary& operator=(const HostLibrary&) = delete;
  ~HostLibrary();

  // nullptr when there is no such function.
  void* find(const std::string& function) const;

 private:
  friend base::Result<std::shared_ptr<const HostLibrary>> compile_for_host(const std::string&,
                                                                           const std::string&);
  explicit HostLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

// Optimizes for this processor; f32 arithmetic may be reassociated, infinities and NaN keep their
// meaning. `flags`: more of the compiler's, separated by spaces.
// Errors: unavailable when there is no compiler, internal_error with the compiler's words when it
// refuses the source. About 0.3 s and more for what is not in the cache.
base::Result<std::shared_ptr<const HostLibrary>> compile_for_host(const std::string& source,
                                                                  const std::string& flags = {});
// Whether compile_for_host() of this source, without flags, would find it in the cache.
bool is_compiled_for_host(const std::string& source);

// A hash of the compiler, its flags and the processor.
std::string host_key();

// "g++ (Debian 12.2.0-14) 12.2.0", or unavailable with the remedy.
base::Result<std::string> host_compiler_version();

}  // namespace egret::backends::codegen
