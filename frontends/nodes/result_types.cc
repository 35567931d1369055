// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/result_types.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "frontends/nodes/collective_nodes.h"
#include "frontends/onnx.pb.h"
#include "ir/core/symbolic_scope.h"

namespace egret::frontends {
namespace {

using Sizes = std::vector<ResultSize>;

Sizes unknown(std::size_t count) { return Sizes(count); }

// A node with what is known of its inputs.
class NodeView {
 public:
  NodeView(const OnnxImportContext& context, const OnnxProgramNode& node,
           const std::vector<ir::Value>& values, const std::set<ir::NodeId>& untyped)
      : context_(context), node_(node) {
    for (const ValueId input : node.inputs) {
      const bool valid = input.valid() && values[input.index()].valid();
      inputs_.push_back(valid ? values[input.index()] : ir::Value{});
      const bool typed = valid && !untyped.contains(inputs_.back().id);
      types_.push_back(typed ? &context.builder.type(inputs_.back()) : nullptr);
    }
  }

  const OnnxImportContext& context() const { return context_; }
  const OnnxProgramNode& node() const { return node_; }
  const onnx::NodeProto& proto() const { return *node_.proto; }
  std::size_t input_count() const { return inputs_.size(); }
  ir::Value input(std::size_t i) const { return i < inputs_.size() ? inputs_[i] : ir::Value{}; }
  // Null: absent, or of unknown type.
  const ir::TensorType* type(std::size_t i) const {
    return i < types_.size() ? types_[i] : nullptr;
  }

  const onnx::AttributeProto* attribute(std::string_view name) const {
    for (const auto& attribute : proto().attribute()) {
      if (attribute.name() == name) return &attribute;
    }
    return nullptr;
  }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    const auto* found = attribute(name);
    return found != nullptr ? found->i() : otherwise;
  }
  // The element of a list, or 0.
  std::int64_t element(std::string_view name, int i) const {
    const auto* found = attribute(name);
    return found != nullptr && i < found->ints_size() ? found->ints(i) : 0;
  }
  std::optional<std::vector<ir::Index>> elements(std::size_t i) const {
    if (type(i) == nullptr || ir::SymbolicScope::current() == nullptr) return std::nullopt;
    context_.sizes.extend();
    return context_.sizes.elements(inputs_[i].id);
  }
  std::optional<ir::Tensor> constant(std::size_t i) const {
    return type(i) != nullptr ? context_.constants.value(inputs_[i].id) : std::nullopt;
  }
  // How many elements a list has.
  std::optional<std::size_t> length(std::size_t i) const {
    const ir::TensorType* const list = type(i);
    if (list == nullptr || list->rank() != 1 || !list->is_concrete() || list->elements() > 64)
      return std::nullopt;
    return static_cast<std::size_t>(list->elements());
  }

