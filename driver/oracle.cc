// SPDX-License-Identifier: Apache-2.0
#include "driver/oracle.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/formats/units.h"
#include "base/random.h"
#include "base/stop.h"
#include "base/system/terminal.h"
#include "driver/engine_signature.h"
#include "driver/load_in_engine.h"
#include "driver/measure/close_check.h"
#include "driver/measure/output_errors.h"
#include "driver/measure/size_check.h"
#include "ir/evaluate/input_draws.h"
#include "ir/ops/opaque.h"

namespace egret::driver {
namespace {

using Tensors = std::vector<ir::Tensor>;

constexpr std::string_view kAuto = "auto";
constexpr std::string_view kUsual = "onnxruntime";  // that "auto" looks for
constexpr double kLimitSeconds = 300;               // of loading a model, and of a run
constexpr std::size_t kFurtherSizes = 1;
constexpr double kMostBytes = 1.9e9;  // of weights: a file without others holds 2 GiB
constexpr int kDisturbances = 3;

double weights_of(const ir::Graph& graph) {
  double bytes = 0;
  for (const ir::Node& node : graph.nodes()) {
    if (node.kind == ir::NodeKind::kConstant) bytes += static_cast<double>(node.data.bytes());
  }
  return bytes;
}

// The first line of a reason, without what engines print behind it.
std::string short_reason(const base::Status& status) {
  constexpr std::size_t kShown = 200;
  std::string text = base::sanitized(status.message());
  if (const std::size_t line = text.find('\n'); line != std::string::npos) text.resize(line);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return text;
}

// Reals move by up to two units of rounding.
Tensors disturbed(const Tensors& inputs, base::Random& random) {
  Tensors moved = inputs;
  for (ir::Tensor& one : moved) {
    if (!ir::is_float(one.dtype())) continue;
    const double most = 4 * roundoff(one.dtype());
    for (std::int64_t i = 0; i < one.elements(); ++i)
      one.set_f64(i, one.f64_at(i) * (1 + most * (2 * random.unit() - 1)));
  }
  return moved;
}

// Inputs of a sample: with any integers, those that its draws state, or 0 and 1, which are indices
// of nearly everything.
enum class Integers : unsigned char { kAny, kDrawn, kBits };
Tensors drawn_inputs(const ir::Graph& graph, const CheckOptions& how, int sample, Integers which) {
  base::Random random = base::Random(how.seed).split(static_cast<std::uint64_t>(sample));
  Tensors inputs = ir::random_inputs(graph, random, sample_draws(sample, which == Integers::kAny));
  for (ir::Tensor& one : inputs) {
    if (which == Integers::kBits && ir::is_integer(one.dtype()))
      one = ir::drawn(one.type(), {.low = 0, .high = 1}, random);
  }
  ir::put_given(graph, how.given, inputs);
  return inputs;
}

bool has_integers(const ir::Graph& graph) {
  return std::ranges::any_of(
      graph.inputs(), [&](ir::NodeId id) { return ir::is_integer(graph.node(id).type.dtype); });
}

// Those of a whole file: a graph that is cut at opaque nodes has further ones behind them.
std::span<const ir::Tensor> inputs_of_file(const Tensors& inputs, const ir::Graph& signature) {
  return std::span(inputs).first(signature.inputs().size());
}

// What disturbed inputs explain, of one output.
OutputError compare_with_disturbed(const ir::Tensor& expected, const ir::Tensor& got,
                                   std::span<const Tensors> runs, std::size_t output) {
  OutputError error;
  error.elements = expected.elements();
  if (!ir::is_float(expected.dtype())) {
    compare_integers(expected, {runs.begin(), runs.end()}, output, expected, got, error);
    return error;
  }
  double moved = 0;
  for (const Tensors& run : runs) moved = std::max(moved, spread(expected, run[output]));
  error.bound = CheckOptions().safety * moved +
                kCloseUnits * roundoff(expected.dtype()) * magnitude(expected);
  compare_reals(expected, got, error);
  Unexplained open(expected, expected, got, error.bound);
  for (const Tensors& run : runs) {
    const std::int64_t explained = open.explain_by(run[output], false);
    error.wrong -= explained;
    error.unstable += explained;
  }
  error.max_error = open.largest();
  return error;
}

}  // namespace

base::Result<std::unique_ptr<Oracle>> Oracle::ask(const OracleQuestion& question,
                                                  OptimizeReport::Oracle& report) {
  const OptimizeOptions& options = question.options;
  const bool automatic = options.oracle == kAuto;
  if (options.oracle == "none" || (automatic && (options.quick || options.no_check)))
    return std::unique_ptr<Oracle>();
  if (base::stop_requested()) {
    report.note = "not compared: interrupted";
    return std::unique_ptr<Oracle>();
  }
  const base::Progress progress(question.progress, "oracle");
  auto engine = Engine::start(automatic ? kUsual : options.oracle, {.python = options.engine_python,
                                                                    .load_seconds = kLimitSeconds,
                                                                    .run_seconds = kLimitSeconds,
                                                                    .optimizes = false,
                                                                    .keep_process = true});
  if (!engine.ok()) {
    if (!automatic) report.note = short_reason(engine.status());
    return std::unique_ptr<Oracle>();
  }
  const std::string version = (*engine)->version();
  if (weights_of(question.read.graph) > kMostBytes) {
    report.note = version + ": not compared, since the weights need a file of their own";
    return std::unique_ptr<Oracle>();
  }
  std::unique_ptr<Oracle> oracle(new Oracle(question, std::move(*engine)));
  std::vector<ir::SymbolValues> sizes(1);
  if (question.open != nullptr) {
    sizes.front() = question.open->examples();
    EGRET_ASSIGN_OR_RETURN(const auto further,
                           further_sizes(question.read.graph, *question.open, kFurtherSizes));
    sizes.insert(sizes.end(), further.begin(), further.end());
  }
  for (const ir::SymbolValues& one : sizes) {
    const base::Status ran = oracle->run_original(one, report);
    if (ran.ok()) continue;
    if (ran.code() == base::StatusCode::kMismatch) {
      return base::mismatch(version + " reads the model otherwise than Egret: " + ran.message() +
                            ". No output was written");
    }
    // At further sizes, the original may have no meaning.
    if (oracle->runs_.empty())
      report.note = version + " cannot run the original: " + short_reason(ran);
    break;
  }
  if (oracle->runs_.empty()) return std::unique_ptr<Oracle>();
  report.engine = version;
  return oracle;
}

CheckOptions Oracle::check_options() const {
  const OptimizeOptions& options = question_.options;
  return {.samples = static_cast<int>(options.check_samples),
          .seed = static_cast<std::uint64_t>(options.seed),
          .given = options.given_inputs};
}

base::Status Oracle::run_original(const ir::SymbolValues& sizes, OptimizeReport::Oracle& report) {
  const ir::Graph& program = question_.read.graph;
  Run run;
  run.sizes = to_string(sizes);
  EGRET_ASSIGN_OR_RETURN(const ir::Graph known, question_.open != nullptr
                                                    ? rules::at_sizes(program, sizes)
                                                    : base::Result<ir::Graph>(program));
  run.graph = ir::cut_at_opaque(known);
  std::vector<ir::Draw> draws = ir::input_draws(run.graph);
  draws.resize(program.inputs().size());
  EngineSignature seen = engine_signature(program, &question_.read.info, draws, sizes);
  if (!seen.takes_inputs)
    return base::unsupported("it has inputs that are no tensors of known size");
  if (seen.graph.outputs().empty())
    return base::unsupported("the sizes of its outputs depend on the data");
  run.whole = !ir::has_undefined(program) && seen.unknown_outputs.empty();
  run.signature = std::move(seen.graph);
  EGRET_ASSIGN_OR_RETURN(const auto plan,
                         load_in_engine(*engine_, question_.original, run.signature,
                                        {.threads = static_cast<int>(question_.options.threads)}));
  EGRET_RETURN_IF_ERROR(draw_and_run(run, *plan));
  if (runs_.empty()) report.unknown_outputs = std::move(seen.unknown_outputs);
  runs_.push_back(std::move(run));
  return base::ok();
}

base::Status Oracle::draw_and_run(Run& run, backends::ExecutablePlan& plan) const {
  const CheckOptions how = check_options();
  for (int sample = 0; sample < how.samples; ++sample) {
    Tensors inputs;
    base::Result<Tensors> outputs = base::unsupported("");
    for (const Integers which : {Integers::kAny, Integers::kDrawn, Integers::kBits}) {
      inputs = drawn_inputs(run.graph, how, sample, which);
      outputs = plan.run(inputs_of_file(inputs, run.signature));
      if (outputs.ok() || outputs.status().code() != base::StatusCode::kUnsupported) break;
      if (!has_integers(run.graph)) break;
    }
    EGRET_RETURN_IF_ERROR(outputs.status());
    run.inputs.push_back(std::move(inputs));
    run.outputs.push_back(*std::move(outputs));
    if (run.whole) continue;
    run.disturbed.emplace_back();
    base::Random random = base::Random(how.seed).split(static_cast<std::uint64_t>(sample) + 1000);
    for (int k = 0; k < kDisturbances; ++k) {
      const Tensors moved = disturbed(run.inputs.back(), random);
      EGRET_ASSIGN_OR_RETURN(Tensors again, plan.run(inputs_of_file(moved, run.signature)));
      const auto same_shape = [](const ir::Tensor& a, const ir::Tensor& b) {
        return a.type() == b.type();
      };
      if (std::ranges::equal(again, run.outputs.back(), same_shape))
        run.disturbed.back().push_back(std::move(again));
    }
  }
  return base::ok();
}

// The cheap comparison first, as in check_outputs().
base::Result<CheckReport> Oracle::compare(const Run& run, std::size_t sample,
                                          const Tensors& got) const {
  const CheckOptions how = check_options();
  const Tensors& expected = run.outputs[sample];
  if (auto close = agree_closely(run.signature, expected, got, how)) return *std::move(close);
  if (run.whole) {
    EGRET_ASSIGN_OR_RETURN(const OutputCheck bounds,
                           OutputCheck::of(run.graph, run.inputs[sample], how));
    return bounds.agreement(std::span(&expected, 1), std::span(&got, 1));
  }
  CheckReport report;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    OutputError error = compare_with_disturbed(expected[i], got[i], run.disturbed[sample], i);
    error.output = run.signature.outputs()[i].name;
    report.outputs.push_back(std::move(error));
  }
  report.settle();
  return report;
}

