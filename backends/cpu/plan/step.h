// SPDX-License-Identifier: Apache-2.0
// The parts of an execution plan: steps over operands, which lie in buffers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/plan/layout.h"
#include "base/id.h"
#include "base/status.h"
#include "ir/core/tensor_type.h"

namespace egret::backends::cpu {

using BufferId = base::Id<struct BufferIdTag>;

// A tensor, or a view of one, in a buffer.
struct Operand {
  BufferId buffer{};
  std::int64_t offset = 0;  // bytes from the buffer's start to element (0, 0, ..)
  ir::TensorType type{};
  Layout layout{};

  ir::Shape shape() const { return type.shape(); }
};

// The address of each buffer in one run; a graph's inputs and outputs change between runs.
class Addresses {
 public:
  explicit Addresses(std::byte* const* buffers) : buffers_(buffers) {}
  template <typename T = float>
  T* at(const Operand& operand) const {
    return reinterpret_cast<T*>(buffers_[operand.buffer.index()] + operand.offset);
  }

 private:
  std::byte* const* buffers_;
};

class Step {
 public:
  virtual ~Step() = default;
  // Errors: only those that data cause (an index out of range). May throw what third-party
  // libraries throw; the plan turns it into a Status. Does not allocate.
  virtual base::Status run(const Addresses& addresses) = 0;
};

}  // namespace egret::backends::cpu
