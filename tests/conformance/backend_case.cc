// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/backend_case.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "backends/backend.h"
#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/evaluate/interpreter.h"
#include "tests/conformance/optimized_case.h"

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

struct DataSet {
  std::vector<Tensor> inputs;  // for the graph's inputs
  std::vector<Tensor> expected;
};

base::Result<DataSet> read_data_set(const ir::Graph& graph, const fs::path& folder,
                                    const std::vector<std::size_t>& fixed) {
  DataSet data;
  EGRET_ASSIGN_OR_RETURN(auto given, read_tensors(folder, "input"));
  EGRET_ASSIGN_OR_RETURN(data.expected, read_tensors(folder, "output"));
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (std::ranges::find(fixed, i) != fixed.end()) continue;
    const std::size_t position = data.inputs.size();
    if (position == graph.inputs().size()) return base::mismatch("too many inputs in the data");
    data.inputs.push_back(as_declared(given[i], graph.node(graph.inputs()[position]).type));
  }
  return data;
}

using Run = base::Result<std::vector<Tensor>> (*)(const ir::Graph&, std::span<const Tensor>);

base::Result<std::vector<Tensor>> run_interpreter(const ir::Graph& graph,
                                                  std::span<const Tensor> inputs) {
  return ir::interpret(graph, inputs, {.precision = ir::Precision::kF32});
}

base::Result<std::vector<Tensor>> run_backend(const ir::Graph& graph,
                                              std::span<const Tensor> inputs) {
  const backends::Backend* backend = backends::find_backend(backend_under_test());
  if (backend == nullptr) return base::usage_error("no such backend: " + backend_under_test());
  backends::CompileOptions options{.threads = 1, .precision = precision_under_test()};
  if (std::getenv("EGRET_CONFORMANCE_EMIT_ALL") != nullptr)
    options.emission = backends::Emission::kAll;
  EGRET_ASSIGN_OR_RETURN(const auto plan, backend->compile(graph, options));
  return plan->run(inputs);
}

// The cases' own outputs are f32's: rounded inputs move a sum by some of their half units, relative
// to the largest output (a sum may cancel).
Status expect_near(const Tensor& actual, const Tensor& expected, double roundoff) {
  constexpr double kUnits = 8;
  if (!(actual.type() == expected.type()) || !is_float(expected.dtype()))
    return expect_close(actual, expected);
  double largest = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    if (std::isfinite(expected.f64_at(i)))
      largest = std::max(largest, std::abs(expected.f64_at(i)));
  }
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double a = actual.f64_at(i), e = expected.f64_at(i);
    if (is_close(actual, expected, i) || std::abs(a - e) <= kUnits * roundoff * largest) continue;
    return expect_close(actual, expected);
  }
  return base::ok();
}

