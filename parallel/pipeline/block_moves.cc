// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline/block_moves.h"

#include <numeric>

#include "base/check.h"

namespace egret::parallel {
namespace {

constexpr std::int64_t kAbsent = -1;

// The place in a rank's share of each element of the whole.
std::vector<std::int64_t> places_in_share(const ir::TensorType& whole, const HeldIn& held,
                                          std::int64_t place) {
  const std::vector<std::int64_t> elements = elements_held(whole, held.placement, held.mesh, place);
  std::vector<std::int64_t> places(static_cast<std::size_t>(whole.elements()), kAbsent);
  for (std::size_t i = 0; i < elements.size(); ++i)
    places[static_cast<std::size_t>(elements[i])] = static_cast<std::int64_t>(i);
  return places;
}

void extend(std::vector<ElementRun>& runs, std::int64_t from, std::int64_t to) {
  if (!runs.empty()) {
    ElementRun& last = runs.back();
    if (last.from + last.count == from && last.to + last.count == to) {
      ++last.count;
      return;
    }
  }
  runs.push_back({from, to, 1});
}

}  // namespace

std::vector<std::vector<ElementRun>> block_moves(const ir::TensorType& whole, const HeldIn& from,
                                                 const HeldIn& into, std::int64_t to) {
  const std::int64_t senders = from.mesh.ranks();
  const std::int64_t first = to * senders / into.mesh.ranks();
  std::vector<std::vector<ElementRun>> moves(static_cast<std::size_t>(senders));
  if (from.placement.is_copy() && into.placement.is_copy()) {
    moves[static_cast<std::size_t>(first)].push_back({0, 0, whole.elements()});
    return moves;
  }
  std::vector<std::int64_t> wanted = elements_held(whole, into.placement, into.mesh, to);
  std::vector<std::int64_t> where(wanted.size());  // in this rank's share
  std::iota(where.begin(), where.end(), 0);
  for (std::int64_t k = 0; k < senders && !wanted.empty(); ++k) {
    const std::int64_t sender = (first + k) % senders;
    const std::vector<std::int64_t> places = places_in_share(whole, from, sender);
    std::size_t left = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::int64_t place = places[static_cast<std::size_t>(wanted[i])];
      if (place != kAbsent) {
        extend(moves[static_cast<std::size_t>(sender)], place, where[i]);
        continue;
      }
      wanted[left] = wanted[i];
      where[left++] = where[i];
    }
    wanted.resize(left);
    where.resize(left);
  }
  EGRET_CHECK(wanted.empty(), "a group that holds the whole value");
  return moves;
}

std::int64_t BoundaryMoves::bytes(std::int64_t place) const {
  std::int64_t bytes = 0;
  const auto& values = by_place[static_cast<std::size_t>(place)];
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto size = static_cast<std::int64_t>(ir::byte_size(wholes[i].dtype));
    for (const ElementRun& run : values[i]) bytes += size * run.count;
  }
  return bytes;
}

BoundaryMoves boundary_moves(const StagedStep& step, std::int64_t boundary, bool backward,
                             std::int64_t to) {
  const Stage& before = step.stages[static_cast<std::size_t>(boundary)];
  const Stage& behind = step.stages[static_cast<std::size_t>(boundary) + 1];
  const Stage& sender = backward ? behind : before;
  const Stage& receiver = backward ? before : behind;
  BoundaryMoves moves;
  moves.by_place.resize(static_cast<std::size_t>(sender.mesh().ranks()));
  for (std::size_t i = 0; i < before.outgoing.size(); ++i) {
    const BoundaryValue& out = before.outgoing[i];
    const BoundaryValue& in = behind.incoming[i];
    if (backward && !out.gradient) continue;
    const std::size_t from_node = backward ? *in.gradient : out.value;
    const std::size_t to_node = backward ? *out.gradient : in.value;
    moves.from_nodes.push_back(from_node);
    moves.to_nodes.push_back(to_node);
    moves.wholes.push_back(out.type);
    const auto runs = block_moves(out.type, {sender.mesh(), sender.placement(from_node)},
                                  {receiver.mesh(), receiver.placement(to_node)}, to);
    for (std::size_t place = 0; place < runs.size(); ++place)
      moves.by_place[place].push_back(runs[place]);
  }
  return moves;
}

}  // namespace egret::parallel