 private:
  const OnnxImportContext& context_;
  const OnnxProgramNode& node_;
  std::vector<ir::Value> inputs_;
  std::vector<const ir::TensorType*> types_;
};

Sizes sizes_of(const ir::TensorType& type) {
  Sizes sizes;
  for (const ir::Index& size : type.dims) sizes.push_back({size, {}});
  return sizes;
}

ResultTypes one(ir::DType dtype, Sizes sizes) { return {ResultType{dtype, std::move(sizes)}}; }

// ---- Operators by what ONNX says of their results. Each returns nothing where too little is
// known.

ResultTypes as_input(const NodeView& node) {
  return node.type(0) != nullptr ? one(node.type(0)->dtype, sizes_of(*node.type(0)))
                                 : ResultTypes();
}

// Of the rank of input 0.
ResultTypes of_rank(const NodeView& node) {
  const ir::TensorType* const x = node.type(0);
  return x != nullptr ? one(x->dtype, unknown(x->dims.size())) : ResultTypes();
}

ResultTypes reshaped(const NodeView& node) {
  const auto rank = node.length(1);
  return rank && node.type(0) != nullptr ? one(node.type(0)->dtype, unknown(*rank)) : ResultTypes();
}

ResultTypes expanded(const NodeView& node) {
  const auto rank = node.length(1);
  if (!rank || node.type(0) == nullptr) return {};
  return one(node.type(0)->dtype, unknown(std::max(*rank, node.type(0)->dims.size())));
}

ResultTypes filled(const NodeView& node) {
  const auto rank = node.length(0);
  const auto* value = node.attribute("value");
  const auto dtype =
      value != nullptr ? ir::dtype_from_onnx(value->t().data_type()) : ir::DType::kF32;
  return rank && dtype ? one(*dtype, unknown(*rank)) : ResultTypes();
}

ResultTypes range(const NodeView& node) {
  return node.type(0) != nullptr ? one(node.type(0)->dtype, unknown(1)) : ResultTypes();
}

// One axis of input 0 has another size, in each of the outputs.
ResultTypes resized_axis(const NodeView& node, std::int64_t axis, std::size_t outputs) {
  const ir::TensorType* const x = node.type(0);
  if (x == nullptr) return {};
  if (axis < 0) axis += x->rank();
  if (axis < 0 || axis >= x->rank()) return {};
  Sizes sizes = sizes_of(*x);
  sizes[static_cast<std::size_t>(axis)] = {};
  return ResultTypes(outputs, ResultType{x->dtype, std::move(sizes)});
}

ResultTypes parts(const NodeView& node) {
  return resized_axis(node, node.integer("axis", 0), node.node().outputs.size());
}

ResultTypes largest(const NodeView& node) {
  ResultTypes types = resized_axis(node, node.integer("axis", -1), 2);
  if (types.size() == 2) types[1]->dtype = ir::DType::kI64;
  return types;
}

ResultTypes compressed(const NodeView& node) {
  if (node.attribute("axis") != nullptr) return resized_axis(node, node.integer("axis", 0), 1);
  return range(node);
}

ResultTypes nonzero(const NodeView& node) {
  const ir::TensorType* const x = node.type(0);
  return x != nullptr ? one(ir::DType::kI64, {{ir::Index(x->rank()), {}}, {}}) : ResultTypes();
}

ResultTypes unique(const NodeView& node) {
  const bool whole = node.attribute("axis") == nullptr;
  ResultTypes types = whole ? range(node) : resized_axis(node, node.integer("axis", 0), 1);
  if (types.empty()) return types;
  types.resize(4, ResultType{ir::DType::kI64, unknown(1)});
  return types;
}

ResultTypes selected_boxes(const NodeView& /*node*/) {
  return one(ir::DType::kI64, {{}, {ir::Index(3), {}}});
}

ResultTypes sampled(const NodeView& node) {
  const ir::TensorType* const x = node.type(0);
  const ir::TensorType* const grid = node.type(1);
  if (x == nullptr || grid == nullptr || x->rank() != grid->rank() || x->rank() < 3) return {};
  Sizes sizes{{x->dims[0], {}}, {x->dims[1], {}}};
  for (int axis = 1; axis + 1 < grid->rank(); ++axis)
    sizes.push_back({grid->dims[static_cast<std::size_t>(axis)], {}});
  return one(x->dtype, std::move(sizes));
}

ResultTypes pooled_regions(const NodeView& node) {
  const ir::TensorType* const x = node.type(0);
  const ir::TensorType* const regions = node.type(1);
  if (x == nullptr || regions == nullptr || x->rank() != 4 || regions->rank() != 2) return {};
  return one(x->dtype, {{regions->dims[0], {}},
                        {x->dims[1], {}},
                        {ir::Index(node.integer("output_height", 1)), {}},
                        {ir::Index(node.integer("output_width", 1)), {}}});
}

// Axes with the scale 1 stay, as do sizes that are given.
ResultTypes resampled(const NodeView& node) {
  const ir::TensorType* const x = node.type(0);
  if (x == nullptr) return {};
  Sizes sizes = unknown(x->dims.size());
  if (node.attribute("axes") != nullptr) return one(x->dtype, std::move(sizes));
  const auto given = node.elements(3);
  const auto* attribute = node.attribute("scales");
  const auto scales = node.constant(node.input_count() > 2 ? 2 : 1);
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const auto at = static_cast<std::int64_t>(axis);
    const bool as_attribute = attribute != nullptr && at < attribute->floats_size();
    const bool as_constant = scales && ir::is_float(scales->dtype()) && at < scales->elements();
    if (given && axis < given->size() && node.attribute("keep_aspect_ratio_policy") == nullptr) {
      sizes[axis].known = (*given)[axis];
    } else if ((as_attribute && attribute->floats(static_cast<int>(axis)) == 1) ||
               (as_constant && scales->f64_at(at) == 1)) {
      sizes[axis].known = x->dims[axis];
    }
  }
  return one(x->dtype, std::move(sizes));
}

