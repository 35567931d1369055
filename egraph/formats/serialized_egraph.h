// SPDX-License-Identifier: Apache-2.0
// Reads and writes e-graphs in the JSON format of egraph-serialize
// (github.com/egraphs-good/egraph-serialize), which egg, egglog and the extraction gym read and
// write.
//
//   {"nodes": {"NODE": {"op": text, "children": ["NODE", ...], "eclass": "CLASS", "cost": number,
//                       "subsumed": bool}, ...},
//    "root_eclasses": ["CLASS", ...],
//    "class_data": {"CLASS": {"type": text, ...}, ...}}
//
// Optional members: children, cost (1 by default), subsumed (false by default), roots and class
// data. Names are any text. Unknown members are skipped.
//
// Both directions stream. The reader takes text in pieces and keeps names and numbers, never the
// document. The writer passes text on as it is produced.
//
// Reading errors are bad_input. They name line and column, or the node if the error is known only
// at the end of the text. Errors are: a member of the wrong JSON kind; a node that occurs twice or
// lacks op or eclass; a child that is not a node; a root or class data without a class. Time and
// memory are linear in the text.
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

// The content of a file. Classes are in order of their first node in the file; nodes are in the
// file's order within their class. Such an e-graph need not be closed under congruence.
struct SerializedEGraph {
  using Index = EGraphView::Index;
  using Texts = std::vector<std::pair<std::string, std::string>>;  // key and text, sorted

  OpTable ops;
  EGraphView view;                 // class_id[c] is c
  std::vector<Index> child_nodes;  // parallel to view.children: the named node of that class
  std::vector<double> costs;       // by node
  std::vector<bool> subsumed;      // by node
  std::vector<std::string> node_names;
  std::vector<std::string> class_names;
  std::vector<std::pair<Index, Texts>> class_data;  // by ascending class
  std::vector<std::string> missing_roots;           // named as roots, but without a node
};

struct SerializedOptions {
  // Omits roots that name no class from the view and lists them, instead of refusing the file.
  bool ignore_missing_roots = false;
  std::uint64_t max_nodes = 0xfffffffe;
};

class SerializedReader {
 public:
  explicit SerializedReader(const SerializedOptions& options = {});
  ~SerializedReader();

  base::Status feed(std::string_view piece);
  // Ends the text. Must be called once.
  base::Result<SerializedEGraph> finish();

 private:
  class Handler;
  struct State;
  std::unique_ptr<State> state_;
};

// Reads a file, or standard input if the path is "-". Returns the failures of
// base::read_in_pieces() too.
base::Result<SerializedEGraph> read_serialized(const std::string& path,
                                               const SerializedOptions& options = {});

// Receives the text in pieces. A failure ends the writing and is returned.
using TextSink = std::function<base::Status(std::string_view)>;

// Writes text that read_serialized() reads back as the same e-graph.
base::Status write_serialized(const SerializedEGraph& serialized, const TextSink& sink);

// Writes the visible nodes of a clean e-graph, named "class.number" as in egg. The cost of a node
// is cost(node), or 1 without a function. O(nodes), without a copy. Returns unsupported if a child
// or root class has no visible node.
base::Status write_serialized(const EGraph& egraph, std::span<const ClassId> roots,
                              const TextSink& sink,
                              const std::function<double(NodeId)>& cost = nullptr);

// Adds the content of a file to an e-graph. The OpTable gets an operator for the op of each node.
// Returns the class for each of the file's classes. Costs and class data are not kept. A class that
// has only cyclic nodes is given an additional hidden node. Fails if the analysis refuses a node or
// a merge. The e-graph is rebuilt at the end.
base::Result<std::vector<ClassId>> add_serialized(const SerializedEGraph& serialized,
                                                  EGraph& egraph);

}  // namespace egret::egraph
