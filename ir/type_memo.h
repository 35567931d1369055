// SPDX-License-Identifier: Apache-2.0
// infer_type() with a memory, for searches that ask the same again and again: a definition is run
// once for each operator, attributes and input types. Concrete sizes only. Not for several threads.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "ir/operator.h"

namespace egret::ir {

class TypeMemo {
 public:
  // As ir::infer_type(); valid until the next call.
  const base::Result<TensorType>& infer(const Operator& op, const Attrs& attrs,
                                        std::span<const TensorType> inputs);
  // Times that a definition was run.
  std::size_t inferred() const { return inferred_; }

 private:
  struct Question {
    const Operator* op;
    const Attrs& attrs;
    std::span<const TensorType> inputs;
  };
  struct Key {
    const Operator* op;
    Attrs attrs;
    std::vector<TensorType> inputs;

    operator Question() const { return {op, attrs, inputs}; }
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Question& question) const;
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Question& a, const Question& b) const;
  };

  std::unordered_map<Key, base::Result<TensorType>, Hash, Equal> answers_;
  std::size_t inferred_ = 0;
};

}  // namespace egret::ir
