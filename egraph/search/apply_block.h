// SPDX-License-Identifier: Apache-2.0
// Applies the matches of a rule without callbacks, a block at a time: what growing e-graphs spend
// their time on.
//
// A block goes through the rule's right side step by step, and through each step three times: first
// all matches hash the node that they ask for, then all read where the hash-cons points, then all
// take or make the node. Each pass asks for the memory that the next one needs, so that a block
// waits for memory a few times instead of once for each node (Chen, Ailamaki, Gibbons, Mowry 2004,
// "Improving hash join performance through prefetching"), and loops are short.
//
// Near saturation most matches say what is known, and those that come together ask for the same
// nodes: the classes that a step built last are then kept in a small table of their own.
//
// What comes out is the same as match by match, up to the numbering of new classes, and but for
// matches that are refused: the nodes that were built for a refused merge stay.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "egraph/core/egraph.h"
#include "egraph/search/match_buffer.h"
#include "egraph/search/rewrite.h"

namespace egret::egraph {

class ApplyBlock {
 public:
  static constexpr std::size_t kMatches = 128;  // in a block

  // The rule has no callbacks, and the analysis, if there is one, refuses no node.
  static bool suits(const Rewrite& rule, const EGraph& egraph);

  // The rule must suit; both must outlive the object, and there must be no rebuild meanwhile.
  ApplyBlock(const Rewrite& rule, EGraph& egraph);
  ~ApplyBlock();

  // Nodes that a block may add at most.
  std::size_t max_nodes() const { return kMatches * rule_.steps().size(); }
  // Whether the arena has room for them.
  bool fits() const;

  struct Outcome {
    std::size_t changed = 0;
    std::size_t refused = 0;  // merges that the analysis objects to
    base::Status refusal;     // the first one's
  };
  // At most kMatches rows of the buffer, from `begin` on.
  Outcome apply(const MatchBuffer& matches, std::size_t begin, std::size_t count);

 private:
  static constexpr std::size_t kMaxChildren = Rewrite::kMaxPlainChildren;
  // Of a step with kArity children.
  template <std::size_t kArity>
  using Kids = std::array<ClassId, std::max<std::size_t>(kArity, 1)>;

  ClassId* row(std::size_t match) { return rows_.data() + match * stride_; }
  const ClassId* row(std::size_t match) const { return rows_.data() + match * stride_; }
  // Calls visit with the number of the step's children as a constant, or kMaxChildren.
  template <typename Visit>
  static void with_arity(const Rewrite::Step& step, Visit visit);
  template <std::size_t kArity>
  class Node;
  class Memo;
  void load();
  template <std::size_t kArity>
  void seek(const Node<kArity>& node);
  template <std::size_t kArity>
  NodeId take(const Node<kArity>& node, std::size_t match, Kids<kArity>& kids);
  template <std::size_t kArity>
  NodeId take_unlikely(const Node<kArity>& node, std::size_t match, Kids<kArity>& kids,
                       bool canonical);
  template <std::size_t kArity>
  void build(const Node<kArity>& node, std::size_t column);
  void make_memos();
  bool suits_memo(std::size_t step) const;
  void build_by_memo(const Node<2>& node, std::size_t column, Memo& memo);
  template <std::size_t kArity>
  void build_into(const Node<kArity>& node, VarId target);
  void prefetch_targets(VarId target) const;
  void merge_pairs();
  bool merge(std::size_t match, std::pair<ClassId, ClassId> classes, std::uint32_t equation);
  void refuse(base::Status why);
  ProofLog::Reason reason(std::size_t match, std::uint32_t equation) const;

  const Rewrite& rule_;
  EGraph& egraph_;
  const std::size_t vars_;           // matched
  const std::size_t stride_;         // matched and built
  std::vector<std::uint32_t> used_;  // matched variables that steps, equations or proofs speak of
  const MatchBuffer* matches_ = nullptr;
  std::size_t begin_ = 0;
  std::size_t count_ = 0;
  std::uint64_t merges_ = 0;   // of the e-graph, when all rows were canonical
  std::vector<ClassId> rows_;  // kMatches of them: what variables stand for
  std::array<std::uint32_t, kMatches> hashes_{};
  std::array<NodeId, kMatches> found_{};  // where the nodes are likely to be, or invalid
  bool mostly_known_ = false;             // of the last block, most said nothing new
  std::vector<Memo> memos_;               // by step; made when first needed
  Outcome outcome_;
};

}  // namespace egret::egraph
