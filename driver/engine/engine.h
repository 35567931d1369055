// SPDX-License-Identifier: Apache-2.0
// An engine: another program that runs ONNX models. It serves as a backend, so that races, output
// checks, `bench` and `compare` are made where a model is deployed.
//
// An engine is a process that answers JSON lines (docs/engines.md). Each plan has a process of its
// own: a session's threads may spin after a run, and would slow down another session's. Tensors are
// handed over in raw files of a folder in memory, and times are the engine's own, of runs alone.
// A process that crashes, hangs or answers nonsense is an error of that plan.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "base/formats/json.h"
#include "base/options/option_table.h"
#include "base/status.h"
#include "frontends/onnx.h"

namespace egret::driver {

struct EngineOptions {
  // The Python that has the engine's package; a path, or a name in PATH.
  std::string python = "python3";
  double load_seconds = 600;  // limit of loading a model
  double run_seconds = 600;   // limit of one run
  bool optimizes = true;      // whether the engine may rewrite the models that it loads
  bool keep_process = false;  // Engine::keep_process(), from the start
};

// Names of engines with a runner: "onnxruntime", "openvino", ...
std::vector<std::string> engine_names();
// Errors: usage_error for an unknown name, with a suggestion. exec:COMMAND is always one.
base::Status check_engine_name(std::string_view name);
// Help of options that set them.
inline constexpr std::string_view kEngineHelp =
    "Engine that runs the models: onnxruntime, openvino or torch of a Python, tensorrt by its "
    "program "
    "trtexec, or exec:COMMAND for a program that answers the protocol of docs/engines.md (default: "
    "Egret's own backend)";
inline constexpr std::string_view kEnginePythonHelp =
    "Python that has the engine's package: a path, or a name in PATH";

// An engine as an option of verbs that run models.
struct EngineChoice {
  std::string engine;  // empty: none
  std::string python = "python3";
  static const base::OptionTable<EngineChoice>& table();
};

class EngineProcess;

class Engine : public backends::Backend {
 public:
  // `name` as in --engine. Starts a process once to ask for the version. Errors: usage_error for an
  // unknown name, with a suggestion; unavailable if the engine cannot be started, with the remedy.
  static base::Result<std::unique_ptr<Engine>> start(std::string_view name,
                                                     const EngineOptions& options = {});

  std::string_view name() const override { return name_; }
  std::string_view doc() const override { return "an engine beside Egret"; }
  std::string version() const override { return version_; }
  base::Status availability() const override { return base::ok(); }
  // Writes the graph as an ONNX file and loads it. Names and opsets are those of the model that was
  // given to write_like(). Errors: what export reports; unsupported if the engine refuses the file.
  base::Result<std::unique_ptr<backends::ExecutablePlan>> compile(
      const ir::Graph& graph, const backends::CompileOptions& options) const override;
  // The same for a graph of open sizes. `signature` has its inputs, with concrete sizes, and the
  // outputs that a run is to give: all, or none.
  base::Result<std::unique_ptr<backends::ExecutablePlan>> compile_open(
      const ir::Graph& graph, const ir::Graph& signature,
      const backends::CompileOptions& options) const;
  // The same for a graph whose inputs have concrete sizes. Runs give no outputs: for times alone.
  base::Result<std::unique_ptr<backends::ExecutablePlan>> compile_to_time(
      const ir::Graph& graph, const backends::CompileOptions& options) const;
  // Loads a file, or the bytes of one without external data, as it is. `graph` is its import, with
  // concrete sizes, or its signature.
  base::Result<std::unique_ptr<backends::ExecutablePlan>> load(
      const std::string& path, const ir::Graph& graph,
      const backends::CompileOptions& options) const;
  base::Result<std::unique_ptr<backends::ExecutablePlan>> load_bytes(
      std::string_view bytes, const ir::Graph& graph,
      const backends::CompileOptions& options) const;

  // In the place of EngineOptions::load_seconds and run_seconds.
  void set_limits(double load_seconds, double run_seconds) {
    options_.load_seconds = load_seconds;
    options_.run_seconds = run_seconds;
  }
  // From now on, plans share one process: a plan ends where the next one is compiled. Not for
  // races.
  void keep_process() { keeps_process_ = true; }
  // How graphs are written: as `egret optimize` writes its result.
  void write_like(const frontends::OnnxModelInfo& info) { info_ = info; }

 private:
  Engine(std::string name, std::vector<std::string> command, const EngineOptions& options)
      : name_(std::move(name)), command_(std::move(command)), options_(options) {}

  struct File;
  base::Result<std::shared_ptr<EngineProcess>> process_with(const base::Json& load) const;
  base::Result<std::unique_ptr<backends::ExecutablePlan>> plan_of(File file, const ir::Graph& graph,
                                                                  int threads) const;

  std::string name_;
  std::vector<std::string> command_;
  EngineOptions options_;
  bool keeps_process_ = false;
  mutable std::shared_ptr<EngineProcess> kept_;  // that plans share
  std::string version_;
  frontends::OnnxModelInfo info_;
};

// The engine that is chosen; null: none is. Errors: those of Engine::start().
base::Result<std::unique_ptr<Engine>> start_engine(const EngineChoice& choice);

}  // namespace egret::driver
