// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/graph_text.h"

#include <charconv>
#include <cstring>
#include <vector>

#include "ir/graph/builder.h"
#include "ir/graph/text_cursor.h"

namespace egret::ir {
namespace {

constexpr int kMaxNesting = 100;  // of size expressions

// ---- Constants ----

// The shortest text that reads back as the same element.
std::string element_text(const Tensor& tensor, std::int64_t i) {
  char buffer[32];
  char* const end = buffer + sizeof buffer;
  switch (tensor.dtype()) {
    case DType::kF64: return {buffer, std::to_chars(buffer, end, tensor.f64_at(i)).ptr};
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return {buffer, std::to_chars(buffer, end, static_cast<float>(tensor.f64_at(i))).ptr};
    case DType::kU64:
      return {buffer, std::to_chars(buffer, end, static_cast<std::uint64_t>(tensor.i64_at(i))).ptr};
    default: return std::to_string(tensor.i64_at(i));
  }
}

bool set_element(Tensor& tensor, std::int64_t i, std::string_view text) {
  const char* const end = text.data() + text.size();
  if (is_float(tensor.dtype())) {
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    tensor.set_f64(i, value);
    return error == std::errc() && stop == end;
  }
  if (tensor.dtype() == DType::kU64) {
    std::uint64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    tensor.set_i64(i, static_cast<std::int64_t>(value));
    return error == std::errc() && stop == end;
  }
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  tensor.set_i64(i, value);
  return error == std::errc() && stop == end && tensor.i64_at(i) == value;
}

// Whether the elements as text give the same bytes back; a NaN with a payload does not.
bool is_inline(const Tensor& tensor, const GraphTextOptions& options) {
  if (tensor.elements() > options.inline_elements) return false;
  Tensor again(tensor.type());
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    if (!set_element(again, i, element_text(tensor, i))) return false;
  }
  return tensor.elements() == 0 ||
         std::memcmp(again.data().data(), tensor.data().data(), tensor.data().size()) == 0;
}

std::string data_text(const Tensor& tensor, const GraphTextOptions& options) {
  if (!is_inline(tensor, options)) return "#" + tensor.content_hash().to_hex();
  std::string text = "{";
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    if (i > 0) text += ", ";
    text += element_text(tensor, i);
  }
  return text + "}";
}

// ---- Writing ----

std::string attrs_text(const Attrs& attrs) {
  std::string text;
  for (const auto& [name, value] : attrs.entries()) {
    text += text.empty() ? " {" : ", ";
    const auto* words = std::get_if<std::string>(&value);
    text += name + "=" + (words != nullptr ? quoted_text(*words) : to_string(value));
  }
  return text.empty() ? text : text + "}";
}

std::string node_text(const Node& node, const GraphTextOptions& options) {
  std::string text;
  switch (node.kind) {
    case NodeKind::kInput: text = "input"; break;
    case NodeKind::kConstant: text = "constant " + data_text(node.data, options); break;
    case NodeKind::kOperator:
      text = node.op->name() + "(";
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (i > 0) text += ", ";
        text += "%" + std::to_string(node.inputs[i].index());
      }
      text += ")" + attrs_text(node.attrs);
      break;
  }
  if (!node.name.empty()) text += " " + quoted_text(node.name);
  return text + " : " + to_string(node.type);
}

}  // namespace

std::string to_text(const Graph& graph, const GraphTextOptions& options) {
  std::string text = "egret-graph 1\n";
  if (!graph.name.empty()) text += "name " + quoted_text(graph.name) + "\n";
  for (const auto& [key, value] : graph.metadata) {
    text += "meta " + quoted_text(key) + " = " + quoted_text(value) + "\n";
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    text += "%" + std::to_string(i) + " = " + node_text(graph.node(NodeId(i)), options) + "\n";
  }
  for (const auto& out : graph.outputs()) {
    text += "output " + quoted_text(out.name) + " = %" + std::to_string(out.node.index()) + "\n";
  }
  return text;
}