// LSTM, GRU, RNN: all states, the last, and of an LSTM the last cell.
ResultTypes recurrent(const NodeView& node) {
  const ir::TensorType* const x = node.type(0);
  const ir::TensorType* const r = node.type(2);
  if (x == nullptr || r == nullptr || x->rank() != 3 || r->rank() != 3) return {};
  const bool batch_first = node.integer("layout", 0) != 0;
  const ResultSize length{x->dims[batch_first ? 1 : 0], {}};
  const ResultSize batch{x->dims[batch_first ? 0 : 1], {}};
  const ResultSize directions{r->dims[0], {}};
  const ResultSize hidden{r->dims[2], {}};
  const ResultType all{x->dtype, batch_first ? Sizes{batch, length, directions, hidden}
                                             : Sizes{length, directions, batch, hidden}};
  const ResultType last{
      x->dtype, batch_first ? Sizes{batch, directions, hidden} : Sizes{directions, batch, hidden}};
  return {all, last, last};
}

ResultTypes attended(const NodeView& node) {
  const ir::TensorType* const q = node.type(0);
  const ir::TensorType* const v = node.type(2);
  if (q == nullptr || v == nullptr || q->rank() != v->rank()) return {};
  Sizes sizes = sizes_of(*q);
  if (sizes.empty()) return {};
  sizes.back() = q->rank() == 4 ? ResultSize{v->dims.back(), {}} : ResultSize{};
  return one(q->dtype, std::move(sizes));
}

ResultTypes column_images(const NodeView& node) {
  const auto spatial = node.length(1);
  if (!spatial || node.type(0) == nullptr || node.type(0)->rank() != 3) return {};
  Sizes sizes = unknown(*spatial + 2);
  sizes[0].known = node.type(0)->dims[0];
  return one(node.type(0)->dtype, std::move(sizes));
}

ResultTypes spectrum(const NodeView& node) {
  const ir::TensorType* const x = node.type(0);
  return x != nullptr ? one(x->dtype, unknown(4)) : ResultTypes();
}

ResultTypes window(const NodeView& node) {
  const auto dtype = ir::dtype_from_onnx(node.integer("output_datatype", 1));
  return dtype ? one(*dtype, unknown(1)) : ResultTypes();
}

// ---- Operators of com.microsoft, which ONNX Runtime's optimizers write

// A product with a matrix of `columns`: the last axis has another size.
ResultTypes product(const NodeView& node, std::optional<ir::Index> columns) {
  const ir::TensorType* const x = node.type(0);
  if (x == nullptr || x->rank() < 1) return {};
  Sizes sizes = sizes_of(*x);
  sizes.back() = {std::move(columns), {}};
  return one(x->dtype, std::move(sizes));
}

// The matrix is packed; its size is an attribute.
ResultTypes product_of_packed(const NodeView& node) {
  const std::int64_t columns = node.integer("N", -1);
  return product(node, columns > 0 ? std::optional<ir::Index>(columns) : std::nullopt);
}

// Of integers, which become reals by their scale.
ResultTypes scaled_product(const NodeView& node) {
  const ir::TensorType* const matrix = node.type(1);
  if (matrix == nullptr || matrix->rank() < 1) return {};
  ResultTypes types = product(node, matrix->dims.back());
  if (!types.empty()) types[0]->dtype = ir::DType::kF32;
  return types;
}

