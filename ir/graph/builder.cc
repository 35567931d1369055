// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/builder.h"

#include "ir/graph/body.h"

namespace egret::ir {

// Keeps the first failure. After it all calls do nothing, so callers test once at the end.
Value GraphBuilder::fail(base::Status status) {
  EGRET_CHECK(!status.ok(), "fail() needs a failure");
  if (ok()) status_ = std::move(status);
  return {};
}

Value GraphBuilder::input(std::string name, TensorType type) {
  if (!ok()) return {};
  return {
      graph_.append({.kind = NodeKind::kInput, .type = std::move(type), .name = std::move(name)})};
}

Value GraphBuilder::constant(Tensor data, std::string name) {
  if (!ok()) return {};
  TensorType type = data.type();
  return {graph_.append({.kind = NodeKind::kConstant,
                         .type = std::move(type),
                         .data = std::move(data),
                         .name = std::move(name)})};
}

// The first failure is kept, and all later calls do nothing: callers check once, at the end.
Value GraphBuilder::add(const Operator& op, std::span<const Value> inputs, Attrs attrs,
                        std::string name) {
  if (!ok()) return {};
  const std::string place = op.name() + (name.empty() ? "" : " '" + name + "'");
  std::vector<TensorType> types;
  std::vector<NodeId> ids;
  for (const Value& value : inputs) {
    if (!value.valid()) return fail(base::bad_input(place + ": an input is missing"));
    types.push_back(type(value));
    ids.push_back(value.id);
  }
  auto canonical = canonical_attrs(op.attrs(), attrs);
  if (!canonical.ok()) return fail(canonical.status().at(place));
  auto type = infer_type(op, *canonical, types);
  if (!type.ok()) return fail(name.empty() ? type.status() : type.status().at("'" + name + "'"));
  return {graph_.append({.kind = NodeKind::kOperator,
                         .op = &op,
                         .attrs = *std::move(canonical),
                         .inputs = std::move(ids),
                         .type = *std::move(type),
                         .name = std::move(name)})};
}

Value GraphBuilder::add(std::string_view op, std::span<const Value> inputs, Attrs attrs) {
  return add(get_operator(op), inputs, std::move(attrs));
}

Value GraphBuilder::add(std::string_view op, std::initializer_list<Value> inputs, Attrs attrs) {
  return add(get_operator(op), std::span(inputs.begin(), inputs.size()), std::move(attrs));
}

const TensorType& GraphBuilder::type(Value value) const {
  static const TensorType kNone;
  return value.valid() ? graph_.node(value.id).type : kNone;
}

void GraphBuilder::set_name(Value value, std::string name) {
  if (value.valid()) graph_.rename(value.id, std::move(name));
}

void GraphBuilder::output(std::string name, Value value) {
  if (!ok()) return;
  if (!value.valid()) {
    fail(base::bad_input("output '" + name + "' has no value"));
    return;
  }
  graph_.add_output(std::move(name), value.id);
}

base::Result<Graph> GraphBuilder::finish() {
  if (!ok()) return status_;
  Graph done = std::move(graph_);
  graph_ = Graph();
  return done;
}

base::Result<Graph> body_graph(const Operator& op, const Attrs& attrs,
                               std::span<const TensorType> inputs) {
  GraphBuilder builder;
  std::vector<Value> values;
  for (const TensorType& type : inputs) {
    values.push_back(builder.input("in" + std::to_string(values.size()), type));
  }
  Body body(builder, values, attrs);
  try {
    builder.output("out", op.build_body()(body));
  } catch (const IndexError& error) {
    return base::bad_input(error.reason);
  }
  return builder.finish();
}

}  // namespace egret::ir
