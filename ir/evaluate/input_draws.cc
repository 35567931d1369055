// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/input_draws.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/formats/json.h"
#include "ir/evaluate/value_demands.h"

namespace egret::ir {
namespace {

// The usual values as far as they are demanded, or those next to them.
Draw within(const Draw& usual, const ValueDemand& demand, bool integers) {
  const double low = integers ? std::ceil(demand.low) : demand.low;
  const double high = integers ? std::floor(demand.high) : demand.high;
  Draw draw{std::max(usual.low, low), std::min(usual.high, high), demand.zero};
  const double width = usual.high - usual.low;
  if (draw.low >= draw.high && low < high) {
    if (low > usual.low) draw = {low, std::min(low + width, high), demand.zero};
    if (high < usual.high) draw = {std::max(high - width, low), high, demand.zero};
  }
  const bool only_zero = draw.low == 0 && draw.high == 0;
  if (draw.low > draw.high || (only_zero && !draw.zero)) return usual;
  return draw;
}

// Pairs of finite numbers, by the name of an input.
std::map<std::string, Draw> stated_draws(const Graph& graph) {
  std::map<std::string, Draw> draws;
  const auto text = graph.metadata.find(std::string(kDrawsKey));
  if (text == graph.metadata.end()) return draws;
  const auto json = base::Json::parse(text->second);
  if (!json.ok() || !json->is_object()) return draws;
  for (const auto& [name, bounds] : json->members()) {
    if (!bounds.is_array() || bounds.items().size() != 2) continue;
    const auto low = bounds.items()[0].as_real();
    const auto high = bounds.items()[1].as_real();
    if (low.ok() && high.ok() && std::isfinite(*high - *low) && *low <= *high)
      draws[name] = {*low, *high};
  }
  return draws;
}

// Integers that i64 and the type hold; a draw of others means nothing.
bool fits(const Draw& draw, DType dtype) {
  if (is_float(dtype)) return true;
  if (dtype == DType::kBool) return false;
  return std::abs(draw.low) < 0x1p31 && std::abs(draw.high) < 0x1p31 &&
         std::ceil(draw.low) <= std::floor(draw.high);
}

bool is_usual(const Draw& draw, DType dtype) {
  const Draw usual = usual_draw(dtype);
  return draw.low == usual.low && draw.high == usual.high && draw.zero;
}

Draw any_integer(DType dtype) {
  const bool has_sign = is_signed_integer(dtype);
  if (byte_size(dtype) == 1) return has_sign ? Draw{-128, 127} : Draw{0, 255};
  return {has_sign ? -10.0 : 0.0, 10};
}

constexpr double kBeyond = 8;
// Moves a share of the elements beyond the usual range.
void put_beyond(Tensor& tensor, double share, base::Random& random) {
  for (std::int64_t i = 0; share > 0 && i < tensor.elements(); ++i) {
    if (random.chance(share)) tensor.set_f64(i, kBeyond * tensor.f64_at(i));
  }
}

}  // namespace

// A draw that the model states wins. Otherwise the usual draw is narrowed to what the operators
// demand of the input.
std::vector<Draw> input_draws(const Graph& graph) {
  const std::vector<ValueDemand> demands = demands_of_inputs(graph);
  const std::map<std::string, Draw> stated = stated_draws(graph);
  std::vector<Draw> draws;
  for (std::size_t i = 0; i < demands.size(); ++i) {
    const Node& node = graph.node(graph.inputs()[i]);
    const DType dtype = node.type.dtype;
    const auto found = stated.find(node.name);
    draws.push_back(found != stated.end() && fits(found->second, dtype)
                        ? found->second
                        : within(usual_draw(dtype), demands[i], !is_float(dtype)));
  }
  return draws;
}

std::vector<Tensor> random_inputs(const Graph& graph, base::Random& random,
                                  const DrawOptions& options) {
  const std::vector<Draw> draws = input_draws(graph);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const TensorType& type = graph.node(graph.inputs()[i]).type;
    const bool as_usual = is_usual(draws[i], type.dtype);
    Draw draw = draws[i];
    if (as_usual && is_integer(type.dtype) && options.any_integers) draw = any_integer(type.dtype);
    if (as_usual && is_float(type.dtype)) {
      draw.low *= options.scale;
      draw.high *= options.scale;
    }
    Tensor& made = inputs.emplace_back(drawn(type, draw, random));
    if (as_usual && is_float(type.dtype)) put_beyond(made, options.beyond, random);
  }
  return inputs;
}

void add_draws(Graph& graph, const std::map<std::string, Draw>& draws) {
  std::map<std::string, Draw> all = stated_draws(graph);
  for (const auto& [name, draw] : draws) all[name] = draw;
  graph.metadata[std::string(kDrawsKey)] = draws_text(all);
}

std::string draws_text(const std::map<std::string, Draw>& draws) {
  std::vector<base::Json::Member> members;
  for (const auto& [name, draw] : draws)
    members.emplace_back(name, base::Json::array().push(draw.low).push(draw.high));
  return base::Json::from_members(std::move(members)).dump();
}

}  // namespace egret::ir