ResultTypes fused_convolution(const NodeView& node) {
  const ir::TensorType* const x = node.type(0);
  const ir::TensorType* const kernel = node.type(1);
  if (x == nullptr || kernel == nullptr || x->rank() != kernel->rank() || x->rank() < 3) return {};
  Sizes sizes = unknown(x->dims.size());
  sizes[0].known = x->dims[0];
  sizes[1].known = kernel->dims[0];
  return one(x->dtype, std::move(sizes));
}

// The sum with the skip connection, and the inputs' sum as fourth output.
ResultTypes skipping_norm(const NodeView& node) {
  ResultTypes types = as_input(node);
  if (types.empty()) return types;
  types.resize(4);
  types[3] = types[0];
  return types;
}

// ---- Exchanges between ranks (frontends/nodes/collective_nodes.h)

// The input with its size along the axis of this attribute times the ranks, or divided by them.
bool change_size(const NodeView& node, std::string_view axis, bool enlarge, ResultTypes& types) {
  const onnx::AttributeProto* const group = node.attribute("ranks");
  const std::int64_t ranks = node.integer("group_size", group != nullptr ? group->ints_size() : 0);
  Sizes& sizes = types.front()->sizes;
  std::int64_t dim = node.integer(axis, 0);
  if (dim < 0) dim += static_cast<std::int64_t>(sizes.size());
  if (ranks < 1 || dim < 0 || dim >= static_cast<std::int64_t>(sizes.size())) return false;
  ir::Index& size = *sizes[static_cast<std::size_t>(dim)].known;
  size = enlarge ? size * ranks : ir::div(size, ranks);
  return true;
}

ResultTypes all_gathered(const NodeView& node) {
  ResultTypes types = as_input(node);
  return !types.empty() && change_size(node, "axis", true, types) ? types : ResultTypes();
}

ResultTypes sharded(const NodeView& node) {
  ResultTypes types = as_input(node);
  return !types.empty() && change_size(node, "axis", false, types) ? types : ResultTypes();
}

ResultTypes sent_to_all(const NodeView& node) {
  ResultTypes types = as_input(node);
  const bool known = !types.empty() && change_size(node, "split_axis", false, types) &&
                     change_size(node, "concat_axis", true, types);
  return known ? types : ResultTypes();
}

// ---- Control flow

// A type that a body declares of its result, with the sizes that are numbers.
std::optional<ResultType> declared(const onnx::ValueInfoProto& value) {
  const auto& tensor = value.type().tensor_type();
  const auto dtype = ir::dtype_from_onnx(tensor.elem_type());
  if (!value.type().has_tensor_type() || !dtype || !tensor.has_shape()) return std::nullopt;
  ResultType type{*dtype, {}};
  for (const auto& dim : tensor.shape().dim()) {
    type.sizes.emplace_back();
    if (dim.has_dim_value() && dim.dim_value() >= 0) type.sizes.back().known = dim.dim_value();
  }
  return type;
}

const onnx::GraphProto* body_of(const NodeView& node, std::string_view name) {
  const auto* found = node.attribute(name);
  return found != nullptr && found->has_g() ? &found->g() : nullptr;
}

// Both branches have the type; sizes that differ are unknown.
ResultTypes chosen(const NodeView& node) {
  const auto* yes = body_of(node, "then_branch");
  const auto* no = body_of(node, "else_branch");
  if (yes == nullptr || no == nullptr || yes->output_size() != no->output_size()) return {};
  ResultTypes types;
  for (int i = 0; i < yes->output_size(); ++i) {
    std::optional<ResultType> type = declared(yes->output(i));
    const std::optional<ResultType> other = declared(no->output(i));
    const bool fit =
        type && other && type->dtype == other->dtype && type->sizes.size() == other->sizes.size();
    if (!fit) type.reset();
    for (std::size_t axis = 0; fit && axis < type->sizes.size(); ++axis) {
      std::optional<ir::Index>& size = type->sizes[axis].known;
      if (size && (!other->sizes[axis].known || !size->same(*other->sizes[axis].known)))
        size.reset();
    }
    types.push_back(std::move(type));
  }
  return types;
}

