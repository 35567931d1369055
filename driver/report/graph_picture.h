// SPDX-License-Identifier: Apache-2.0
// A graph, or a part of one, as an SVG drawing: boxes in layers, inputs above. Each box says what
// it is: an operator that stays, one that is gone, one that a rule made.
//
// Drawings have their natural size: a page puts them into a box that scrolls. As a file of its own
// a drawing has its style and a legend inside.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/formats/markup.h"
#include "ir/graph/graph.h"

namespace egret::driver {

struct PictureNode {
  enum class Role : std::uint8_t {
    kInput,    // of the graph, or a value from outside of the part that is drawn
    kOutput,   // of the graph, or a reader outside of the part that is drawn
    kWeights,  // a constant
    kKept,     // an operator of both graphs
    kRewired,  // the same operator, on other operands
    kGone,     // of the original alone
    kMade,     // of the result alone
  };
  Role role = Role::kKept;
  std::string label;
  std::vector<std::string> lines{};  // attributes, type; smaller, below the label
  std::string rule{};                // that made it
  int kernel = -1;                   // that computes it: those of one kernel have one colour
  std::vector<std::size_t> inputs{};
};

struct Picture {
  std::vector<PictureNode> nodes;
};

// Without a node: empty.
base::Markup draw(const Picture& picture);
// A file of its own. The legend explains the roles that occur.
std::string draw_file(const Picture& picture, const std::string& note = "");

// The operator with its type, and the attributes that differ from their defaults. `weights`: by
// node, whether it is shown as a weight of its readers.
PictureNode picture_of_operator(const ir::Graph& graph, ir::NodeId id,
                                const std::vector<bool>& weights);

// The nearest operators to the inputs, at most so many, and what they read. `hidden`: how many
// operators are not drawn. With `kernels`, operators have the number of the first that computes
// them, and its layout where it stores their values in another one than row-major.
Picture picture_of_graph(const ir::Graph& graph, std::size_t most_operators, bool constants,
                         std::size_t& hidden, const backends::Division& kernels = {},
                         const backends::DivisionLayouts& layouts = {});

}  // namespace egret::driver
