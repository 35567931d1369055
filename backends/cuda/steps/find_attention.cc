// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "backends/codegen/lowering.h"
#include "backends/cuda/steps/attention.h"
#include "backends/cuda/steps/epilogue.h"
#include "ir/evaluate/lane_program.h"
#include "ir/nest/merge_variables.h"

namespace egret::backends::cuda {
namespace {

using ir::Affine;
using ir::ExprOp;
using ir::LoopNest;
using ir::NestGuard;
using ir::NestNode;

constexpr std::int64_t kMostDepth = 128, kDepthUnit = 8;  // what engines for Hopper take
constexpr std::int64_t kLeastScores = 1 << 12;  // of all together; smaller ones gain nothing

// Matches softmax(q k) v in the loop nest of a region, from the root inward: a sum over the columns
// of a product, one factor of which is a softmax over the columns.
class Matcher {
 public:
  Matcher(const LoopNest& nest, const StepDefinition& definition)
      : nest_(nest), definition_(definition) {}

  std::optional<Attention> run() {
    const NestNode& sum = node(nest_.root);
    if (!is_sum(sum)) return std::nullopt;
    columns_ = sum.variables[0];
    const NestNode& product = node(sum.kids[0]);
    if (product.op != ExprOp::kMul) return std::nullopt;
    for (std::size_t i = 0; i < 2; ++i) {
      const NestNode& values = node(product.kids[i]);
      const auto scores = scores_under(product.kids[1 - i]);
      if (values.op == ExprOp::kRead && scores) return of(*scores, values);
    }
    return std::nullopt;
  }

 private:
  const NestNode& node(int id) const { return nest_.node(unrounded(nest_, id)); }

  bool is_unguarded(const NestNode& reduction) const {
    return reduction.guard < 0 || nest_.guard(reduction.guard).kind == NestGuard::Kind::kTrue;
  }
  bool reduces(const NestNode& of, ir::Reduction with) const {
    return of.op == ExprOp::kReduce && of.reduction == with && of.is_real() &&
           of.variables.size() == 1 && is_unguarded(of);
  }
  bool is_sum(const NestNode& of) const { return reduces(of, ir::Reduction::kSum); }

  // The scores s of a softmax exp(s - max s) / sum exp(s - max s) over the columns; nullopt
  // otherwise.
  std::optional<int> scores_under(int id) const {
    const NestNode& quotient = node(id);
    if (quotient.op != ExprOp::kDiv) return std::nullopt;
    const auto shifted = shifted_under(quotient.kids[0]);
    const NestNode& sum = node(quotient.kids[1]);
    if (!shifted || !is_sum(sum)) return std::nullopt;
    const auto summed = shifted_under(sum.kids[0]);
    const NestNode& largest = node(shifted->second);
    if (!summed || !reduces(largest, ir::Reduction::kMax)) return std::nullopt;
    // Numerator, sum and maximum must contain the same scores, up to the name of the column
    // variable.
    const auto over = [&](const NestNode& reduction) {
      return std::map<int, int>{{columns_, reduction.variables[0]}};
    };
    const auto same_scores = [&](int other, const NestNode& reduction) {
      return same(shifted->first, other, over(reduction));
    };
    if (!same_scores(summed->first, sum) || !same_scores(largest.kids[0], largest) ||
        !same(shifted->second, summed->second, {}))
      return std::nullopt;
    return unrounded(nest_, shifted->first);
  }

  // Of exp(a - b): a and b.
  std::optional<std::pair<int, int>> shifted_under(int id) const {
    const NestNode& power = node(id);
    if (power.op != ExprOp::kCall || power.function != ir::Function::kExp) return std::nullopt;
    const NestNode& difference = node(power.kids[0]);
    if (difference.op != ExprOp::kSub) return std::nullopt;
    return std::pair(difference.kids[0], difference.kids[1]);
  }

