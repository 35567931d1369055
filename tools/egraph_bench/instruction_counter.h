// SPDX-License-Identifier: Apache-2.0
// Instructions retired by this thread, where the kernel lets us count them (perf_event_open).
#pragma once

#include <cstdint>
#include <optional>

namespace egret::tools {

class InstructionCounter {
 public:
  InstructionCounter();
  ~InstructionCounter();
  InstructionCounter(const InstructionCounter&) = delete;
  InstructionCounter& operator=(const InstructionCounter&) = delete;

  // User-mode instructions since construction; nothing on machines that do not count them.
  std::optional<std::uint64_t> read() const;

 private:
  int file_ = -1;
};

}  // namespace egret::tools
