// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/spaces/space_builder.h"

#include <algorithm>

#include "base/check.h"

namespace egret::rules::generator {

using ir::Attrs;
using ir::Integers;
using ir::TensorType;
using Types = std::vector<TensorType>;

namespace {

Step::MakeAttrs always(const Attrs& attrs) {
  return [attrs](World, const Types&) -> std::optional<Attrs> { return attrs; };
}

std::vector<int> operands(std::size_t arity) {
  std::vector<int> list;
  for (std::size_t i = 0; i < arity; ++i) list.push_back(static_cast<int>(i));
  return list;
}

std::string named(std::string_view op, const Attrs& attrs) {
  std::string name(op);
  for (const Attrs::Entry& entry : attrs.entries())
    name += "-" + entry.name + ir::to_string(entry.value);
  std::erase_if(name, [](char c) { return c == ' ' || c == '"'; });
  return name;
}

}  // namespace

SpaceBuilder::SpaceBuilder(std::string name, std::vector<Sizes> worlds)
    : worlds_(std::move(worlds)), space_{std::move(name), {}, {}} {}

Integers SpaceBuilder::shape_in(std::string_view text, World world) const {
  Integers shape;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ',' || c == '*') continue;
    const bool is_letter = c >= 'a' && c <= 'z';
    EGRET_CHECK(is_letter || (c >= '0' && c <= '9'), "a shape that cannot be read");
    const std::int64_t size =
        is_letter ? worlds_[world].at(static_cast<std::size_t>(c - 'a')) : c - '0';
    if (i > 0 && text[i - 1] == '*') {
      shape.back() *= size;
    } else {
      shape.push_back(size);
    }
  }
  return shape;
}

std::vector<Integers> SpaceBuilder::shapes_of(std::string_view text) const {
  std::vector<Integers> shapes;
  for (World world = 0; world < worlds_.size(); ++world) shapes.push_back(shape_in(text, world));
  return shapes;
}

void SpaceBuilder::add(std::string name, std::size_t arity, Step step,
                       std::function<bool(World, const Types&)> applies) {
  space_.choices.push_back({std::move(name), arity, {std::move(step)}, std::move(applies)});
}

SpaceBuilder& SpaceBuilder::start(const std::string& name, int copies, std::string_view shape) {
  for (int i = 0; i < copies; ++i) {
    StartTensor start{copies > 1 ? name + std::to_string(i) : name, {}};
    for (World world = 0; world < worlds_.size(); ++world)
      start.types.emplace_back(ir::DType::kF32, shape_in(shape, world));
    space_.starts.push_back(std::move(start));
  }
  return *this;
}

SpaceBuilder& SpaceBuilder::apply(std::string_view op, const Attrs& attrs, int rank) {
  return join(op, attrs, 1, rank);
}

SpaceBuilder& SpaceBuilder::join(std::string_view op, const Attrs& attrs, std::size_t arity,
                                 int rank) {
  add(named(op, attrs) + (arity > 2 ? "-of-" + std::to_string(arity) : ""), arity,
      {&ir::get_operator(op), operands(arity), always(attrs)}, [rank](World, const Types& types) {
        return rank < 0 ? types[0].rank() > 0 : types[0].rank() == rank;
      });
  return *this;
}

SpaceBuilder& SpaceBuilder::of_ranks(std::string_view op, const Attrs& attrs,
                                     std::vector<int> ranks) {
  const std::size_t arity = ranks.size();
  add(named(op, attrs) + "-of-" + std::to_string(arity), arity,
      {&ir::get_operator(op), operands(arity), always(attrs)},
      [ranks = std::move(ranks)](World, const Types& types) {
        return std::ranges::equal(ranks, types, {}, {}, &TensorType::rank);
      });
  return *this;
}

SpaceBuilder& SpaceBuilder::by_reduced(std::string_view op) {
  const auto applies = [](World, const Types& types) {
    if (types[0].rank() == 0 || types[0].dims.back().constant() == 1) return false;
    TensorType reduced = types[0];
    reduced.dims.back() = 1;
    return types[1] == reduced;
  };
  add(std::string(op) + "-by-reduced", 2, {&ir::get_operator(op), {0, 1}, {}}, applies);
  return *this;
}

