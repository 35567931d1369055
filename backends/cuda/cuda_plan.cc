// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/cuda/steps/launch.h"
#include "backends/division.h"
#include "base/median.h"

namespace egret::backends::cuda {
namespace {

using codegen::Place;
using codegen::Region;

constexpr std::int64_t kAlignment = 256;
constexpr std::size_t kMostTimes = 10000;
constexpr int kTimedRuns = 5;  // of an algorithm, in a launch
constexpr int kTimedLaunches = 3;
constexpr int kRefused = -1;       // no candidate can be run
constexpr int kMeasuredRuns = 5;   // of a plan
constexpr int kProfiledRuns = 16;  // of a step

// Allocates aligned parts of one block in sequence.
class Carver {
 public:
  std::int64_t take(std::int64_t bytes) {
    const std::int64_t at = bytes_;
    bytes_ += (std::max<std::int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
    return at;
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

}  // namespace

CudaPlan::CudaPlan(const ir::Graph& original, codegen::Program program,
                   std::shared_ptr<LibraryHandles> handles,
                   std::vector<LibraryRegion> library_steps, const CompileOptions& options,
                   std::shared_ptr<Device> device, std::optional<BoundMemory> bound)
    : ExecutablePlan(original),
      program_(std::move(program)),
      device_(std::move(device)),
      bound_(std::move(bound)),
      report_(report_of(program_, original, "NVRTC")),
      profile_(options.profile),
      handles_(std::move(handles)),
      library_steps_(std::move(library_steps)),
      library_step_of_(program_.steps.size(), nullptr),
      functions_(program_.steps.size(), nullptr) {
  for (std::size_t s = 0; s < program_.steps.size(); ++s) {
    const auto root_of = [](const LibraryRegion& region) { return region.nodes.back(); };
    const auto found = std::ranges::find(library_steps_, program_.steps[s].root(), root_of);
    if (found == library_steps_.end()) continue;
    library_step_of_[s] = found->step.get();
  }
  name_steps();
  number_parts(report_, options.division);
}

void CudaPlan::name_steps() {
  for (std::size_t s = 0; s < library_step_of_.size(); ++s) {
    const LibraryStep* step = library_step_of_[s];
    if (step == nullptr) continue;
    report_.kernels[s].name = step->name();
    report_.kernels[s].implementation = step->library();
  }
}

// Members release driver handles, which needs the context.
CudaPlan::~CudaPlan() { (void)device_->enter(); }

base::Result<std::unique_ptr<CudaPlan>> CudaPlan::make(
    const ir::Graph& original, codegen::Program program, std::shared_ptr<LibraryHandles> handles,
    std::vector<LibraryRegion> library_steps, const CompileOptions& options,
    std::shared_ptr<Device> device, std::optional<BoundMemory> bound) {
  std::unique_ptr<CudaPlan> plan(new CudaPlan(original, std::move(program), std::move(handles),
                                              std::move(library_steps), options, std::move(device),
                                              std::move(bound)));
  if (options.report_only) return plan;
  EGRET_RETURN_IF_ERROR(plan->load_kernels());
  EGRET_RETURN_IF_ERROR(plan->allocate());
  EGRET_RETURN_IF_ERROR(plan->make_streams(options.streams));
  EGRET_RETURN_IF_ERROR(plan->allocate_workspace());
  EGRET_RETURN_IF_ERROR(plan->choose_algorithms(options.search));
  return plan;
}

Contested CudaPlan::contested() const {
  Contested any;
  for (const LibraryRegion& region : library_steps_) {
    any |= region.step->contested();
    any.joins = any.joins || region.part.has_value();
  }
  return any;
}

std::vector<const codegen::KernelSource*> kernels_of(const codegen::Program& program,
                                                     std::span<const LibraryRegion> library_steps) {
  std::vector<const codegen::KernelSource*> kernels;
  for (const Region& step : program.steps) {
    if (step.kernel.ok()) kernels.push_back(&*step.kernel);
  }
  for (const LibraryRegion& region : library_steps) {
    const auto own = region.step->kernels();
    kernels.insert(kernels.end(), own.begin(), own.end());
  }
  return kernels;
}

base::Status CudaPlan::load_kernels() {
  for (std::size_t s = 0; s < program_.steps.size(); ++s) {
    const Region& step = program_.steps[s];
    if (library_step_of_[s] == nullptr && !step.kernel.ok())
      return step.kernel.status().at(node_label(program_.graph, step.root()));
  }
  modules_ = KernelModules::load(*device_, kernels_of(program_, library_steps_));
  for (std::size_t s = 0; s < program_.steps.size(); ++s) {
    if (library_step_of_[s] != nullptr) continue;
    EGRET_ASSIGN_OR_RETURN(functions_[s], modules_.function(*program_.steps[s].kernel));
  }
  // The candidates of a step that need a kernel which failed cannot run; others take their place.
  for (const LibraryRegion& region : library_steps_) {
    std::vector<Function> own;
    for (const codegen::KernelSource* kernel : region.step->kernels()) {
      const auto& function = modules_.function(*kernel);
      own.push_back(function.ok() ? *function : nullptr);
    }
    region.step->take_kernels(own);
  }
  return base::ok();
}

// One allocation holds the arena, own inputs and outputs, constants and a word of failure per step.
// Addresses are then fixed for the plan's life, which recorded graphs need.
base::Status CudaPlan::allocate() {
  const ir::Graph& graph = program_.graph;
  Carver carver;
  const std::int64_t arena = carver.take(program_.arena_bytes);
  std::vector<std::int64_t> inputs, outputs, constants(graph.size(), -1);
  if (!bound_) {
    for (const ir::TensorType& type : input_types()) inputs.push_back(carver.take(type.bytes()));
    for (const ir::TensorType& type : output_types()) outputs.push_back(carver.take(type.bytes()));
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::Node& node = graph.node(ir::NodeId(i));
    if (node.kind != ir::NodeKind::kConstant) continue;
    constants[i] = carver.take(node.type.bytes());
    report_.weights_bytes += node.type.bytes();
  }
  const std::int64_t failures =
      carver.take(static_cast<std::int64_t>(program_.steps.size() * sizeof(int)));
  EGRET_ASSIGN_OR_RETURN(memory_, device_->allocate(static_cast<std::size_t>(carver.bytes())));
  const auto at = [&](std::int64_t offset) {
    return memory_.get() + static_cast<DevicePointer>(offset);
  };
  arena_ = at(arena);
  failures_ = at(failures);
  if (bound_) {
    inputs_ = bound_->inputs;
    outputs_ = bound_->outputs;
  }
  for (const std::int64_t offset : inputs) inputs_.push_back(at(offset));
  for (const std::int64_t offset : outputs) outputs_.push_back(at(offset));
  constants_.resize(graph.size(), 0);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (constants[i] < 0) continue;
    constants_[i] = at(constants[i]);
    const ir::Tensor& data = graph.node(ir::NodeId(i)).data;
    if (data.bytes() == 0) continue;
    EGRET_RETURN_IF_ERROR(device_->copy_in(constants_[i], data.data().data(),
                                           static_cast<std::size_t>(data.bytes())));
  }
  EGRET_RETURN_IF_ERROR(clear_failures());
  return device_->wait();
}

// Steps of one stream run in order and share a workspace, so each stream needs only one, as large
// as its largest step could ask for.
base::Status CudaPlan::allocate_workspace() {
  for (const LibraryRegion& region : library_steps_)
    workspace_bytes_ = std::max(workspace_bytes_, region.step->workspace());
  if (workspace_bytes_ == 0) return base::ok();
  constexpr auto kUnit = static_cast<std::size_t>(kAlignment);
  workspace_bytes_ = (workspace_bytes_ + kUnit - 1) / kUnit * kUnit;
  EGRET_ASSIGN_OR_RETURN(
      workspaces_,
      device_->allocate(workspace_bytes_ * static_cast<std::size_t>(schedule_.streams)));
  return base::ok();
}

DevicePointer CudaPlan::address(ir::NodeId id) const {
  const Place& place = program_.places[id.index()];
  const auto index = static_cast<std::size_t>(place.index);
  switch (place.kind) {
    case Place::Kind::kInput: return inputs_[index];
    case Place::Kind::kOutput: return outputs_[index] + static_cast<DevicePointer>(place.offset);
    case Place::Kind::kConstant: return constants_[index];
    case Place::Kind::kArena: return arena_ + static_cast<DevicePointer>(place.offset);
    case Place::Kind::kNone: break;
  }
  return 0;  // a value without elements
}

// A step's reads and writes of memory that steps write. Constants and inputs order nothing.
StepMemory CudaPlan::memory_of(std::size_t s) const {
  const Region& step = program_.steps[s];
  const auto range = [&](ir::NodeId id) {
    const auto bytes = static_cast<DevicePointer>(program_.graph.node(id).type.bytes());
    return MemoryRange{address(id), address(id) + bytes};
  };
  const ir::NodeId whole = program_.places[step.root().index()].whole;
  StepMemory memory{.writes = range(whole.valid() ? whole : step.root())};
  if (whole.valid()) memory.joined_into = static_cast<int>(whole.index());
  for (const ir::NodeId input : step.inputs) {
    const Place::Kind kind = program_.places[input.index()].kind;
    if (kind == Place::Kind::kArena || kind == Place::Kind::kOutput)
      memory.reads.push_back(range(input));
  }
  return memory;
}

// Only events that another stream waits for exist.
base::Status CudaPlan::make_streams(int most) {
  std::vector<StepMemory> memory;
  for (std::size_t s = 0; s < program_.steps.size(); ++s) memory.push_back(memory_of(s));
  schedule_ = schedule_streams(memory, most);
  done_.resize(program_.steps.size());
  if (schedule_.streams == 1) return base::ok();
  EGRET_ASSIGN_OR_RETURN(begun_, device_->event(kEventWithoutTiming));
  for (int i = 1; i < schedule_.streams; ++i) {
    EGRET_ASSIGN_OR_RETURN(streams_.emplace_back(), device_->another_stream());
  }
  for (std::size_t s = 0; s < done_.size(); ++s) {
    if (!schedule_.steps[s].is_awaited) continue;
    EGRET_ASSIGN_OR_RETURN(done_[s], device_->event(kEventWithoutTiming));
  }
  return base::ok();
}

Stream CudaPlan::stream(int number) const {
  return number == 0 ? device_->stream() : streams_[static_cast<std::size_t>(number - 1)].get();
}

base::Status CudaPlan::enqueue_steps() {
  const DriverFunctions& driver = device_->driver();
  const auto mark = [&](const Owned<Event>& event, int at) {
    return device_->check(driver.event_record(event.get(), stream(at)), "recording an event");
  };
  const auto wait = [&](int at, const Owned<Event>& event) {
    return device_->check(driver.stream_wait_event(stream(at), event.get(), 0),
                          "ordering two streams");
  };
  // Fork: all streams wait for the device's stream. Join: that stream waits for the last step of
  // each. Capture needs both, and records the dependences as edges of the graph.
  if (schedule_.streams > 1) EGRET_RETURN_IF_ERROR(mark(begun_, 0));
  for (int i = 1; i < schedule_.streams; ++i) EGRET_RETURN_IF_ERROR(wait(i, begun_));
  for (std::size_t s = 0; s < program_.steps.size(); ++s) {
    const ScheduledStep& step = schedule_.steps[s];
    for (const int awaited : step.waits)
      EGRET_RETURN_IF_ERROR(wait(step.stream, done_[static_cast<std::size_t>(awaited)]));
    EGRET_RETURN_IF_ERROR(enqueue_step(s, step.stream));
    if (step.is_awaited) EGRET_RETURN_IF_ERROR(mark(done_[s], step.stream));
  }
  for (const int tail : schedule_.tails)
    EGRET_RETURN_IF_ERROR(wait(0, done_[static_cast<std::size_t>(tail)]));
  return base::ok();
}

base::Status CudaPlan::enqueue_step(std::size_t s, int on) {
  const Region& step = program_.steps[s];
  std::vector<DevicePointer> pointers;
  for (const ir::NodeId input : step.inputs) pointers.push_back(address(input));
  if (LibraryStep* library_step = library_step_of_[s]) {
    return library_step->enqueue(
        pointers, address(step.root()),
        workspaces_.get() + static_cast<std::size_t>(on) * workspace_bytes_, stream(on));
  }
  pointers.push_back(address(step.root()));
  pointers.push_back(failures_ + s * sizeof(int));
  return device_->check(
      launch_kernel(device_->driver(), functions_[s], *step.kernel, pointers, stream(on)),
      "launching a kernel");
}

// Several runs of one step as one graph: the time of a launch is spread over them.
base::Result<Owned<GraphExec>> CudaPlan::record_runs(std::size_t step, int runs) {
  return device_->record([&] {
    base::Status enqueued = base::ok();
    for (int i = 0; i < runs && enqueued.ok(); ++i) enqueued = enqueue_step(step);
    return enqueued;
  });
}

// Libraries may refuse when they enqueue, or compute something else than the step: both exclude the
// candidate.
base::Result<bool> CudaPlan::can_run(std::size_t step) {
  EGRET_RETURN_IF_ERROR(device_->wait());
  if (!enqueue_step(step).ok()) return false;
  EGRET_RETURN_IF_ERROR(device_->wait());
  return library_step_of_[step]->is_right(*device_, trial_memory(step));
}

// Values that the plan computes are undefined before its first run.
TrialMemory CudaPlan::trial_memory(std::size_t s) const {
  const Region& step = program_.steps[s];
  TrialMemory memory{.output = address(step.root()), .workspace = workspaces_.get()};
  for (const ir::NodeId input : step.inputs) {
    const Place::Kind kind = program_.places[input.index()].kind;
    memory.inputs.push_back(address(input));
    memory.fixed.push_back(kind == Place::Kind::kConstant ||
                           (bound_ && kind != Place::Kind::kArena));
  }
  return memory;
}

// Candidates take turns, several times: an idle GPU needs a while to reach its clock rate, and the
// first launch of a recorded graph is slower.
base::Result<int> CudaPlan::fastest_candidate(std::size_t s) {
  struct Trial {
    int candidate;
    Owned<GraphExec> runs;
    double seconds = HUGE_VAL;
  };
  const auto turn = device_->take_turn();
  std::vector<Trial> trials;
  for (int candidate = 0; candidate < library_step_of_[s]->candidates(); ++candidate) {
    library_step_of_[s]->choose(candidate);
    EGRET_ASSIGN_OR_RETURN(const bool runs, can_run(s));
    if (!runs) continue;
    auto recorded = record_runs(s, kTimedRuns);
    if (recorded.ok()) trials.push_back({candidate, *std::move(recorded)});
  }
  if (trials.empty()) return kRefused;
  if (trials.size() == 1) return trials[0].candidate;
  // The first round is a warm-up. The minimum over the others excludes noise, which only adds time.
  for (int launch = 0; launch <= kTimedLaunches; ++launch) {
    for (Trial& trial : trials) {
      EGRET_ASSIGN_OR_RETURN(const double seconds, seconds_of(trial.runs.get()));
      if (launch > 0) trial.seconds = std::min(trial.seconds, seconds);
    }
  }
  return std::ranges::min_element(trials, {}, &Trial::seconds)->candidate;
}

// Without a search: the first candidate that runs, in the library's own order.
base::Result<int> CudaPlan::first_candidate(std::size_t s) {
  const auto turn = device_->take_turn();
  for (int candidate = 0; candidate < library_step_of_[s]->candidates(); ++candidate) {
    library_step_of_[s]->choose(candidate);
    EGRET_ASSIGN_OR_RETURN(const bool runs, can_run(s));
    if (runs) return candidate;
  }
  return kRefused;
}

// A choice for an equal step is reused.
base::Status CudaPlan::choose_algorithms(bool search) {
  for (std::size_t s = 0; s < library_step_of_.size(); ++s) {
    LibraryStep* step = library_step_of_[s];
    if (step == nullptr) continue;
    // The description is the key. A stored number beyond the candidates of this step is ignored.
    const auto known = handles_->fastest.find(step->description());
    if (known != handles_->fastest.end() && known->second < step->candidates()) {
      step->choose(known->second);
      continue;
    }
    EGRET_ASSIGN_OR_RETURN(const int chosen, search ? fastest_candidate(s) : first_candidate(s));
    if (chosen == kRefused) {
      // The step computes nothing right. Its descriptions are remembered, and the caller divides
      // the graph again without them.
      for (std::string& description : step->descriptions())
        handles_->refused.insert(std::move(description));
      is_refused_ = true;
      continue;
    }
    step->choose(chosen);
    if (search) handles_->fastest[step->description()] = chosen;
  }
  name_steps();
  return base::ok();
}

bool CudaPlan::may_fail() const {
  return std::ranges::any_of(
      program_.steps, [](const Region& step) { return step.kernel.ok() && step.kernel->may_fail; });
}

base::Status CudaPlan::clear_failures() const {
  const std::size_t bytes = program_.steps.size() * sizeof(int);
  return device_->check(device_->driver().set_bytes(failures_, 0, bytes, device_->stream()),
                        "clearing memory");
}

// The steps, and copies for outputs whose value lies elsewhere (a view, or an output twice).
base::Status CudaPlan::enqueue_all() {
  EGRET_RETURN_IF_ERROR(enqueue_steps());
  for (const codegen::Program::Copy& copy : program_.copies) {
    const auto bytes = static_cast<std::size_t>(output_types()[copy.output].bytes());
    EGRET_RETURN_IF_ERROR(
        device_->check(device_->driver().copy_within(outputs_[copy.output], address(copy.value),
                                                     bytes, device_->stream()),
                       "copying within it"));
  }
  return base::ok();
}

// A kernel writes the word of its step where an index or a divisor from data is bad. Plans without
// such kernels save the copy.
base::Status CudaPlan::failure() const {
  if (!may_fail()) return device_->wait();
  std::vector<int> failures(program_.steps.size(), 0);
  EGRET_RETURN_IF_ERROR(
      device_->copy_out(failures.data(), failures_, failures.size() * sizeof(int)));
  EGRET_RETURN_IF_ERROR(device_->wait());
  const auto failed = std::ranges::find_if(failures, [](int word) { return word != 0; });
  if (failed == failures.end()) return base::ok();
  EGRET_RETURN_IF_ERROR(clear_failures());  // kernels write the words only where they fail
  const auto step = static_cast<std::size_t>(failed - failures.begin());
  return codegen::failure_status(*failed, node_label(program_.graph, program_.steps[step].root()));
}

// The time of a step is the slope over repetitions in one launch: a launch and its events take as
// long as a small kernel.
base::Status CudaPlan::time_steps() {
  for (std::size_t s = 0; s < program_.steps.size(); ++s) {
    EGRET_ASSIGN_OR_RETURN(const auto one, record_runs(s, 1));
    EGRET_ASSIGN_OR_RETURN(const auto more, record_runs(s, 1 + kProfiledRuns));
    double of_first = HUGE_VAL, of_all = HUGE_VAL;
    for (int i = 0; i < kMeasuredRuns; ++i) {
      EGRET_ASSIGN_OR_RETURN(const double first, seconds_of(one.get()));
      EGRET_ASSIGN_OR_RETURN(const double all, seconds_of(more.get()));
      of_first = std::min(of_first, first);
      of_all = std::min(of_all, all);
    }
    report_.kernels[s].seconds = std::max(0.0, of_all - of_first) / kProfiledRuns;
  }
  return base::ok();
}

// One event between any two steps of a recorded run.
base::Status CudaPlan::record_profile() {
  EGRET_RETURN_IF_ERROR(enqueue_all());  // directly, the first time
  EGRET_RETURN_IF_ERROR(device_->wait());
  EGRET_RETURN_IF_ERROR(time_steps());
  const auto mark = [&]() -> base::Status {
    EGRET_ASSIGN_OR_RETURN(Owned<Event> event, device_->event());
    marks_.push_back(std::move(event));
    return device_->check(device_->driver().event_record_with_flags(
                              marks_.back().get(), device_->stream(), kEventRecordExternal),
                          "timing");
  };
  EGRET_ASSIGN_OR_RETURN(profiled_, device_->record([&]() -> base::Status {
    EGRET_RETURN_IF_ERROR(mark());
    for (std::size_t s = 0; s < program_.steps.size(); ++s) {
      EGRET_RETURN_IF_ERROR(enqueue_step(s));
      EGRET_RETURN_IF_ERROR(mark());
    }
    return base::ok();
  }));
  return base::ok();
}

// The events say when each step of this run began and ended. A step's `seconds` in the report are
// those of time_steps(), where launches do not count.
base::Status CudaPlan::run_profiled() {
  const DriverFunctions& driver = device_->driver();
  if (profiled_.get() == nullptr) EGRET_RETURN_IF_ERROR(record_profile());
  EGRET_RETURN_IF_ERROR(
      device_->check(driver.graph_launch(profiled_.get(), device_->stream()), "launching"));
  EGRET_RETURN_IF_ERROR(device_->wait());
  for (std::size_t s = 0; s < program_.steps.size(); ++s) {
    float since_start = 0, own = 0;
    driver.event_elapsed(&since_start, marks_[0].get(), marks_[s].get());
    driver.event_elapsed(&own, marks_[s].get(), marks_[s + 1].get());
    report_.kernels[s].last_start_s = since_start * 1e-3;
    report_.kernels[s].last_s = own * 1e-3;
  }
  return base::ok();
}

// The first run enqueues each step and then records all of them as one CUDA graph; later runs
// launch the graph, which costs the host one call.
base::Status CudaPlan::execute(std::span<const ir::Tensor> inputs, std::span<ir::Tensor> outputs) {
  EGRET_RETURN_IF_ERROR(device_->enter());
  const auto turn = device_->take_turn();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].bytes() == 0) continue;
    EGRET_RETURN_IF_ERROR(device_->copy_in(inputs_[i], inputs[i].data().data(),
                                           static_cast<std::size_t>(inputs[i].bytes())));
  }
  if (profile_ && !program_.steps.empty()) EGRET_RETURN_IF_ERROR(run_profiled());
  const bool launches = recorded_.get() != nullptr;
  if (launches) {
    EGRET_RETURN_IF_ERROR(launch_timed(recorded_.get()));
  } else {
    // The first run is direct: libraries may prepare things that cannot be recorded.
    EGRET_RETURN_IF_ERROR(enqueue_all());
    EGRET_RETURN_IF_ERROR(device_->wait());
    EGRET_ASSIGN_OR_RETURN(recorded_, device_->record([&] { return enqueue_all(); }));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].bytes() == 0) continue;
    EGRET_RETURN_IF_ERROR(device_->copy_out(outputs[i].mutable_data().data(), outputs_[i],
                                            static_cast<std::size_t>(outputs[i].bytes())));
  }
  EGRET_RETURN_IF_ERROR(failure());
  last_device_s_ = launches ? timed_seconds().value_or(0) : 0;
  if (last_device_s_ > 0 && device_seconds_.size() < kMostTimes)
    device_seconds_.push_back(last_device_s_);
  return base::ok();
}

