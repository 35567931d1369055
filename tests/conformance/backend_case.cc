// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/backend_case.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "frontends/onnx.h"
#include "ir/interpreter.h"

namespace egret::conformance {
namespace {

namespace fs = std::filesystem;
using base::Status;
using ir::Tensor;

bool is_close(const Tensor& actual, const Tensor& expected, std::int64_t i) {
  if (!is_float(expected.dtype())) return actual.i64_at(i) == expected.i64_at(i);
  const double a = actual.f64_at(i);
  const double e = expected.f64_at(i);
  if (std::isnan(a) || std::isnan(e)) return std::isnan(a) && std::isnan(e);
  if (a == e) return true;
  const double relative = expected.dtype() == ir::DType::kBF16 ? 1e-2 : 1e-3;
  return std::abs(a - e) <= 1e-7 + relative * std::abs(e);
}

// input_0.pb, input_1.pb, ... as far as they go.
base::Result<std::vector<Tensor>> read_tensors(const fs::path& folder, const std::string& stem) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    const fs::path path = folder / (stem + "_" + std::to_string(i) + ".pb");
    if (!fs::exists(path)) return tensors;
    EGRET_ASSIGN_OR_RETURN(Tensor tensor, frontends::read_tensor_proto(path.string()));
    tensors.push_back(std::move(tensor));
  }
}

// Two defects of the data of version 1.12: bfloat16 is stored as the uint16 of its bits, and the
// second input of CastLike, whose type alone matters, as one element whatever its declared shape.
Tensor as_declared(const Tensor& tensor, const ir::TensorType& declared) {
  if (tensor.elements() == 1 && declared.is_concrete() && declared.elements() > 1)
    return Tensor(declared);
  if (declared.dtype != ir::DType::kBF16 || tensor.dtype() != ir::DType::kU16) return tensor;
  Tensor result(ir::TensorType(ir::DType::kBF16, tensor.shape()));
  std::ranges::copy(tensor.data(), result.mutable_data().begin());
  return result;
}

Status check_data_set(const ir::Graph& graph, const fs::path& folder,
                      const std::vector<std::size_t>& fixed) {
  EGRET_ASSIGN_OR_RETURN(auto given, read_tensors(folder, "input"));
  EGRET_ASSIGN_OR_RETURN(const auto expected, read_tensors(folder, "output"));
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (std::ranges::find(fixed, i) != fixed.end()) continue;
    if (inputs.size() == graph.inputs().size())
      return base::mismatch("too many inputs in the data");
    inputs.push_back(as_declared(given[i], graph.node(graph.inputs()[inputs.size()]).type));
  }
  EGRET_ASSIGN_OR_RETURN(const auto outputs,
                         ir::interpret(graph, inputs, {.precision = ir::Precision::kF32}));
  if (outputs.size() != expected.size()) {
    return base::mismatch("the model has " + std::to_string(outputs.size()) +
                          " outputs, the data " + std::to_string(expected.size()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Status close = expect_close(outputs[i], as_declared(expected[i], outputs[i].type()));
    if (!close.ok()) return close.at("output " + graph.outputs()[i].name);
  }
  return base::ok();
}

Status check_data_sets(const ir::Graph& graph, const fs::path& folder,
                       const std::vector<std::size_t>& fixed) {
  EGRET_RETURN_IF_ERROR(graph.check_invariants());
  int sets = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    ++sets;
    EGRET_RETURN_IF_ERROR(check_data_set(graph, entry.path(), fixed));
  }
  return sets > 0 ? base::ok() : base::unavailable("no test data");
}

Status check_round_trip(const frontends::ImportedModel& model, const fs::path& folder,
                        const std::vector<std::size_t>& fixed) {
  EGRET_ASSIGN_OR_RETURN(const auto written, frontends::export_onnx(model.graph, model.info));
  EGRET_ASSIGN_OR_RETURN(
      const auto again,
      frontends::import_onnx_bytes(std::as_bytes(std::span(written.bytes)), "", {}, "re-import"));
  return check_data_sets(again.graph, folder, fixed);
}