Status check_outputs(const ir::Graph& graph, std::span<const Tensor> inputs,
                     std::span<const Tensor> expected, Run run = run_interpreter) {
  EGRET_RETURN_IF_ERROR(graph.check_invariants());
  EGRET_ASSIGN_OR_RETURN(const auto outputs, run(graph, inputs));
  if (outputs.size() != expected.size()) {
    return base::mismatch("the model has " + std::to_string(outputs.size()) +
                          " outputs, the data " + std::to_string(expected.size()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor wanted = as_declared(expected[i], outputs[i].type());
    const bool lowered = run == run_backend && precision_under_test() != backends::Precision::kF32;
    const Status close = lowered ? expect_near(outputs[i], wanted, roundoff(precision_under_test()))
                                 : expect_close(outputs[i], wanted);
    if (!close.ok()) return close.at("output " + graph.outputs()[i].name);
  }
  return base::ok();
}

Status check_as_it_is(const ir::Graph& graph, const DataSet& data) {
  return check_outputs(graph, data.inputs, data.expected);
}

// With the data's inputs as inputs, and again with only the first of them, and with none: what is
// a weight has rules and kernels of its own, and folding has something to do.
template <typename Check>
Status check_with_weights(const ir::Graph& graph, const DataSet& data, const Check& check) {
  EGRET_ASSIGN_OR_RETURN(const ir::Graph bound, bound_to(graph, data.inputs));
  for (const std::size_t kept : {data.inputs.size(), std::size_t{1}, std::size_t{0}}) {
    if (kept > data.inputs.size()) continue;
    const std::span<const Tensor> inputs = std::span(data.inputs).first(kept);
    const Status status = check(with_weights(bound, data.inputs, kept), inputs);
    if (!status.ok()) return status.at(std::to_string(kept) + " inputs");
  }
  return base::ok();
}

Status check_optimized(const ir::Graph& graph, const DataSet& data) {
  const auto check = [&](const ir::Graph& form, std::span<const Tensor> inputs) -> Status {
    EGRET_ASSIGN_OR_RETURN(const auto programs, optimized(form));
    for (const Optimized& program : programs) {
      const Status status = check_outputs(program.graph, inputs, data.expected);
      if (!status.ok()) return status.at(program.name);
    }
    return base::ok();
  };
  return check_with_weights(graph, data, check);
}

Status check_on_backend(const ir::Graph& graph, const DataSet& data) {
  const auto check = [&](const ir::Graph& form, std::span<const Tensor> inputs) {
    return check_outputs(form, inputs, data.expected, run_backend);
  };
  return check_with_weights(graph, data, check);
}

using Check = Status (*)(const ir::Graph&, const DataSet&);

Status check_data_sets(const ir::Graph& graph, const fs::path& folder,
                       const std::vector<std::size_t>& fixed, Check check = check_as_it_is) {
  int sets = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    ++sets;
    EGRET_ASSIGN_OR_RETURN(const DataSet data, read_data_set(graph, entry.path(), fixed));
    EGRET_RETURN_IF_ERROR(check(graph, data));
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

namespace {

Status run_in(Way way, const Imported& imported, const fs::path& folder) {
  const auto& [model, fixed] = imported;
  switch (way) {
    case Way::kPlain: return check_data_sets(model.graph, folder, fixed);
    case Way::kAfterExport: return check_round_trip(model, folder, fixed);
    case Way::kAfterOptimize: return check_data_sets(model.graph, folder, fixed, check_optimized);
    case Way::kOnBackend: return check_data_sets(model.graph, folder, fixed, check_on_backend);
  }
  return base::internal_error("no such way");
}

}  // namespace

std::string_view to_string(Way way) {
  switch (way) {
    case Way::kPlain: return "plain";
    case Way::kAfterExport: return "after export";
    case Way::kAfterOptimize: return "after optimize";
    case Way::kOnBackend: return "on a backend";
  }
  return "";
}

backends::Precision precision_under_test() {
  const char* given = std::getenv("EGRET_CONFORMANCE_PRECISION");
  return backends::precision_named(given != nullptr ? given : "");
}

std::string backend_under_test() {
  const char* given = std::getenv("EGRET_CONFORMANCE_BACKEND");
  return given != nullptr && *given != 0 ? given : "cpu";
}

CaseResult run_backend_case(const std::string& folder, const std::string& name) {
  CaseResult result{.name = name, .ways = {}, .note = {}};
  const auto imported = import_case(folder);
  if (!imported.ok()) {
    const std::string& message = imported.status().message();
    const bool unknown = message.find("unsupported operator") != std::string::npos;
    const Outcome outcome = imported.status().code() != base::StatusCode::kUnsupported
                                ? Outcome::kFailed
                            : unknown ? Outcome::kUnsupported
                                      : Outcome::kRefused;
    result.ways.fill({outcome, message});
    return result;
  }
  const bool alone = std::getenv("EGRET_CONFORMANCE_BACKEND") != nullptr;
  for (std::size_t i = 0; i < kWays.size(); ++i) {
    if (alone && kWays[i] != Way::kOnBackend) {
      result.ways[i] = {Outcome::kNotRun, ""};
      continue;
    }
    const Status status = run_in(kWays[i], *imported, folder);
    result.ways[i] = {status.ok() ? Outcome::kPassed : Outcome::kFailed,
                      status.ok() ? "" : status.message()};
  }
  const auto& notes = imported->model.notes;
  if (!notes.empty()) result.note = notes.front();
  return result;
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
