// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator_docs.h"

#include <algorithm>
#include <climits>
#include <map>
#include <vector>

#include "ir/core/suspended_scope.h"
#include "ir/graph/body.h"
#include "ir/graph/graph_text.h"

namespace egret::ir {
namespace {

// Markdown table cells are one line and treat '|' as their end.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string_view kind_of(const Operator& op) {
  return op.is_composite() ? "composite" : "primitive";
}

std::string inputs_text(const Operator& op) {
  std::string text;
  const auto required = static_cast<std::size_t>(op.min_inputs());
  const bool variadic = op.max_inputs() == INT_MAX;
  for (std::size_t i = 0; i < op.inputs().size(); ++i) {
    if (!text.empty()) text += ", ";
    const bool repeated = variadic && i + 1 == op.inputs().size();
    const bool optional = !repeated && i >= required;
    text += optional ? "[" + op.inputs()[i] + "]" : op.inputs()[i] + (repeated ? "..." : "");
  }
  return text;
}

struct Shown {
  std::vector<TensorType> types;
  std::vector<std::string> names;
  Attrs attrs;
};

// The example with `default_type` for all inputs where the operator has none of its own.
base::Result<Shown> shown(const Operator& op, const std::string& default_type) {
  Shown result;
  std::vector<std::string> texts(static_cast<std::size_t>(op.min_inputs()), default_type);
  Attrs given;
  if (op.example()) {
    texts = op.example()->input_types;
    given = op.example()->attrs;
  }
  for (const std::string& text : texts) {
    EGRET_ASSIGN_OR_RETURN(TensorType type, parse_type(text));
    result.types.push_back(std::move(type));
    const std::size_t i = result.names.size();
    const std::size_t last = op.inputs().size() - 1;
    std::string name = op.inputs()[std::min(i, last)];
    if (op.max_inputs() == INT_MAX && i >= last) name += std::to_string(i - last);
    result.names.push_back(std::move(name));
  }
  EGRET_ASSIGN_OR_RETURN(result.attrs, canonical_attrs(op.attrs(), given));
  return result;
}

std::string primitive_meaning(const Denotation& denotation, const Shown& example) {
  std::string text;
  for (std::size_t i = 0; i < example.types.size(); ++i) {
    text += example.names[i] + " : " + to_string(example.types[i]) + "\n";
  }
  text +=
      "out : " + to_string(denotation.type) + "\n\n" + to_string(denotation, example.names) + "\n";
  for (const Requirement& requirement : denotation.requirements) {
    text += "requires " + to_string(requirement.condition) + "\n";
  }
  return text;
}

// The body's text, with the operator's own names of its inputs.
std::string composite_meaning(Graph body, const Shown& example) {
  for (std::size_t i = 0; i < example.names.size(); ++i) {
    body.rename(body.inputs()[i], example.names[i]);
  }
  const std::string text = to_text(without_dead_nodes(body), {.inline_elements = 4});
  return text.substr(text.find('\n') + 1);  // without the line that names the format
}

std::string attributes_section(const Operator& op) {
  if (op.attrs().empty()) return "";
  std::string text = "| attribute | kind | default | meaning |\n|---|---|---|---|\n";
  for (const AttrSpec& spec : op.attrs()) {
    const std::string otherwise =
        spec.default_value ? "`" + to_string(*spec.default_value) + "`" : "required";
    text += "| " + spec.name + " | " + std::string(to_string(spec.kind)) + " | " + cell(otherwise) +
            " | " + cell(spec.doc) + " |\n";
  }
  return text + "\n";
}

std::string qualified(const OnnxImportRow& row) {
  return row.domain.empty() ? row.op_type : row.domain + "." + row.op_type;
}

std::string onnx_section(const Operator& op) {
  std::string text;
  for (const OnnxImportRow& row : op.onnx_imports()) {
    text += (text.empty() ? "Imported from ONNX " : ", ") + qualified(row);
  }
  if (!text.empty()) text += ". ";
  if (op.onnx_export()) {
    const int since = op.onnx_since();
    text += since > 1 ? "Exported from opset " + std::to_string(since) + " on" : "Exported";
    text += op.is_composite() && since > 1 ? "; as its body below.\n" : ".\n";
  } else {
    text += "Exported as its body.\n";
  }
  return text;
}

}  // namespace

namespace {

base::Result<std::string> meaning_on(const Operator& op, const std::string& default_type) {
  EGRET_ASSIGN_OR_RETURN(const Shown example, shown(op, default_type));
  if (op.is_composite()) {
    EGRET_ASSIGN_OR_RETURN(Graph body, body_graph(op, example.attrs, example.types));
    return composite_meaning(std::move(body), example);
  }
  EGRET_ASSIGN_OR_RETURN(const Denotation denotation, denote(op, example.attrs, example.types));
  return primitive_meaning(denotation, example);
}

}  // namespace

base::Result<std::string> operator_meaning(const Operator& op) {
  const SuspendedScope without_symbols;  // the meaning does not depend on the caller's
  auto meaning = meaning_on(op, "f32[M,N]");
  for (const char* other : {"bool[M,N]", "i32[M,N]"}) {  // logic, bits
    if (!meaning.ok() && !op.example()) meaning = meaning_on(op, other);
  }
  return meaning;
}

std::string operator_page(const Operator& op) {
  std::string text = "# " + op.name() + "\n\n" + op.doc() + ".\n\n";
  text += "A " + std::string(kind_of(op)) + " operator of ";
  text += op.inputs().empty() ? "no inputs.\n\n" : "`" + inputs_text(op) + "`.\n\n";
  text += attributes_section(op);
  const auto meaning = operator_meaning(op);
  if (meaning.ok()) {
    const Attrs attrs = op.example() ? op.example()->attrs : Attrs();
    text += op.is_composite() ? "Its body" : "One element of its output";
    text += attrs.empty() ? "" : ", with `" + to_string(attrs) + "`";
    text += ":\n\n```\n" + *meaning + "```\n\n";
  }
  return text + onnx_section(op);
}

std::string operator_table() {
  std::string text = "| operator | kind | inputs | meaning |\n|---|---|---|---|\n";
  for (const Operator* op : all_operators()) {
    text += "| " + op->name() + " | " + std::string(kind_of(*op)) + " | " + cell(inputs_text(*op)) +
            " | " + cell(op->doc()) + " |\n";
  }
  return text;
}

std::string onnx_support_table() {
  std::map<std::string, std::string> rows;
  for (const Operator* op : all_operators()) {
    for (const OnnxImportRow& row : op->onnx_imports()) {
      std::string& becomes = rows[qualified(row)];
      becomes += (becomes.empty() ? "" : ", ") + op->name();
    }
  }
  std::string text = "| ONNX operator | becomes |\n|---|---|\n";
  for (const auto& [type, operators] : rows) text += "| " + type + " | " + operators + " |\n";
  return text;
}

}  // namespace egret::ir