// The body's results are whether to go on, the values for the next turn, and the slices of what is
// collected. The number of turns is not known; the sizes of a value may change from turn to turn,
// so the body's declaration counts, not the first value's.
ResultTypes looped(const NodeView& node) {
  const auto* body = body_of(node, "body");
  const auto values = static_cast<int>(node.input_count()) - 2;
  if (body == nullptr || values < 0 || body->output_size() < 1 + values) return {};
  ResultTypes types;
  for (int i = 1; i < body->output_size(); ++i) {
    std::optional<ResultType> type = declared(body->output(i));
    if (type && i > values) type->sizes.insert(type->sizes.begin(), ResultSize{});
    types.push_back(std::move(type));
  }
  return types;
}

// States keep their types. What is collected has the length of the scanned inputs.
ResultTypes scanned(const NodeView& node) {
  const auto* body = body_of(node, "body");
  const std::int64_t inputs = node.integer("num_scan_inputs", 0);
  const std::int64_t states = static_cast<std::int64_t>(node.input_count()) - inputs;
  if (body == nullptr || inputs < 1 || states < 0 || body->output_size() < states) return {};
  ResultTypes types;
  for (std::int64_t i = 0; i < states; ++i) {
    const ir::TensorType* const state = node.type(static_cast<std::size_t>(i));
    types.push_back(state != nullptr ? std::optional(ResultType{state->dtype, sizes_of(*state)})
                                     : std::nullopt);
  }
  const ir::TensorType* const first = node.type(static_cast<std::size_t>(states));
  std::int64_t along = node.element("scan_input_axes", 0);
  if (first != nullptr && along < 0) along += first->rank();
  const bool known = first != nullptr && along >= 0 && along < first->rank();
  const ResultSize length =
      known ? ResultSize{first->dims[static_cast<std::size_t>(along)], {}} : ResultSize{};
  for (int i = static_cast<int>(states); i < body->output_size(); ++i) {
    std::optional<ResultType> type = declared(body->output(i));
    if (type) {
      const auto rank = static_cast<std::int64_t>(type->sizes.size()) + 1;
      std::int64_t axis = node.element("scan_output_axes", i - static_cast<int>(states));
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank) return {};
      type->sizes.insert(type->sizes.begin() + axis, length);
    }
    types.push_back(std::move(type));
  }
  return types;
}

struct Row {
  std::string_view op_type;
  ResultTypes (*types)(const NodeView& node);
};
constexpr Row kRows[] = {{"Attention", attended},
                         {"Bernoulli", as_input},
                         {"BlackmanWindow", window},
                         {"CenterCropPad", of_rank},
                         {"Col2Im", column_images},
                         {"Compress", compressed},
                         {"ConstantOfShape", filled},
                         {"DFT", of_rank},
                         {"Expand", expanded},
                         {"GRU", recurrent},
                         {"GridSample", sampled},
                         {"HammingWindow", window},
                         {"HannWindow", window},
                         {"If", chosen},
                         {"LSTM", recurrent},
                         {"Loop", looped},
                         {"MaxUnpool", of_rank},
                         {"NonMaxSuppression", selected_boxes},
                         {"NonZero", nonzero},
                         {"Pad", of_rank},
                         {"RNN", recurrent},
                         {"Range", range},
                         {"Reshape", reshaped},
                         {"Resize", resampled},
                         {"RoiAlign", pooled_regions},
                         {"RotaryEmbedding", as_input},
                         {"STFT", spectrum},
                         {"Scan", scanned},
                         {"Slice", of_rank},
                         {"Split", parts},
                         {"Tile", of_rank},
                         {"TopK", largest},
                         {"Unique", unique},
                         {"Upsample", resampled}};

constexpr Row kMicrosoftRows[] = {{"AllGather", all_gathered},
                                  {"AllReduce", as_input},
                                  {"BiasAdd", as_input},
                                  {"BiasGelu", as_input},
                                  {"DynamicQuantizeMatMul", scaled_product},
                                  {"FastGelu", as_input},
                                  {"FusedConv", fused_convolution},
                                  {"Gelu", as_input},
                                  {"MatMulBnb4", product_of_packed},
                                  {"MatMulIntegerToFloat", scaled_product},
                                  {"MatMulNBits", product_of_packed},
                                  {"MultiHeadAttention", attended},
                                  {"QGelu", as_input},
                                  {"QLinearLeakyRelu", as_input},
                                  {"QLinearSigmoid", as_input},
                                  {"QuickGelu", as_input},
                                  {"RotaryEmbedding", as_input},
                                  {"SkipLayerNormalization", skipping_norm},
                                  {"SkipSimplifiedLayerNormalization", skipping_norm}};

