// SPDX-License-Identifier: Apache-2.0
#include "driver/engine/engine.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/did_you_mean.h"
#include "base/formats/json.h"
#include "base/hash.h"
#include "base/stop.h"
#include "base/system/child_process.h"
#include "base/system/file.h"
#include "base/system/temporary_folder.h"
#include "base/system/terminal.h"
#include "driver/engine/engine_kernels.h"
#include "driver/engine/engine_runner.h"
#include "ir/evaluate/input_draws.h"

namespace egret::driver {
namespace {

using base::Json;
using base::Result;
using base::Status;

constexpr std::string_view kExec = "exec:";
constexpr double kStartSeconds = 120;  // imports of large packages from a cold disk

// Runners of driver/engine/engine_runner.py, with what each needs.
struct RunnerRow {
  std::string_view name;
  std::string_view package;
};
constexpr RunnerRow kRunners[] = {{"onnxruntime", "onnxruntime"},
                                  {"openvino", "openvino"},
                                  {"tensorrt", "trtexec in PATH, and numpy"},
                                  {"torch", "torch and onnx2torch"}};

}  // namespace

// The conversation with one process.
class EngineProcess {
 public:
  static Result<std::unique_ptr<EngineProcess>> start(const std::string& name,
                                                      const std::vector<std::string>& command) {
    EGRET_ASSIGN_OR_RETURN(auto child, base::ChildProcess::start(command));
    return std::unique_ptr<EngineProcess>(new EngineProcess(name, std::move(child)));
  }

  // The answer to a request, of which "ok" is true. Errors: unsupported with the engine's reason
  // where it is false, mismatch where "differs" is true besides; unavailable for an answer that is
  // none.
  Result<Json> ask(const Json& request, double seconds) {
    // The process may be a shell, which says nothing of the engine.
    const std::string who = "engine " + name_;
    if (const Status sent = child_->send(request.dump()); !sent.ok()) return sent.at(who);
    const Result<std::string> received = child_->receive(seconds);
    if (!received.ok()) return received.status().at(who);
    const std::string& line = *received;
    auto answer = Json::parse(line);
    const Json* fine = answer.ok() ? answer->find("ok") : nullptr;
    if (fine == nullptr || !fine->is_bool()) {
      constexpr std::size_t kShown = 200;
      return base::unavailable("engine " + name_ + " answered \"" +
                               base::sanitized(line.substr(0, kShown)) + "\" to " +
                               request.find("op")->scalar_text());
    }
    if (fine->as_bool().value()) return *std::move(answer);
    const Json* reason = answer->find("error");
    const std::string text =
        "engine " + name_ + ": " + (reason != nullptr ? reason->scalar_text() : "no reason given");
    const Json* differs = answer->find("differs");
    const bool is_other = differs != nullptr && differs->is_bool() && differs->as_bool().value();
    return is_other ? base::mismatch(text) : base::unsupported(text);
  }

 private:
  EngineProcess(std::string name, std::unique_ptr<base::ChildProcess> child)
      : name_(std::move(name)), child_(std::move(child)) {}

  std::string name_;
  std::unique_ptr<base::ChildProcess> child_;
};

namespace {

// A graph, and the nodes that the values of its file were written for.
struct WrittenGraph {
  ir::Graph graph;
  std::map<std::string, ir::NodeId> makers{};
};

class EnginePlan final : public backends::ExecutablePlan {
 public:
  // `profiled`: the graph whose kernels the engine times; null: it times none.
  EnginePlan(const ir::Graph& graph, std::shared_ptr<EngineProcess> process,
             std::unique_ptr<base::TemporaryFolder> folder, double run_seconds,
             std::unique_ptr<WrittenGraph> profiled)
      : ExecutablePlan(graph),
        process_(std::move(process)),
        folder_(std::move(folder)),
        run_seconds_(run_seconds),
        profiled_(std::move(profiled)) {
    for (const ir::NodeId input : graph.inputs()) inputs_.push_back(graph.node(input).name);
    for (const ir::Graph::Output& output : graph.outputs()) outputs_.push_back(output.name);
  }

