// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator.h"

#include <algorithm>
#include <climits>

#include "ir/core/symbolic_scope.h"
#include "ir/graph/body.h"

namespace egret::ir {

Operator::Operator(OperatorKind kind, std::string name, std::string doc,
                   std::vector<std::string> inputs)
    : kind_(kind), name_(std::move(name)), doc_(std::move(doc)), inputs_(std::move(inputs)) {}

Operator&& Operator::attr(std::string name, AttrKind kind, std::string doc) && {
  attrs_.push_back({std::move(name), kind, std::nullopt, std::move(doc)});
  return std::move(*this);
}

Operator&& Operator::attr(std::string name, AttrValue default_value, std::string doc) && {
  const AttrKind kind = kind_of(default_value);
  attrs_.push_back({std::move(name), kind, std::move(default_value), std::move(doc)});
  return std::move(*this);
}

Operator&& Operator::one_of(std::vector<std::string> texts) && {
  attrs_.back().texts = std::move(texts);
  return std::move(*this);
}

Operator&& Operator::variadic(int at_least) && {
  variadic_at_least_ = at_least;
  return std::move(*this);
}

Operator&& Operator::optional_inputs(int n) && {
  optional_ = n;
  return std::move(*this);
}

Operator&& Operator::defined_by(Define define) && {
  EGRET_CHECK(kind_ != OperatorKind::kComposite, "a composite has a body instead");
  define_ = std::move(define);
  return std::move(*this);
}

Operator&& Operator::with_body(BuildBody body) && {
  EGRET_CHECK(kind_ == OperatorKind::kComposite, "a primitive has a definition instead");
  build_body_ = std::move(body);
  return std::move(*this);
}

Operator&& Operator::onnx(std::string op_type, int since) && {
  onnx_imports_.push_back({"", op_type, same_name_import(*this)});
  return std::move(*this).onnx_export(same_name_export(std::move(op_type)), since);
}

Operator&& Operator::onnx_import(std::string op_type, OnnxImport import, std::string domain) && {
  onnx_imports_.push_back({std::move(domain), std::move(op_type), std::move(import)});
  return std::move(*this);
}

Operator&& Operator::onnx_export(OnnxExport write, int since) && {
  onnx_export_ = std::move(write);
  onnx_since_ = since;
  return std::move(*this);
}

Operator&& Operator::shown_on(std::vector<std::string> input_types, Attrs attrs) && {
  example_ = OperatorExample{std::move(input_types), std::move(attrs)};
  return std::move(*this);
}

int Operator::min_inputs() const {
  const int fixed = static_cast<int>(inputs_.size());
  return variadic_at_least_ >= 0 ? fixed - 1 + variadic_at_least_ : fixed - optional_;
}

int Operator::max_inputs() const {
  return variadic_at_least_ >= 0 ? INT_MAX : static_cast<int>(inputs_.size());
}

base::Status check_arity(const Operator& op, std::size_t inputs) {
  const auto count = static_cast<int>(inputs);
  if (count >= op.min_inputs() && count <= op.max_inputs()) return base::ok();
  std::string expected = std::to_string(op.min_inputs());
  if (op.max_inputs() == INT_MAX) {
    expected += " or more";
  } else if (op.max_inputs() != op.min_inputs()) {
    expected += " to " + std::to_string(op.max_inputs());
  }
  return base::bad_input(op.name() + ": takes " + expected + " inputs, not " +
                         std::to_string(count));
}

namespace {

base::Result<Denotation> define(const Operator& op, Definition definition, std::size_t inputs) {
  EGRET_CHECK(!op.is_composite(), "a composite is denoted by its body");
  EGRET_RETURN_IF_ERROR(check_arity(op, inputs));
  try {
    op.define()(definition);
  } catch (const IndexError& error) {
    // An output without elements may have a size that divides.
    if (!definition.has_no_elements()) return base::bad_input(op.name() + ": " + error.reason);
    definition.value(0);
  }
  auto result = std::move(definition).finish();
  if (!result.ok()) return result.status().at(op.name());
  return result;
}

}  // namespace

base::Result<Denotation> denote(const Operator& op, const Attrs& attrs,
                                std::span<const TensorType> inputs, std::shared_ptr<ExprPool> pool,
                                std::span<const SymbolicAttr> symbolic) {
  if (op.is_opaque()) return base::unsupported(op.name() + " has no definition");
  if (pool == nullptr) pool = std::make_shared<ExprPool>();
  return define(op, Definition(attrs, inputs, std::move(pool), symbolic), inputs.size());
}

base::Result<TensorType> infer_type(const Operator& op, const Attrs& attrs,
                                    std::span<const TensorType> inputs) {
  if (!op.is_composite()) {
    // Of symbolic sizes the elements are written too: what they ask of the sizes is noted.
    const bool concrete = std::ranges::all_of(inputs, &TensorType::is_concrete) &&
                          SymbolicScope::current() == nullptr;
    const auto wanted = concrete ? Definition::Wanted::kType : Definition::Wanted::kAll;
    EGRET_ASSIGN_OR_RETURN(
        const Denotation denotation,
        define(op, Definition(attrs, inputs, std::make_shared<ExprPool>(), {}, wanted),
               inputs.size()));
    if (denotation.type.is_concrete() && !element_count(denotation.type.shape())) {
      return base::bad_input(op.name() + ": the output " + to_string(denotation.type) +
                             " is too large");
    }
    return denotation.type;
  }
  EGRET_RETURN_IF_ERROR(check_arity(op, inputs.size()));
  auto body = body_graph(op, attrs, inputs);
  if (!body.ok()) return body.status().at(op.name());
  return body->node(body->outputs().front().node).type;
}

base::Result<Denotation> denote_concrete(const Operator& op, const Attrs& attrs,
                                         std::span<const TensorType> types) {
  EGRET_ASSIGN_OR_RETURN(Denotation denotation, denote(op, attrs, types));
  if (!denotation.type.is_concrete()) {
    return base::unsupported(op.name() + ": the output " + to_string(denotation.type) +
                             " has a size that is not known");
  }
  if (!element_count(denotation.type.shape())) {
    return base::bad_input(op.name() + ": the output " + to_string(denotation.type) +
                           " is too large");
  }
  return denotation;
}

}  // namespace egret::ir