std::optional<double> CudaPlan::timed_seconds() const {
  float milliseconds = 0;
  if (device_->driver().event_elapsed(&milliseconds, before_.get(), after_.get()) != 0)
    return std::nullopt;
  return milliseconds * 1e-3;
}

// The least of several runs: noise of the machine only adds time.
base::Result<double> CudaPlan::measure() {
  const auto turn = device_->take_turn();
  for (int i = 0; i < 2; ++i) EGRET_RETURN_IF_ERROR(launch());  // directly, then as recorded
  double least = HUGE_VAL;
  for (int i = 0; i < kMeasuredRuns; ++i) {
    EGRET_ASSIGN_OR_RETURN(const double seconds, seconds_of(recorded_.get()));
    least = std::min(least, seconds);
  }
  return least;
}

base::Result<double> CudaPlan::seconds_of(GraphExec graph) {
  EGRET_RETURN_IF_ERROR(launch_timed(graph));
  EGRET_RETURN_IF_ERROR(device_->wait());
  return timed_seconds().value_or(HUGE_VAL);
}

// Both events lie on the stream, so their distance is the device's time without the host's call.
base::Status CudaPlan::launch_timed(GraphExec graph) {
  const DriverFunctions& driver = device_->driver();
  if (before_.get() == nullptr) {
    EGRET_ASSIGN_OR_RETURN(before_, device_->event());
    EGRET_ASSIGN_OR_RETURN(after_, device_->event());
  }
  driver.event_record(before_.get(), device_->stream());
  EGRET_RETURN_IF_ERROR(device_->check(driver.graph_launch(graph, device_->stream()), "launching"));
  driver.event_record(after_.get(), device_->stream());
  return base::ok();
}

base::Status CudaPlan::launch() {
  if (!std::exchange(launched_, true)) return enqueue_all();
  if (recorded_.get() == nullptr) {
    EGRET_ASSIGN_OR_RETURN(recorded_, device_->record([&] { return enqueue_all(); }));
  }
  return device_->check(device_->driver().graph_launch(recorded_.get(), device_->stream()),
                        "launching");
}

PlanReport CudaPlan::report() const {
  PlanReport report = report_;
  if (!device_seconds_.empty()) report.device_s = base::median(device_seconds_);
  return report;
}

}  // namespace egret::backends::cuda
