// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ir/core/denotation.h"

namespace egret::ir {

// While it is alive on a thread, what code assumes of open sizes (SymbolicScope::assume()) is not
// known yet: the result that rests on it may still be discarded, and then nothing was assumed.
class HeldAssumptions {
 public:
  enum class May : bool { kNothing, kAssume };  // kNothing: SymbolicScope::assume() says false

  explicit HeldAssumptions(May may);
  ~HeldAssumptions();
  HeldAssumptions(const HeldAssumptions&) = delete;
  HeldAssumptions& operator=(const HeldAssumptions&) = delete;

  // The result is used: the current scope is told, now and from here on. False: the assumptions
  // contradict each other.
  bool keep();

 private:
  friend class SymbolicScope;
  bool hold(Guard guard);

  HeldAssumptions* outer_;
  May may_;
  std::vector<Guard> held_;
};

}  // namespace egret::ir
