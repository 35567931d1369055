// SPDX-License-Identifier: Apache-2.0
#include "parallel/laws/form_writer.h"

#include <bit>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "parallel/laws/condition_form.h"
#include "parallel/laws/halo_needs.h"
#include "parallel/laws/index_arithmetic.h"
#include "parallel/laws/index_forms.h"

namespace egret::parallel {
namespace {

using ir::ExprNode;
using ir::ExprOp;

// Elements and conditions, which refer to each other.
// Writes an element's definition as seen by one device into a table of interned texts (hash-consing
// by numbers). Each node becomes one entry, so the cost is linear in the definition as a graph,
// although its text as a tree may be exponential. Bound variables are named by depth, so forms are
// equal up to renaming.
class FormWriter {
 public:
  FormWriter(std::span<const ir::TensorType> types, const Cut* cut, const std::vector<Halo>* halos,
             FormTable& table)
      : types_(types),
        cut_(cut),
        halos_(halos),
        table_(table),
        indices_(cut, table, [this](const ExprNode* node) { return element(node); }),
        inputs_(types.size()),
        needs_(types) {}

  WrittenForm write(const ir::Denotation& denotation) {
    for (std::size_t i = 0; i < denotation.vars.size(); ++i) {
      if (denotation.vars[i].is_constant()) continue;
      indices_.bind(denotation.vars[i].node(), denotation.type.dims[i].constant(),
                    "out" + std::to_string(i));
    }
    const ir::Scalar value = denotation.value;
    WrittenForm written;
    written.form = value.is_constant() ? constant(value.constant()) : element(value.node());
    for (const auto& input : inputs_)
      written.inputs.push_back(input.value_or(AxisPlacement::copy()));
    written.needed = needs_.halos();
    return written;
  }

 private:
  int constant(double value) {
    return table_.intern("c" + std::to_string(std::bit_cast<std::uint64_t>(value)));
  }

  int condition(const ExprNode* node) {
    const auto known = forms_.find(node);
    if (known != forms_.end()) return known->second;
    return forms_[node] = make_condition(node);
  }

  int make_condition(const ExprNode* node) {
    switch (node->op) {
      case ExprOp::kGuardConst: return truth(table_, node->integer != 0);
      case ExprOp::kIndexLe:
      case ExprOp::kIndexEq:
        return comparison_form(table_, node->op, indices_.of(node->kids[0]),
                               indices_.of(node->kids[1]));
      case ExprOp::kScalarLt:
      case ExprOp::kScalarLe:
      case ExprOp::kScalarEq:
        return table_.intern("g" + std::to_string(static_cast<int>(node->op)) + "(" +
                             std::to_string(element(node->kids[0])) + "," +
                             std::to_string(element(node->kids[1])) + ")");
      case ExprOp::kAnd:
      case ExprOp::kOr:
        return joined_form(table_, node->op, condition(node->kids[0]), condition(node->kids[1]));
      case ExprOp::kNot: return negation_form(table_, condition(node->kids[0]));
      default: throw NotCut{};
    }
  }

  // A condition of `body`, without what halos stand for. Where it is false, the value is
  // `otherwise`.
  int condition_of(const ExprNode* node, const ExprNode* body, std::optional<double> otherwise) {
    if (halos_ == nullptr || !otherwise) return condition(node);
    if (node->op == ExprOp::kAnd) {
      const int a = condition_of(node->kids[0], body, otherwise);
      return joined_form(table_, node->op, a, condition_of(node->kids[1], body, otherwise));
    }
    return needs_.stand_for(node, body, *otherwise, indices_) ? truth(table_, true)
                                                              : condition(node);
  }

  int element(const ExprNode* node) {
    const auto known = forms_.find(node);
    if (known != forms_.end()) return known->second;
    return forms_[node] = make_element(node);
  }

  int make_element(const ExprNode* node) {
    switch (node->op) {
      case ExprOp::kConst: return constant(node->real);
      case ExprOp::kRead: return read(node);
      case ExprOp::kScalarOf: return index_value(indices_.of(node->kids[0]));
      case ExprOp::kSelect: return choice(node);
      case ExprOp::kReduce: return reduction(node);
      case ExprOp::kCall: return application("f", static_cast<int>(node->function), node->kids);
      case ExprOp::kCast: return application("t", static_cast<int>(node->dtype), node->kids);
      default: return application("o", static_cast<int>(node->op), node->kids);
    }
  }

