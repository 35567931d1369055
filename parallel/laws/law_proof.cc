// SPDX-License-Identifier: Apache-2.0
#include "parallel/laws/law_proof.h"

#include <algorithm>

#include "ir/core/symbolic_scope.h"
#include "ir/graph/builder.h"
#include "verifier/equality/obligation.h"
#include "verifier/solver/solver_session.h"

namespace egret::parallel {
namespace {

using base::Result;
using ir::Attrs;
using ir::GraphBuilder;
using ir::Index;
using ir::TensorType;
using ir::Value;
using Kind = AxisPlacement::Kind;

Attrs slice_attrs(ir::SymbolicScope& scope, int axis, Index start, Index size) {
  return {{"axis", std::int64_t{axis}},
          {"start", scope.integer_of(start)},
          {"size", scope.integer_of(size)},
          {"step", std::int64_t{1}}};
}

// The law over symbols: both sides as graphs of one output over the same inputs.
class LawStatement {
 public:
  LawStatement(const ir::Operator& op, const Attrs& attrs, std::span<const TensorType> inputs,
               const Law& law, std::int64_t devices, LawProof::Scope scope)
      : op_(op),
        attrs_(attrs),
        types_(inputs),
        law_(law),
        devices_(devices),
        wanted_(scope),
        count_(scope_.symbol("p", devices)),
        rank_(scope_.symbol("r", devices - 1)) {
    conditions_ = {rank_ >= 0, rank_ < count_};
  }

  LawProof prove() {
    const auto made = law_.output.is_split() ? make_cut() : make_partial();
    if (!made.ok()) return {.reason = made.message()};
    auto obligation = verifier::Obligation::of(*left_, *right_);
    if (!obligation.ok()) return {.reason = obligation.status().message()};
    // The definitions have requirements on sizes. Those that the example satisfies become
    // conditions of the statement.
    for (const ir::Guard& requirement : obligation->requirements()) scope_.decide(requirement);
    conditions_.insert(conditions_.end(), scope_.conditions().begin(), scope_.conditions().end());
    verifier::SolverSession session;
    const verifier::ProofOptions options{.example = scope_.examples(), .session = &session};
    const verifier::Proof proof = obligation->prove(conditions_, options);
    LawProof result{.reason = proof.reason};
    if (proof.proven) result.scope = wanted_;
    for (const ir::Guard& condition : scope_.conditions())
      result.where.push_back(ir::to_string(condition));
    return result;
  }

 private:
  Index size_symbol(const std::string& name, std::int64_t example) {
    const Index size = scope_.symbol(name, example);
    conditions_.push_back(size >= 1);
    return size;
  }

  // Integer attributes that the law changes are sizes along the cut, or padding that a halo
  // replaces. The others equal the whole's.
  struct Sides {
    Attrs whole, part, other;  // other: of the second of two devices
  };
  // If the law leaves a number unchanged, it is one symbol on all sides in the strongest scope and
  // a number otherwise. A size along the cut is p times that of a part, or the sum of two
  // independent parts for a partial result.
  Sides attributes() {
    Sides sides{attrs_, law_.attrs, law_.attrs};
    int next = 0;
    const auto symbols = [&](std::int64_t whole, std::int64_t part, std::int64_t& w,
                             std::int64_t& a, std::int64_t& b) {
      const std::string name = "a" + std::to_string(next++);
      if (whole == part) {
        if (wanted_ == LawProof::Scope::kAllSizes)
          w = a = b = scope_.integer_of(scope_.symbol(name, whole));
        return;
      }
      if (has_halo()) {
        a = b = part;
        return;
      }
      const Index first = size_symbol(name, part);
      a = b = scope_.integer_of(first);
      if (law_.output.is_split()) {
        w = scope_.integer_of(count_ * first);
      } else {
        const Index second = size_symbol(name + "'", part);
        b = scope_.integer_of(second);
        w = scope_.integer_of(first + second);
      }
    };
    for (const auto& [name, value] : attrs_.entries()) {
      if (const auto* one = std::get_if<std::int64_t>(&value)) {
        std::int64_t w = *one, a = *one, b = *one;
        symbols(*one, law_.attrs.integer(name), w, a, b);
        sides.whole.set(name, w);
        sides.part.set(name, a);
        sides.other.set(name, b);
      } else if (const auto* list = std::get_if<ir::Integers>(&value)) {
        ir::Integers w = *list, a = *list, b = *list;
        const ir::Integers part = law_.attrs.integers(name);
        for (std::size_t i = 0; i < list->size(); ++i)
          symbols((*list)[i], part[i], w[i], a[i], b[i]);
        sides.whole.set(name, w);
        sides.part.set(name, a);
        sides.other.set(name, b);
      }
    }
    return sides;
  }

