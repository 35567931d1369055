// SPDX-License-Identifier: Apache-2.0
// Storage and hash-consing of expression nodes.
#include <bit>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstring>
#include <memory_resource>
#include <mutex>
#include <vector>

#include "base/hash.h"
#include "ir/core/denotation.h"

namespace egret::ir {
namespace {

// Kids are hashed by address: they are interned, so equal kids have one address. Reals are compared
// by their bits, which keeps -0 and 0 apart and makes NaN equal to itself.
std::uint64_t hash_node(const ExprNode& n) {
  std::uint64_t hash = base::mix(
      static_cast<std::uint64_t>(n.op) | static_cast<std::uint64_t>(n.reduction) << 8 |
      static_cast<std::uint64_t>(n.dtype) << 16 | static_cast<std::uint64_t>(n.function) << 24);
  hash = base::hash_combine(hash, static_cast<std::uint64_t>(n.integer));
  hash = base::hash_combine(hash, std::bit_cast<std::uint64_t>(n.real));
  if (!n.name.empty()) hash = base::hash_string(n.name, hash);
  for (const ExprNode* kid : n.kids) {
    hash = base::hash_combine(hash, reinterpret_cast<std::uintptr_t>(kid));
  }
  return hash;
}

bool same_node(const ExprNode& a, const ExprNode& b) {
  return a.op == b.op && a.reduction == b.reduction && a.dtype == b.dtype &&
         a.function == b.function && a.integer == b.integer &&
         std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real) &&
         a.name == b.name && std::equal(a.kids.begin(), a.kids.end(), b.kids.begin(), b.kids.end());
}

struct NodeHash {
  using is_transparent = void;
  std::size_t operator()(const ExprNode* n) const { return hash_node(*n); }
};
struct NodeEqual {
  using is_transparent = void;
  bool operator()(const ExprNode* a, const ExprNode* b) const { return same_node(*a, *b); }
};

}  // namespace

struct ExprPool::Impl {
  std::pmr::monotonic_buffer_resource memory{4096};
  boost::unordered_flat_set<const ExprNode*, NodeHash, NodeEqual> table;
  std::unique_ptr<std::mutex> mutex;  // set for symbol_pool() alone
  std::int64_t variables = 0;
};

ExprPool::ExprPool() : impl_(std::make_unique<Impl>()) {}
ExprPool::~ExprPool() = default;

// Hash-consing: equal nodes are one node, so equality of expressions is equality of pointers. Kids
// are interned first, which makes comparing a node O(kids). Memory is freed with the pool only. Ids
// grow, so kids have smaller ids than their users in the same pool.
const ExprNode* ExprPool::intern(const ExprNode& proto) {
  std::unique_lock<std::mutex> lock;
  if (impl_->mutex) lock = std::unique_lock(*impl_->mutex);
  if (const auto found = impl_->table.find(&proto); found != impl_->table.end()) return *found;

  auto* node = new (impl_->memory.allocate(sizeof(ExprNode), alignof(ExprNode))) ExprNode(proto);
  node->pool = this;
  node->id = static_cast<std::uint32_t>(impl_->table.size());
  if (!proto.kids.empty()) {
    const std::size_t bytes = proto.kids.size_bytes();
    auto* kids = static_cast<const ExprNode**>(impl_->memory.allocate(bytes, alignof(ExprNode*)));
    std::memcpy(static_cast<void*>(kids), proto.kids.data(), bytes);
    node->kids = {kids, proto.kids.size()};
  }
  if (!proto.name.empty()) {
    auto* name = static_cast<char*>(impl_->memory.allocate(proto.name.size(), 1));
    std::memcpy(name, proto.name.data(), proto.name.size());
    node->name = {name, proto.name.size()};
  }
  impl_->table.insert(node);
  return node;
}

std::size_t ExprPool::size() const { return impl_->table.size(); }

Index ExprPool::symbol(std::string_view name) {
  return Index(intern({.op = ExprOp::kSymbol, .name = name}));
}

Index ExprPool::fresh_var() {
  return Index(intern({.op = ExprOp::kVar, .integer = impl_->variables++}));
}

Scalar ExprPool::read(int input, std::span<const Index> indices) {
  std::vector<const ExprNode*> kids;
  kids.reserve(indices.size());
  for (const Index& index : indices) kids.push_back(node_of(index));
  return Scalar(intern({.op = ExprOp::kRead, .integer = input, .kids = kids}));
}

Scalar ExprPool::reduce(Reduction reduction, Index var, Index extent, Guard guard, Scalar body) {
  const ExprNode* kids[] = {node_of(var), node_of(extent), node_of(guard), node_of(body)};
  return Scalar(intern({.op = ExprOp::kReduce, .reduction = reduction, .kids = kids}));
}

const ExprNode* ExprPool::node_of(Index value) {
  if (!value.is_constant()) return value.node();
  return intern({.op = ExprOp::kIndexConst, .integer = value.constant()});
}

const ExprNode* ExprPool::node_of(Guard value) {
  if (!value.is_constant()) return value.node();
  return intern({.op = ExprOp::kGuardConst, .integer = value.is_true() ? 1 : 0});
}

const ExprNode* ExprPool::node_of(Scalar value) {
  if (!value.is_constant()) return value.node();
  return intern({.op = ExprOp::kConst, .real = value.constant()});
}

ExprPool& symbol_pool() {
  static ExprPool* const pool = [] {
    auto* made = new ExprPool;  // immortal: symbolic dimensions may be met during exit
    made->impl_->mutex = std::make_unique<std::mutex>();
    return made;
  }();
  return *pool;
}

Index symbolic_dim(std::string_view name) { return symbol_pool().symbol(name); }

}  // namespace egret::ir