  int application(const char* kind, int which, std::span<const ExprNode* const> operands) {
    std::string text = kind + std::to_string(which) + "(";
    for (const ExprNode* operand : operands) text += std::to_string(element(operand)) + ",";
    return table_.intern(text + ")");
  }

  int index_value(const IndexForm& index) {
    if (index.moves != 0) throw NotCut{};
    if (index.sum.is_constant()) return constant(static_cast<double>(index.sum.constant));
    return table_.intern("s" + index.sum.text());
  }

  int choice(const ExprNode* node) {
    const int where = condition_of(node->kids[0], node->kids[1], constant_value(node->kids[2]));
    if (where == truth(table_, true)) return element(node->kids[1]);
    if (where == truth(table_, false)) return element(node->kids[2]);
    return table_.intern("select(" + std::to_string(where) + "," +
                         std::to_string(element(node->kids[1])) + "," +
                         std::to_string(element(node->kids[2])) + ")");
  }

  // A read whose index of one dimension moves by a block of it, and the others not at all, is of
  // that block. All reads of an input agree on its placement.
  int read(const ExprNode* node) {
    const auto input = static_cast<std::size_t>(node->integer);
    AxisPlacement placement;
    std::string text = "x" + std::to_string(input) + "[";
    for (std::size_t dim = 0; dim < node->kids.size(); ++dim) {
      IndexForm at = indices_.of(node->kids[dim]);
      if (at.moves != 0) {
        const std::int64_t size = types_[input].dims[dim].constant();
        if (!placement.is_copy() || at.moves * cut_->parts != size) throw NotCut{};
        placement = AxisPlacement::split(static_cast<int>(dim));
        if (halos_ != nullptr) {
          needs_.widen(input, at.local, at.moves);
          at.sum.constant += (*halos_)[input].before;
          placement.halo = (*halos_)[input];
        }
      }
      text += at.sum.text() + ",";
    }
    // Two reads of one input with different placements would need two parts of it.
    if (inputs_[input].value_or(placement) != placement) throw NotCut{};
    inputs_[input] = placement;
    return table_.intern(text + "]");
  }

  int reduction(const ExprNode* node) {
    const ExprNode* variable = node->kids[0];
    const bool cut = cut_ != nullptr && cut_->reduction == node;
    // The number of terms must be the same on every device.
    const IndexForm extent = indices_.of(node->kids[1]);
    if (extent.moves != 0) throw NotCut{};
    std::string text = "r" + std::to_string(static_cast<int>(node->reduction)) + "(";
    ++depth_;
    const std::string name = "bound" + std::to_string(depth_);
    if (extent.sum.is_constant()) {
      indices_.bind(variable, extent.sum.constant, name);
      text += std::to_string(cut ? cut_->extent / cut_->parts : extent.sum.constant);
    } else {
      indices_.bind(variable, extent.global.high, name);
      text += extent.sum.text();
    }
    const int where = condition_of(node->kids[2], node->kids[3], neutral_of(node->reduction));
    const int body = element(node->kids[3]);
    --depth_;
    return table_.intern(text + "," + std::to_string(where) + "," + std::to_string(body) + "," +
                         std::to_string(depth_) + ")");
  }

  std::span<const ir::TensorType> types_;
  const Cut* cut_;
  const std::vector<Halo>* halos_;
  FormTable& table_;
  IndexForms indices_;
  std::vector<std::optional<AxisPlacement>> inputs_;  // of those read so far
  HaloNeeds needs_;
  std::unordered_map<const ExprNode*, int> forms_;
  int depth_ = 0;  // reductions around the expression
};

}  // namespace

WrittenForm write_form(const ir::Denotation& denotation, std::span<const ir::TensorType> types,
                       const Cut* cut, const std::vector<Halo>* halos, FormTable& table) {
  return FormWriter(types, cut, halos, table).write(denotation);
}

}  // namespace egret::parallel