SpaceBuilder& SpaceBuilder::alike(std::string_view op) {
  add(std::string(op), 2, {&ir::get_operator(op), {0, 1}, {}},
      [](World, const Types& types) { return types[0].rank() > 0 && types[0] == types[1]; });
  return *this;
}

SpaceBuilder& SpaceBuilder::with_broadcast(std::string_view op, int rank) {
  add(std::string(op) + "-by-rank-" + std::to_string(rank), 2, {&ir::get_operator(op), {0, 1}, {}},
      [rank](World, const Types& types) {
        return types[0].rank() > rank && types[1].rank() == rank;
      });
  return *this;
}

SpaceBuilder& SpaceBuilder::body(const std::string& name, const std::vector<Part>& parts,
                                 int rank) {
  const auto applies = [rank](World, const Types& types) {
    return types[0].rank() == rank && types[0].dims.back().constant() != 1;
  };
  OperatorChoice choice{name, 1, {}, applies};
  for (const Part& part : parts)
    choice.steps.push_back({&ir::get_operator(part.op), part.operands, always(part.attrs)});
  space_.choices.push_back(std::move(choice));
  return *this;
}

SpaceBuilder& SpaceBuilder::reshape(std::string_view shape) {
  const auto to = [shapes = shapes_of(shape)](World world,
                                              const Types& types) -> std::optional<Attrs> {
    const Integers& wanted = shapes[world];
    if (types[0].shape() == ir::Shape(wanted.begin(), wanted.end())) return std::nullopt;
    return Attrs{{"shape", wanted}};
  };
  add("reshape-" + std::string(shape), 1, {&ir::get_operator("reshape"), {0}, to});
  return *this;
}

SpaceBuilder& SpaceBuilder::pad(std::string_view before, std::string_view after) {
  const auto margins = [front = shapes_of(before), back = shapes_of(after)](
                           World world, const Types& types) -> std::optional<Attrs> {
    if (types[0].rank() != static_cast<int>(front[world].size())) return std::nullopt;
    return Attrs{{"before", front[world]}, {"after", back[world]}};
  };
  add("pad-" + std::string(before) + "-" + std::string(after), 1,
      {&ir::get_operator("pad"), {0}, margins});
  return *this;
}

SpaceBuilder& SpaceBuilder::window(std::string_view op, const Attrs& attrs, std::string_view pads) {
  const auto with_pads = [attrs, pads = shapes_of(pads)](
                             World world, const Types& types) -> std::optional<Attrs> {
    if (types[0].rank() != 4) return std::nullopt;
    Attrs all = attrs;
    all.set("pads", pads[world]);
    return all;
  };
  const ir::Operator& windowed = ir::get_operator(op);
  const auto arity = static_cast<std::size_t>(windowed.min_inputs());
  add(named(op, attrs) + "-pads-" + std::string(pads), arity,
      {&windowed, operands(arity), with_pads});
  return *this;
}

SpaceBuilder& SpaceBuilder::fill(std::string_view shape, double value) {
  const auto of = [shapes = shapes_of(shape), value](World world,
                                                     const Types&) -> std::optional<Attrs> {
    return Attrs{{"shape", shapes[world]}, {"value", value}, {"dtype", std::string("f32")}};
  };
  add("fill-" + std::string(shape) + "-" + ir::to_string(ir::AttrValue(value)), 0,
      {&ir::get_operator("fill"), {}, of});
  return *this;
}

SpaceBuilder& SpaceBuilder::halves(std::int64_t axis) {
  for (const std::int64_t part : {0, 1}) {
    const auto half = [axis, part](World, const Types& types) -> std::optional<Attrs> {
      if (axis >= types[0].rank()) return std::nullopt;
      const std::int64_t size = types[0].dims[static_cast<std::size_t>(axis)].constant();
      if (size % 2 != 0) return std::nullopt;
      return Attrs{{"axis", axis}, {"start", part * size / 2}, {"size", size / 2}};
    };
    add("half" + std::to_string(axis) + "-" + std::to_string(part), 1,
        {&ir::get_operator("slice"), {0}, half});
  }
  return *this;
}

}  // namespace egret::rules::generator
