// SPDX-License-Identifier: Apache-2.0
// The ONNX binding of an operator, without protobuf: the frontend implements OnnxNode and
// OnnxWriter, the operator's file uses them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/core/attributes.h"
#include "ir/core/tensor.h"
#include "ir/core/tensor_type.h"

namespace egret::ir {

class GraphBuilder;  // ir/graph/builder.h
struct Value;        // ir/graph/builder.h
class Operator;

// A number that depends on sizes: over / under, with under > 0.
struct SizeRatio {
  Index over;
  std::int64_t under = 1;
};

// One ONNX node while it is imported. Attribute getters report a wrong kind as an error of the
// node (sticky, returned by the frontend) and then give the default.
class OnnxNode {
 public:
  virtual ~OnnxNode() = default;

  virtual std::string_view op_type() const = 0;
  virtual int opset() const = 0;  // version of the operator's domain

  virtual int input_count() const = 0;  // trailing absent inputs not counted
  virtual int output_count() const = 0;
  virtual bool has_output(int i) const = 0;  // named by the model, and perhaps read
  virtual bool has_input(int i) const = 0;
  virtual Value input(int i) const = 0;  // requires has_input(i)
  std::vector<Value> inputs() const;     // requires all
  virtual const TensorType& type(Value value) const = 0;
  // The value of an input that is known at import: an initializer, or a value computed from
  // initializers and static shapes only.
  virtual std::optional<Tensor> constant(int i) const = 0;
  // The above, flattened to integers; beyond +-kIntegerLimit they are cut to it, so that sums with
  // sizes cannot overflow. ONNX writes "to the end" as INT64_MAX.
  std::optional<Integers> constant_integers(int i) const;
  static constexpr std::int64_t kIntegerLimit = std::int64_t{1} << 48;
  // The elements of an input that depends on constants and on sizes alone: expressions over the
  // symbols. nullopt for other inputs.
  virtual std::optional<std::vector<Index>> sizes(int i) const;
  // The same of an input with real elements: those that floating-point arithmetic computes exactly.
  virtual std::optional<std::vector<SizeRatio>> size_ratios(int i) const;

  // Integer attributes are cut to +-kIntegerLimit as well.
  virtual bool has_attr(std::string_view name) const = 0;
  virtual std::int64_t integer(std::string_view name, std::int64_t otherwise) const = 0;
  virtual double real(std::string_view name, double otherwise) const = 0;
  virtual std::string text(std::string_view name, std::string_view otherwise) const = 0;
  virtual Integers integers(std::string_view name, Integers otherwise) const = 0;
  virtual std::vector<double> reals(std::string_view name, std::vector<double> otherwise) const = 0;
  virtual std::vector<std::string> texts(std::string_view name) const = 0;
  virtual std::optional<Tensor> tensor(std::string_view name) const = 0;

  // The builder that receives the node's operators.
  virtual GraphBuilder& builder() const = 0;

  // `axis` made non-negative for `rank`; out of range is an error of the node, then 0.
  virtual std::int64_t axis(std::int64_t value, int rank) const = 0;
};

// Yields the node's outputs, as many as it has. An output without a name may be left invalid.
using OnnxImport = std::function<base::Result<std::vector<Value>>(OnnxNode&)>;
// Calls the import. Errors: sizes that overflow 64 bits (bad input).
base::Result<std::vector<Value>> run_import(const OnnxImport& import, OnnxNode& node);

struct OnnxImportRow {
  std::string domain;  // "" is ai.onnx
  std::string op_type;
  OnnxImport import;
};

// Writes one operator as ONNX nodes. Names are those of ONNX values.
class OnnxWriter {
 public:
  virtual ~OnnxWriter() = default;

  virtual int opset() const = 0;
  // The nodes about to be written exist, in this form, from this opset of ai.onnx on. Where that is
  // later than opset(), the model is written again with the later one. Call it for every ONNX
  // operator or type that is younger than opset 7.
  virtual void needs_opset(int version) { static_cast<void>(version); }
  virtual const Attrs& attrs() const = 0;
  virtual int input_count() const = 0;
  virtual std::string input(int i) const = 0;
  std::vector<std::string> inputs() const;
  virtual const TensorType& input_type(int i) const = 0;
  virtual const TensorType& output_type() const = 0;

  struct Attribute {
    std::string name;
    std::variant<std::int64_t, double, std::string, Integers, std::vector<double>, Tensor> value;
  };
  // Appends a node; returns the name of its (first) output. The last node emitted gives the
  // operator's output its name.
  virtual std::string emit(std::string_view op_type, std::vector<std::string> inputs,
                           std::vector<Attribute> attributes = {}, std::string_view domain = "",
                           int outputs = 1, int which_output = 0) = 0;
  // An initializer.
  virtual std::string constant(const Tensor& tensor) = 0;
  // A constant of rank 1. Integers that stand for sizes are computed from the graph's inputs.
  virtual std::string constant_integers(const Integers& values);
};

// `unsupported` from a composite's export that has emitted nothing means "export my body instead":
// for attributes that ONNX's operator lacks.
using OnnxExport = std::function<base::Status(OnnxWriter&)>;

// The bindings that Operator::onnx() installs.
OnnxImport same_name_import(const Operator& op_prototype);
OnnxExport same_name_export(std::string op_type);
// As same_name_import(), for an operator with an attribute `axis` that counts from the end of input
// 0 when negative; `otherwise` is ONNX's default.
OnnxImport axis_import(const Operator& op_prototype, std::int64_t otherwise);
// For a binary operator whose ONNX form takes one or more inputs: op(op(a, b), c).
OnnxImport chain_import(std::string op);
// The value of an import that has one output.
base::Result<std::vector<Value>> only_output(Value value);

// ONNX TensorProto.DataType codes.
std::optional<DType> dtype_from_onnx(std::int64_t code);
std::int64_t onnx_code(DType type);

}  // namespace egret::ir