  // The first report of a profiled plan has the kernels of the runs until then. Later runs are not
  // profiled.
  backends::PlanReport report() const override {
    backends::PlanReport report;
    report.device_s = last_s_;
    if (profiled_ != nullptr) {
      if (!kernels_) kernels_ = ask_for_kernels();
      report.kernels = *kernels_;
    }
    if (!report.kernels.empty()) return report;
    report.kernels.push_back({.name = "engine",
                              .implementation = "",
                              .layout = "",
                              .nodes = {},
                              .ids = {},
                              .signature = "",
                              .seconds = last_s_});
    return report;
  }
  void stop_profiling() override {
    if (profiled_ != nullptr && !kernels_) kernels_ = ask_for_kernels();
  }
  double last_device_s() const override { return last_s_; }

 protected:
  Status execute(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs) override {
    EGRET_RETURN_IF_ERROR(hand_over(inputs));
    EGRET_ASSIGN_OR_RETURN(const Json ran,
                           process_->ask(Json::object().set("op", "run"), run_seconds_));
    const Json* seconds = ran.find("seconds");
    if (seconds == nullptr) return base::unavailable("an engine's answer to run has no seconds");
    EGRET_ASSIGN_OR_RETURN(last_s_, seconds->as_real());
    return fetch(outputs);
  }

 private:
  // Nothing where the engine does not tell its kernels apart.
  std::vector<backends::PlanReport::Kernel> ask_for_kernels() const {
    const auto answer = process_->ask(Json::object().set("op", "kernels"), run_seconds_);
    if (!answer.ok()) return {};
    const auto kernels = kernels_in(*answer);
    if (!kernels.ok()) return {};
    return kernels_of(profiled_->graph, profiled_->makers, *kernels);
  }

  // Writes inputs that the process does not hold yet, and names those of the next run.
  Status hand_over(std::span<const ir::Tensor> inputs) {
    std::string key;
    for (const ir::Tensor& input : inputs) key += input.content_hash().to_hex();
    const std::string set = base::content_hash(key).to_hex();
    if (set == current_) return base::ok();
    Json list = Json::array();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string path = folder_->file("input" + std::to_string(i));
      const std::span<const std::byte> data = inputs[i].data();
      EGRET_RETURN_IF_ERROR(
          base::write_file(path, {reinterpret_cast<const char*>(data.data()), data.size()}));
      list.push(described(inputs_[i], inputs[i].type()).set("file", path));
    }
    EGRET_RETURN_IF_ERROR(
        process_
            ->ask(Json::object().set("op", "inputs").set("inputs", std::move(list)), run_seconds_)
            .status());
    current_ = set;
    return base::ok();
  }

  Status fetch(std::span<ir::Tensor> outputs) {
    Json list = Json::array();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      list.push(described(outputs_[i], outputs[i].type())
                    .set("file", folder_->file("output" + std::to_string(i))));
    }
    EGRET_RETURN_IF_ERROR(
        process_
            ->ask(Json::object().set("op", "outputs").set("outputs", std::move(list)), run_seconds_)
            .status());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EGRET_ASSIGN_OR_RETURN(
          const std::string bytes,
          base::read_file(folder_->file("output" + std::to_string(i)), outputs[i].bytes() + 1));
      if (static_cast<std::int64_t>(bytes.size()) != outputs[i].bytes()) {
        return base::unavailable("the engine wrote " + std::to_string(bytes.size()) +
                                 " bytes of output " + outputs_[i] + ", which has " +
                                 std::to_string(outputs[i].bytes()));
      }
      std::memcpy(outputs[i].mutable_data().data(), bytes.data(), bytes.size());
    }
    return base::ok();
  }

  static Json described(const std::string& name, const ir::TensorType& type) {
    Json shape = Json::array();
    for (const std::int64_t size : type.shape()) shape.push(size);
    return Json::object()
        .set("name", name)
        .set("type", ir::to_string(type.dtype))
        .set("shape", std::move(shape));
  }

  std::shared_ptr<EngineProcess> process_;
  std::unique_ptr<base::TemporaryFolder> folder_;
  double run_seconds_;
  std::unique_ptr<WrittenGraph> profiled_;
  mutable std::optional<std::vector<backends::PlanReport::Kernel>> kernels_;
  std::vector<std::string> inputs_;
  std::vector<std::string> outputs_;
  std::string current_;  // hash of the inputs that the process holds
  double last_s_ = 0;
};

