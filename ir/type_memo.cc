// SPDX-License-Identifier: Apache-2.0
#include "ir/type_memo.h"

#include <algorithm>

#include "base/hash.h"

namespace egret::ir {
namespace {

constexpr std::size_t kMostAnswers = 1 << 16;

}  // namespace

std::size_t TypeMemo::Hash::operator()(const Question& question) const {
  std::uint64_t hash = base::hash_combine(base::mix(reinterpret_cast<std::uintptr_t>(question.op)),
                                          hash_value(question.attrs));
  for (const TensorType& type : question.inputs) hash = base::hash_combine(hash, hash_value(type));
  return hash;
}

bool TypeMemo::Equal::operator()(const Question& a, const Question& b) const {
  return a.op == b.op && a.attrs == b.attrs && std::ranges::equal(a.inputs, b.inputs);
}

const base::Result<TensorType>& TypeMemo::infer(const Operator& op, const Attrs& attrs,
                                                std::span<const TensorType> inputs) {
  const auto found = answers_.find(Question{&op, attrs, inputs});
  if (found != answers_.end()) return found->second;
  if (answers_.size() == kMostAnswers) answers_.clear();
  ++inferred_;
  Key key{&op, attrs, {inputs.begin(), inputs.end()}};
  return answers_.emplace(std::move(key), infer_type(op, attrs, inputs)).first->second;
}

}  // namespace egret::ir