  // Whether two values are equal under a renaming of variables: structural comparison.
  bool same(int a, int b, std::map<int, int> variables) const {
    a = unrounded(nest_, a);
    b = unrounded(nest_, b);
    if (a == b && variables.empty()) return true;
    const NestNode& x = nest_.node(a);
    const NestNode& y = nest_.node(b);
    if (x.op != y.op || x.kids.size() != y.kids.size() || x.type != y.type) return false;
    switch (x.op) {
      case ExprOp::kConst: return x.real == y.real && x.integer == y.integer;
      case ExprOp::kRead:
        return x.input == y.input && x.checked.empty() && y.checked.empty() &&
               renamed(x.form, variables) == y.form;
      // A nested reduction (the product inside the scores) binds its variables: they are renamed
      // too.
      case ExprOp::kReduce:
        if (x.reduction != y.reduction || x.variables.size() != y.variables.size() ||
            !is_unguarded(x) || !is_unguarded(y))
          return false;
        for (std::size_t i = 0; i < x.variables.size(); ++i) {
          if (nest_.extent(x.variables[i]) != nest_.extent(y.variables[i])) return false;
          if (x.variables[i] != y.variables[i]) variables[x.variables[i]] = y.variables[i];
        }
        break;
      case ExprOp::kAdd:
      case ExprOp::kSub:
      case ExprOp::kMul:
      case ExprOp::kDiv:
      case ExprOp::kMax:
      case ExprOp::kMin:
      case ExprOp::kNeg: break;
      default: return false;
    }
    for (std::size_t i = 0; i < x.kids.size(); ++i) {
      if (!same(x.kids[i], y.kids[i], variables)) return false;
    }
    return true;
  }

  // The form with variables replaced. Both offsets are affine, so equal forms mean equal reads.
  static Affine renamed(const Affine& form, const std::map<int, int>& variables) {
    Affine result(form.constant);
    for (const auto& part : form.parts) {
      const auto found = variables.find(part.symbol);
      const int symbol = found == variables.end() ? part.symbol : found->second;
      result = result + Affine::of_symbol(symbol) * part.factor;
    }
    return result;
  }

  std::optional<Attention> of(int scores, const NestNode& values) {
    // The nest with the scores as its root: find_epilogue() separates scale and mask from the
    // product.
    LoopNest part = nest_;
    part.root = scores;
    const auto epilogue = find_epilogue(part, definition_.constants);
    if (!epilogue || epilogue->relu || epilogue->added.size() > 1 || epilogue->scale == 0)
      return std::nullopt;
    const NestNode& sum = nest_.node(epilogue->sum);
    const NestNode& product = node(sum.kids[0]);
    if (!is_sum(sum) || product.op != ExprOp::kMul) return std::nullopt;
    depth_ = sum.variables[0];
    const NestNode* q = &node(product.kids[0]);
    const NestNode* k = &node(product.kids[1]);
    if (q->op != ExprOp::kRead || k->op != ExprOp::kRead) return std::nullopt;
    // k is the operand that varies over the columns.
    if (q->form.factor(columns_) != 0) std::swap(q, k);
    if (!roles(*q, *k, values)) return std::nullopt;
    Attention found;
    found.scale = epilogue->scale;
    found.type = definition_.denotation.type.dtype;
    found.q = tensor(q->input, q->form, {-1, -1, rows_, depth_});
    found.k = tensor(k->input, k->form, {-1, -1, columns_, depth_});
    found.v = tensor(values.input, values.form, {-1, -1, columns_, width_});
    found.output = tensor(-1, nest_.output, {-1, -1, rows_, width_});
    if (!epilogue->added.empty()) {
      const NestNode& added = *epilogue->added[0];
      found.mask = tensor(added.input, added.form, {-1, -1, rows_, columns_});
      broadcast(*found.mask);
    }
    if (!is_taken(found)) return std::nullopt;
    return found;
  }

