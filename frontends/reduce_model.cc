// SPDX-License-Identifier: Apache-2.0
#include "frontends/reduce_model.h"

#include <filesystem>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/minimal_subset.h"
#include "base/stop.h"
#include "base/timer.h"
#include "frontends/onnx.h"
#include "frontends/onnx.pb.h"
#include "frontends/reduction/simplifications.h"
#include "frontends/reduction/submodel.h"
#include "frontends/wire/onnx_file.h"
#include "frontends/wire/onnx_tensor.h"

namespace egret::frontends {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 31;
constexpr std::int64_t kMostConstant = std::int64_t{1} << 20;  // elements of a value that is kept
constexpr base::ProgressColumn kNodes{"nodes", "nodes", base::ProgressColumn::Unit::kCount,
                                      "nodes of the smallest model so far"};
constexpr base::ProgressColumn kTests{"tests", "tests", base::ProgressColumn::Unit::kCount,
                                      "models tested"};

std::span<const std::byte> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

void set_type(onnx::ValueInfoProto& value, const ir::TensorType& type) {
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(ir::onnx_code(type.dtype)));
  auto& shape = *tensor.mutable_shape();
  for (const ir::Index& size : type.dims) {
    auto& dim = *shape.add_dim();
    if (size.is_constant()) dim.set_dim_value(size.constant());
  }
}

base::Result<ImportedModel> imported(const std::string& bytes) {
  ImportOptions options;
  options.opaque_nodes = true;
  return import_onnx_bytes(as_bytes(bytes), "", options);
}

// With `infers`, by an import of the model with all of its values as outputs.
ValueFacts facts_of(const onnx::ModelProto& model, bool infers) {
  ValueFacts facts;
  for (const auto& value : model.graph().value_info()) {
    if (value.type().has_tensor_type() && value.type().tensor_type().has_shape())
      facts.types[value.name()] = value;
  }
  if (!infers) return facts;
  onnx::ModelProto all = model;
  std::set<std::string> outputs;
  for (const auto& output : all.graph().output()) outputs.insert(output.name());
  for (const auto& node : model.graph().node()) {
    for (const std::string& name : node.output()) {
      if (!name.empty() && outputs.insert(name).second)
        all.mutable_graph()->add_output()->set_name(name);
    }
  }
  const auto read = imported(all.SerializeAsString());
  if (!read.ok()) return facts;
  for (const ir::Graph::Output& output : read->graph.outputs()) {
    const ir::Node& node = read->graph.node(output.node);
    if (read->info.untyped_values.contains(output.name)) continue;
    onnx::ValueInfoProto& value = facts.types[output.name];
    value.Clear();
    value.set_name(output.name);
    set_type(value, node.type);
    if (node.kind == ir::NodeKind::kConstant && node.data.elements() <= kMostConstant)
      fill_tensor_proto(facts.constants[output.name], node.data, output.name);
  }
  return facts;
}

base::Status take_in_weights(onnx::ModelProto& model, const std::string& folder) {
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (!is_external(tensor)) continue;
    EGRET_ASSIGN_OR_RETURN(const ir::Tensor values, read_tensor(tensor, folder, kMostBytes));
    const std::string name = tensor.name();
    tensor.Clear();
    fill_tensor_proto(tensor, values, name);
  }
  return base::ok();
}

class Reduction {
 public:
  Reduction(onnx::ModelProto model, const ReduceOptions& options)
      : options_(options), progress_(options.progress, "reduce"), best_(std::move(model)) {}

  base::Result<bool> holds_at_first() {
    EGRET_ASSIGN_OR_RETURN(result_.bytes, serialized(best_));
    ++result_.tests;
    seen_.insert(base::content_hash(result_.bytes).to_hex());
    must_import_ = options_.imports && imported(result_.bytes).ok();
    return options_.test(result_.bytes);
  }

