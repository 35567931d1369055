// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>
#include <new>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/stop.h"
#include "frontends/nodes/constant_folder.h"
#include "frontends/nodes/node_parts.h"
#include "frontends/nodes/onnx_node.h"
#include "frontends/nodes/opaque_identity.h"
#include "frontends/nodes/opaque_import.h"
#include "frontends/onnx.h"
#include "frontends/onnx.pb.h"
#include "frontends/program/onnx_program.h"
#include "frontends/wire/onnx_file.h"
#include "frontends/wire/onnx_tensor.h"
#include "ir/core/symbolic_scope.h"
#include "ir/graph/builder.h"
#include "ir/graph/open_sizes.h"

namespace egret::frontends {
namespace {

using ir::Value;

constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;  // of one dimension
constexpr int kMaxRank = 64;

// Types of graph inputs: symbols, names for dimensions without one, and bindings.
class InputTypes {
 public:
  InputTypes(const onnx::GraphProto& graph, const ImportOptions& options)
      : bind_(options.bind), example_of_(options.example_of) {
    for (const auto& input : graph.input()) {
      for (const auto& dim : input.type().tensor_type().shape().dim()) {
        if (!is_unnamed(dim)) taken_.insert(dim.dim_param());
      }
    }
  }

  base::Result<ir::TensorType> type(const onnx::ValueInfoProto& input) {
    if (!input.has_type()) return base::bad_input("has no type");
    if (!input.type().has_tensor_type()) {
      return base::unsupported(
          "is not a tensor; sequences, maps, optional values and sparse tensors are not supported");
    }
    const auto& declared = input.type().tensor_type();
    const auto dtype = ir::dtype_from_onnx(declared.elem_type());
    if (!dtype && declared.elem_type() <= 0) return base::bad_input("has no element type");
    if (!dtype)
      return base::unsupported("has elements of type " + onnx_type_name(declared.elem_type()));
    if (!declared.has_shape())
      return base::unsupported("has no shape; its number of axes must be known");
    if (declared.shape().dim_size() > kMaxRank) {
      return base::bad_input("has " + std::to_string(declared.shape().dim_size()) +
                             " axes; at most " + std::to_string(kMaxRank) + " are allowed");
    }
    ir::TensorType type(*dtype, ir::Dims{});
    for (int axis = 0; axis < declared.shape().dim_size(); ++axis) {
      EGRET_ASSIGN_OR_RETURN(const ir::Index size,
                             dimension(declared.shape().dim(axis), input.name(), axis));
      type.dims.push_back(size);
    }
    return type;
  }

  // Every name in `bind` was the name of a dimension.
  base::Status check_bindings() const {
    for (const auto& [name, size] : bind_) {
      if (symbols_.contains(name)) continue;
      std::string known;
      for (const std::string& symbol : symbols_)
        known += (known.empty() ? "" : ", ") + in_quotes(symbol);
      return base::usage_error(
          "unknown dimension " + in_quotes(name) + "; " +
          (known.empty() ? "all sizes are fixed" : "the dimensions are " + known));
    }
    return base::ok();
  }

 private:
  base::Result<ir::Index> dimension(const onnx::TensorShapeProto::Dimension& dim,
                                    const std::string& input, int axis) {
    // Some exporters write -1 or "?" for a size that they do not know.
    if (dim.has_dim_value() && dim.dim_value() != -1) {
      const std::int64_t size = dim.dim_value();
      if (size < 0 || size > kMaxSize)
        return base::bad_input("axis " + std::to_string(axis) + " has size " +
                               std::to_string(size));
      return ir::Index(size);
    }
    std::string name = dim.dim_param();
    if (is_unnamed(dim)) {
      name = input.substr(0, 80) + "_" + std::to_string(axis);
      while (!taken_.insert(name).second) name += "_";
    }
    symbols_.insert(name);
    if (const auto bound = bind_.find(name); bound != bind_.end()) {
      if (bound->second < 0 || bound->second > kMaxSize) {
        return base::usage_error("size " + std::to_string(bound->second) + " for dimension " +
                                 in_quotes(name));
      }
      return ir::Index(bound->second);
    }
    if (example_of_) return open_size(name, axis);
    return ir::symbolic_dim(name);
  }