// A file of a graph, as `egret optimize` would write it, and the makers of its values.
Result<std::map<std::string, ir::NodeId>> write_graph(const ir::Graph& graph,
                                                      const frontends::OnnxModelInfo& info,
                                                      const base::TemporaryFolder& folder,
                                                      const std::string& path) {
  frontends::ExportOptions how;
  how.external_data_path = folder.file("model.data");
  how.opset_for_composites = frontends::kComposedOpset;
  EGRET_ASSIGN_OR_RETURN(frontends::ExportedModel exported,
                         frontends::export_onnx(graph, info, how));
  EGRET_RETURN_IF_ERROR(exported.write(path));
  return std::move(exported.makers);
}

// Of a file that was not written here: values have the names of the nodes that make them.
std::unique_ptr<WrittenGraph> imported(const ir::Graph& graph,
                                       const backends::CompileOptions& options) {
  if (!options.profile) return nullptr;
  auto written = std::make_unique<WrittenGraph>(WrittenGraph{.graph = graph});
  for (std::size_t i = 0; i < graph.size(); ++i)
    written->makers.emplace(graph.node(ir::NodeId(i)).name, ir::NodeId(i));
  return written;
}

}  // namespace

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const RunnerRow& row : kRunners) names.emplace_back(row.name);
  return names;
}

Status check_engine_name(std::string_view name) {
  if (name.starts_with(kExec)) return base::ok();
  const auto* const row = std::ranges::find(kRunners, name, &RunnerRow::name);
  if (row != std::end(kRunners)) return base::ok();
  std::string known;
  for (const std::string& each : engine_names()) known += each + ", ";
  return base::usage_error("unknown engine '" + std::string(name) + "'; known are " + known +
                           "and exec:COMMAND" + base::did_you_mean(name, engine_names()));
}

const base::OptionTable<EngineChoice>& EngineChoice::table() {
  using E = EngineChoice;
  static const base::OptionTable<E> rows{
      "engine",
      {{"engine", &E::engine, std::string(kEngineHelp)},
       {"engine-python", &E::python, std::string(kEnginePythonHelp)}}};
  return rows;
}

Result<std::unique_ptr<Engine>> Engine::start(std::string_view name, const EngineOptions& options) {
  std::vector<std::string> command;
  std::string remedy;
  if (name.starts_with(kExec)) {
    command = {"/bin/sh", "-c", std::string(name.substr(kExec.size()))};
  } else {
    EGRET_RETURN_IF_ERROR(check_engine_name(name));
    const auto* const row = std::ranges::find(kRunners, name, &RunnerRow::name);
    command = {options.python, "-u", "-c", std::string(engine_runner()), std::string(name)};
    remedy = "; it needs " + std::string(row->package) +
             " in the Python that --engine-python names (" + options.python + ")";
  }
  auto engine = std::unique_ptr<Engine>(new Engine(std::string(name), std::move(command), options));
  engine->keeps_process_ = options.keep_process;
  auto process = EngineProcess::start(engine->name_, engine->command_);
  auto answer = process.ok() ? (*process)->ask(Json::object().set("op", "version"), kStartSeconds)
                             : Result<Json>(process.status());
  if (!answer.ok()) return base::unavailable(answer.status().message() + remedy);
  const Json* version = answer->find("version");
  engine->version_ =
      engine->name_ + " " + (version != nullptr ? version->scalar_text() : "of unknown version");
  if (options.keep_process) engine->kept_ = *std::move(process);
  return engine;
}

// What a plan of a file needs. `folder` holds the tensors, and perhaps the file.
struct Engine::File {
  std::string path;
  std::unique_ptr<base::TemporaryFolder> folder;
  std::unique_ptr<WrittenGraph> profiled;
};

