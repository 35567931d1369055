// SPDX-License-Identifier: Apache-2.0
// What CMake knew when this program was configured: version, compiler, and the components of
// cmake/components.cmake. The .cc is generated (build_info.cc.in).
#pragma once

#include <span>
#include <string_view>

namespace egret::tools {

// A library or program that Egret can use.
enum class LibraryUse : unsigned char { kNone, kLinked, kOpened };

struct Component {
  std::string_view name;
  std::string_view purpose;
  std::string_view version;            // found at configure time, "" when none was
  bool required = false;               // the build fails without it
  LibraryUse use = LibraryUse::kNone;  // of some part of this program
  std::string_view remedy;             // how to get it
};

struct BuildInfo {
  std::string_view version;
  std::string_view revision;  // git commit, "+" after it when files differed; "unknown" outside git
  std::string_view build_type;
  std::string_view compiler;
  std::string_view flags;
  std::span<const Component> components;
};

const BuildInfo& build_info();

}  // namespace egret::tools
