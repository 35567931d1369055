// SPDX-License-Identifier: Apache-2.0
// Pauses between polls of what others do. Most of it is there at once, so the first pauses only
// yield; later ones sleep, so that a busy machine's cores are left to the work that is waited for.
#pragma once

#include <chrono>
#include <thread>

namespace egret::base {

class Rest {
 public:
  explicit Rest(int spins = 1000, std::chrono::microseconds nap = std::chrono::microseconds(50))
      : spins_(spins), nap_(nap) {}

  void pause() {
    if (pauses_ < spins_) {
      ++pauses_;
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(nap_);
    }
  }
  // After a poll that may have moved something: no pause then, and the next ones only yield again.
  void after(bool moved) {
    if (moved) {
      pauses_ = 0;
    } else {
      pause();
    }
  }

 private:
  int spins_;
  std::chrono::microseconds nap_;
  int pauses_ = 0;
};

}  // namespace egret::base
