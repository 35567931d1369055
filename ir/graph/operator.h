// SPDX-License-Identifier: Apache-2.0
// An operator is a definition. Each has one file, ir/ops/FAMILY/NAME.cc, and one row in
// ir/ops/operators.def. All other knowledge about it is derived from the definition.
//
//   Operator relu() {
//     return primitive("relu", "max(x, 0)", {"x"})
//         .defined_by([](Definition& d) { d.pointwise([](Scalar x) { return max(x, 0); }); })
//         .onnx("Relu");
//   }
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/core/attributes.h"
#include "ir/core/tensor_type.h"
#include "ir/graph/definition.h"
#include "ir/graph/onnx_binding.h"

namespace egret::ir {

class Body;    // ir/graph/body.h
struct Value;  // ir/graph/builder.h

enum class OperatorKind : std::uint8_t {
  kPrimitive,  // has a denotation
  kComposite,  // has a body of other operators, which the e-graph may expand
  kOpaque,     // has a type alone: an uninterpreted function (ir/ops/opaque.h)
};

struct OperatorExample {
  std::vector<std::string> input_types;
  Attrs attrs;
};

class Operator {
 public:
  using Define = std::function<void(Definition&)>;
  using BuildBody = std::function<Value(Body&)>;

  Operator(OperatorKind kind, std::string name, std::string doc, std::vector<std::string> inputs);

  // Declaration, in the operator's file.
  Operator&& attr(std::string name, AttrKind kind, std::string doc) &&;  // required
  Operator&& attr(std::string name, AttrValue default_value, std::string doc) &&;
  Operator&& one_of(std::vector<std::string> texts) &&;  // the allowed texts of the last attribute
  Operator&& variadic(int at_least) &&;  // the last input name stands for any number
  Operator&& optional_inputs(int n) &&;  // the last n inputs may be absent
  Operator&& defined_by(Define define) &&;
  Operator&& with_body(BuildBody body) &&;
  // ONNX operators that become this one (see ir/graph/onnx_binding.h). The first form maps inputs
  // in order and attributes by name, both ways. `since` is the first opset that has what the export
  // writes: below it a composite is exported as its body, a primitive raises the model's opset.
  Operator&& onnx(std::string op_type, int since = 1) &&;
  Operator&& onnx_import(std::string op_type, OnnxImport import, std::string domain = "") &&;
  Operator&& onnx_export(OnnxExport write, int since = 1) &&;
  // The example on the operator's page: input types as text, such as "f32[M,K]", and attributes.
  // Not needed where the default attributes work with inputs that are all f32[M,N], bool[M,N] or
  // i32[M,N].
  Operator&& shown_on(std::vector<std::string> input_types, Attrs attrs = {}) &&;

  OperatorKind kind() const { return kind_; }
  bool is_composite() const { return kind_ == OperatorKind::kComposite; }
  bool is_opaque() const { return kind_ == OperatorKind::kOpaque; }
  const std::string& name() const { return name_; }
  const std::string& doc() const { return doc_; }
  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<AttrSpec>& attrs() const { return attrs_; }
  int min_inputs() const;
  int max_inputs() const;  // INT_MAX when variadic
  const std::vector<OnnxImportRow>& onnx_imports() const { return onnx_imports_; }
  const OnnxExport& onnx_export() const { return onnx_export_; }  // empty: export the body
  int onnx_since() const { return onnx_since_; }
  const std::optional<OperatorExample>& example() const { return example_; }
  const Define& define() const { return define_; }
  const BuildBody& build_body() const { return build_body_; }

 private:
  OperatorKind kind_;
  std::string name_;
  std::string doc_;
  std::vector<std::string> inputs_;
  std::vector<AttrSpec> attrs_;
  int variadic_at_least_ = -1;
  int optional_ = 0;
  Define define_;
  BuildBody build_body_;
  std::vector<OnnxImportRow> onnx_imports_;
  OnnxExport onnx_export_;
  int onnx_since_ = 1;
  std::optional<OperatorExample> example_;
};

inline Operator primitive(std::string name, std::string doc, std::vector<std::string> inputs) {
  return {OperatorKind::kPrimitive, std::move(name), std::move(doc), std::move(inputs)};
}
inline Operator composite(std::string name, std::string doc, std::vector<std::string> inputs) {
  return {OperatorKind::kComposite, std::move(name), std::move(doc), std::move(inputs)};
}

// The operator called `name`, or nullptr. Operators are immortal; pointers identify them.
const Operator* find_operator(std::string_view name);
// As above, but a name that does not exist is our own bug.
const Operator& get_operator(std::string_view name);
// All operators in the order of operators.def.
std::span<const Operator* const> all_operators();

// The denotation of a primitive operator; unsupported for an opaque one. `attrs` are canonical (see
// canonical_attrs()). Errors: bad_input that says which requirement these types break, prefixed by
// the operator.
base::Result<Denotation> denote(const Operator& op, const Attrs& attrs,
                                std::span<const TensorType> inputs,
                                std::shared_ptr<ExprPool> pool = nullptr,
                                std::span<const SymbolicAttr> symbolic = {});
// The denotation of a primitive whose output has a size that can be allocated.
base::Result<Denotation> denote_concrete(const Operator& op, const Attrs& attrs,
                                         std::span<const TensorType> types);
// The output type of any operator; a composite's is that of its body.
base::Result<TensorType> infer_type(const Operator& op, const Attrs& attrs,
                                    std::span<const TensorType> inputs);
// Number of inputs fits the declaration.
base::Status check_arity(const Operator& op, std::size_t inputs);

}  // namespace egret::ir
