// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/composition.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <memory>
#include <utility>

namespace egret::backends::codegen {
namespace {

using ir::ExprNode;
using ir::ExprOp;
using ir::Guard;
using ir::Index;
using ir::Scalar;

// Bounds on the recursion, which uses the stack, and on the definition, since substitution can
// repeat a subexpression at exponentially many index tuples.
constexpr int kMaxDepth = 1500;
constexpr std::size_t kMaxNodes = 200000;

struct Member {
  const ir::Node* node = nullptr;
  ir::Denotation denotation{};
};

// Rewrites the root's definition once for each index tuple at which it is read. elements_ memoizes
// (node, indices), so equal reads share one expression.
class Composer {
 public:
  Composer(const ir::Graph& graph, std::span<const ir::NodeId> region)
      : graph_(graph), region_(region), pool_(std::make_shared<ir::ExprPool>()) {}

  // All definitions share one pool, so equal subexpressions of different operators are one node.
  base::Result<Composition> run() {
    for (const ir::NodeId id : region_) {
      const ir::Node& node = graph_.node(id);
      std::vector<ir::TensorType> types;
      for (const ir::NodeId input : node.inputs) types.push_back(graph_.node(input).type);
      EGRET_ASSIGN_OR_RETURN(ir::Denotation denotation,
                             ir::denote(*node.op, node.attrs, types, pool_));
      members_.emplace(id, Member{&node, std::move(denotation)});
    }
    const ir::Denotation& root = members_.at(region_.back()).denotation;
    Composition result{.denotation = root, .inputs = {}};
    result.denotation.value = element(region_.back(), root.vars);
    if (too_large_) return base::unsupported("a region whose definition grows too large");
    result.inputs = std::move(inputs_);
    return result;
  }

 private:
  // A definition instantiated at certain indices. Its reductions get fresh variables, so that one
  // definition may occur inside another instance of itself.
  struct Instance {
    const Member* member;
    boost::unordered_flat_map<std::int64_t, Index> variables{};
    boost::unordered_flat_map<const ExprNode*, const ExprNode*> made{};
  };

  // The node's definition at these indices, with the definitions of the region's nodes substituted
  // for reads.
  // The recursion follows reads from the root upward. It ends because the graph has no cycles.
  Scalar element(ir::NodeId id, std::span<const Index> at) {
    std::vector<const ExprNode*> key;
    for (const Index& index : at) key.push_back(pool_->node_of(index));
    const auto [found, is_new] = elements_.try_emplace({id, std::move(key)});
    if (!is_new) return found->second;
    const Member& member = members_.at(id);
    Instance instance{&member};
    for (std::size_t i = 0; i < at.size(); ++i)
      instance.variables[member.denotation.vars[i].node()->integer] = at[i];
    const Scalar value = scalar(pool_->node_of(member.denotation.value), instance);
    return elements_[found->first] = value;
  }

  // Memoized per instance. Substitution can grow exponentially; the bounds stop it with an error.
  const ExprNode* rewritten(const ExprNode* node, Instance& instance) {
    // Constants and other leaves do not depend on indices.
    if (node->kids.empty() && node->op != ExprOp::kVar && node->op != ExprOp::kRead) return node;
    if (const auto found = instance.made.find(node); found != instance.made.end())
      return found->second;
    if (++depth_ > kMaxDepth || pool_->size() > kMaxNodes) too_large_ = true;
    const ExprNode* result = too_large_ ? node : rebuilt(node, instance);
    --depth_;
    instance.made.emplace(node, result);
    return result;
  }

  Index index(const ExprNode* node, Instance& i) { return Index(rewritten(node, i)); }
  Guard guard(const ExprNode* node, Instance& i) { return Guard(rewritten(node, i)); }
  Scalar scalar(const ExprNode* node, Instance& i) { return Scalar(rewritten(node, i)); }