base::Status Oracle::check(const frontends::ExportedModel& result,
                           OptimizeReport::Oracle& report) const {
  const base::Progress progress(question_.progress, "oracle");
  const std::string advice = ". No output was written; --oracle none writes it";
  for (const Run& run : runs_) {
    const std::string where = run.sizes.empty() ? "" : " for " + run.sizes;
    const auto plan = engine_->load_bytes(result.bytes, run.signature,
                                          {.threads = static_cast<int>(question_.options.threads)});
    const auto refused = [&](const base::Status& why) {
      // An engine that ends or hangs, or an interruption, says nothing of the result.
      if (base::stop_requested() || why.code() == base::StatusCode::kLimit) return why;
      return base::mismatch(engine_->version() + " runs the original" + where +
                            ", but not the result: " + why.message() + advice);
    };
    if (!plan.ok()) return refused(plan.status());
    for (std::size_t s = 0; s < run.inputs.size(); ++s) {
      const auto got = (*plan)->run(inputs_of_file(run.inputs[s], run.signature));
      if (!got.ok()) return refused(got.status());
      EGRET_ASSIGN_OR_RETURN(const CheckReport found, compare(run, s, *got));
      const auto wrong =
          std::ranges::find_if(found.outputs, [](const OutputError& e) { return e.wrong > 0; });
      if (wrong != found.outputs.end()) {
        return base::mismatch(
            "in " + engine_->version() + ", output '" + wrong->output + "' of the result is not " +
            "the original's" + where + ": " + std::to_string(wrong->wrong) + " of " +
            std::to_string(wrong->elements) + " elements differ by up to " +
            base::format_short(wrong->max_error) + ", but rounding explains at most " +
            base::format_short(wrong->bound) +
            ". Egret's own check cannot see mistakes of the import and the export" + advice);
      }
      report.add(found);
    }
    if (!run.sizes.empty()) report.sizes.push_back(run.sizes);
  }
  report.made = true;
  return base::ok();
}

}  // namespace egret::driver