  // The symbol in the current scope, which must be one for all values. An import that begins again
  // finds the symbols of the first.
  ir::Index open_size(const std::string& name, int axis) {
    const std::int64_t example = example_of_(name, axis);  // it may open the scope
    ir::SymbolicScope& scope = *ir::SymbolicScope::current();
    return scope.examples().contains(name) ? ir::symbolic_dim(name) : scope.symbol(name, example);
  }

  const std::map<std::string, std::int64_t>& bind_;
  std::set<std::string, std::less<>> taken_;  // names of dimensions in the file
  std::set<std::string> symbols_;             // of all symbolic dimensions
  const std::function<std::int64_t(std::string_view, int)>& example_of_;
};

// Imports a model in order of cost: names and operators are checked first, then inputs are typed,
// weights read, and nodes imported one by one.
class ModelImport {
 public:
  ModelImport(onnx::ModelProto& model, std::string folder, const ImportOptions& options,
              std::set<int> closed)
      : model_(model),
        folder_(std::move(folder)),
        options_(options),
        closed_(std::move(closed)),
        opaque_(model.graph(), options.example_of, options.keeps_rounding) {}

  // After an error: the node that must not be opened, if that would avoid the error.
  std::optional<int> to_close() const { return opaque_.to_close(); }

  base::Result<ImportedModel> run() {
    if (!model_.has_graph()) return base::bad_input("has no graph; is this an ONNX model?");
    EGRET_RETURN_IF_ERROR(read_program());
    // The cheap refusals first, before gigabytes of weights are read.
    if (!options_.opaque_nodes) EGRET_RETURN_IF_ERROR(check_operators(program_));
    values_.resize(program_.value_names.size());
    EGRET_RETURN_IF_ERROR(inputs());
    ImportedModel result;
    ConstantFolder constants(builder_.graph(), options_.max_folded_elements);
    ShapeValues sizes(builder_.graph(), constants);
    const OnnxImportContext context{program_,
                                    builder_,
                                    constants,
                                    sizes,
                                    options_.opaque_nodes ? &opaque_ : nullptr,
                                    folder_,
                                    options_.max_value_bytes};
    EGRET_RETURN_IF_ERROR(initializers());
    if (const base::Status status = import_program(context, values_, result.notes); !status.ok())
      return with_open_inputs(status);
    EGRET_RETURN_IF_ERROR(outputs(result.info));
    note_untyped(result.info);
    EGRET_ASSIGN_OR_RETURN(ir::Graph graph, builder_.finish());
    graph.bodies = opaque_.bodies();
    result.graph = without_dead_nodes(graph);
    result.graph.name = model_.graph().name();
    for (const auto& entry : model_.metadata_props())
      result.graph.metadata[entry.key()] = entry.value();
    note_defaults(result.notes);
    auto untyped = std::move(result.info.untyped_values);
    result.info = info_of(model_);
    result.info.opaque_nodes = opaque_.nodes();
    name_by_meaning(result.graph, result.info.opaque_nodes);
    result.info.untyped_values = std::move(untyped);
    result.info.foreign_inputs = std::move(foreign_inputs_);
    keep_called_functions(result.info);
    result.data_files = std::move(data_files_);
    return result;
  }

 private:
  // Functions and branches with operators that Egret lacks stay closed: the node that opens them is
  // opaque.
  base::Status read_program() {
    EGRET_ASSIGN_OR_RETURN(program_, make_program(model_, options_.max_nodes, closed_));
    if (!options_.opaque_nodes) return base::ok();
    const std::size_t before = closed_.size();
    for (const OnnxProgramNode& node : program_.nodes) {
      if (node.scope != 0 && !is_known_operator(*node.proto))
        closed_.insert(program_.outermost_opener(node.scope));
    }
    if (closed_.size() == before) return base::ok();
    EGRET_ASSIGN_OR_RETURN(program_, make_program(model_, options_.max_nodes, closed_));
    return base::ok();
  }