constexpr Row kCollectiveRows[] = {{"AllGather", all_gathered},
                                   {"AllReduce", as_input},
                                   {"AllToAll", sent_to_all},
                                   {"ReduceScatter", sharded},
                                   {"Shard", sharded}};

std::span<const Row> rows_of(std::string_view domain) {
  if (domain.empty()) return kRows;
  if (domain == "com.microsoft") return kMicrosoftRows;
  return domain == kCollectiveDomain ? kCollectiveRows : std::span<const Row>();
}

// ---- Operators that need numbers

std::optional<ir::TensorType> at_example(const ir::TensorType& type,
                                         const ir::SymbolValues& examples) {
  ir::TensorType result = type;
  for (ir::Index& size : result.dims) {
    const auto number = ir::evaluate(size, examples);
    if (!number) return std::nullopt;
    size = *number;
  }
  return result;
}

// What the operator makes of inputs whose sizes are those of the example. Element type and rank are
// the same at other sizes, since neither depends on a size of an input.
ResultTypes at_examples(const NodeView& node) {
  const ir::SymbolicScope* const scope = ir::SymbolicScope::current();
  const OnnxImportContext& context = node.context();
  if (scope == nullptr || !is_known_operator(node.proto()) || is_if(node.proto()) ||
      !check_form(context.program, node.node()).ok())
    return {};
  constexpr std::int64_t kMostFolded = 1 << 16;
  ir::GraphBuilder builder;
  ConstantFolder constants(builder.graph(), kMostFolded);
  ShapeValues sizes(builder.graph(), constants);
  const OnnxImportContext alone{
      context.program, builder, constants, sizes, nullptr, context.folder, context.max_value_bytes};
  std::vector<ir::Value> inputs;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    inputs.emplace_back();
    if (!node.input(i).valid()) continue;
    if (node.type(i) == nullptr) return {};
    const auto type = at_example(*node.type(i), scope->examples());
    if (!type) return {};
    if (auto constant = node.constant(i)) {
      inputs.back() = builder.constant(*std::move(constant));
    } else if (const auto elements = node.elements(i)) {
      ir::Tensor numbers(*type);
      for (std::size_t k = 0; k < elements->size(); ++k)
        numbers.set_i64(static_cast<std::int64_t>(k), scope->example((*elements)[k]));
      inputs.back() = builder.constant(std::move(numbers));
    } else {
      inputs.back() = builder.input("input " + std::to_string(i), *type);
    }
  }
  ImportedNode imported(alone, node.node(), std::move(inputs));
  const auto outputs = import_operator(imported, node.proto());
  if (!outputs.ok()) return {};
  ResultTypes types;
  for (const ir::Value output : *outputs) {
    types.emplace_back();
    if (!output.valid()) continue;
    const ir::TensorType& type = builder.type(output);
    types.back() = ResultType{type.dtype, {}};
    for (const ir::Index& size : type.dims)
      types.back()->sizes.push_back({{}, std::max<std::int64_t>(1, size.constant())});
  }
  return types;
}

}  // namespace

ResultTypes result_types(const OnnxImportContext& context, const OnnxProgramNode& node,
                         const std::vector<ir::Value>& values,
                         const std::set<ir::NodeId>& untyped) {
  const std::string domain = canonical_domain(node.proto->domain());
  const std::span<const Row> rows = rows_of(domain);
  if (rows.empty()) return {};
  const NodeView view(context, node, values, untyped);
  const auto row = std::ranges::find(rows, std::string_view(node.proto->op_type()), &Row::op_type);
  if (row != rows.end()) return row->types(view);
  return domain.empty() ? at_examples(view) : ResultTypes();
}

}  // namespace egret::frontends
