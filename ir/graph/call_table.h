// SPDX-License-Identifier: Apache-2.0
// A bounded cache of facts about calls. A call is an operator with attributes on inputs of given
// types. The table empties itself when it is full.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "ir/graph/operator.h"

namespace egret::ir {

struct Call {
  const Operator& op;
  const Attrs& attrs;
  std::span<const TensorType> inputs;

  friend bool operator==(const Call& a, const Call& b) {
    return &a.op == &b.op && a.attrs == b.attrs && std::ranges::equal(a.inputs, b.inputs);
  }
};

template <typename Value>
class CallTable {
 public:
  explicit CallTable(std::size_t capacity) : capacity_(capacity) {}

  // Nullptr where there is none; valid until the next insert().
  const Value* find(const Call& call) const {
    const auto found = values_.find(call);
    return found != values_.end() ? &found->second : nullptr;
  }
  // For a call that is not in the table.
  const Value& insert(const Call& call, Value value) {
    if (values_.size() == capacity_) values_.clear();
    Key key{&call.op, call.attrs, {call.inputs.begin(), call.inputs.end()}};
    return values_.emplace(std::move(key), std::move(value)).first->second;
  }

 private:
  struct Key {
    const Operator* op;
    Attrs attrs;
    std::vector<TensorType> inputs;

    operator Call() const { return {*op, attrs, inputs}; }
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Call& call) const {
      std::uint64_t hash = base::hash_combine(base::mix(reinterpret_cast<std::uintptr_t>(&call.op)),
                                              hash_value(call.attrs));
      for (const TensorType& type : call.inputs) hash = base::hash_combine(hash, hash_value(type));
      return hash;
    }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Call& a, const Call& b) const { return a == b; }
  };

  std::size_t capacity_;
  std::unordered_map<Key, Value, Hash, Equal> values_;
};

}  // namespace egret::ir
