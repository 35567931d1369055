// SPDX-License-Identifier: Apache-2.0
// The language of an e-graph, built at run time: no template parameter and no enum.
//
// A base operator is a name. An operator is a base operator with an arity and a payload. The
// payload is an opaque integer in which the client encodes attributes, for example an index into
// its table of interned attribute tuples (conv2d{stride=1}, conv2d{stride=2}). Operators are
// interned: equal triples get one OpId. The engine thus compares and hashes integers only.
//
// Ids are given in order of first interning, and entries are never removed. Lookup is O(1).
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "egraph/core/ids.h"

namespace egret::egraph {

class OpTable {
 public:
  static constexpr std::size_t kMaxOps = std::size_t{1} << 29;  // three bits of a word are flags

  // Interns a name or operator. Names may contain any bytes.
  BaseId base(std::string_view name);
  OpId op(BaseId base, std::size_t arity, std::uint64_t payload = 0);
  OpId op(std::string_view name, std::size_t arity, std::uint64_t payload = 0) {
    return op(base(name), arity, payload);
  }

  // Lookups that do not intern; an invalid id if absent.
  BaseId find_base(std::string_view name) const;
  OpId find_op(BaseId base, std::size_t arity, std::uint64_t payload = 0) const;

  BaseId base_of(OpId op) const { return ops_[op.index()].base; }
  std::size_t arity(OpId op) const { return ops_[op.index()].arity; }
  std::uint64_t payload(OpId op) const { return ops_[op.index()].payload; }
  std::string_view name(BaseId base) const { return bases_[base.index()].name; }
  std::string_view name(OpId op) const { return name(base_of(op)); }

  // All operators of a base operator, of any arity, in OpId order.
  std::span<const OpId> ops_of(BaseId base) const { return bases_[base.index()].ops; }

  std::size_t op_count() const { return ops_.size(); }
  std::size_t base_count() const { return bases_.size(); }

  // Formats an operator for dumps and messages. The default is its name, followed by {payload} if
  // that is not zero.
  using Printer = std::function<std::string(const OpTable&, OpId)>;
  void set_printer(Printer printer) { printer_ = std::move(printer); }
  std::string text(OpId op) const;

 private:
  struct Base {
    std::string name;
    std::vector<OpId> ops;
  };
  struct Op {
    BaseId base;
    std::uint32_t arity = 0;
    std::uint64_t payload = 0;

    friend bool operator==(const Op&, const Op&) = default;
  };
  struct OpHash {
    std::size_t operator()(const Op& op) const;
  };

  std::vector<Base> bases_;
  std::vector<Op> ops_;
  boost::unordered_flat_map<std::string, BaseId> base_index_;
  boost::unordered_flat_map<Op, OpId, OpHash> op_index_;
  Printer printer_;
};

}  // namespace egret::egraph