  // Index and guard operations are applied anew, so that they simplify with the substituted
  // indices.
  const ExprNode* rebuilt(const ExprNode* node, Instance& i) {
    // The first operand is rewritten in a statement of its own. Inputs are numbered by their first
    // read, and the order in which a compiler evaluates arguments must not decide the numbers.
    const auto indices = [&](auto&& apply) {
      const Index a = index(node->kids[0], i);
      return pool_->node_of(apply(a, index(node->kids[1], i)));
    };
    const auto guards = [&](auto&& apply) {
      const Guard a = guard(node->kids[0], i);
      return pool_->node_of(apply(a, guard(node->kids[1], i)));
    };
    switch (node->op) {
      case ExprOp::kVar: return pool_->node_of(i.variables.at(node->integer));
      case ExprOp::kIndexAdd: return indices([](Index a, Index b) { return a + b; });
      case ExprOp::kIndexMul: return indices([](Index a, Index b) { return a * b; });
      case ExprOp::kIndexDiv: return indices([](Index a, Index b) { return div(a, b); });
      case ExprOp::kIndexMod: return indices([](Index a, Index b) { return mod(a, b); });
      case ExprOp::kIndexMin: return indices([](Index a, Index b) { return min(a, b); });
      case ExprOp::kIndexMax: return indices([](Index a, Index b) { return max(a, b); });
      case ExprOp::kIndexOf: return pool_->node_of(index_of(scalar(node->kids[0], i)));
      case ExprOp::kIndexLe: return indices([](Index a, Index b) { return a <= b; });
      case ExprOp::kIndexEq: return indices([](Index a, Index b) { return a == b; });
      case ExprOp::kAnd: return guards([](Guard a, Guard b) { return a && b; });
      case ExprOp::kOr: return guards([](Guard a, Guard b) { return a || b; });
      case ExprOp::kNot: return pool_->node_of(!guard(node->kids[0], i));
      case ExprOp::kRead: return read(node, i);
      case ExprOp::kReduce: return reduction(node, i);
      default: return same_operation(node, i);
    }
  }

  // Operations on scalars need no simplification: their operands alone change.
  const ExprNode* same_operation(const ExprNode* node, Instance& instance) {
    std::vector<const ExprNode*> kids;
    for (const ExprNode* kid : node->kids) kids.push_back(rewritten(kid, instance));
    ExprNode copy = *node;
    copy.kids = kids;
    return pool_->intern(copy);
  }

  const ExprNode* reduction(const ExprNode* node, Instance& instance) {
    // The bound variable of this instance is renamed once; rewritten() then replaces its uses.
    const std::int64_t number = node->kids[0]->integer;
    if (!instance.variables.contains(number)) instance.variables[number] = pool_->fresh_var();
    return same_operation(node, instance);
  }

  const ExprNode* read(const ExprNode* node, Instance& instance) {
    const ir::NodeId source =
        instance.member->node->inputs[static_cast<std::size_t>(node->integer)];
    std::vector<Index> at;
    for (const ExprNode* kid : node->kids) at.push_back(index(kid, instance));
    if (members_.contains(source)) {
      // The cast gives constants the value's type and rounds to the narrow types.
      return pool_->node_of(cast(graph_.node(source).type.dtype, element(source, at)));
    }
    // A node outside the region is an input of the kernel. Inputs are numbered in the order of
    // their first read.
    const auto found = std::ranges::find(inputs_, source);
    const auto number = found - inputs_.begin();
    if (found == inputs_.end()) inputs_.push_back(source);
    return pool_->node_of(pool_->read(static_cast<int>(number), at));
  }

  const ir::Graph& graph_;
  std::span<const ir::NodeId> region_;
  std::shared_ptr<ir::ExprPool> pool_;
  std::map<ir::NodeId, Member> members_;
  std::map<std::pair<ir::NodeId, std::vector<const ExprNode*>>, Scalar> elements_;
  std::vector<ir::NodeId> inputs_;
  int depth_ = 0;
  bool too_large_ = false;
};

}  // namespace

base::Result<Composition> compose(const ir::Graph& graph, std::span<const ir::NodeId> region) {
  try {
    return Composer(graph, region).run();
  } catch (const ir::IndexError& error) {
    return base::bad_input(error.reason);
  }
}

}  // namespace egret::backends::codegen