// A model whose inputs are partly taken as constants.
struct Imported {
  frontends::ImportedModel model;
  std::vector<std::size_t> fixed{};  // positions of those inputs
};

// Many tests hand over shapes, axes and the like as graph inputs, where real models have
// constants. Such a model is imported with these inputs fixed: first the integers, then all but
// the first input, then all.
base::Result<Imported> import_case(const fs::path& folder) {
  const std::string path = (folder / "model.onnx").string();
  auto plain = frontends::import_onnx(path);
  if (plain.ok()) return Imported{*std::move(plain)};
  if (plain.status().code() != base::StatusCode::kUnsupported ||
      plain.status().message().find("run time") == std::string::npos)
    return plain.status();
  EGRET_ASSIGN_OR_RETURN(const auto names, frontends::read_input_names(path));
  EGRET_ASSIGN_OR_RETURN(const auto inputs, read_tensors(folder / "test_data_set_0", "input"));
  for (const int round : {0, 1, 2}) {
    frontends::ImportOptions options;
    std::vector<std::size_t> fixed;
    for (std::size_t i = 0; i < std::min(inputs.size(), names.size()); ++i) {
      if (round == 0 && is_float(inputs[i].dtype())) continue;
      if (round == 1 && i == 0) continue;
      options.fixed_inputs.emplace(names[i], inputs[i]);
      fixed.push_back(i);
    }
    auto model = frontends::import_onnx(path, options);
    if (model.ok()) return Imported{*std::move(model), std::move(fixed)};
  }
  return plain.status();
}

}  // namespace

Status expect_close(const Tensor& actual, const Tensor& expected) {
  if (!(actual.type() == expected.type())) {
    return base::mismatch("is " + to_string(actual.type()) + ", expected " +
                          to_string(expected.type()));
  }
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    if (is_close(actual, expected, i)) continue;
    return base::mismatch("element " + std::to_string(i) + " is " +
                          std::to_string(actual.f64_at(i)) + ", expected " +
                          std::to_string(expected.f64_at(i)) + "; got " + to_string(actual) +
                          ", expected " + to_string(expected));
  }
  return base::ok();
}

Status export_backend_case(const std::string& folder, const std::string& path) {
  const auto imported = import_case(folder);
  if (!imported.ok()) return base::ok();
  const auto& [model, fixed] = *imported;
  EGRET_ASSIGN_OR_RETURN(const auto written, frontends::export_onnx(model.graph, model.info));
  std::string positions;
  for (const std::size_t position : fixed) positions += std::to_string(position) + "\n";
  EGRET_RETURN_IF_ERROR(base::write_file(path + ".fixed", positions));
  return base::write_file(path, written.bytes);
}

CaseResult run_backend_case(const std::string& folder, const std::string& name) {
  const auto imported = import_case(folder);
  if (!imported.ok()) {
    const std::string& message = imported.status().message();
    if (imported.status().code() != base::StatusCode::kUnsupported)
      return {name, Outcome::kFailed, message};
    const bool unknown = message.find("unsupported operator") != std::string::npos;
    return {name, unknown ? Outcome::kUnsupported : Outcome::kRefused, message};
  }
  const auto& [model, fixed] = *imported;
  if (const Status status = check_data_sets(model.graph, folder, fixed); !status.ok())
    return {name, Outcome::kFailed, status.message()};
  if (const Status status = check_round_trip(model, folder, fixed); !status.ok())
    return {name, Outcome::kFailed, "after export: " + status.message()};
  return {name, Outcome::kPassed, model.notes.empty() ? "" : model.notes.front()};
}

std::vector<std::string> case_names(const std::string& data_folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(data_folder, error)) {
    if (fs::exists(entry.path() / "model.onnx")) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace egret::conformance
