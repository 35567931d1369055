// SPDX-License-Identifier: Apache-2.0
// Checks for our own bugs. What input, files, budget or machine can cause is a Status instead
// (base/status.h); a failed check means that Egret is wrong, never that its user is.
#pragma once

#include <string_view>

namespace egret::base {

// Receives the location and text of a failed check and must not return. The default handler throws
// CheckFailure, which only a program's outermost frame (tools/) or a test may catch.
[[noreturn]] void check_failed(const char* file, int line, std::string_view condition,
                               std::string_view message);

struct CheckFailure {
  const char* file;
  int line;
  std::string_view condition;  // a string literal
  std::string_view message;    // a string literal, may be empty
};

}  // namespace egret::base

// Always on. The condition must have no side effect. Optional second argument: a literal that says
// which invariant broke.
#define EGRET_CHECK(condition, ...) \
  (static_cast<bool>(condition)     \
       ? void()                     \
       : ::egret::base::check_failed(__FILE__, __LINE__, #condition, "" __VA_ARGS__))

// On in debug builds only; for checks on hot paths.
#ifdef NDEBUG
#define EGRET_DCHECK(condition, ...) void(sizeof(static_cast<bool>(condition)))
#else
#define EGRET_DCHECK(condition, ...) EGRET_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#endif
