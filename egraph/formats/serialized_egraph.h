// SPDX-License-Identifier: Apache-2.0
// E-graphs as files: the JSON of egraph-serialize (github.com/egraphs-good/egraph-serialize), which
// egg, egglog and the extraction gym write and read.
//
//   {"nodes": {"NODE": {"op": text, "children": ["NODE", ...], "eclass": "CLASS", "cost": number,
//                       "subsumed": bool}, ...},
//    "root_eclasses": ["CLASS", ...],
//    "class_data": {"CLASS": {"type": text, ...}, ...}}
//
// Children, cost (1) and subsumed (false) may be left out, and so may roots and class data. Names
// are any text. Members that the format does not have are passed over.
//
// Both ways are streams: reading takes text in pieces and keeps names and numbers, never the
// document; writing hands on text as it goes.
//
// Errors of reading (bad input) name line and column, or, for what can only be known at the end,
// the node: a member of another kind than the format's, a node twice or without op or eclass, a
// child that is no node, a root or class data of no class. Time and memory are linear in the text.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "egraph/core/egraph.h"
#include "egraph/core/op_table.h"
#include "egraph/core/view.h"

namespace egret::egraph {

// What a file says. Classes are in order of their first node in the file, nodes in the file's order
// within their class. Such an e-graph need not be closed under congruence.
struct SerializedEGraph {
  using Index = EGraphView::Index;
  using Texts = std::vector<std::pair<std::string, std::string>>;  // key and text, sorted

  OpTable ops;
  EGraphView view;                 // class_id[c] is c
  std::vector<Index> child_nodes;  // beside view.children: which node of that class was named
  std::vector<double> costs;       // by node
  std::vector<bool> subsumed;      // by node
  std::vector<std::string> node_names;
  std::vector<std::string> class_names;
  std::vector<std::pair<Index, Texts>> class_data;  // by ascending class
  std::vector<std::string> missing_roots;           // named as roots, but no node is in them
};

struct SerializedOptions {
  // Leave roots that name no class out of the view and list them, instead of refusing the file.
  bool ignore_missing_roots = false;
  std::uint64_t max_nodes = 0xfffffffe;
};

class SerializedReader {
 public:
  explicit SerializedReader(const SerializedOptions& options = {});
  ~SerializedReader();

  base::Status feed(std::string_view piece);
  // The text has ended. Called once.
  base::Result<SerializedEGraph> finish();

 private:
  class Handler;
  struct State;
  std::unique_ptr<State> state_;
};

// A file, or standard input for "-". Fails like base::read_in_pieces() as well.
base::Result<SerializedEGraph> read_serialized(const std::string& path,
                                               const SerializedOptions& options = {});

// Takes the text piece by piece; a failure ends writing and is returned.
using TextSink = std::function<base::Status(std::string_view)>;

// What read_serialized() reads back as the same e-graph.
base::Status write_serialized(const SerializedEGraph& serialized, const TextSink& sink);

// The visible nodes of a clean e-graph, named "class.number" as egg names them; costs are
// cost(node), 1 without a function. O(nodes) without a copy. Unsupported where a class that is
// needed has no visible node.
base::Status write_serialized(const EGraph& egraph, std::span<const ClassId> roots,
                              const TextSink& sink,
                              const std::function<double(NodeId)>& cost = nullptr);

// Adds what a file says to an e-graph, whose OpTable gets an operator of each node's op; the class
// of each of the file's classes. Costs and class data are not kept. Classes that only cyclic nodes
// make up are given a hidden node of their own. Fails where the analysis refuses a node or a merge.
// The e-graph is rebuilt afterwards.
base::Result<std::vector<ClassId>> add_serialized(const SerializedEGraph& serialized,
                                                  EGraph& egraph);

}  // namespace egret::egraph
