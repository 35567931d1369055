// SPDX-License-Identifier: Apache-2.0
// The scalar expressions of a loop nest as tensors: each node becomes a graph of ordinary operators
// over the variables on which it depends.
#pragma once

#include <map>
#include <span>

#include "ir/autodiff/labelled.h"
#include "ir/nest/loop_nest.h"

namespace egret::ir::autodiff {

class Emitter {
 public:
  // The nest may grow while nodes are emitted. `inputs` are the tensors that the nest reads,
  // `output` is the value of its root; real arithmetic has type `real`.
  Emitter(GraphBuilder& builder, LoopNest& nest, std::span<const Value> inputs, Value output,
          DType real);

  // Axes ascend. Elements that a guard around the node excludes are unspecified.
  Labelled node(int id);
  Labelled guard(int id);
  Labelled index(const Affine& form);         // i64
  Labelled not_positive(const Affine& form);  // form <= 0
  Labelled zero(const Affine& form);          // form == 0
  Labelled scalar(DType dtype, double value);
  // The tensor, which has the nest's output type, labelled by the output's variables.
  Labelled over_output(Value tensor);

  // If the node is a function of one element x of one input, read at one place, applies the
  // function to the whole input. Invalid otherwise. `read` receives the node that reads.
  Value of_whole_input(int id, int& read);

  Value input(const NestNode& read);  // the tensor that it reads, cast to the node's type
  std::vector<int> variables(VariableSet set) const;

  GraphBuilder& builder() { return b_; }
  LoopNest& nest() { return nest_; }
  DType real() const { return real_; }

 private:
  Labelled made_node(int id);
  Labelled operation(const NestNode& node, std::span<const Labelled> kids);
  Labelled call(Function function, std::span<const Labelled> kids);
  Labelled reduction(const NestNode& node);
  Labelled symbol(int id);
  Labelled over(Labelled x, std::span<const int> vars);
  DType type_of(const NestNode& node) const { return node.is_real() ? real_ : node.type; }
  bool is_function_of(int id, int& read) const;
  Labelled whole(int id, int read);

  GraphBuilder& b_;
  LoopNest& nest_;
  std::span<const Value> inputs_;
  Value output_;
  DType real_;
  std::map<int, Labelled> nodes_, symbols_;
};

}  // namespace egret::ir::autodiff
