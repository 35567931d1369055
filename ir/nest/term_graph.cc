// SPDX-License-Identifier: Apache-2.0
#include "ir/nest/term_graph.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>
#include <string>

namespace egret::ir {
namespace {

// Bounds the recursion of scalar(), guard() and index().
constexpr int kMaxDepth = 3000;

constexpr int kMaxUnrounded = 8;  // how deep is_made_of() looks

using MaybeType = std::optional<DType>;  // nullopt: takes the type of what it meets

// The type in which two operands meet: nullopt (a constant) yields, a real wins, else the wider
// integer.
MaybeType join(MaybeType a, MaybeType b) {
  if (!a || !b || *a == *b) return a ? a : b;
  if (*a == DType::kF64 || *b == DType::kF64) return DType::kF64;
  if (*a == DType::kBool) return b;
  if (*b == DType::kBool) return a;
  return bit_width(*b) > bit_width(*a) ? b : a;
}

// Whether all values of `narrow` are values of `wide`; both are reals.
bool holds(DType wide, DType narrow) {
  if (!is_float(wide) || !is_float(narrow)) return false;
  return wide == narrow || wide == DType::kF64 || (wide == DType::kF32 && narrow != DType::kF64);
}

struct Facts {
  MaybeType type;
  int depth = 0;
};

class TermBuilder {
 public:
  TermBuilder(std::span<const DType> inputs) : inputs_(inputs) {}

  // Natural types of all nodes under `root`, without recursion.
  // An explicit stack: the depth of an expression is user input. A node is finished when all its
  // kids have facts.
  base::Status survey(const ExprNode* root) {
    std::vector<std::pair<const ExprNode*, std::size_t>> stack{{root, 0}};
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next < node->kids.size()) {
        const ExprNode* kid = node->kids[next++];
        if (!facts_.contains(kid)) stack.emplace_back(kid, 0);
        continue;
      }
      if (node->op == ExprOp::kSymbol) {
        return base::unsupported("size '" + std::string(node->name) +
                                 "' is not known; bind it to a number first");
      }
      Facts facts{.type = natural_type(*node)};
      for (const ExprNode* kid : node->kids) {
        facts.depth = std::max(facts.depth, facts_.at(kid).depth + 1);
      }
      if (facts.depth > kMaxDepth) return base::unsupported("expressions nest too deep");
      facts_.emplace(node, facts);
      stack.pop_back();
    }
    return base::ok();
  }

  // Scalars: the term of `node` in type `wanted`. Recursive, to the depth that survey() allowed.
  TermId scalar(const ExprNode* node, DType wanted) {
    const MaybeType natural = facts_.at(node).type;
    const DType type = natural.value_or(wanted);
    const TermId id = typed(node, type);
    if (type == wanted) return id;
    return add({.op = ExprOp::kCast, .type = wanted, .cast = wanted, .kids = {id}});
  }

  // Both sides of a comparison of scalars are converted to their joint type.
  TermId guard(const ExprNode* node) {
    return once(node, DType::kBool, [&] {
      Term term{.op = node->op, .type = DType::kBool, .integer = node->integer};
      switch (node->op) {
        case ExprOp::kIndexLe:
        case ExprOp::kIndexEq:
          for (const ExprNode* kid : node->kids) term.kids.push_back(index(kid));
          break;
        case ExprOp::kScalarLt:
        case ExprOp::kScalarLe:
        case ExprOp::kScalarEq: {
          const DType joint = join(facts_.at(node->kids[0]).type, facts_.at(node->kids[1]).type)
                                  .value_or(DType::kF64);
          for (const ExprNode* kid : node->kids) term.kids.push_back(scalar(kid, joint));
          break;
        }
        default:
          for (const ExprNode* kid : node->kids) term.kids.push_back(guard(kid));
          break;
      }
      return term;
    });
  }

  TermId index(const ExprNode* node) {
    return once(node, DType::kI64, [&] {
      Term term{.op = node->op, .type = DType::kI64, .integer = node->integer};
      if (node->op == ExprOp::kVar) {
        graph_.var_count = std::max(graph_.var_count, static_cast<int>(node->integer) + 1);
      }
      for (const ExprNode* kid : node->kids) {
        term.kids.push_back(node->op == ExprOp::kIndexOf
                                ? scalar(kid, facts_.at(kid).type.value_or(DType::kI64))
                                : index(kid));
      }
      return term;
    });
  }

  TermGraph take() { return std::move(graph_); }

