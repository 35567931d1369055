// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/tensor_analysis.h"

#include <algorithm>
#include <bit>

#include "egraph/core/egraph.h"
#include "ir/analysis/element_facts.h"
#include "ir/evaluate/interpreter.h"

namespace egret::rules {

using base::Result;
using base::Status;
using egraph::ClassId;
using egraph::OpId;

std::optional<double> splat_value(const ir::Tensor& tensor) { return ir::common_value(tensor); }

std::size_t TensorAnalysis::FactsHash::operator()(const FactsKey& key) const {
  const std::uint64_t flags = (key.constant ? 1U : 0U) + (key.has_splat ? 2U : 0U);
  const std::uint64_t sign = static_cast<std::uint64_t>(key.sign) << 2U;
  return base::hash_combine(base::hash_combine(key.type, flags | sign), key.splat_bits);
}

std::size_t TensorAnalysis::InferHash::operator()(const InferKey& key) const {
  return base::hash_bytes(std::as_bytes(std::span(key.data(), key.size())));
}

TensorAnalysis::TypeId TensorAnalysis::intern(const ir::TensorType& type) {
  const auto [found, is_new] = type_index_.emplace(type, static_cast<TypeId>(types_.size()));
  if (is_new) types_.push_back(type);
  return found->second;
}

TensorAnalysis::Data TensorAnalysis::intern(TypeId type, bool constant, std::optional<double> splat,
                                            ir::Sign sign) {
  if (splat) sign = std::max(sign, ir::sign_of(*splat));
  const FactsKey key{type, constant, splat.has_value(),
                     splat ? std::bit_cast<std::uint64_t>(*splat) : 0, sign};
  const auto [found, is_new] = facts_index_.emplace(key, facts_.size());
  if (is_new) {
    facts_.push_back(
        std::make_unique<TensorFacts>(TensorFacts{types_[type], constant, splat, sign}));
    keys_.push_back(key);
  }
  return found->second;
}

// Cached by operator and child types. The denotation also shows whether the operator only moves
// elements of one child, or yields one number everywhere.
const TensorAnalysis::Inferred& TensorAnalysis::infer(OpId op, std::span<const Data> children) {
  InferKey key{op.index()};
  for (const Data child : children) key.push_back(keys_[child].type);
  const auto [found, is_new] = inferred_index_.emplace(key, inferred_.size());
  if (!is_new) return *inferred_[found->second];

  base::SmallVector<ir::TensorType, 4> types;
  for (const Data child : children) types.push_back(facts_[child]->type);
  const std::span<const ir::TensorType> inputs(types.data(), types.size());
  const ir::Operator& definition = language_.op(op);
  const ir::Attrs& attrs = language_.attrs(op);
  Inferred result;
  const auto type = open_ != nullptr ? open_type(definition, attrs, inputs)
                                     : ir::infer_type(definition, attrs, inputs);
  if (type.ok()) {
    result.type = intern(*type);
    if (!definition.is_composite() && !definition.is_opaque()) {
      const auto denotation = ir::denote(definition, attrs, inputs);
      EGRET_CHECK(denotation.ok(), "a type was inferred from it");
      const ir::OutputFacts output = ir::output_facts(*denotation, inputs);
      result.splat = output.splat;
      result.moves = output.moves;
      result.signs = output.signs;
    }
  } else {
    result.status = type.status();
  }
  inferred_.push_back(std::make_unique<Inferred>(std::move(result)));
  return *inferred_.back();
}

// Whatever the definition decides must hold for all sizes. One that needs a number where a size is
// open (an axis, a window) is refused.
Result<ir::TensorType> TensorAnalysis::open_type(const ir::Operator& op, const ir::Attrs& attrs,
                                                 std::span<const ir::TensorType> inputs) {
  EGRET_RETURN_IF_ERROR(open_->require(op, attrs, inputs, nodes_of_));
  EGRET_ASSIGN_OR_RETURN(ir::TensorType type, ir::infer_type(op, attrs, inputs));
  if (open_->take_undecided())
    return base::unsupported(op.name() + " needs a number where a size is open");
  return type;
}

Result<TensorAnalysis::Data> TensorAnalysis::make_leaf(OpId op) {
  if (language_.is_input(op)) {
    const ir::TensorType& type = language_.input_type(op);
    return intern(intern(type), false, std::nullopt, ir::sign_of(type.dtype));
  }
  const ir::Tensor& tensor = language_.tensor(op);
  return intern(intern(tensor.type()), true, splat_value(tensor), ir::sign_of(tensor));
}

Result<TensorAnalysis::Data> TensorAnalysis::make(const egraph::EGraph& egraph, OpId op,
                                                  std::span<const ClassId> children) {
  if (language_.kind(op) != ir::NodeKind::kOperator) return make_leaf(op);
  base::SmallVector<Data, 4> data;
  for (const ClassId child : children) data.push_back(egraph.data(child));
  const Inferred& inferred = infer(op, {data.data(), data.size()});
  if (!inferred.status.ok()) return inferred.status;
  const bool constant = !language_.op(op).is_opaque() &&
                        std::ranges::all_of(data, [&](Data d) { return facts_[d]->constant; });
  std::optional<double> splat = inferred.splat;
  if (inferred.moves >= 0) splat = facts_[data[static_cast<std::size_t>(inferred.moves)]]->splat;
  if (constant && !splat) splat = single_number(op, {data.data(), data.size()}, inferred);
  ir::Sign least = ir::Sign::kPositive;
  for (const Data child : data) least = std::min(least, facts_[child]->sign);
  return intern(inferred.type, constant, splat, inferred.signs[static_cast<std::size_t>(least)]);
}

std::optional<double> TensorAnalysis::single_number(OpId op, std::span<const Data> children,
                                                    const Inferred& inferred) const {
  constexpr std::int64_t kMaxElements = 64;
  const ir::TensorType& type = types_[inferred.type];
  if (!type.is_concrete() || type.elements() != 1) return std::nullopt;
  std::vector<ir::Tensor> inputs;
  for (const Data child : children) {
    const TensorFacts& facts = *facts_[child];
    if (!facts.splat || !facts.type.is_concrete() || facts.type.elements() > kMaxElements)
      return std::nullopt;
    inputs.push_back(ir::Tensor::filled(facts.type, *facts.splat));
  }
  const auto value = ir::evaluate(language_.op(op), language_.attrs(op), inputs);
  return value.ok() ? ir::common_value(*value) : std::nullopt;
}

Result<TensorAnalysis::Data> TensorAnalysis::merge(Data a, Data b) {
  if (a == b) return a;
  const FactsKey& x = keys_[a];
  const FactsKey& y = keys_[b];
  const bool same_type =
      x.type == y.type || (open_ != nullptr && open_->same(types_[x.type], types_[y.type]));
  if (!same_type) {
    return base::bad_input("a tensor of type " + to_string(types_[x.type]) +
                           " cannot equal one of type " + to_string(types_[y.type]));
  }
  // Rounding may make two equal values differ in the last place. The smaller one represents both,
  // so that the join is commutative and associative.
  const std::optional<double>& s = facts_[a]->splat;
  const std::optional<double>& t = facts_[b]->splat;
  const std::optional<double> splat = s && t ? std::min(*s, *t) : (s ? s : t);
  return intern(std::min(x.type, y.type), x.constant || y.constant, splat,
                std::max(x.sign, y.sign));
}

}  // namespace egret::rules
