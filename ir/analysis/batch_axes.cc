// SPDX-License-Identifier: Apache-2.0
#include "ir/analysis/batch_axes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ir/analysis/function_text.h"

namespace egret::ir {
namespace {

constexpr std::size_t kMostCases = 128;

using Types = std::vector<TensorType>;

// The operands that have an axis of a group, and that axis of each.
struct Use {
  std::size_t group;
  std::vector<std::pair<std::size_t, std::size_t>> operands{};
};

// For each group used: the operands that have size 1 along it, as a set of bits.
using Case = std::vector<std::size_t>;

int group_of(Index size, std::span<const Index> sizes) {
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    if (!size.is_constant() && size.same(sizes[g])) return static_cast<int>(g);
  }
  return kKept;
}

bool mentions(const ExprNode& node, const ExprNode* symbol) {
  return &node == symbol || std::ranges::any_of(node.kids, [&](const ExprNode* kid) {
    return mentions(*kid, symbol);  // depth of one condition
  });
}

// All cases of the groups in `which`, the others as they are.
void add_cases(std::span<const Use> uses, std::span<const std::size_t> which,
               std::vector<Case>& cases) {
  Case next(uses.size(), 0);
  for (bool more = true; more;) {
    if (std::ranges::any_of(next, [](std::size_t bits) { return bits != 0; }))
      cases.push_back(next);
    more = false;
    for (const std::size_t use : which) {
      next[use] = (next[use] + 1) % (std::size_t{1} << uses[use].operands.size());
      if (next[use] != 0) {
        more = true;
        break;
      }
    }
  }
}

// Every set of operands may repeat along every group. The number of combinations is exponential in
// the operands. Beyond kMostCases only pairs of groups are combined: an operator that treats groups
// together does so in pairs, as broadcasting does.
std::vector<Case> cases_of(std::span<const Use> uses) {
  std::size_t number = 1;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    all.push_back(i);
    const std::size_t own = std::size_t{1} << uses[i].operands.size();
    number = own > kMostCases ? kMostCases + 1 : std::min(number * own, kMostCases + 1);
  }
  std::vector<Case> cases;
  if (number <= kMostCases || uses.size() < 2) {
    add_cases(uses, all, cases);
    return cases;
  }
  for (std::size_t i = 0; i < uses.size(); ++i) {
    for (std::size_t j = i + 1; j < uses.size(); ++j) add_cases(uses, {{i, j}}, cases);
  }
  return cases;
}

const TensorType& output_type(const Graph& graph) {
  return graph.node(graph.outputs().front().node).type;
}

class Application {
 public:
  Application(const Operator& op, const Attrs& attrs, std::span<const TensorType> operands,
              const AxisGroups& groups, std::span<const Index> sizes)
      : op_(op),
        attrs_(attrs),
        operands_(operands.begin(), operands.end()),
        groups_(groups),
        sizes_(sizes) {}

  // Tests whether the operator treats the groups as batch axes: each element of the result depends
  // only on the elements at its own place. The text of the definition without the groups must be
  // the same whether an operand has a group in full, or repeats along it with size 1. Returns the
  // first group for which this fails.
  std::optional<std::size_t> exception() {
    if (const auto twice = find_uses()) return twice;
    if (uses_.empty()) return std::nullopt;
    const auto plain = application(op_, attrs_, operands_);
    if (plain.ok()) {
      leave_out(*plain);
      if (const auto lost = lost_group(*plain)) return lost;
      text_ = functions_text(*plain, axes_, sizes_);
      if (!text_) return uses_.front().group;
    }
    const SymbolicScope* scope = SymbolicScope::current();
    const std::size_t decisions = scope == nullptr ? 0 : scope->decisions().size();
    for (const Case& one : cases_of(uses_)) {
      const bool alike = is_alike(one);
      if (!alike || (scope != nullptr && decides_more(scope->decisions(), decisions)))
        return first_of(one);
    }
    return unequal_sizes_fit();
  }

 private:
  // A group with two axes of one operand.
  std::optional<std::size_t> find_uses() {
    for (std::size_t group = 0; group < sizes_.size(); ++group) {
      Use use{group};
      for (std::size_t i = 0; i < operands_.size(); ++i) {
        const Dims& dims = operands_[i].dims;
        for (std::size_t axis = 0; axis < dims.size(); ++axis) {
          if (group_of(dims[axis], sizes_) != static_cast<int>(group)) continue;
          if (!use.operands.empty() && use.operands.back().first == i) return group;
          use.operands.emplace_back(i, axis);
        }
      }
      if (!use.operands.empty()) uses_.push_back(std::move(use));
    }
    return std::nullopt;
  }

