// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/signatures.h"

#include <algorithm>
#include <span>

#include "base/hash.h"
#include "base/random.h"
#include "rules/testing/attribute_sampler.h"

namespace egret::rules {

using base::Random;
using ir::TensorType;

namespace {

constexpr int kTries = 4000;
constexpr int kAccepted = 400;  // enough
constexpr std::size_t kMostSignatures = 64;

std::vector<TensorType> draw(std::size_t operands, std::optional<int> wanted, Random& random) {
  static constexpr int kRanks[] = {0, 1, 1, 2, 2, 3, 3, 4, 4};
  const std::uint64_t kind = random.below(20);
  const ir::DType main =
      kind < 17 ? ir::DType::kF32 : (kind < 19 ? ir::DType::kI64 : ir::DType::kBool);
  const std::int64_t largest = random.between(1, 4);
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < operands; ++i) {
    TensorType type{main, {}};
    if (random.chance(0.08)) type.dtype = random.chance(0.5) ? ir::DType::kBool : ir::DType::kI64;
    if (i > 0 && random.chance(0.5)) {
      type.dims = types[random.below(i)].dims;
    } else {
      int rank = kRanks[random.below(std::size(kRanks))];
      if (wanted && random.chance(0.6)) rank = *wanted;
      for (int axis = 0; axis < rank; ++axis) type.dims.emplace_back(random.between(1, largest));
    }
    for (ir::Index& size : type.dims) {
      if (random.chance(0.2)) size = random.between(1, 4);
    }
    types.push_back(std::move(type));
  }
  return types;
}

Signature signature_of(std::span<const TensorType> types) {
  Signature signature;
  std::vector<std::pair<Signature::Axis, std::int64_t>> sizes;  // so far
  for (std::size_t i = 0; i < types.size(); ++i) {
    signature.inputs.emplace_back(types[i].rank(), types[i].dtype);
    for (std::size_t axis = 0; axis < types[i].dims.size(); ++axis) {
      const std::int64_t size = types[i].dims[axis].constant();
      const Signature::Axis here{i, axis};
      if (size == 1) signature.equal.push_back({std::nullopt, here});
      for (const auto& [other, value] : sizes) {
        if (value == size) signature.equal.push_back({other, here});
      }
      sizes.emplace_back(here, size);
    }
  }
  return signature;
}

bool says_no_more(const Signature& a, const Signature& b) {
  return a.inputs == b.inputs && std::ranges::includes(b.equal, a.equal);
}

// Keeps only signatures whose set of equalities is minimal.
void add(Signature signature, std::vector<Signature>& known) {
  std::ranges::sort(signature.equal);
  const auto no_less = [&](const Signature& other) { return says_no_more(other, signature); };
  if (std::ranges::any_of(known, no_less)) return;
  std::erase_if(known, [&](const Signature& other) { return says_no_more(signature, other); });
  if (known.size() < kMostSignatures) known.push_back(std::move(signature));
}

bool has_rank(std::span<const TensorType> types, std::optional<int> rank) {
  return !rank ||
         std::ranges::any_of(types, [&](const TensorType& type) { return type.rank() == *rank; });
}

std::vector<Signature> learn(const ir::Operator& op, std::size_t operands,
                             std::optional<int> rank) {
  std::vector<Signature> known;
  const Random all(base::hash_string(op.name(), operands));
  int accepted = 0;
  for (int attempt = 0; attempt < kTries && accepted < kAccepted; ++attempt) {
    Random random = all.split(static_cast<std::uint64_t>(attempt));
    const std::vector<TensorType> types = draw(operands, rank, random);
    if (!has_rank(types, rank)) continue;
    ir::Attrs attrs;
    for (const ir::AttrSpec* spec : sampling_order(op))
      attrs.set(spec->name, sample_attr(*spec, attrs, types, random));
    if (!ir::infer_type(op, attrs, types).ok()) continue;
    ++accepted;
    add(signature_of(types), known);
  }
  return known;
}

}  // namespace

const std::vector<Signature>& KnownSignatures::of(const ir::Operator& op, std::size_t operands,
                                                  std::optional<int> rank) {
  const Key key{op.name(), operands, rank};
  const std::lock_guard lock(mutex_);
  const auto found = learned_.find(key);
  if (found != learned_.end()) return found->second;
  return learned_.emplace(key, learn(op, operands, rank)).first->second;
}

}  // namespace egret::rules