  bool has_halo() const { return std::ranges::any_of(law_.inputs, &AxisPlacement::has_halo); }

  // Strided windows align with block borders only if a block's size is a multiple of the stride,
  // that is size / windows. (Without halos the definition requires it.)
  std::int64_t step_of(std::int64_t size) const {
    if (!has_halo()) return 1;
    const auto whole = ir::infer_type(op_, attrs_, types_);
    EGRET_CHECK(whole.ok(), "an operator that refuses its inputs");
    const std::int64_t windows = whole->dims[static_cast<std::size_t>(law_.output.dim)].constant();
    return windows > 0 && size % windows == 0 ? size / windows : 1;
  }

  // The rows from `start` on of a value cut by this placement, with their halo.
  Value rows_of(GraphBuilder& graph, Value whole, const AxisPlacement& placement, Index start,
                Index size) {
    const Halo& halo = placement.halo;
    if (placement.has_halo()) {
      ir::Integers before(graph.type(whole).dims.size(), 0);
      ir::Integers after = before;
      before[static_cast<std::size_t>(placement.dim)] = halo.before;
      after[static_cast<std::size_t>(placement.dim)] = halo.after;
      whole = graph.add("pad", {whole},
                        {{"before", before}, {"after", after}, {"value", halo.value_beyond()}});
    }
    return graph.add("slice", {whole},
                     slice_attrs(scope_, placement.dim, start, size + halo.rows()));
  }
  // The rank's part, where parts have this size.
  Value part_of(GraphBuilder& graph, Value whole, const AxisPlacement& placement, Index size) {
    return rows_of(graph, whole, placement, rank_ * size, size);
  }

  std::string size_name(std::size_t input, std::size_t dim) const {
    return "n" + std::to_string(input) + "_" + std::to_string(dim);
  }

  // The type of an input; the cut dimension's size is set later.
  TensorType symbolic_type(std::size_t input) {
    TensorType type = types_[input];
    const AxisPlacement placement = law_.inputs[input];
    for (std::size_t dim = 0; dim < type.dims.size(); ++dim) {
      if (wanted_ == LawProof::Scope::kCut) break;
      if (placement.is_split() && static_cast<std::size_t>(placement.dim) == dim) continue;
      type.dims[dim] = size_symbol(size_name(input, dim), type.dims[dim].constant());
    }
    return type;
  }

  // The rank's part of op(whole) equals op'(the rank's parts), for every rank r < p. The number of
  // devices p and the rank r are symbols, so one proof covers every mesh.
  base::Status make_cut() {
    const Sides attrs = attributes();
    GraphBuilder left, right;
    std::vector<Value> wholes, parts;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      TensorType type = symbolic_type(i);
      const AxisPlacement placement = law_.inputs[i];
      const std::string name = "x" + std::to_string(i);
      if (!placement.is_split()) {
        wholes.push_back(left.input(name, type));
        parts.push_back(right.input(name, type));
        continue;
      }
      Index& size = type.dims[static_cast<std::size_t>(placement.dim)];
      const std::int64_t step = step_of(size.constant());
      const Index part = size_symbol(size_name(i, static_cast<std::size_t>(placement.dim)),
                                     size.constant() / devices_ / step) *
                         step;
      size = count_ * part;
      wholes.push_back(left.input(name, type));
      parts.push_back(part_of(right, right.input(name, type), placement, part));
    }
    const Value part = right.add(op_, parts, attrs.part);
    if (!right.ok()) return right.status();
    const Index size = right.type(part).dims[static_cast<std::size_t>(law_.output.dim)];
    const Value whole = left.add(op_, wholes, attrs.whole);
    right.output("out", part);
    left.output("out", part_of(left, whole, law_.output, size));
    return finish(left, right);
  }

