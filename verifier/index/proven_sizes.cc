// SPDX-License-Identifier: Apache-2.0
#include "verifier/index/proven_sizes.h"

#include <utility>
#include <vector>

#include "ir/graph/requirements.h"

namespace egret::verifier {
namespace {

SizeRanges ranges_of(const std::map<std::string, GivenSize>& open) {
  SizeRanges ranges;
  for (const auto& [name, size] : open) ranges.emplace(name, size.range);
  return ranges;
}

}  // namespace

ProvenSizes::ProvenSizes(std::map<std::string, GivenSize> open, SizeProofs proofs, Search search)
    : open_(std::move(open)),
      proofs_(std::move(proofs)),
      search_(std::move(search)),
      facts_(ranges_of(open_)),
      scope_(
          {}, [this](ir::Guard guard) { return holds(guard); },
          [this](ir::Guard guard) { assume(guard); }) {}

SizeRanges ProvenSizes::ranges() const {
  SizeRanges ranges;
  for (const auto& [name, example] : scope_.examples()) {
    const auto given = open_.find(name);
    ranges.emplace(name, given != open_.end() ? given->second.range : SizeRange());
  }
  return ranges;
}

std::vector<std::string> ProvenSizes::assumptions() const {
  std::vector<std::string> texts;
  for (const ir::Guard& guard : facts_.assumptions()) texts.push_back(to_string(guard));
  return texts;
}

std::int64_t ProvenSizes::example_of(std::string_view name) const {
  const auto found = open_.find(std::string(name));
  return found != open_.end() ? found->second.example : 1;
}

// What is known stays known.
void ProvenSizes::assume(ir::Guard guard) {
  if (closed_) {
    if (broken_.empty()) broken_ = to_string(guard);
    return;
  }
  facts_.assume(guard);
  std::erase_if(known_, [](const auto& one) { return !one.second; });
}

base::Status ProvenSizes::close(const ir::Graph& first) {
  for (const ir::Node& node : first.nodes()) {
    if (node.kind != ir::NodeKind::kOperator) continue;
    std::vector<ir::TensorType> operands;
    for (const ir::NodeId input : node.inputs) operands.push_back(first.node(input).type);
    EGRET_RETURN_IF_ERROR(ir::check_requirements(
        *node.op, node.attrs, operands, [&](ir::Guard guard) { return scope_.assume(guard); }));
  }
  closed_ = true;
  scope_.take_undecided();
  return base::ok();
}

base::Status ProvenSizes::check() const {
  return broken_.empty() ? base::ok()
                         : base::mismatch("the second program requires that " + broken_);
}

// The example tells which of the two can be shown.
std::optional<bool> ProvenSizes::holds(ir::Guard guard) {
  if (guard.is_constant()) return guard.is_true();
  const auto [found, is_new] = known_.try_emplace(guard.node());
  if (!is_new) return found->second;
  const auto expected =
      facts_.is_assumed(guard) ? std::optional(true) : ir::evaluate(guard, scope_.examples());
  if (!expected) return std::nullopt;
  const ir::Guard never = *expected ? !guard : guard;
  const std::string text = to_string(never);
  const auto proof = proofs_.find(text);
  bool shown = facts_.is_assumed(guard) ||
               facts_.contradictory(never, proof != proofs_.end() ? proof->second : "");
  if (!shown && search_) {
    if (auto more = search_(facts_, never)) {
      proofs_.insert_or_assign(text, *std::move(more));
      shown = true;
    }
  }
  const std::optional<bool> answer = shown ? expected : std::nullopt;
  known_.insert_or_assign(guard.node(), answer);
  return answer;
}

}  // namespace egret::verifier