  // Assigns a role to each variable (batch, row, width); false where one fits none.
  bool roles(const NestNode& q, const NestNode& k, const NestNode& v) {
    for (const int variable : nest_.output_variables) {
      const bool in_q = q.form.factor(variable) != 0, in_k = k.form.factor(variable) != 0,
                 in_v = v.form.factor(variable) != 0;
      if (in_q && in_k && in_v) {
        if (batch_.size() == 2) return false;
        batch_.push_back(variable);
      } else if (in_q && !in_k && !in_v && rows_ < 0) {
        rows_ = variable;
      } else if (in_v && !in_q && !in_k && width_ < 0) {
        width_ = variable;
      } else {
        return false;
      }
    }
    // Offsets depend on these variables only.
    const auto only = [&](const NestNode& of, std::initializer_list<int> own) {
      return of.checked.empty() && std::ranges::all_of(of.form.parts, [&](const auto& part) {
               return std::ranges::find(own, part.symbol) != own.end() ||
                      std::ranges::find(batch_, part.symbol) != batch_.end();
             });
    };
    return rows_ >= 0 && width_ >= 0 && only(q, {rows_, depth_}) && only(k, {depth_, columns_}) &&
           only(v, {columns_, width_});
  }

  // The first two axes are those of the batch.
  Attention::Tensor tensor(int input, const Affine& form, std::array<int, 4> variables) const {
    for (std::size_t i = 0; i < batch_.size(); ++i) variables[2 - batch_.size() + i] = batch_[i];
    Attention::Tensor made;
    made.input = input;
    made.offset = form.constant;
    std::int64_t reach = 1;
    for (std::size_t axis = 4; axis-- > 0;) {
      const int variable = variables[axis];
      made.sizes[axis] = variable < 0 ? 1 : nest_.extent(variable);
      made.strides[axis] = variable < 0 ? reach : form.factor(variable);
      reach = std::max(reach, made.sizes[axis] * made.strides[axis]);
    }
    return made;
  }

  // An axis that the mask does not depend on has size 1, with the stride of dense rows.
  static void broadcast(Attention::Tensor& mask) {
    std::int64_t reach = 1;
    for (std::size_t axis = 4; axis-- > 0;) {
      if (mask.strides[axis] == 0) mask.sizes[axis] = 1;
      if (mask.sizes[axis] == 1) mask.strides[axis] = reach;
      reach = std::max(reach, mask.sizes[axis] * mask.strides[axis]);
    }
  }

  bool is_taken(const Attention& a) const {
    const auto type_of = [&](int input) {
      return input < 0 ? a.type : definition_.inputs[static_cast<std::size_t>(input)].dtype;
    };
    // Contiguous rows must start at multiples of 16 bytes.
    const auto is_row = [&](const Attention::Tensor& of, std::size_t inner) {
      bool good = type_of(of.input) == a.type && of.strides[inner] == 1 && of.offset % 8 == 0;
      for (std::size_t axis = 0; axis < 4; ++axis) {
        if (axis != inner && of.sizes[axis] > 1) good = good && of.strides[axis] % 8 == 0;
      }
      return good;
    };
    const std::int64_t depth = a.q.sizes[3], width = a.v.sizes[3];
    const std::array<std::int64_t, 4> scores = a.score_sizes();
    const bool has_mask = !a.mask || (type_of(a.mask->input) == a.type && a.mask->strides[3] == 1 &&
                                      a.mask->sizes[3] == scores[3]);
    return byte_size(a.type) == 2 && is_row(a.q, 3) && is_row(a.k, 3) && is_row(a.v, 3) &&
           is_row(a.output, 3) && has_mask && depth <= kMostDepth && width <= kMostDepth &&
           depth % kDepthUnit == 0 && width % kDepthUnit == 0 &&
           scores[0] * scores[1] * scores[2] * scores[3] >= kLeastScores;
  }

  const LoopNest& nest_;
  const StepDefinition& definition_;
  int columns_ = -1, depth_ = -1, rows_ = -1, width_ = -1;  // variables
  std::vector<int> batch_;
};

}  // namespace

std::optional<Attention> find_attention(const StepDefinition& definition) {
  const auto& [denotation, inputs, constants, part] = definition;
  if (!ir::is_float(denotation.type.dtype) || inputs.size() > 6 || denotation.type.elements() == 0)
    return std::nullopt;
  auto nest = codegen::lowered(denotation, inputs, ir::Precision::kF64);
  if (!nest.ok()) return std::nullopt;
  ir::merge_variables(*nest);
  return Matcher(*nest, definition).run();
}

}  // namespace egret::backends::cuda