  void leave_out(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      std::vector<int>& own = axes_.emplace_back();
      for (const Index& size : node.type.dims) own.push_back(group_of(size, sizes_));
    }
  }

  // A group that is not exactly one axis of the output.
  std::optional<std::size_t> lost_group(const Graph& graph) const {
    for (const Use& use : uses_) {
      const auto number = std::ranges::count_if(output_type(graph).dims, [&](const Index& size) {
        return group_of(size, sizes_) == static_cast<int>(use.group);
      });
      if (number != 1) return use.group;
    }
    return std::nullopt;
  }

  // Gives size 1 to the operand axes of this case, and compares the functions of the application
  // with the original ones.
  bool is_alike(const Case& one) const {
    Types types = operands_;
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      for (std::size_t k = 0; k < uses_[i].operands.size(); ++k) {
        const auto [operand, axis] = uses_[i].operands[k];
        if ((one[i] >> k & 1) != 0) types[operand].dims[axis] = 1;
      }
    }
    const auto graph = application(op_, attrs_, types);
    if (!graph.ok()) return true;  // no claim about it
    if (!text_ || graph->nodes().size() != axes_.size()) return false;
    const bool same_ranks = std::ranges::equal(graph->nodes(), axes_,
                                               [](const Node& node, const std::vector<int>& axes) {
                                                 return node.type.dims.size() == axes.size();
                                               });
    return same_ranks && has_sizes(*graph, one) && functions_text(*graph, axes_, sizes_) == text_;
  }

  // Along a group, the output repeats only if all operands do.
  bool has_sizes(const Graph& graph, const Case& one) const {
    const std::vector<int>& axes = axes_[graph.outputs().front().node.index()];
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      const bool all = one[i] + 1 == std::size_t{1} << uses_[i].operands.size();
      const Index expected = all ? Index(1) : sizes_[uses_[i].group];
      const auto axis = std::ranges::find(axes, static_cast<int>(uses_[i].group)) - axes.begin();
      if (!output_type(graph).dims[static_cast<std::size_t>(axis)].same(expected)) return false;
    }
    return true;
  }

  // Whether a case depends on a decision that the plain application does not need.
  bool decides_more(const std::vector<Decision>& decisions, std::size_t known) const {
    return std::any_of(decisions.begin() + static_cast<std::ptrdiff_t>(known), decisions.end(),
                       [&](const Decision& decision) { return !groups_.is_whether_one(decision); });
  }

  std::size_t first_of(const Case& one) const {
    const auto found = std::ranges::find_if(one, [](std::size_t bits) { return bits != 0; });
    return uses_[static_cast<std::size_t>(found - one.begin())].group;
  }

  // A group along which two operands may have different sizes other than 1, while the others have
  // the size of one of them or repeat.
  std::optional<std::size_t> unequal_sizes_fit() const {
    for (const Use& use : uses_) {
      for (std::size_t i = 0; i < use.operands.size(); ++i) {
        for (std::size_t k = 0; k < use.operands.size(); ++k) {
          if (i != k && (fits(use, i, k, 2) || fits(use, i, k, 1))) return use.group;
        }
      }
    }
    return std::nullopt;
  }
  // Whether the operator accepts 3 and 2 as the sizes of these operands along the group.
  bool fits(const Use& use, std::size_t with_3, std::size_t with_2, std::int64_t others) const {
    Types types = operands_;
    for (std::size_t i = 0; i < use.operands.size(); ++i) {
      const auto [operand, axis] = use.operands[i];
      types[operand].dims[axis] = i == with_3 ? 3 : i == with_2 ? 2 : others;
    }
    return infer_type(op_, attrs_, types).ok();
  }

  const Operator& op_;
  const Attrs& attrs_;
  const Types operands_;
  const AxisGroups& groups_;
  const std::span<const Index> sizes_;
  std::vector<Use> uses_;
  LeftOutAxes axes_;
  std::optional<std::string> text_;  // nullopt: the operator refuses the operands
};

}  // namespace

std::optional<std::size_t> AxisGroups::exception(const Operator& op, const Attrs& attrs,
                                                 std::span<const TensorType> operands) const {
  return Application(op, attrs, operands, *this, sizes_).exception();
}

bool AxisGroups::is_whether_one(const Decision& decision) const {
  if (decision.is_value || decision.on->op != ExprOp::kIndexEq) return false;
  const auto is_one = [](const ExprNode& node) {
    return node.op == ExprOp::kIndexConst && node.integer == 1;
  };
  const ExprNode& a = *decision.on->kids[0];
  const ExprNode& b = *decision.on->kids[1];
  return std::ranges::any_of(sizes_, [&](const Index& size) {
    return (size.node() == &a && is_one(b)) || (size.node() == &b && is_one(a));
  });
}

std::optional<std::size_t> AxisGroups::used_in(const Decision& decision) const {
  if (is_whether_one(decision)) return std::nullopt;
  for (std::size_t group = 0; group < sizes_.size(); ++group) {
    if (mentions(*decision.on, sizes_[group].node())) return group;
  }
  return std::nullopt;
}

}  // namespace egret::ir