  base::Result<ReducedModel> run() {
    result_.nodes_before = best_.graph().node_size();
    result_.bytes_before = static_cast<std::int64_t>(result_.bytes.size());
    apply_all(texts_to_drop());
    for (const std::int64_t size : {2, 1, 8, 64}) apply_all({fixed_sizes(size)});
    for (bool changed = true; changed && !ended();) {
      const std::size_t before = accepted_;
      reduce_nodes();
      reduce_outputs();
      apply_all(nodes_to_bypass(best_));
      apply_all(attributes_to_drop(best_));
      apply_all(sizes_to_shrink(best_));
      apply_all(weights_to_level(best_));
      changed = accepted_ != before;
    }
    EGRET_RETURN_IF_ERROR(failure_);
    result_.nodes = best_.graph().node_size();
    if (result_.stop_reason.empty()) result_.stop_reason = "minimal";
    return std::move(result_);
  }

 private:
  static base::Result<std::string> serialized(const onnx::ModelProto& model) {
    std::string bytes;
    if (model.ByteSizeLong() >= static_cast<std::size_t>(kMostBytes) ||
        !model.SerializeToString(&bytes))
      return base::limit_hit("the model has more than 2 GiB");
    return bytes;
  }

  bool ended() {
    if (!failure_.ok() || !result_.stop_reason.empty()) return true;
    if (base::stop_requested()) {
      result_.stop_reason = "interrupted";
    } else if (options_.seconds > 0 && watch_.seconds() > options_.seconds) {
      result_.stop_reason = "time";
    } else if (options_.max_tests > 0 && result_.tests >= options_.max_tests) {
      result_.stop_reason = "tests";
    }
    return !result_.stop_reason.empty();
  }

  // Tests a model and takes it if the test holds. No model is tested twice.
  bool accept(onnx::ModelProto candidate) {
    if (ended()) return false;
    auto bytes = serialized(candidate);
    if (!bytes.ok() || !seen_.insert(base::content_hash(*bytes).to_hex()).second) return false;
    if (must_import_ && !imported(*bytes).ok()) return false;
    ++result_.tests;
    const auto holds = options_.test(*bytes);
    if (!holds.ok()) {
      if (base::stop_requested()) return false;
      failure_ = holds.status();
      return false;
    }
    if (!*holds) return false;
    failure_ = options_.found(*bytes);
    best_ = std::move(candidate);
    result_.bytes = *std::move(bytes);
    ++accepted_;
    progress_.report({{kNodes, best_.graph().node_size()}, {kTests, result_.tests}});
    return failure_.ok();
  }

  void apply_all(const std::vector<Simplification>& changes) {
    for (const Simplification& change : changes) {
      if (ended()) return;
      onnx::ModelProto candidate = best_;
      if (change(candidate)) accept(std::move(candidate));
    }
  }

  void reduce_nodes() {
    const onnx::ModelProto whole = best_;
    const ValueFacts facts = facts_of(whole, options_.imports);
    base::minimal_subset(static_cast<std::size_t>(whole.graph().node_size()),
                         [&](const std::vector<std::size_t>& nodes) {
                           if (nodes.empty() || ended()) return false;
                           auto candidate = submodel(whole, nodes, facts);
                           return candidate.has_value() && accept(*std::move(candidate));
                         });
  }

  void reduce_outputs() {
    const onnx::ModelProto whole = best_;
    base::minimal_subset(static_cast<std::size_t>(whole.graph().output_size()),
                         [&](const std::vector<std::size_t>& outputs) {
                           return !outputs.empty() && accept(with_outputs(whole, outputs));
                         });
  }

  const ReduceOptions& options_;
  base::Progress progress_;
  base::Stopwatch watch_;
  onnx::ModelProto best_;
  std::set<std::string> seen_;  // hashes of tested models
  bool must_import_ = false;
  std::size_t accepted_ = 0;
  base::Status failure_;
  ReducedModel result_;
};

}  // namespace

base::Result<ReducedModel> reduce_model(const std::string& path, const ReduceOptions& options) {
  onnx::ModelProto model;
  EGRET_RETURN_IF_ERROR(parse_onnx_file(path, model));
  EGRET_RETURN_IF_ERROR(
      take_in_weights(model, std::filesystem::path(path).parent_path().string()).at(path));
  Reduction reduction(std::move(model), options);
  EGRET_ASSIGN_OR_RETURN(const bool holds, reduction.holds_at_first());
  if (!holds)
    return base::usage_error("the check fails for " + path +
                             " itself; it must succeed (exit code 0) where the fault shows");
  return reduction.run();
}

}  // namespace egret::frontends
