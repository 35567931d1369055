// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/text/packing.h"

#include <algorithm>

#include "backends/codegen/text/nest_facts.h"

namespace egret::backends::codegen {

using ir::Affine;
using ir::ExprOp;
using ir::NestGuard;
using ir::NestNode;

namespace {

// The widest access of one thread of a GPU.
constexpr int kPackBytes = 16;
constexpr int kMostElements = 8;

int bytes_of(ir::DType type) { return static_cast<int>(ir::byte_size(type)); }

}  // namespace

// Whether the form, without its part in `symbol` and its constant, is a multiple of the width.
bool Packing::begins_packs(const Affine& form, int symbol, int width) const {
  return std::ranges::all_of(form.parts, [&](const Affine::Part& part) {
    if (part.symbol == symbol) return true;
    return part.factor % width == 0 && !depends(nest_.symbol(part.symbol).depends, symbol);
  });
}

// Whether `width` values of the symbol, from a multiple of the width on, give consecutive offsets
// that start at a multiple of the width: one aligned vector access.
bool Packing::is_pack(const Affine& form, int symbol, int width) const {
  return form.factor(symbol) == 1 && form.constant % width == 0 &&
         begins_packs(form, symbol, width);
}

// Whether it does not depend on the symbol.
bool Packing::is_free(const Affine& form, int symbol) const {
  return std::ranges::none_of(form.parts, [&](const Affine::Part& part) {
    return depends(nest_.symbol(part.symbol).depends, symbol);
  });
}

bool Packing::reads_pack(const NestNode& node, int symbol, int width) const {
  return is_pack(node.form, symbol, width) &&
         std::ranges::all_of(node.checked,
                             [&](const auto& axis) { return is_free(axis.index, symbol); });
}

// Whether the guard has one answer for all elements of each pack. The pack is then guarded as a
// whole.
bool Packing::is_one(int id, int symbol, int width) const {
  const NestGuard& guard = nest_.guard(id);
  if (!depends(guard.depends, symbol)) return true;
  switch (guard.kind) {
    case NestGuard::Kind::kLe: {
      // With m a multiple of the width: m + u + c <= 0 is so for all u or none if c is 1 beyond a
      // multiple, m - u + c <= 0 if c is a multiple.
      const std::int64_t factor = guard.form.factor(symbol);
      if (!begins_packs(guard.form, symbol, width)) return false;
      if (factor == 1) return (guard.form.constant - 1) % width == 0;
      return factor == -1 && guard.form.constant % width == 0;
    }
    case NestGuard::Kind::kNot: return is_one(guard.a, symbol, width);
    case NestGuard::Kind::kAnd:
    case NestGuard::Kind::kOr:
      return is_one(guard.a, symbol, width) && is_one(guard.b, symbol, width);
    default: return false;
  }
}

// Nodes that are computed one by one, because a guard decides for each element of a pack.
std::vector<bool> Packing::behind_guards(int symbol, int width) const {
  std::vector<bool> behind(nest_.nodes.size(), false);
  std::vector<int> open;
  for (const NestNode& node : nest_.nodes) {
    // Starts at the kids of such guarded nodes and marks everything below them.
    const bool is_guarded = node.guard >= 0 && !is_one(node.guard, symbol, width);
    if (is_guarded) open.insert(open.end(), node.kids.begin(), node.kids.end());
  }
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    if (behind[static_cast<std::size_t>(id)]) continue;
    behind[static_cast<std::size_t>(id)] = true;
    const auto& kids = nest_.node(id).kids;
    open.insert(open.end(), kids.begin(), kids.end());
  }
  return behind;
}

// Packs pay if at least one read is a pack, and no more reads are not.
bool Packing::is_worthwhile(int symbol, int width, bool writes) const {
  if (writes && !is_pack(nest_.output, symbol, width)) return false;
  const std::vector<bool> behind = behind_guards(symbol, width);
  int packs = 0, others = 0;
  for (std::size_t id = 0; id < nest_.nodes.size(); ++id) {
    const NestNode& node = nest_.nodes[id];
    if (node.op != ExprOp::kRead || !depends(node.depends, symbol)) continue;
    ++(!behind[id] && reads_pack(node, symbol, width) ? packs : others);
  }
  return packs > 0 && packs >= others;
}

// Whether threads that take successive values of the symbol read neighbouring elements, which a GPU
// joins into few accesses.
bool Packing::reads_along(int symbol) const {
  return std::ranges::all_of(nest_.nodes, [&](const NestNode& node) {
    return node.op != ExprOp::kRead || !depends(node.depends, symbol) ||
           node.form.factor(symbol) == 1;
  });
}

// The number of the narrowest elements that fit 16 bytes.
int Packing::most(int symbol, bool writes) const {
  int narrowest = writes ? bytes_of(output_) : kPackBytes;
  for (const NestNode& node : nest_.nodes) {
    if (node.op == ExprOp::kRead && depends(node.depends, symbol))
      narrowest =
          std::min(narrowest, bytes_of(inputs_[static_cast<std::size_t>(node.input)].dtype));
  }
  return std::min(kPackBytes / narrowest, kMostElements);
}

// The widest power of two that divides the innermost extent, leaves enough packs to keep all
// threads busy, and is worthwhile.
int Packing::width(const std::vector<int>& symbols, Loop loop) const {
  if (symbols.empty()) return 1;
  const bool writes = loop != Loop::kTerms;
  const std::int64_t least = loop == Loop::kLanes ? least_.of_all : least_.of_row;
  const std::int64_t count = extents(nest_, symbols);
  const int last = symbols.back();
  // The widest first. Halving keeps the width a power of two, which divides the 16-byte alignment.
  for (int width = most(last, writes); width > 1; width /= 2) {
    if (nest_.extent(last) % width == 0 && count / width >= least &&
        is_worthwhile(last, width, writes))
      return width;
  }
  return 1;
}

}  // namespace egret::backends::codegen