  // From IR version 4 on, an initializer that is listed as an input is its default value.
  void note_defaults(std::vector<std::string>& notes) const {
    if (model_.ir_version() < 4) return;
    for (int i = 0; i < model_.graph().input_size(); ++i) {
      if (program_.inputs[static_cast<std::size_t>(i)].valid()) continue;
      notes.push_back("graph input " + in_quotes(model_.graph().input(i).name()) +
                      " has a default value; it is imported as a constant, not as an input");
    }
  }

  base::Status inputs() {
    const onnx::GraphProto& graph = model_.graph();
    InputTypes types(graph, options_);
    std::size_t fixed_count = 0;
    int kept = 0;  // inputs so far that the result has
    for (int i = 0; i < graph.input_size(); ++i) {
      const ValueId id = program_.inputs[static_cast<std::size_t>(i)];
      if (!id.valid()) continue;
      const onnx::ValueInfoProto& input = graph.input(i);
      auto type = types.type(input);
      if (type.status().code() == base::StatusCode::kUnsupported && options_.opaque_nodes) {
        values_[id.index()] = opaque_.foreign(builder_, input.name(), "");
        foreign_inputs_[kept++] = input.SerializeAsString();
        continue;
      }
      if (!type.ok()) return type.status().at("graph input " + in_quotes(input.name()));
      if (!within(*type, options_.max_value_bytes)) {
        return base::bad_input("graph input " + in_quotes(input.name()) + " of type " +
                               to_string(*type) + " is larger than the limit of " +
                               std::to_string(options_.max_value_bytes) + " bytes for one value");
      }
      const auto fixed = options_.fixed_inputs.find(input.name());
      if (fixed == options_.fixed_inputs.end()) {
        values_[id.index()] = builder_.input(input.name(), *std::move(type));
        ++kept;
        continue;
      }
      ++fixed_count;
      if (!fits(fixed->second.type(), *type)) {
        return base::usage_error("the value for graph input " + in_quotes(input.name()) + " is " +
                                 to_string(fixed->second.type()) + ", declared " +
                                 to_string(*type));
      }
      values_[id.index()] = builder_.constant(fixed->second, input.name());
    }
    if (fixed_count != options_.fixed_inputs.size())
      return base::usage_error("a value is given for a name that is not a graph input");
    return options_.allow_unknown_bind ? base::ok() : types.check_bindings();
  }

  // A declared symbolic size accepts any size.
  static bool fits(const ir::TensorType& value, const ir::TensorType& declared) {
    if (value.dtype != declared.dtype || value.rank() != declared.rank()) return false;
    for (std::size_t i = 0; i < declared.dims.size(); ++i) {
      if (declared.dims[i].is_constant() && !declared.dims[i].same(value.dims[i])) return false;
    }
    return true;
  }

  // What an operator lacks is often a size that the inputs leave open, so these are named.
  base::Status with_open_inputs(const base::Status& status) const {
    const std::string open = ir::open_inputs(builder_.graph());
    if (status.code() != base::StatusCode::kUnsupported || open.empty()) return status;
    return {status.code(), status.message() + "; inputs with open sizes: " + open};
  }

  // What the main graph's inputs say of initializers of the same name.
  std::map<std::string_view, const onnx::ValueInfoProto*> declared_initializers() const {
    std::map<std::string_view, const onnx::ValueInfoProto*> declared;
    for (int i = 0; i < model_.graph().input_size(); ++i) {
      const onnx::ValueInfoProto& input = model_.graph().input(i);
      if (!program_.inputs[static_cast<std::size_t>(i)].valid()) declared[input.name()] = &input;
    }
    return declared;
  }

