// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/open_sizes.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "ir/graph/builder.h"
#include "ir/graph/open_sizes.h"
#include "ir/graph/requirements.h"
#include "ir/ops/opaque.h"

namespace egret::rules {

using base::Result;
using base::Status;

Status OpenSizes::require(const ir::Operator& op, const ir::Attrs& attrs,
                          std::span<const ir::TensorType> inputs, Of of) {
  return ir::check_requirements(op, attrs, inputs, [&](ir::Guard condition) {
    const auto known = prover_.holds(condition);
    if (known == std::optional(false) || (!known && of == Of::kRule)) {
      undecided_ += known ? 0 : 1;
      return false;
    }
    if (!known) prover_.assume(condition);
    return true;
  });
}

bool OpenSizes::same(const ir::TensorType& a, const ir::TensorType& b) {
  return a.dtype == b.dtype &&
         std::ranges::equal(a.dims, b.dims, [&](const ir::Index& x, const ir::Index& y) {
           return prover_.holds(x == y).value_or(false);
         });
}

const std::vector<SizeProfile>& OpenSizes::profiles() const {
  if (profiles_.empty()) profiles_.push_back({examples(), 1});
  return profiles_;
}

base::Status OpenSizes::require_all(const ir::Graph& program) {
  for (const ir::NodeId id : ir::live_nodes(program)) {
    const ir::Node& node = program.node(id);
    if (node.kind != ir::NodeKind::kOperator) continue;
    std::vector<ir::TensorType> operands;
    for (const ir::NodeId input : node.inputs) operands.push_back(program.node(input).type);
    const Status required = require(*node.op, node.attrs, operands, Of::kProgram);
    if (!required.ok()) return required.at("'" + node.name + "'");
    const ir::Graph* const body = ir::body_of(program, node);
    if (body != nullptr && !program.bodies.at(node.attrs.text("node")).sealed)
      EGRET_RETURN_IF_ERROR(require_all(*body));
  }
  return base::ok();
}

base::Status OpenSizes::settle(const ir::Graph& program) {
  EGRET_RETURN_IF_ERROR(require_all(program));
  // The sizes of inputs first; others, such as those of opaque results, follow from them.
  std::vector<std::string> order;
  const ir::SymbolNames of_inputs = ir::open_sizes(program);
  for (const bool inputs : {true, false}) {
    for (const auto& [name, size] : examples()) {
      if (of_inputs.contains(name) == inputs) order.push_back(name);
    }
  }
  std::vector<SizeProfile> all = profiles();
  for (SizeProfile& profile : all) {
    profile.sizes.insert(examples().begin(), examples().end());
    if (auto values = prover_.values_near(profile.sizes, order)) profile.sizes = *std::move(values);
  }
  for (const auto& [name, size] : all.front().sizes) scope_.set_example(name, size);
  set_profiles(std::move(all));
  scope_.take_undecided();
  return base::ok();
}

void OpenSizes::assume_range(std::string_view symbol, std::int64_t low, std::int64_t high) {
  const ir::Index size = ir::symbolic_dim(symbol);
  prover_.assume(ir::Index(low) <= size);
  prover_.assume(size <= ir::Index(high));
}

bool OpenSizes::take_undecided() {
  const bool undecided = scope_.take_undecided();
  undecided_ += undecided ? 1 : 0;
  return undecided;
}

namespace {

// nullopt: a size exceeds 64 bits.
std::optional<ir::TensorType> type_at(const ir::TensorType& type, const ir::SymbolValues& sizes) {
  ir::TensorType result = type;
  for (ir::Index& size : result.dims) {
    const auto number = ir::evaluate(size, sizes);
    if (!number) return std::nullopt;
    size = ir::Index(*number);
  }
  return result;
}

std::optional<ir::Attrs> attrs_at(const ir::Attrs& attrs, const ir::SymbolValues& sizes) {
  bool known = true;
  const auto number = [&](std::int64_t integer) {
    const auto value = ir::evaluate(ir::index_of_integer(integer), sizes);
    known = known && value.has_value();
    return value.value_or(0);
  };
  ir::Attrs result;
  for (const auto& [name, value] : attrs.entries()) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      result.set(name, number(*integer));
    } else if (const auto* integers = std::get_if<ir::Integers>(&value)) {
      ir::Integers numbers;
      for (const std::int64_t one : *integers) numbers.push_back(number(one));
      result.set(name, std::move(numbers));
    } else {
      result.set(name, value);
    }
  }
  return known ? std::optional(std::move(result)) : std::nullopt;
}

Status too_large(const ir::Node& node) {
  return base::bad_input("'" + node.name + "': a size exceeds 64 bits");
}

}  // namespace

ir::TensorType at_sizes(const ir::TensorType& type, const ir::SymbolValues& sizes) {
  auto result = type_at(type, sizes);
  EGRET_CHECK(result.has_value(), "a value for each symbol");
  return *std::move(result);
}

ir::Attrs at_sizes(const ir::Attrs& attrs, const ir::SymbolValues& sizes) {
  auto result = attrs_at(attrs, sizes);
  EGRET_CHECK(result.has_value(), "a value for each symbol");
  return *std::move(result);
}

Result<ir::Graph> at_sizes(const ir::Graph& graph, const ir::SymbolValues& sizes) {
  ir::GraphBuilder builder;
  std::vector<ir::Value> values;
  for (const ir::Node& node : graph.nodes()) {
    std::vector<ir::Value> inputs;
    for (const ir::NodeId input : node.inputs) inputs.push_back(values[input.index()]);
    switch (node.kind) {
      case ir::NodeKind::kInput: {
        auto type = type_at(node.type, sizes);
        if (!type) return too_large(node);
        values.push_back(builder.input(node.name, *std::move(type)));
        break;
      }
      case ir::NodeKind::kConstant: values.push_back(builder.constant(node.data, node.name)); break;
      case ir::NodeKind::kOperator: {
        auto attrs = attrs_at(node.attrs, sizes);
        if (!attrs) return too_large(node);
        values.push_back(builder.add(*node.op, inputs, *std::move(attrs), node.name));
        break;
      }
    }
  }
  for (const auto& output : graph.outputs())
    builder.output(output.name, values[output.node.index()]);
  EGRET_ASSIGN_OR_RETURN(ir::Graph bound, builder.finish());
  bound.copy_header(graph);
  // Both branches of an If need not have a meaning at the same sizes; such a node cannot be run.
  bound.bodies.clear();
  for (const auto& [key, body] : graph.bodies) {
    auto made = at_sizes(*body.graph, sizes);
    if (made.ok())
      bound.bodies[key] = {std::make_shared<const ir::Graph>(*std::move(made)), body.sealed};
  }
  return bound;
}

}  // namespace egret::rules
