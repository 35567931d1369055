// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace egret::ir {

class SymbolicScope;

// While it is alive on a thread, no scope is current there: for results that must not depend on the
// caller's symbols.
class SuspendedScope {
 public:
  SuspendedScope();
  ~SuspendedScope();
  SuspendedScope(const SuspendedScope&) = delete;
  SuspendedScope& operator=(const SuspendedScope&) = delete;

 private:
  SymbolicScope* scope_;
};

}  // namespace egret::ir