  static base::Status check_declared(const ir::TensorType& type,
                                     const onnx::TypeProto::Tensor& declared) {
    const auto dtype = ir::dtype_from_onnx(declared.elem_type());
    bool fits = !dtype || *dtype == type.dtype;
    std::string sizes;
    if (declared.has_shape()) {
      fits = fits && declared.shape().dim_size() == type.rank();
      for (int i = 0; i < std::min(declared.shape().dim_size(), kMaxRank); ++i) {
        const auto& dim = declared.shape().dim(i);
        const bool known = dim.has_dim_value();
        sizes += (i > 0 ? "," : "") + (known ? std::to_string(dim.dim_value()) : "?");
        if (fits && known)
          fits = type.dims[static_cast<std::size_t>(i)].same(ir::Index(dim.dim_value()));
      }
    }
    if (fits) return base::ok();
    return base::bad_input("is " + to_string(type) + ", but is declared as a graph input of type " +
                           onnx_type_name(declared.elem_type()) + "[" + sizes + "]");
  }

  base::Status initializers() {
    const auto declared = declared_initializers();
    for (const OnnxProgram::Constant& constant : program_.constants) {
      if (base::stop_requested()) return base::limit_hit("interrupted while the model was read");
      const std::string& name = constant.tensor->name();
      auto tensor = read_tensor(*constant.tensor, folder_, options_.max_value_bytes);
      if (may_be_foreign(tensor.status(), constant)) {
        values_[constant.value.index()] =
            opaque_.foreign(builder_, name, constant.tensor->SerializeAsString());
        ++released_;
        continue;
      }
      if (tensor.status().code() == base::StatusCode::kUnsupported &&
          is_external(*constant.tensor)) {
        tensor =
            base::unsupported(std::string(tensor.status().message()) +
                              " in another file; only those in the model can stay as they are");
      }
      if (!tensor.ok()) {
        return tensor.status().at(program_.place_of_scope(constant.scope) + "initializer " +
                                  in_quotes(name));
      }
      const auto input = constant.scope == 0 ? declared.find(name) : declared.end();
      if (input != declared.end()) {
        const auto status = check_declared(tensor->type(), input->second->type().tensor_type());
        if (!status.ok()) return status.at("initializer " + in_quotes(name));
      }
      if (const std::string file = external_location(*constant.tensor); !file.empty())
        data_files_.insert((std::filesystem::path(folder_) / file).string());
      values_[constant.value.index()] =
          builder_.constant(*std::move(tensor), program_.value_names[constant.value.index()]);
      // A large model is not held twice: the file's copy goes as ours comes. Where scopes are open,
      // the import may have to begin again.
      const bool may_repeat = options_.opaque_nodes && program_.scopes.size() > 1;
      if (constant.scope == 0 && !may_repeat) release(*constant.tensor);
    }
    return base::ok();
  }

  // A tensor of elements that Egret lacks. Its bytes must be in the model.
  bool may_be_foreign(const base::Status& status, const OnnxProgram::Constant& constant) const {
    return status.code() == base::StatusCode::kUnsupported && options_.opaque_nodes &&
           constant.scope == 0 && !is_external(*constant.tensor);
  }

  void release(const onnx::TensorProto& tensor) {
    onnx::TensorProto& own = *model_.mutable_graph()->mutable_initializer(released_++);
    EGRET_CHECK(&own == &tensor, "the main graph's initializers come first, in order");
    std::string().swap(*own.mutable_raw_data());
    forget(*own.mutable_float_data());
    forget(*own.mutable_double_data());
    forget(*own.mutable_int32_data());
    forget(*own.mutable_int64_data());
    forget(*own.mutable_uint64_data());
  }

  // clear() would keep the memory.
  template <typename Element>
  static void forget(google::protobuf::RepeatedField<Element>& field) {
    google::protobuf::RepeatedField<Element>().Swap(&field);
  }

  base::Status outputs(OnnxModelInfo& info) {
    const onnx::GraphProto& graph = model_.graph();
    for (int i = 0; i < graph.output_size(); ++i) {
      const onnx::ValueInfoProto& output = graph.output(i);
      const Value value = values_[program_.outputs[static_cast<std::size_t>(i)].index()];
      const std::string place = "graph output " + in_quotes(output.name());
      if (!value.valid())
        return base::bad_input(place + " is an output that its operator does not have");
      if (opaque_.is_untyped(value)) {
        info.untyped_values[output.name()] = output.SerializeAsString();
        builder_.output(output.name(), value);
        continue;
      }
      const ir::TensorType& type = builder_.type(value);
      const auto declared = ir::dtype_from_onnx(output.type().tensor_type().elem_type());
      if (declared && *declared != type.dtype) {
        return base::bad_input(place + " is declared as " + std::string(to_string(*declared)) +
                               ", but computed as " + to_string(type));
      }
      builder_.output(output.name(), value);
    }
    return base::ok();
  }