DataTable constant_data(const Graph& graph, const GraphTextOptions& options) {
  DataTable table;
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::kConstant || is_inline(node.data, options)) continue;
    table.emplace(node.data.content_hash(), node.data);
  }
  return table;
}

namespace {

// ---- Reading ----

// Recursive descent over sums of products of factors.
class SizeParser {
 public:
  explicit SizeParser(TextCursor& cursor) : cursor_(cursor) {}

  Index sum() {
    Index value = product();
    for (;;) {
      if (cursor_.take("+")) {
        value = checked(value, product(), [](Index a, Index b) { return a + b; });
      } else if (cursor_.take("-")) {
        value = checked(value, product(), [](Index a, Index b) { return a - b; });
      } else {
        return value;
      }
    }
  }

 private:
  Index product() {
    Index value = factor();
    while (cursor_.take("*")) {
      value = checked(value, factor(), [](Index a, Index b) { return a * b; });
    }
    return value;
  }

  // Numbers are kept far from overflow.
  template <typename Combine>
  Index checked(Index a, Index b, const Combine& combine) {
    constexpr std::int64_t kLimit = std::int64_t{1} << 31;
    const auto small = [](Index i) {
      return !i.is_constant() || (i.constant() > -kLimit && i.constant() < kLimit);
    };
    if (cursor_.ok() && small(a) && small(b)) return combine(a, b);
    cursor_.fail("a number that is too large in a size");
    return 0;
  }

  Index factor() {
    if (++depth_ > kMaxNesting) {
      cursor_.fail("a size that is nested too deep");
      return 0;
    }
    const Index value = unnested_factor();
    --depth_;
    return value;
  }

  Index unnested_factor() {
    const char next = cursor_.peek();
    if (next == '"') return symbolic_dim(cursor_.quoted("a dimension"));
    if (next == '-' || (next >= '0' && next <= '9')) return cursor_.integer().value_or(0);
    if (cursor_.take("(")) {
      const Index value = sum();
      cursor_.expect(")");
      return value;
    }
    const std::string name(cursor_.identifier("a size"));
    if (!cursor_.ok()) return 0;
    return cursor_.take("(") ? call(name) : symbolic_dim(name);
  }

  Index call(const std::string& name) {
    const std::size_t at = cursor_.offset();
    const Index a = sum();
    cursor_.expect(",");
    const Index b = sum();
    cursor_.expect(")");
    if (!cursor_.ok()) return 0;
    if (name == "min") return min(a, b);
    if (name == "max") return max(a, b);
    if (name != "div" && name != "mod") {
      cursor_.fail_at(at, "'" + name + "' is no function of sizes");
      return 0;
    }
    if (b.is_constant() && b.constant() <= 0) {
      cursor_.fail_at(at, "a size is divided by " + to_string(b));
      return 0;
    }
    return name == "div" ? div(a, b) : mod(a, b);
  }

  TextCursor& cursor_;
  int depth_ = 0;
};

TensorType parse_type(TextCursor& cursor) {
  TensorType type;
  const std::string name(cursor.identifier("an element type"));
  const auto dtype = parse_dtype(name);
  if (!dtype) {
    cursor.fail("there is no element type '" + name + "'");
    return type;
  }
  type.dtype = *dtype;
  if (!cursor.expect("[") || cursor.take("]")) return type;
  Shape known;
  do {
    const std::size_t at = cursor.offset();
    type.dims.push_back(SizeParser(cursor).sum());
    if (type.dims.back().is_constant()) known.push_back(type.dims.back().constant());
    if (cursor.ok() && !element_count(known)) {
      cursor.fail_at(at, "a size that is negative or too large");
    }
  } while (cursor.take(","));
  cursor.expect("]");
  return type;
}

// Reads statement by statement. A node may refer only to nodes above it, so graphs have no cycles.
class GraphParser {
 public:
  GraphParser(std::string_view text, const DataTable& data) : cursor_(text), data_(data) {}

