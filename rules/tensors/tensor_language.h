// SPDX-License-Identifier: Apache-2.0
// The language of tensor e-graphs: the meaning of the engine's operators.
//
// The engine knows an operator as base + arity + payload. Here the base is an ir::Operator (by
// name), and the payload is an interned tuple of canonical attributes. conv{strides=[1, 1], ...}
// and conv{strides=[2, 2], ...} are thus two OpIds of one base. Two further bases are leaves.
// Constants are interned by the hash of type and contents; their tensors are in a table beside the
// e-graph. Inputs are interned by name.
//
// Tables only grow. Not thread-safe while they grow.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "egraph/core/op_table.h"
#include "ir/graph/graph.h"

namespace egret::rules {

class TensorLanguage {
 public:
  TensorLanguage();
  TensorLanguage(const TensorLanguage&) = delete;
  TensorLanguage& operator=(const TensorLanguage&) = delete;

  egraph::OpTable& table() { return table_; }
  const egraph::OpTable& table() const { return table_; }

  // Interning. Attributes must be canonical (ir::canonical_attrs).
  egraph::OpId operation(const ir::Operator& op, const ir::Attrs& attrs, std::size_t arity);
  egraph::OpId constant(const ir::Tensor& data, std::string_view name = {});
  egraph::OpId input(std::string_view name, const ir::TensorType& type);
  // Of a node of a graph, by its kind.
  egraph::OpId node(const ir::Node& node);
  // As operation(), after checking the arity and making `given` canonical.
  base::Result<egraph::OpId> checked_operation(const ir::Operator& op, const ir::Attrs& given,
                                               std::size_t arity);

  // The meaning of an OpId.
  ir::NodeKind kind(egraph::OpId id) const;
  bool is_constant(egraph::OpId id) const { return table_.base_of(id) == constant_base_; }
  bool is_input(egraph::OpId id) const { return table_.base_of(id) == input_base_; }
  const ir::Operator& op(egraph::OpId id) const;    // of an operation
  const ir::Attrs& attrs(egraph::OpId id) const;    // of an operation
  const ir::Tensor& tensor(egraph::OpId id) const;  // of a constant
  // The name of an input, or the name under which a constant was first added.
  const std::string& leaf_name(egraph::OpId id) const;
  const ir::TensorType& input_type(egraph::OpId id) const;

  egraph::BaseId base(const ir::Operator& op) { return table_.base(op.name()); }
  // "conv{group=1, ...}", "constant(bn1.scale f32[64])", "input(x)".
  std::string text(egraph::OpId id) const;

 private:
  struct Constant {
    ir::Tensor data;
    std::string name;
  };
  struct Input {
    std::string name;
    ir::TensorType type;
  };
  struct AttrsHash {
    std::size_t operator()(const ir::Attrs& attrs) const { return hash_value(attrs); }
  };
  struct ContentHasher {
    std::size_t operator()(const base::ContentHash& hash) const { return hash.low; }
  };

  egraph::OpTable table_;
  egraph::BaseId constant_base_;
  egraph::BaseId input_base_;
  std::vector<const ir::Operator*> operators_;           // by BaseId; nullptr for leaves
  std::vector<std::unique_ptr<const ir::Attrs>> attrs_;  // by payload; addresses are stable
  boost::unordered_flat_map<ir::Attrs, std::uint64_t, AttrsHash> attrs_index_;
  std::vector<Constant> constants_;
  boost::unordered_flat_map<base::ContentHash, std::uint64_t, ContentHasher> constant_index_;
  std::vector<Input> inputs_;
};

}  // namespace egret::rules