  // What value_info states of values of unknown type.
  void note_untyped(OnnxModelInfo& info) const {
    std::set<std::string_view> untyped;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].valid() && opaque_.is_untyped(values_[i]))
        untyped.insert(program_.value_names[i]);
    }
    for (const auto& value : model_.graph().value_info()) {
      if (untyped.contains(value.name()))
        info.untyped_values.emplace(value.name(), value.SerializeAsString());
    }
  }

  // Those that nodes call which stay as they are.
  void keep_called_functions(OnnxModelInfo& info) const {
    if (model_.functions_size() == 0) return;
    Functions all;
    for (const auto& function : model_.functions()) all.emplace(function_key(function), &function);
    Functions called;
    for (const auto& [key, kept] : info.opaque_nodes) {
      onnx::NodeProto node;
      if (node.ParsePartialFromString(kept.proto)) collect_calls(node, all, called);
    }
    for (const auto& function : model_.functions()) {
      if (called.contains(function_key(function)))
        info.functions.push_back(function.SerializeAsString());
    }
  }

  onnx::ModelProto& model_;
  std::string folder_;
  std::set<std::string> data_files_;
  const ImportOptions& options_;
  std::set<int> closed_;  // nodes of the main graph that are not opened
  OpaqueImport opaque_;
  std::map<int, std::string> foreign_inputs_;
  OnnxProgram program_;
  ir::GraphBuilder builder_;
  std::vector<Value> values_;  // by ValueId
  int released_ = 0;
};

base::Result<ImportedModel> import_parsed(onnx::ModelProto& model, const std::string& folder,
                                          const ImportOptions& options) {
  try {
    std::set<int> closed;
    while (true) {
      ModelImport import(model, folder, options, closed);
      auto result = import.run();
      const std::optional<int> next = import.to_close();
      if (result.ok() || !next || !closed.insert(*next).second) return result;
    }
  } catch (const std::bad_alloc&) {
    return base::limit_hit("not enough memory to import the model");
  }
}

}  // namespace

OnnxModelInfo info_of(const onnx::ModelProto& model) {
  OnnxModelInfo info;
  info.ir_version = model.ir_version();
  info.opsets.clear();
  for (const auto& entry : model.opset_import())
    info.opsets.emplace(canonical_domain(entry.domain()), entry.version());
  info.producer_name = model.producer_name();
  info.producer_version = model.producer_version();
  info.domain = model.domain();
  info.model_version = model.model_version();
  info.doc_string = model.doc_string();
  info.graph_doc_string = model.graph().doc_string();
  info.node_headers = headers_of(model.graph());
  for (const auto& value : model.graph().value_info()) info.typed_values.insert(value.name());
  return info;
}

base::Result<ImportedModel> import_onnx_bytes(std::span<const std::byte> bytes,
                                              const std::string& folder,
                                              const ImportOptions& options, std::string_view name) {
  onnx::ModelProto model;
  if (const auto status = parse_onnx(bytes, model); !status.ok()) return status.at(name);
  auto result = import_parsed(model, folder, options);
  if (!result.ok()) return result.status().at(name);
  return result;
}

base::Result<ImportedModel> import_written(const ExportedModel& written,
                                           const ImportOptions& options) {
  const auto bytes = std::as_bytes(std::span(written.bytes));
  if (!written.external_file) return import_onnx_bytes(bytes, "", options);
  const std::filesystem::path file = written.external_file->temporary_path();
  if (file.empty()) return base::unsupported("the file of weights is no regular file");
  const std::string later = std::filesystem::path(written.external_file->path()).filename();
  onnx::ModelProto model;
  EGRET_RETURN_IF_ERROR(parse_onnx(bytes, model));
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    for (auto& entry : *tensor.mutable_external_data()) {
      if (entry.key() == "location" && entry.value() == later) entry.set_value(file.filename());
    }
  }
  return import_parsed(model, file.parent_path().string(), options);
}