  // For two devices: op(joined inputs) = join(op'(first parts), op''(second parts)). More devices
  // follow by induction, because the sizes of the two parts are independent symbols.
  base::Status make_partial() {
    const Sides attrs = attributes();
    const char* join = law_.output.kind == Kind::kSum ? "add" : "max";
    GraphBuilder left, right;
    std::vector<Value> wholes, first, second;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      TensorType type = symbolic_type(i);
      const AxisPlacement placement = law_.inputs[i];
      const std::string name = "x" + std::to_string(i);
      if (placement.is_copy()) {
        wholes.push_back(left.input(name, type));
        first.push_back(right.input(name, type));
        second.push_back(first.back());
        continue;
      }
      TensorType other = type;
      if (placement.is_split()) {
        const auto dim = static_cast<std::size_t>(placement.dim);
        const std::int64_t example = type.dims[dim].constant() / devices_;
        type.dims[dim] = size_symbol(size_name(i, dim), example);
        other.dims[dim] = size_symbol(size_name(i, dim) + "'", example);
      }
      const Value a = left.input(name, type);
      const Value b = left.input(name + "'", other);
      const Attrs axis{{"axis", std::int64_t{placement.dim}}};
      // The whole of a cut input is the concatenation of the two parts, and that of a partial
      // result is their sum or maximum.
      wholes.push_back(placement.is_split() ? left.add("concat", {a, b}, axis)
                                            : left.add(join, {a, b}));
      // Right side: op' on each device's part. Left side: op on the joined parts.
      const Value c = right.input(name, type);
      const Value d = right.input(name + "'", other);
      if (placement.has_halo()) {
        const auto dim = static_cast<std::size_t>(placement.dim);
        const Value both = right.add("concat", {c, d}, axis);
        first.push_back(rows_of(right, both, placement, 0, type.dims[dim]));
        second.push_back(rows_of(right, both, placement, type.dims[dim], other.dims[dim]));
        continue;
      }
      first.push_back(c);
      second.push_back(d);
    }
    const Value a = right.add(op_, first, attrs.part);
    const Value b = right.add(op_, second, attrs.other);
    right.output("out", right.add(join, {a, b}));
    left.output("out", left.add(op_, wholes, attrs.whole));
    return finish(left, right);
  }

  base::Status finish(GraphBuilder& left, GraphBuilder& right) {
    EGRET_ASSIGN_OR_RETURN(left_, left.finish());
    EGRET_ASSIGN_OR_RETURN(right_, right.finish());
    const TensorType a = left_->node(left_->outputs().front().node).type;
    const TensorType b = right_->node(right_->outputs().front().node).type;
    bool same = a.dtype == b.dtype && a.rank() == b.rank();
    for (std::size_t i = 0; same && i < a.dims.size(); ++i)
      same = scope_.decide(a.dims[i] == b.dims[i]);
    return same ? base::ok() : base::bad_input("the type of the parts differs from the law's");
  }

  const ir::Operator& op_;
  const Attrs& attrs_;
  std::span<const TensorType> types_;
  const Law& law_;
  const std::int64_t devices_;
  const LawProof::Scope wanted_;
  ir::SymbolicScope scope_;
  const Index count_;
  const Index rank_;
  std::vector<ir::Guard> conditions_;
  std::optional<ir::Graph> left_;
  std::optional<ir::Graph> right_;
};

}  // namespace

// Tries the strongest statement first: for all sizes and numbers, then for all sizes, then for
// sizes that only vary along the cut. A weaker statement has fewer symbols and may be within the
// prover's reach where a stronger one is not.
LawProof prove_law(const ir::Operator& op, const Attrs& attrs, std::span<const TensorType> inputs,
                   const Law& law, std::int64_t devices) {
  using Scope = LawProof::Scope;
  if (law.output.is_copy()) return {.scope = Scope::kAllSizes};
  LawProof proof;
  for (const Scope scope : {Scope::kAllSizes, Scope::kSizes, Scope::kCut}) {
    proof = LawStatement(op, attrs, inputs, law, devices, scope).prove();
    if (proof.scope != Scope::kNone) break;
  }
  return proof;
}

}  // namespace egret::parallel
