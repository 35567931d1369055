// SPDX-License-Identifier: Apache-2.0
// The operators and tensors of TASO's generator. Where TASO has an instance of an operator for each
// size of a kernel or rank of a tensor, here one choice takes them all: the terms are the same.
#include "rules/generator/spaces/space.h"

namespace egret::rules::generator {

using ir::Attrs;
using ir::Integers;
using ir::TensorType;
using Types = std::vector<TensorType>;

namespace {

struct Sizes {
  std::int64_t rows, channels, height, width, kernel;
};
// The first has TASO's sizes. In one there are more rows than channels, in the other fewer, so that
// the middle of two tensors of different sizes is not always in the same one.
constexpr Sizes kWorlds[] = {{2, 4, 5, 5, 3}, {6, 2, 7, 8, 5}};

std::int64_t size_of(const TensorType& type, int axis) {
  return type.dims[static_cast<std::size_t>(axis)].constant();
}
bool is_matrix(const TensorType& type) { return type.rank() == 2; }
// Images are larger than kernels, whatever was joined to them or cut off.
bool is_image(World world, const TensorType& type) {
  return type.rank() == 4 && size_of(type, 2) > kWorlds[world].kernel;
}
bool is_kernel(World world, const TensorType& type) {
  return type.rank() == 4 && !is_image(world, type);
}

void add_start(Space& space, const std::string& name, int copies,
               const std::function<Integers(const Sizes&)>& shape) {
  for (int i = 0; i < copies; ++i) {
    StartTensor start;
    start.name = copies > 1 ? name + std::to_string(i) : name;
    for (const Sizes& sizes : kWorlds) start.types.emplace_back(ir::DType::kF32, shape(sizes));
    space.starts.push_back(std::move(start));
  }
}

Step::MakeAttrs always(const Attrs& attrs) {
  return [attrs](World, const Types&) -> std::optional<Attrs> { return attrs; };
}

const ir::Operator* op(std::string_view name) { return &ir::get_operator(name); }

std::optional<Attrs> same_window(const Types& types) {
  const std::int64_t height = size_of(types[1], 2);
  const std::int64_t width = size_of(types[1], 3);
  const std::int64_t covered = size_of(types[1], 1);
  if (height % 2 == 0 || width % 2 == 0 || size_of(types[0], 1) % covered != 0) return std::nullopt;
  const std::int64_t y = (height - 1) / 2;
  const std::int64_t x = (width - 1) / 2;
  return Attrs{{"strides", Integers{1, 1}},
               {"pads", Integers{y, x, y, x}},
               {"dilations", Integers{1, 1}},
               {"group", size_of(types[0], 1) / covered}};
}

void add_convolutions(Space& space) {
  const auto applies = [](World world, const Types& types) {
    return is_image(world, types[0]) && is_kernel(world, types[1]);
  };
  const Step conv{op("conv"), {0, 1}, [](World, const Types& types) { return same_window(types); }};
  space.choices.push_back({"conv", 2, {conv}, applies});
  space.choices.push_back({"conv-relu", 2, {conv, {op("relu"), {-1}}}, applies});
}

void add_pools(Space& space) {
  const Attrs window{{"kernel", Integers{3, 3}},
                     {"strides", Integers{1, 1}},
                     {"pads", Integers{1, 1, 1, 1}},
                     {"dilations", Integers{1, 1}}};
  Attrs average = window;
  average.set("count_include_pad", std::int64_t{1});
  // Of kernels the largest: what is smaller than the window is a sum.
  const auto applies = [](World world, const Types& types) {
    const std::int64_t kernel = kWorlds[world].kernel;
    return types[0].rank() == 4 && size_of(types[0], 2) >= kernel && size_of(types[0], 3) >= kernel;
  };
  space.choices.push_back({"avg-pool", 1, {{op("avg_pool"), {0}, always(average)}}, applies});
  space.choices.push_back({"max-pool", 1, {{op("max_pool"), {0}, always(window)}}, applies});
}

Step::MakeAttrs filled(std::function<Integers(const Sizes&)> shape, double value) {
  return [shape = std::move(shape), value](World world, const Types&) -> std::optional<Attrs> {
    return Attrs{{"shape", shape(kWorlds[world])}, {"value", value}, {"dtype", std::string("f32")}};
  };
}

void add_constants(Space& space) {
  const auto eye = [](World world, const Types&) -> std::optional<Attrs> {
    const std::int64_t n = kWorlds[world].channels;
    return Attrs{{"rows", n}, {"columns", n}, {"dtype", std::string("f32")}};
  };
  const auto one_by_one = [](World world, const Types&) -> std::optional<Attrs> {
    const std::int64_t n = kWorlds[world].channels;
    return Attrs{{"shape", Integers{n, n, 1, 1}}};
  };
  const auto margins = [](World world, const Types&) -> std::optional<Attrs> {
    const std::int64_t margin = (kWorlds[world].kernel - 1) / 2;
    return Attrs{{"before", Integers{0, 0, margin, margin}},
                 {"after", Integers{0, 0, margin, margin}},
                 {"mode", std::string("constant")}};
  };
  const auto pool = filled([](const Sizes& s) { return Integers{s.channels, 1, 3, 3}; }, 1);
  const auto nine = filled([](const Sizes&) { return Integers{1, 1, 1, 1}; }, 9);
  const auto ones = filled(
      [](const Sizes& s) {
        return Integers{s.rows, s.channels, s.height, s.width};
      },
      1);
  space.choices.push_back({"identity-matrix", 0, {{op("eye"), {}, eye}}});
  space.choices.push_back(
      {"identity-kernel",
       0,
       {{op("eye"), {}, eye}, {op("reshape"), {-1}, one_by_one}, {op("pad"), {-2}, margins}}});
  space.choices.push_back(
      {"pool-kernel", 0, {{op("fill"), {}, pool}, {op("fill"), {}, nine}, {op("div"), {-1, -2}}}});
  space.choices.push_back({"ones", 0, {{op("fill"), {}, ones}}});
}

// A kernel with zeros around it, as large as the largest (in TASO's world 3x3). What is 3x3 in all
// worlds would be enlarged in one of them and not in the other.
void add_enlarge(Space& space) {
  const auto margins = [](World world, const Types& types) -> std::optional<Attrs> {
    const std::int64_t y = kWorlds[world].kernel - size_of(types[0], 2);
    const std::int64_t x = kWorlds[world].kernel - size_of(types[0], 3);
    const auto is_one_or_all = [&](std::int64_t margin) {
      return margin == 0 || margin + 1 == kWorlds[world].kernel;
    };
    if (!is_one_or_all(y) || !is_one_or_all(x)) return std::nullopt;
    return Attrs{{"before", Integers{0, 0, y / 2, x / 2}},
                 {"after", Integers{0, 0, y / 2, x / 2}},
                 {"mode", std::string("constant")}};
  };
  const auto applies = [](World world, const Types& types) { return is_kernel(world, types[0]); };
  space.choices.push_back({"enlarge", 1, {{op("pad"), {0}, margins}}, applies});
}

void add_splits(Space& space, std::int64_t axis) {
  for (const std::int64_t part : {0, 1}) {
    const auto half = [axis, part](World, const Types& types) -> std::optional<Attrs> {
      if (axis >= types[0].rank()) return std::nullopt;
      const std::int64_t size = size_of(types[0], static_cast<int>(axis));
      if (size % 2 != 0) return std::nullopt;
      return Attrs{{"axis", axis}, {"start", part * size / 2}, {"size", size / 2}};
    };
    space.choices.push_back({"split" + std::to_string(axis) + "-" + std::to_string(part),
                             1,
                             {{op("slice"), {0}, half}}});
  }
}

void add_elementwise(Space& space) {
  const auto alike = [](World, const Types& types) {
    return types[0].rank() > 0 && types[0] == types[1];
  };
  space.choices.push_back({"add", 2, {{op("add"), {0, 1}}}, alike});
  space.choices.push_back({"mul", 2, {{op("mul"), {0, 1}}}, alike});
  space.choices.push_back({"scale", 2, {{op("mul"), {0, 1}}}, [](World, const Types& types) {
                             return types[0].rank() > 0 && types[1].rank() == 0;
                           }});
  space.choices.push_back({"relu", 1, {{op("relu"), {0}}}, [](World, const Types& types) {
                             return types[0].rank() > 0;
                           }});
}

}  // namespace

Space taso_space() {
  Space space{"taso", {}, {}};
  add_start(space, "m", 3, [](const Sizes& s) { return Integers{s.rows, s.channels}; });
  add_start(space, "w", 3, [](const Sizes& s) { return Integers{s.channels, s.channels}; });
  add_start(space, "x", 3, [](const Sizes& s) {
    return Integers{s.rows, s.channels, s.height, s.width};
  });
  add_start(space, "k", 3, [](const Sizes& s) {
    return Integers{s.channels, s.channels, s.kernel, s.kernel};
  });
  add_start(space, "h", 3, [](const Sizes& s) {
    return Integers{s.channels, s.channels, 1, s.kernel};
  });
  add_start(space, "v", 3, [](const Sizes& s) {
    return Integers{s.channels, s.channels, s.kernel, 1};
  });
  add_start(space, "d", 1, [](const Sizes& s) { return Integers{s.channels, 1, 3, 3}; });
  add_start(space, "s", 1, [](const Sizes&) { return Integers{}; });

  const auto matrices = [](World, const Types& types) {
    return is_matrix(types[0]) && is_matrix(types[1]);
  };
  space.choices.push_back({"matmul", 2, {{op("matmul"), {0, 1}}}, matrices});
  add_elementwise(space);
  add_convolutions(space);
  add_pools(space);
  add_constants(space);
  add_enlarge(space);
  for (const std::int64_t axis : {0, 1}) {
    const auto fits = [axis](World, const Types& types) { return types[0].rank() > axis; };
    space.choices.push_back({"concat" + std::to_string(axis),
                             2,
                             {{op("concat"), {0, 1}, always({{"axis", axis}})}},
                             fits});
    add_splits(space, axis);
  }
  space.choices.push_back({"transpose",
                           1,
                           {{op("transpose"), {0}, always({{"perm", Integers{1, 0}}})}},
                           [](World, const Types& types) { return is_matrix(types[0]); }});
  return space;
}

}  // namespace egret::rules::generator