base::Result<ImportedModel> import_onnx(const std::string& path, const ImportOptions& options) {
  onnx::ModelProto model;
  EGRET_RETURN_IF_ERROR(parse_onnx_file(path, model));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  auto result = import_parsed(model, folder.empty() ? "." : folder, options);
  if (!result.ok()) return result.status().at(path);
  return result;
}

namespace {

// Without those that initializers fill.
std::vector<const onnx::ValueInfoProto*> true_inputs(const onnx::ModelProto& model) {
  std::set<std::string_view> constants;
  for (const auto& tensor : model.graph().initializer()) constants.insert(tensor.name());
  std::vector<const onnx::ValueInfoProto*> inputs;
  for (const auto& input : model.graph().input()) {
    if (!constants.contains(input.name())) inputs.push_back(&input);
  }
  return inputs;
}

base::Result<std::vector<OpenSize>> open_sizes_of(const onnx::ModelProto& model) {
  const ImportOptions options;
  InputTypes types(model.graph(), options);
  std::vector<OpenSize> sizes;
  for (const onnx::ValueInfoProto* input : true_inputs(model)) {
    const auto type = types.type(*input);
    if (!type.ok()) return type.status().at("graph input " + in_quotes(input->name()));
    for (int axis = 0; axis < type->rank(); ++axis) {
      const ir::Index size = type->dims[static_cast<std::size_t>(axis)];
      if (size.is_constant()) continue;
      const std::string name(size.node()->name);
      if (std::ranges::find(sizes, name, &OpenSize::first) == sizes.end())
        sizes.emplace_back(name, axis);
    }
  }
  return sizes;
}

base::Result<std::vector<DeclaredInput>> declared_inputs_of(const onnx::ModelProto& model) {
  const ImportOptions options;
  InputTypes types(model.graph(), options);
  std::vector<DeclaredInput> inputs;
  for (const onnx::ValueInfoProto* input : true_inputs(model)) {
    auto type = types.type(*input);
    const bool lacks = type.status().code() == base::StatusCode::kUnsupported;
    if (!type.ok() && !lacks) return type.status().at("graph input " + in_quotes(input->name()));
    inputs.push_back({input->name(), type.ok() ? std::optional(*type) : std::nullopt});
  }
  return inputs;
}

// Answers a question about the model in a file, or in bytes.
template <typename Question>
auto ask(const std::string& path, const Question& question)
    -> std::invoke_result_t<Question, const onnx::ModelProto&> {
  onnx::ModelProto model;
  EGRET_RETURN_IF_ERROR(parse_onnx_file(path, model));
  auto answer = question(model);
  if (!answer.ok()) return answer.status().at(path);
  return answer;
}

template <typename Question>
auto ask(std::span<const std::byte> bytes, const Question& question)
    -> std::invoke_result_t<Question, const onnx::ModelProto&> {
  onnx::ModelProto model;
  EGRET_RETURN_IF_ERROR(parse_onnx(bytes, model));
  return question(model);
}

}  // namespace

base::Result<std::vector<DeclaredInput>> read_declared_inputs(const std::string& path) {
  return ask(path, declared_inputs_of);
}

base::Result<std::vector<DeclaredInput>> read_declared_inputs(std::span<const std::byte> bytes) {
  return ask(bytes, declared_inputs_of);
}

base::Result<std::vector<OpenSize>> read_open_sizes(const std::string& path) {
  return ask(path, open_sizes_of);
}

base::Result<std::vector<OpenSize>> read_open_sizes(std::span<const std::byte> bytes) {
  return ask(bytes, open_sizes_of);
}

base::Result<std::vector<std::string>> read_input_names(const std::string& path) {
  return ask(path, [](const onnx::ModelProto& model) -> base::Result<std::vector<std::string>> {
    std::vector<std::string> names;
    for (const onnx::ValueInfoProto* input : true_inputs(model)) names.push_back(input->name());
    return names;
  });
}

}  // namespace egret::frontends