 private:
  // The type from the leaves up. Constants have none and take that of their neighbour.
  MaybeType natural_type(const ExprNode& node) const {
    const auto of = [&](std::size_t i) { return facts_.at(node.kids[i]).type; };
    switch (node.op) {
      case ExprOp::kRead: return carrier(inputs_[static_cast<std::size_t>(node.integer)]);
      case ExprOp::kCast: return carrier(node.dtype);
      case ExprOp::kAdd:
      case ExprOp::kSub:
      case ExprOp::kMul:
      case ExprOp::kDiv:
      case ExprOp::kMin:
      case ExprOp::kMax: return join(of(0), of(1));
      case ExprOp::kNeg: return of(0);
      case ExprOp::kSelect: return join(of(1), of(2));
      case ExprOp::kReduce: return of(3);
      case ExprOp::kCall: {
        if (!facts(node.function).integers_only) return DType::kF64;
        MaybeType joint = of(0);
        for (std::size_t i = 1; i < node.kids.size(); ++i) joint = join(joint, of(i));
        return joint == DType::kF64 ? DType::kI64 : joint.value_or(DType::kI64);
      }
      default: return std::nullopt;
    }
  }

  TermId typed(const ExprNode* node, DType type) {
    // Drop a cast that changes no value: its operand holds only values of the cast's type.
    if (node->op == ExprOp::kCast && carrier(node->dtype) == type &&
        is_made_of(node->kids[0], node->dtype, kMaxUnrounded))
      return scalar(node->kids[0], type);
    return once(node, type, [&] {
      Term term{.op = node->op,
                .reduction = node->reduction,
                .function = node->function,
                .type = type,
                .cast = node->dtype,
                .integer = node->integer,
                .real = node->real};
      const auto add_kid = [&](TermId kid) { term.kids.push_back(kid); };
      switch (node->op) {
        case ExprOp::kConst: break;
        case ExprOp::kRead:
        case ExprOp::kScalarOf:
          for (const ExprNode* kid : node->kids) add_kid(index(kid));
          break;
        case ExprOp::kSelect:
          add_kid(guard(node->kids[0]));
          add_kid(scalar(node->kids[1], type));
          add_kid(scalar(node->kids[2], type));
          break;
        case ExprOp::kReduce:
          add_kid(index(node->kids[0]));
          add_kid(index(node->kids[1]));
          add_kid(guard(node->kids[2]));
          add_kid(scalar(node->kids[3], type));
          break;
        case ExprOp::kCast: add_kid(scalar(node->kids[0], cast_source(*node))); break;
        default:
          for (const ExprNode* kid : node->kids) add_kid(scalar(kid, type));
          break;
      }
      return term;
    });
  }

  // Whether all values that `node` can take are values of the real type `type`. Looks `depth`
  // levels deep. max, min and select only choose values, so they round nothing.
  bool is_made_of(const ExprNode* node, DType type, int depth) const {
    const auto kids_from = [&](std::size_t first) {
      return depth > 0 && std::ranges::all_of(node->kids.subspan(first), [&](const ExprNode* kid) {
               return is_made_of(kid, type, depth - 1);
             });
    };
    switch (node->op) {
      case ExprOp::kRead: return holds(type, inputs_[static_cast<std::size_t>(node->integer)]);
      case ExprOp::kCast:
        return holds(type, node->dtype) || (holds(node->dtype, type) && kids_from(0));
      case ExprOp::kMax:
      case ExprOp::kMin: return kids_from(0);
      case ExprOp::kSelect: return kids_from(1);
      case ExprOp::kReduce:
        return (node->reduction == Reduction::kMax || node->reduction == Reduction::kMin) &&
               kids_from(3);
      default: return false;
    }
  }

  // A cast of a constant keeps the constant's value, so that cast(i8, 2.5) truncates.
  DType cast_source(const ExprNode& node) const {
    return facts_.at(node.kids[0]).type.value_or(DType::kF64);
  }

  template <typename Make>
  // Terms are shared by (node, type): the same expression in two types is two terms.
  TermId once(const ExprNode* node, DType type, const Make& make) {
    const std::pair<const ExprNode*, DType> key{node, type};
    if (const auto found = made_.find(key); found != made_.end()) return found->second;
    const TermId id = add(make());
    made_.emplace(key, id);
    return id;
  }

  TermId add(Term term) {
    graph_.terms.push_back(std::move(term));
    return static_cast<TermId>(graph_.terms.size()) - 1;
  }

  std::span<const DType> inputs_;
  TermGraph graph_;
  boost::unordered_flat_map<const ExprNode*, Facts> facts_;
  boost::unordered_flat_map<std::pair<const ExprNode*, DType>, TermId> made_;
};

}  // namespace

// Gives each expression a machine type. A definition is untyped apart from its inputs and casts;
// here each operator computes in the type in which its operands meet, and casts are written out.
base::Result<TermGraph> term_graph(const Denotation& denotation, std::span<const DType> inputs) {
  TermBuilder builder(inputs);
  const ExprNode* root = denotation.pool->node_of(denotation.value);
  EGRET_RETURN_IF_ERROR(builder.survey(root));
  const TermId id = builder.scalar(root, carrier(denotation.type.dtype));
  TermGraph graph = builder.take();
  graph.root = id;
  for (const Index& var : denotation.vars) {
    graph.vars.push_back(static_cast<int>(var.node()->integer));
    graph.var_count = std::max(graph.var_count, graph.vars.back() + 1);
  }
  return graph;
}

}  // namespace egret::ir
