// SPDX-License-Identifier: Apache-2.0
// Applies the matches of a rule without callbacks, in blocks. Growing e-graphs spend most of their
// time here.
//
// A block goes through the steps of the right side one by one, and through each step in three
// passes. The first pass hashes the wanted node of every match. The second reads the hash-cons
// entries. The third looks up or makes the nodes. Each pass prefetches for the next, so a block
// waits for memory a few times instead of once per node (Chen, Ailamaki, Gibbons, Mowry 2004,
// "Improving hash join performance through prefetching").
//
// Near saturation most matches add nothing, and consecutive matches ask for the same nodes. The
// classes that a step built last are then cached in a small table.
//
// The result equals that of applying the matches one by one, with two exceptions: new classes may
// be numbered differently, and the nodes built for a refused merge remain.
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

  // Whether the rule has no callbacks and the analysis, if any, refuses no node.
  static bool suits(const Rewrite& rule, const EGraph& egraph);

  // Requires suits(). Rule and e-graph must outlive the object. No rebuild may happen in between.
  ApplyBlock(const Rewrite& rule, EGraph& egraph);
  ~ApplyBlock();

  // An upper bound on the nodes that one block adds.
  std::size_t max_nodes() const { return kMatches * rule_.steps().size(); }
  // Whether the arena has room for max_nodes() nodes.
  bool fits() const;

  struct Outcome {
    std::size_t changed = 0;
    std::size_t refused = 0;  // merges that the analysis objects to
    base::Status refusal;     // the first one's
  };
  // Applies `count` <= kMatches rows of the buffer, from row `begin` on.
  Outcome apply(const MatchBuffer& matches, std::size_t begin, std::size_t count);

 private:
  static constexpr std::size_t kMaxChildren = Rewrite::kMaxPlainChildren;
  // The children of a step with kArity children.
  template <std::size_t kArity>
  using Kids = std::array<ClassId, std::max<std::size_t>(kArity, 1)>;

  ClassId* row(std::size_t match) { return rows_.data() + match * stride_; }
  const ClassId* row(std::size_t match) const { return rows_.data() + match * stride_; }
  // Calls visit with the step's number of children as a template argument; kMaxChildren stands for
  // any larger number.
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
  std::vector<std::uint32_t> used_;  // matched variables that steps, equations or proofs use
  const MatchBuffer* matches_ = nullptr;
  std::size_t begin_ = 0;
  std::size_t count_ = 0;
  std::uint64_t merges_ = 0;   // of the e-graph, when all rows were canonical
  std::vector<ClassId> rows_;  // kMatches rows of the classes of all variables
  std::array<std::uint32_t, kMatches> hashes_{};
  std::array<NodeId, kMatches> found_{};  // where the nodes are likely to be, or invalid
  bool mostly_known_ = false;             // of the last block, most said nothing new
  std::vector<Memo> memos_;               // by step; made when first needed
  Outcome outcome_;
};

}  // namespace egret::egraph
