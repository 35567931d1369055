// SPDX-License-Identifier: Apache-2.0
#include "egraph/core/smallest_term.h"

#include <algorithm>

#include "egraph/core/view.h"

namespace egret::egraph {
namespace {

constexpr std::uint64_t kMax = std::uint64_t{1} << 62;

struct Best {
  std::uint64_t size = 0;  // 0: no finite term known
  EGraphView::Index node = 0;
};

// A fixpoint (Bellman-Ford) over all classes: sweeps until no size shrinks. Each sweep settles at
// least one more level of the terms' depth. A node is replaced only by one of strictly smaller
// size. The chosen nodes therefore form no cycle, and the sweeps end.
std::vector<Best> best_nodes(const EGraphView& view) {
  std::vector<Best> best(view.class_count());
  for (bool changed = true; changed;) {
    changed = false;
    for (EGraphView::Index node = 0; node < view.node_count(); ++node) {
      std::uint64_t size = 1;
      for (const EGraphView::Index child : view.children_of(node)) {
        // Sizes of terms grow exponentially with the depth where classes are shared; the cap keeps
        // the sum in range.
        size = best[child].size == 0 ? 0 : std::min(kMax, size + best[child].size);
        if (size == 0) break;
      }
      Best& own = best[view.node_class[node]];
      if (size == 0 || (own.size != 0 && own.size <= size)) continue;
      own = {size, node};
      changed = true;
    }
  }
  return best;
}

}  // namespace

SizedTerm smallest_term(const EGraph& egraph, ClassId id, std::size_t max_text) {
  const ClassId root_id[] = {id};
  const EGraphView view = make_view(egraph, root_id);
  const std::vector<Best> best = best_nodes(view);
  SizedTerm term{best[view.roots[0]].size, {}};
  if (term.size == 0) return term;

  // Written depth first with an explicit stack, as terms can be deep. A text that grows too long is
  // dropped: shared classes can make it exponential.
  struct Frame {
    EGraphView::Index node;
    std::size_t next_child = 0;
  };
  std::vector<Frame> stack;
  const auto enter = [&](EGraphView::Index c) {
    const EGraphView::Index node = best[c].node;
    if (!term.text.empty() && term.text.back() != '(') term.text += ' ';
    if (!view.children_of(node).empty()) term.text += '(';
    term.text += egraph.ops().text(view.node_op[node]);
    stack.push_back({node});
  };
  enter(view.roots[0]);
  while (!stack.empty() && term.text.size() <= max_text) {
    Frame& top = stack.back();
    const auto children = view.children_of(top.node);
    if (top.next_child < children.size()) {
      enter(children[top.next_child++]);
    } else {
      if (!children.empty()) term.text += ')';
      stack.pop_back();
    }
  }
  if (term.text.size() > max_text) term.text.clear();
  return term;
}

}  // namespace egret::egraph