  base::Result<Graph> run() {
    cursor_.expect("egret-graph");
    if (cursor_.integer().value_or(1) != 1) cursor_.fail("only version 1 is known");
    while (cursor_.ok() && !cursor_.at_end()) statement();
    if (!cursor_.ok()) return cursor_.status();
    EGRET_ASSIGN_OR_RETURN(Graph graph, builder_.finish());
    graph.name = std::move(name_);
    graph.metadata = std::move(metadata_);
    return graph;
  }

 private:
  void statement() {
    const std::size_t at = cursor_.offset();
    if (cursor_.peek() == '%') {
      node();
    } else {
      const std::string keyword(cursor_.identifier("a statement"));
      if (keyword == "name") {
        name_ = cursor_.quoted("the graph's name");
      } else if (keyword == "meta") {
        const std::string key = cursor_.quoted("a key");
        cursor_.expect("=");
        metadata_[key] = cursor_.quoted("a value");
      } else if (keyword == "output") {
        output(at);
      } else {
        cursor_.fail_at(at, "%NODE, name, meta or output expected");
      }
    }
    if (!builder_.ok()) cursor_.fail_at(at, builder_.status().message());
  }

  void output(std::size_t at) {
    std::string name = cursor_.quoted("the output's name");
    for (const auto& out : builder_.graph().outputs()) {
      if (out.name == name) cursor_.fail_at(at, "there are two outputs '" + name + "'");
    }
    if (name.empty()) cursor_.fail_at(at, "an output needs a name");
    cursor_.expect("=");
    const Value value = reference();
    if (cursor_.ok()) builder_.output(std::move(name), value);
  }

  Value reference() {
    cursor_.expect("%");
    const std::string label(cursor_.word("a node"));
    const auto found = values_.find(label);
    if (found == values_.end()) {
      cursor_.fail("there is no node %" + label + " above");
      return {};
    }
    return found->second;
  }

  void node() {
    const std::size_t at = cursor_.offset();
    cursor_.expect("%");
    const std::string label(cursor_.word("a node"));
    if (values_.contains(label)) cursor_.fail_at(at, "there are two nodes %" + label);
    cursor_.expect("=");
    const std::size_t op_at = cursor_.offset();
    const std::string op(cursor_.identifier("an operator"));
    if (!cursor_.ok()) return;
    const Value value = op == "input"      ? input()
                        : op == "constant" ? constant()
                                           : operation(op, op_at);
    if (cursor_.ok()) values_.emplace(label, value);
  }

  std::string optional_name() {
    return cursor_.peek() == '"' ? cursor_.quoted("a name") : std::string();
  }

  Value input() {
    const std::size_t at = cursor_.offset();
    std::string name = cursor_.quoted("the input's name");
    for (const NodeId id : builder_.graph().inputs()) {
      if (builder_.graph().node(id).name == name) {
        cursor_.fail_at(at, "there are two inputs '" + name + "'");
      }
    }
    if (name.empty()) cursor_.fail_at(at, "an input needs a name");
    cursor_.expect(":");
    TensorType type = parse_type(cursor_);
    return cursor_.ok() ? builder_.input(std::move(name), std::move(type)) : Value{};
  }

  Value constant() {
    const std::size_t at = cursor_.offset();
    std::vector<std::string_view> elements;
    std::string hash;
    if (cursor_.take("#")) {
      hash = cursor_.word("a content hash");
    } else if (cursor_.expect("{") && !cursor_.take("}")) {
      do {
        elements.push_back(cursor_.word("a number"));
      } while (cursor_.take(","));
      cursor_.expect("}");
    }
    std::string name = optional_name();
    cursor_.expect(":");
    const TensorType type = parse_type(cursor_);
    if (!cursor_.ok()) return {};
    if (!type.is_concrete()) {
      cursor_.fail("a constant has sizes, not symbols");
      return {};
    }
    auto tensor = hash.empty() ? listed(type, elements, at) : looked_up(type, hash, at);
    return tensor ? builder_.constant(*std::move(tensor), std::move(name)) : Value{};
  }