Result<std::shared_ptr<EngineProcess>> Engine::process_with(const Json& load) const {
  if (kept_ != nullptr) {
    const Status loaded = kept_->ask(load, options_.load_seconds).status();
    if (loaded.ok()) return kept_;
    // A refusal is about this file. Otherwise an earlier one may have ended the process.
    if (loaded.code() == base::StatusCode::kUnsupported || base::stop_requested()) return loaded;
    kept_ = nullptr;
  }
  EGRET_ASSIGN_OR_RETURN(std::shared_ptr<EngineProcess> process,
                         EngineProcess::start(name_, command_));
  EGRET_RETURN_IF_ERROR(process->ask(load, options_.load_seconds).status());
  if (keeps_process_) kept_ = process;
  return process;
}

Result<std::unique_ptr<backends::ExecutablePlan>> Engine::plan_of(File file, const ir::Graph& graph,
                                                                  int threads) const {
  Json load = Json::object()
                  .set("op", "load")
                  .set("model", file.path)
                  .set("threads", threads > 0 ? threads : backends::available_threads())
                  .set("profile", file.profiled != nullptr);
  if (!options_.optimizes) load.set("optimize", false);
  EGRET_ASSIGN_OR_RETURN(auto process, process_with(load));
  return std::unique_ptr<backends::ExecutablePlan>(
      std::make_unique<EnginePlan>(graph, std::move(process), std::move(file.folder),
                                   options_.run_seconds, std::move(file.profiled)));
}

Result<std::unique_ptr<backends::ExecutablePlan>> Engine::compile(
    const ir::Graph& graph, const backends::CompileOptions& options) const {
  return compile_open(graph, graph, options);
}

Result<std::unique_ptr<backends::ExecutablePlan>> Engine::compile_open(
    const ir::Graph& graph, const ir::Graph& signature,
    const backends::CompileOptions& options) const {
  File file;
  EGRET_ASSIGN_OR_RETURN(file.folder, base::TemporaryFolder::make("egret-engine-"));
  file.path = file.folder->file("model.onnx");
  EGRET_ASSIGN_OR_RETURN(auto makers, write_graph(graph, info_, *file.folder, file.path));
  if (options.profile)
    file.profiled = std::make_unique<WrittenGraph>(WrittenGraph{graph, std::move(makers)});
  return plan_of(std::move(file), signature, options.threads);
}

Result<std::unique_ptr<backends::ExecutablePlan>> Engine::compile_to_time(
    const ir::Graph& graph, const backends::CompileOptions& options) const {
  ir::Graph inputs;
  const std::vector<ir::Draw> usual = ir::input_draws(graph);
  std::map<std::string, ir::Draw> draws;
  for (std::size_t i = 0; i < usual.size(); ++i) {
    const ir::Node& input = graph.node(graph.inputs()[i]);
    inputs.append({.kind = ir::NodeKind::kInput, .type = input.type, .name = input.name});
    draws[input.name] = usual[i];
  }
  ir::add_draws(inputs, draws);
  return compile_open(graph, inputs, options);
}

Result<std::unique_ptr<backends::ExecutablePlan>> Engine::load(
    const std::string& path, const ir::Graph& graph,
    const backends::CompileOptions& options) const {
  File file{.path = std::filesystem::absolute(path).string(),
            .folder = nullptr,
            .profiled = imported(graph, options)};
  EGRET_ASSIGN_OR_RETURN(file.folder, base::TemporaryFolder::make("egret-engine-"));
  return plan_of(std::move(file), graph, options.threads);
}

Result<std::unique_ptr<backends::ExecutablePlan>> Engine::load_bytes(
    std::string_view bytes, const ir::Graph& graph, const backends::CompileOptions& options) const {
  File file{.path = "", .folder = nullptr, .profiled = imported(graph, options)};
  EGRET_ASSIGN_OR_RETURN(file.folder, base::TemporaryFolder::make("egret-engine-"));
  file.path = file.folder->file("model.onnx");
  EGRET_RETURN_IF_ERROR(base::write_file(file.path, bytes));
  return plan_of(std::move(file), graph, options.threads);
}

Result<std::unique_ptr<Engine>> start_engine(const EngineChoice& choice) {
  if (choice.engine.empty()) return std::unique_ptr<Engine>();
  return Engine::start(choice.engine, {.python = choice.python});
}

}  // namespace egret::driver
