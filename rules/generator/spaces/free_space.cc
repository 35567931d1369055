// SPDX-License-Identifier: Apache-2.0
// Spaces made for a list of operators. Nothing here knows an operator: attributes get the values
// that are usual for their names, and whether an operator takes them is tried.
#include <algorithm>
#include <numeric>
#include <set>

#include "rules/generator/spaces/program.h"
#include "rules/generator/spaces/space.h"

namespace egret::rules::generator {

using base::Result;
using ir::Attrs;
using ir::AttrValue;
using ir::Integers;
using ir::TensorType;
using Types = std::vector<TensorType>;

namespace {

struct Sizes {
  std::int64_t a, b, c, d;
};
constexpr Sizes kWorlds[] = {{2, 4, 5, 3}, {8, 6, 3, 5}};

struct Family {
  std::string name;
  int copies;
  Integers (*shape)(const Sizes&);
  ir::DType dtype = ir::DType::kF32;
};
// Start tensors that operators are tried on, in this order; those that no operator takes are left
// out. Matrices and square weights, images and kernels, batches of matrices, vectors, numbers.
const Family kFamilies[] = {
    {"m", 3,
     [](const Sizes& s) {
       return Integers{s.a, s.b};
     }},
    {"w", 3,
     [](const Sizes& s) {
       return Integers{s.b, s.b};
     }},
    {"x", 3,
     [](const Sizes& s) {
       return Integers{s.a, s.b, s.c + 1, s.d + 2};
     }},
    {"k", 3,
     [](const Sizes& s) {
       return Integers{s.b, s.b, 3, 3};
     }},
    {"s", 2, [](const Sizes&) { return Integers{}; }},
    {"b", 2,
     [](const Sizes& s) {
       return Integers{s.a, s.b};
     },
     ir::DType::kBool},
    {"i", 2,
     [](const Sizes& s) {
       return Integers{s.a, s.b};
     },
     ir::DType::kI64},
};
// How many of them operators are tried on: more only where these are not enough.
constexpr std::size_t kPools[] = {5, 6, 7};

std::int64_t size_of(const TensorType& type, std::int64_t axis) {
  return type.dims[static_cast<std::size_t>(axis)].constant();
}

// What is padded at the beginnings and ends of the last two axes: all different, so that it is
// clear which is which, and no amount the same in all worlds.
struct Margins {
  Integers before, after;
};
const Margins kMargins[] = {{{1, 2}, {0, 1}}, {{2, 1}, {1, 0}}};

// The values that are usual for an attribute of this name on operands of these types.
std::vector<AttrValue> usual_values(const ir::AttrSpec& spec, const Types& types, World world) {
  std::vector<AttrValue> values;
  const int rank = types.empty() ? 0 : types[0].rank();
  const auto spatial = static_cast<std::size_t>(std::max(0, rank - 2));
  const auto all = [&](std::size_t n, std::int64_t value) { return Integers(n, value); };
  if (spec.name == "axis") {
    for (std::int64_t axis = 0; axis < rank; ++axis) values.emplace_back(axis);
  } else if (spec.name == "axes") {
    for (std::int64_t axis = 0; axis < rank; ++axis) values.emplace_back(Integers{axis});
  } else if (spec.name == "perm") {
    Integers perm(static_cast<std::size_t>(rank));
    std::iota(perm.begin(), perm.end(), 0);
    while (std::ranges::next_permutation(perm).found) {
      if (rank <= 2 || perm[0] == 0) values.emplace_back(perm);
    }
  } else if (spec.name == "keepdims") {
    values = {std::int64_t{1}, std::int64_t{0}};
  } else if (spec.name == "strides") {
    values = {all(spatial, 1), all(spatial, 2)};
  } else if (spec.name == "pads") {
    values = {all(2 * spatial, 0)};
    if (spatial == 2) {
      const Margins& margins = kMargins[world];
      values.emplace_back(
          Integers{margins.before[0], margins.before[1], margins.after[0], margins.after[1]});
    }
  } else if (spec.name == "before" || spec.name == "after") {
    const Integers& last = spec.name == "before" ? kMargins[world].before : kMargins[world].after;
    Integers amounts = all(static_cast<std::size_t>(rank), 0);
    if (rank >= 2) std::ranges::copy(last, amounts.end() - 2);
    values.emplace_back(std::move(amounts));
  } else if (spec.name == "dilations") {
    values = {all(spatial, 1)};
  } else if (spec.name == "kernel") {
    values = {all(spatial, 3), all(spatial, 2)};
  } else if (spec.name == "group") {
    values = {std::int64_t{1}, std::int64_t{2}};
  } else if (spec.default_value) {
    values = {*spec.default_value};
  }
  return values;
}

// All combinations of usual values, for operands of these types. At most 64.
std::vector<Attrs> usual_attrs(const ir::Operator& op, const Types& types, World world) {
  std::vector<Attrs> all{Attrs()};
  for (const ir::AttrSpec& spec : op.attrs()) {
    std::vector<Attrs> longer;
    for (const Attrs& attrs : all) {
      for (const AttrValue& value : usual_values(spec, types, world)) {
        longer.push_back(attrs);
        longer.back().set(spec.name, value);
      }
    }
    constexpr std::size_t kMost = 64;
    if (longer.size() > kMost) longer.resize(kMost);
    all = std::move(longer);
  }
  return all;
}

bool is_elementwise(const ir::Operator& op) { return op.attrs().empty() && op.min_inputs() == 2; }

// A slice's attributes depend on sizes: halves.
void add_halves(Space& space, const ir::Operator& op) {
  for (std::int64_t axis = 0; axis < 4; ++axis) {
    for (const std::int64_t part : {0, 1}) {
      const auto half = [axis, part](World, const Types& types) -> std::optional<Attrs> {
        if (axis >= types[0].rank() || size_of(types[0], axis) % 2 != 0) return std::nullopt;
        const std::int64_t size = size_of(types[0], axis) / 2;
        return Attrs{{"axis", axis}, {"start", part * size}, {"size", size}};
      };
      space.choices.push_back(
          {op.name() + std::to_string(axis) + "-" + std::to_string(part), 1, {{&op, {0}, half}}});
    }
  }
}

std::string value_text(const Attrs& attrs, const ir::Operator& op) {
  std::string text;
  for (const ir::AttrSpec& spec : op.attrs()) {
    const AttrValue* value = attrs.find(spec.name);
    if (value == nullptr || (spec.default_value && *value == *spec.default_value)) continue;
    text += "-" + spec.name + ir::to_string(*value);
  }
  std::erase(text, ' ');
  return text;
}

// A choice for every combination of attributes that some operands of the pool take.
void add_choices(Space& space, const ir::Operator& op, std::size_t arity,
                 const std::vector<TensorType>& pool) {
  std::set<std::string> names;
  std::vector<std::size_t> at(arity, 0);
  while (true) {
    Types types;
    for (const std::size_t i : at) types.push_back(pool[i]);
    std::vector<std::vector<Attrs>> by_world;
    for (World world = 0; world < std::size(kWorlds); ++world)
      by_world.push_back(usual_attrs(op, types, world));
    for (std::size_t way = 0; way < by_world.front().size(); ++way) {
      const auto canonical = ir::canonical_attrs(op.attrs(), by_world.front()[way]);
      if (!canonical.ok() || !ir::infer_type(op, *canonical, types).ok()) continue;
      const std::string name = op.name() + value_text(*canonical, op);
      if (!names.insert(name).second) continue;
      std::vector<Attrs> attrs;
      for (const auto& ways : by_world) attrs.push_back(ways[way]);
      Step step{&op, {}, [attrs](World world, const Types&) -> std::optional<Attrs> {
                  return attrs[world];
                }};
      for (std::size_t i = 0; i < arity; ++i) step.operands.push_back(static_cast<int>(i));
      OperatorChoice choice{name, arity, {step}};
      if (is_elementwise(op)) {
        // Equal shapes, or a number.
        choice.applies = [](World, const Types& given) {
          return given[0].rank() > 0 && (given[1].rank() == 0 || given[0] == given[1]);
        };
      }
      space.choices.push_back(std::move(choice));
    }
    std::size_t i = 0;
    while (i < arity && ++at[i] == pool.size()) at[i++] = 0;
    if (i == arity) return;
  }
}

// Whether some choice takes the tensor as an operand, with others of the pool.
bool is_used(const Space& space, const TensorType& type, const std::vector<TensorType>& pool) {
  for (const OperatorChoice& choice : space.choices) {
    std::vector<std::size_t> at(choice.arity, 0);
    for (bool more = choice.arity > 0; more;) {
      Types types;
      for (const std::size_t i : at) types.push_back(pool[i]);
      const bool has = std::ranges::find(types, type) != types.end();
      if (has && Program::record(choice, 0, types).ok()) return true;
      std::size_t i = 0;
      while (i < choice.arity && ++at[i] == pool.size()) at[i++] = 0;
      more = i < choice.arity;
    }
  }
  return false;
}

}  // namespace

Result<Space> space_of_operators(const std::vector<std::string>& operators) {
  Space space{"operators", {}, {}};
  std::vector<TensorType> all;
  for (const Family& family : kFamilies) all.emplace_back(family.dtype, family.shape(kWorlds[0]));
  std::size_t needed = kPools[0];
  for (const std::string& name : operators) {
    const ir::Operator* op = ir::find_operator(name);
    if (op == nullptr)
      return base::usage_error("there is no operator '" + name + "'; see egret ops");
    const std::size_t before = space.choices.size();
    if (op->name() == "slice") {
      add_halves(space, *op);
      continue;
    }
    const auto least = static_cast<std::size_t>(std::clamp(op->min_inputs(), 1, 3));
    // Of any number of operands, two.
    const std::size_t arity = op->max_inputs() > 3 ? std::max<std::size_t>(least, 2) : least;
    for (const std::size_t families : kPools) {
      add_choices(space, *op, arity, {all.begin(), all.begin() + families});
      needed = std::max(needed, families);
      if (space.choices.size() != before) break;
    }
    if (space.choices.size() == before)
      return base::unsupported("no operands and attributes were found that '" + name + "' takes");
  }
  const std::vector<TensorType> pool(all.begin(), all.begin() + needed);
  for (std::size_t i = 0; i < pool.size(); ++i) {
    const Family& family = kFamilies[i];
    if (!is_used(space, pool[i], pool)) continue;
    for (int copy = 0; copy < family.copies; ++copy) {
      StartTensor start{family.name + std::to_string(copy), {}};
      for (const Sizes& sizes : kWorlds)
        start.types.emplace_back(family.dtype, family.shape(sizes));
      space.starts.push_back(std::move(start));
    }
  }
  if (space.starts.empty())
    return base::unsupported(
        "the operators take no tensors that the generator knows to compute on");
  return space;
}

}  // namespace egret::rules::generator