  std::optional<Tensor> listed(const TensorType& type, std::span<const std::string_view> elements,
                               std::size_t at) {
    if (type.elements() != static_cast<std::int64_t>(elements.size())) {
      cursor_.fail_at(at, std::to_string(elements.size()) + " elements for " + to_string(type));
      return std::nullopt;
    }
    Tensor tensor(type);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (set_element(tensor, static_cast<std::int64_t>(i), elements[i])) continue;
      cursor_.fail_at(
          at, "'" + std::string(elements[i]) + "' is no " + std::string(to_string(type.dtype)));
      return std::nullopt;
    }
    return tensor;
  }

  std::optional<Tensor> looked_up(const TensorType& type, const std::string& hash, std::size_t at) {
    for (const auto& [key, tensor] : data_) {
      if (key.to_hex() != hash) continue;
      if (tensor.type() == type) return tensor;
      cursor_.fail_at(at, "the data of #" + hash + " is " + to_string(tensor.type()));
      return std::nullopt;
    }
    cursor_.fail_at(at, "there is no data for constant #" + hash);
    return std::nullopt;
  }

  Value operation(const std::string& name, std::size_t at) {
    const Operator* op = find_operator(name);
    if (op == nullptr) {
      cursor_.fail_at(at, "there is no operator '" + name + "'");
      return {};
    }
    cursor_.expect("(");
    std::vector<Value> inputs;
    if (!cursor_.take(")")) {
      do {
        inputs.push_back(reference());
      } while (cursor_.take(","));
      cursor_.expect(")");
    }
    Attrs given = attrs();
    std::string node_name = optional_name();
    if (!cursor_.ok()) return {};
    const Value value = builder_.add(*op, inputs, std::move(given), std::move(node_name));
    if (builder_.ok() && cursor_.take(":")) check_type(builder_.type(value));
    return value;
  }

  // Compared as text: parsed and inferred sizes may be built differently.
  void check_type(const TensorType& inferred) {
    const std::size_t at = cursor_.offset();
    const TensorType written = parse_type(cursor_);
    if (cursor_.ok() && to_string(written) != to_string(inferred)) {
      cursor_.fail_at(at,
                      "the operator gives " + to_string(inferred) + ", not " + to_string(written));
    }
  }

  Attrs attrs() {
    Attrs result;
    if (!cursor_.take("{") || cursor_.take("}")) return result;
    do {
      const std::string name(cursor_.identifier("an attribute"));
      cursor_.expect("=");
      if (cursor_.peek() == '"') {
        result.set(name, cursor_.quoted("a text"));
        continue;
      }
      const std::size_t at = cursor_.offset();
      const auto value = parse_attr_value(cursor_.raw_value());
      if (value.ok()) {
        result.set(name, *value);
      } else {
        cursor_.fail_at(at, value.status().message());
      }
    } while (cursor_.take(","));
    cursor_.expect("}");
    return result;
  }

  TextCursor cursor_;
  const DataTable& data_;
  GraphBuilder builder_;
  std::map<std::string, Value> values_;
  std::string name_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace

base::Result<Graph> parse_graph(std::string_view text, const DataTable& data) {
  return GraphParser(text, data).run();
}

base::Result<TensorType> parse_type(std::string_view text) {
  TextCursor cursor(text);
  const TensorType type = parse_type(cursor);
  if (cursor.ok() && !cursor.at_end()) cursor.fail("text after the type");
  if (!cursor.ok()) return cursor.status();
  return type;
}

}  // namespace egret::ir
