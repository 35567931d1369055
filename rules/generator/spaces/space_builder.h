// SPDX-License-Identifier: Apache-2.0
// Writes down a space (rules/generator/spaces/space.h) in few words. Sizes are letters, which each
// world gives a number: "a,b,3" is a shape, "a*b,c" one whose first size is a product.
//
//   SpaceBuilder space("reshape", {{2, 4, 5}, {3, 6, 4}});
//   space.start("x", 2, "a,b,c").apply("relu").reshape("a*b,c");
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/generator/spaces/space.h"

namespace egret::rules::generator {

class SpaceBuilder {
 public:
  using Sizes = std::vector<std::int64_t>;  // of a, b, c, ... in a world

  SpaceBuilder(std::string name, std::vector<Sizes> worlds);

  // `copies` tensors NAME0, NAME1, ... or, of one alone, NAME.
  SpaceBuilder& start(const std::string& name, int copies, std::string_view shape);
  // An operator with these attributes, on the operands that it accepts. Of a rank below 0: on any.
  SpaceBuilder& apply(std::string_view op, const ir::Attrs& attrs = {}, int rank = -1);
  // Two or three operands: of any types that the operator accepts, the first of a rank.
  SpaceBuilder& join(std::string_view op, const ir::Attrs& attrs = {}, std::size_t arity = 2,
                     int rank = -1);
  // Operands of these ranks.
  SpaceBuilder& of_ranks(std::string_view op, const ir::Attrs& attrs, std::vector<int> ranks);
  // By what was reduced to one element along the last axis.
  SpaceBuilder& by_reduced(std::string_view op);
  // Two operands of one type.
  SpaceBuilder& alike(std::string_view op);
  // By a number, or any tensor that is broadcast to the first: of rank `rank`.
  SpaceBuilder& with_broadcast(std::string_view op, int rank);
  // Several operators as one, on a tensor of a rank that is not reduced to one element along the
  // last axis: what is a single step of a law in many.
  // Operands as in Step: 0 is the tensor, -1 what the first operator gave.
  struct Part {
    std::string_view op;
    std::vector<int> operands;
    ir::Attrs attrs{};
  };
  SpaceBuilder& body(const std::string& name, const std::vector<Part>& parts, int rank);
  SpaceBuilder& reshape(std::string_view shape);
  // Zeros before and after each axis; amounts are written like sizes.
  SpaceBuilder& pad(std::string_view before, std::string_view after);
  // An operator of images with padding: one operand, or an image and a kernel.
  SpaceBuilder& window(std::string_view op, const ir::Attrs& attrs, std::string_view pads);
  SpaceBuilder& fill(std::string_view shape, double value);
  // The first and the second half of an axis.
  SpaceBuilder& halves(std::int64_t axis);

  Space take() { return std::move(space_); }

 private:
  ir::Integers shape_in(std::string_view text, World world) const;
  std::vector<ir::Integers> shapes_of(std::string_view text) const;  // by world
  void add(std::string name, std::size_t arity, Step step,
           std::function<bool(World, const std::vector<ir::TensorType>&)> applies = {});

  std::vector<Sizes> worlds_;
  Space space_;
};

}  // namespace egret::rules::generator
