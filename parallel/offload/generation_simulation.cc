// SPDX-License-Identifier: Apache-2.0
#include "parallel/offload/generation_simulation.h"

#include <algorithm>
#include <map>
#include <optional>

#include "parallel/offload/generation_kernels.h"
#include "parallel/simulator/chrome_trace.h"

namespace egret::parallel {
namespace {

constexpr std::int64_t kLeastSteps = 2;
constexpr std::int64_t kTasksOfItem = 9;  // at most, of a batch in a layer

// Bytes of the values of one batch that move, by where they live.
struct Parts {
  double host = 0, disk = 0;
  double away() const { return host + disk; }
};

class BlockProgram {
 public:
  BlockProgram(const HostedSystem& system, const GenerationSetup& setup, const BlockChoice& choice,
               const WholePlacement& placement)
      : system_(system),
        setup_(setup),
        choice_(choice),
        placement_(placement),
        sizes_(setup),
        batches_(choice.batches),
        layers_(setup.layers + 1) {
    const Host& host = *system.host;
    const bool has_disk = host.disk_bytes > 0;
    links_ = {graph_.add_link(host.to_device_bytes_per_second),
              graph_.add_link(host.from_device_bytes_per_second),
              graph_.add_link(has_disk ? host.disk_read_bytes_per_second : 1),
              graph_.add_link(has_disk ? host.disk_write_bytes_per_second : 1)};
    stored_.resize(static_cast<std::size_t>(layers_ * batches_));
    made_.resize(stored_.size());
    prefill_layer_s_ = prefill_layer_s(system, setup, choice.batch);
    decode_ = decode_layer_s(system, setup, choice.batch);
  }

  // CONTEXTS: lengths of the cache in each decoding step.
  void add_passes(const std::vector<double>& contexts) {
    passes_ = static_cast<std::int64_t>(contexts.size()) + 1;
    add_weight_pieces(0, 0, batches_);
    for (std::int64_t pass = 0; pass < passes_; ++pass) {
      decodes_ = pass > 0;
      context_ = decodes_ ? contexts[static_cast<std::size_t>(pass - 1)] : sizes_.prompt;
      tokens_ = decodes_ ? 1 : sizes_.prompt;
      for (std::int64_t layer = 0; layer < layers_; ++layer) {
        for (std::int64_t batch = 0; batch < batches_; ++batch) {
          add_item({pass, layer, batch});
          add_weight_pieces(pass * layers_ + layer + 1, batch, batch + 1);
        }
      }
      if (pass == 0) {
        finish_last();
        prefill_end_ = done_.back();
      }
    }
    finish_last();
  }

  TaskGraph& graph() { return graph_; }
  std::vector<std::string>& names() { return names_; }
  TaskId prefill_end() const { return *prefill_end_; }

 private:
  struct Item {
    std::int64_t pass, layer, batch;
  };
  // A batch whose attention is on the cores, until its values are back.
  struct Waiting {
    Item item;
    TaskId attended;  // on the accelerator again
    std::size_t place;
  };

  // Of the batch two items before: its computation is done, so its buffers are free.
  void after_buffers(std::vector<TaskId>& after) const {
    const std::size_t distance = choice_.overlaps ? 2 : 1;
    if (done_.size() >= distance) after.push_back(done_[done_.size() - distance]);
  }

  TaskId add_move(Resource resource, double bytes, std::vector<TaskId> after,
                  const std::string& name) {
    const auto stream = static_cast<std::uint32_t>(resource);
    names_.push_back(name);
    return graph_.add({.stream = stream,
                       .effect = TaskEffect::kCommunicates,
                       .work = {.bytes = bytes},
                       .links = {links_[stream]},
                       .after = std::move(after)});
  }

  TaskId add_work(Resource resource, double seconds, std::vector<TaskId> after,
                  const std::string& name) {
    names_.push_back(name);
    return graph_.add({.stream = static_cast<std::uint32_t>(resource),
                       .effect = TaskEffect::kComputes,
                       .work = {.seconds = seconds},
                       .after = std::move(after)});
  }

  std::string name_of(const char* what, std::int64_t layer) const {
    return layer + 1 == layers_ ? std::string(what) + " of the output layer"
                                : std::string(what) + " of layer " + std::to_string(layer);
  }

  // Pieces FROM to TO of the weights of a layer; GLOBAL counts layers over all passes.
  void add_weight_pieces(std::int64_t global, std::int64_t from, std::int64_t to) {
    if (global >= passes_ * layers_) return;
    const std::int64_t layer = global % layers_;
    const auto& bytes = placement_.layers[static_cast<std::size_t>(layer)];
    const auto pieces = static_cast<double>(batches_);
    for (std::int64_t piece = from; piece < to; ++piece) {
      if (bytes[1] + bytes[2] <= 0) continue;
      std::vector<TaskId> after;
      // Their buffer is that of the layer two before; without overlap, of the layer before.
      const std::int64_t before = global - (choice_.overlaps ? 2 : 1);
      if (before >= 0) {
        finish_until((before + 1) * batches_);
        after.push_back(done_[static_cast<std::size_t>((before + 1) * batches_ - 1)]);
      }
      if (bytes[2] > 0) {
        after = {add_move(Resource::kRead, bytes[2] / pieces, after, name_of("weights", layer))};
      }
      loaded_[global] =
          add_move(Resource::kUp, (bytes[1] + bytes[2]) / pieces, after, name_of("weights", layer));
    }
  }

  // Sequences of a value in a batch.
  Parts parts_of(const std::array<std::int64_t, 3>& sequences, std::int64_t batch) const {
    const std::int64_t device = sequences_of_batch(sequences[0], batches_, batch);
    const std::int64_t not_disk = sequences_of_batch(sequences[0] + sequences[1], batches_, batch);
    return {static_cast<double>(not_disk - device), static_cast<double>(choice_.batch - not_disk)};
  }

  void add_item(const Item& item) {
    const bool is_head = item.layer + 1 == layers_;
    const auto place = static_cast<std::size_t>(item.layer * batches_ + item.batch);
    const Parts activations = parts_of(placement_.activations, item.batch);
    const Parts cache = is_head ? Parts{} : parts_of(placement_.cache, item.batch);
    std::vector<TaskId> ready;
    after_buffers(ready);
    // Weights.
    const std::int64_t global = item.pass * layers_ + item.layer;
    if (const auto found = loaded_.find(global); found != loaded_.end())
      ready.push_back(found->second);
    loaded_.erase(global - 2);
    // The batch's activations, which the layer before has stored.
    if (item.layer > 0 && activations.away() > 0) {
      const auto before = static_cast<std::size_t>((item.layer - 1) * batches_ + item.batch);
      ready.push_back(load(activations, tokens_ * sizes_.token_bytes, stored_[before],
                           name_of("activations", item.layer)));
    }
    const bool on_cores = decodes_ && !is_head && choice_.cpu_attention && cache.away() > 0;
    if (decodes_ && !on_cores && cache.away() > 0) {
      ready.push_back(load(cache, context_ * sizes_.cache_token_bytes, made_[place],
                           name_of("cache", item.layer)));
    }
    const double held = static_cast<double>(choice_.batch) - (on_cores ? cache.away() : 0);
    const TaskId computed = add_work(Resource::kDevice, seconds_of(item, held, on_cores), ready,
                                     name_of("computation", item.layer));
    if (!on_cores) {
      // Loads of the next batch come before what this one still waits for.
      finish_last();
      done_.push_back(computed);
      store(item, place, computed, cache, activations, /*stores_cache=*/true);
      return;
    }
    finish_last();
    // Queries, keys and values go to the cores, and the attended values come back.
    const TaskId sent = add_move(Resource::kDown, cache.away() * sizes_.query_bytes, {computed},
                                 name_of("queries", item.layer));
    std::vector<TaskId> there = {sent};
    if (cache.disk > 0) {
      std::vector<TaskId> after;
      after_buffers(after);
      if (made_[place]) after.push_back(*made_[place]);
      there.push_back(add_move(Resource::kRead, cache.disk * context_ * sizes_.cache_token_bytes,
                               after, name_of("cache", item.layer)));
      made_[place] = add_move(Resource::kWrite, cache.disk * sizes_.cache_token_bytes, {sent},
                              name_of("cache", item.layer));
    }
    const TaskId attended =
        add_work(Resource::kCores, host_attention_s(system_, setup_, cache.away(), context_), there,
                 name_of("attention", item.layer));
    waiting_ = Waiting{item, attended, place};
    if (batches_ == 1) finish_last();
  }

  // The second half of the item before follows the first half of the present one.
  void finish_last() {
    if (!waiting_) return;
    const Waiting last = *waiting_;
    waiting_.reset();
    const Parts activations = parts_of(placement_.activations, last.item.batch);
    const Parts cache = parts_of(placement_.cache, last.item.batch);
    const TaskId back = add_move(Resource::kUp, cache.away() * sizes_.attended_bytes,
                                 {last.attended}, name_of("attended values", last.item.layer));
    const TaskId computed = add_work(Resource::kDevice, decode_.after_s, {back},
                                     name_of("feed-forward", last.item.layer));
    done_.push_back(computed);
    store(last.item, last.place, computed, cache, activations, /*stores_cache=*/false);
  }

  // Items up to this number have their last task.
  void finish_until(std::int64_t items) {
    if (static_cast<std::int64_t>(done_.size()) < items) finish_last();
  }

  TaskId load(const Parts& sequences, double bytes, const std::optional<TaskId>& stored,
              const std::string& name) {
    std::vector<TaskId> after;
    after_buffers(after);
    if (stored) after.push_back(*stored);
    if (sequences.disk > 0)
      after = {add_move(Resource::kRead, sequences.disk * bytes, after, name)};
    return add_move(Resource::kUp, sequences.away() * bytes, after, name);
  }

  void store(const Item& item, std::size_t place, TaskId computed, const Parts& cache,
             const Parts& activations, bool stores_cache) {
    const auto add = [&](const Parts& sequences, double bytes, const std::string& name) {
      const TaskId down = add_move(Resource::kDown, sequences.away() * bytes, {computed}, name);
      if (sequences.disk <= 0) return down;
      return add_move(Resource::kWrite, sequences.disk * bytes, {down}, name);
    };
    if (stores_cache && cache.away() > 0)
      made_[place] = add(cache, tokens_ * sizes_.cache_token_bytes, name_of("cache", item.layer));
    if (item.layer + 1 < layers_ && activations.away() > 0) {
      stored_[place] =
          add(activations, tokens_ * sizes_.token_bytes, name_of("activations", item.layer));
    }
  }

  // On the accelerator; HELD sequences attend there.
  double seconds_of(const Item& item, double held, bool on_cores) {
    const bool is_head = item.layer + 1 == layers_;
    const auto batch = static_cast<double>(choice_.batch);
    double unpacking = 0;
    if (setup_.compresses_weights() && item.batch == 0) {
      const double bytes = is_head ? sizes_.head_bytes : sizes_.layer_bytes;
      unpacking += unpacking_s(system_, bytes / kPackedBytes);
    }
    if (is_head) return unpacking + head_s(system_, setup_, choice_.batch, batch * tokens_);
    if (setup_.compresses_cache()) {
      unpacking +=
          unpacking_s(system_, batch * (decodes_ ? context_ : tokens_) * setup_.cache_elements());
    }
    if (!decodes_) return unpacking + prefill_layer_s_;
    const auto [found, is_new] = attention_.try_emplace({held, context_}, 0);
    if (is_new) found->second = attention_s(system_, setup_, held, context_);
    return unpacking + decode_.before_s + found->second + (on_cores ? 0 : decode_.after_s);
  }

  const HostedSystem& system_;
  const GenerationSetup& setup_;
  const BlockChoice& choice_;
  const WholePlacement& placement_;
  const BlockSizes sizes_;
  const std::int64_t batches_, layers_;
  std::int64_t passes_ = 0;
  bool decodes_ = false;
  double context_ = 0, tokens_ = 0;
  double prefill_layer_s_ = 0;
  DecodeParts decode_;
  std::map<std::pair<double, double>, double> attention_;

  TaskGraph graph_;
  std::array<LinkId, 4> links_;
  std::vector<std::string> names_;
  std::vector<TaskId> done_;                   // by item: its last computation
  std::map<std::int64_t, TaskId> loaded_;      // by layer over all passes: its last piece
  std::vector<std::optional<TaskId>> stored_;  // activations, by layer and batch
  std::vector<std::optional<TaskId>> made_;    // caches
  std::optional<Waiting> waiting_;
  std::optional<TaskId> prefill_end_;
};

}  // namespace

base::Result<GenerationTrace> simulate_generation(const HostedSystem& system,
                                                  const GenerationSetup& setup,
                                                  const BlockChoice& choice,
                                                  const WholePlacement& placement,
                                                  std::int64_t most_tasks) {
  const std::int64_t all_steps = setup.output_tokens - 1;
  const std::int64_t tasks_of_pass = (setup.layers + 1) * choice.batches * kTasksOfItem;
  const std::int64_t steps =
      std::min(all_steps, std::max(kLeastSteps, most_tasks / tasks_of_pass - 1));
  std::vector<double> contexts;
  for (std::int64_t i = 0; i < steps; ++i) {
    const double part = (static_cast<double>(i) + 0.5) / static_cast<double>(steps);
    contexts.push_back(static_cast<double>(setup.prompt) + 0.5 +
                       part * static_cast<double>(all_steps));
  }
  BlockProgram program(system, setup, choice, placement);
  program.add_passes(contexts);
  const TaskId prefill_end = program.prefill_end();
  EGRET_ASSIGN_OR_RETURN(EventSimulator simulator,
                         EventSimulator::make(std::move(program.graph())));
  EGRET_RETURN_IF_ERROR(simulator.run());
  GenerationTrace trace{{}, std::move(simulator), std::move(program.names())};
  const Timeline& timeline = trace.simulator.timeline();
  GenerationRun& run = trace.run;
  run.prefill_s = timeline.spans[prefill_end.index()].end_s;
  run.decode_steps = steps;
  run.tasks = static_cast<std::int64_t>(trace.simulator.graph().size());
  if (steps > 0) run.decode_step_s = (timeline.end_s - run.prefill_s) / static_cast<double>(steps);
  run.seconds = run.prefill_s + run.decode_step_s * static_cast<double>(all_steps);
  if (steps == 0) run.seconds = timeline.end_s;
  const double repeat = steps > 0 ? static_cast<double>(all_steps) / static_cast<double>(steps) : 0;
  const auto tasks = trace.simulator.graph().tasks();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TaskSpan& span = timeline.spans[i];
    const double busy = span.end_s - span.start_s;
    if (i > prefill_end.index()) {
      run.decode_busy_s[tasks[i].stream] += busy * repeat;
    } else {
      run.prefill_busy_s[tasks[i].stream] += busy;
    }
  }
  for (std::size_t r = 0; r < run.busy_s.size(); ++r)
    run.busy_s[r] = run.prefill_busy_s[r] + run.decode_busy_s[r];
  return trace;
}

std::string chrome_trace(const GenerationTrace& trace) {
  TraceLabels labels;
  labels.device = "generation";
  for (std::size_t r = 0; r < trace.run.busy_s.size(); ++r) {
    labels.streams.emplace_back(kResourceNames[r]);
    if (r < 4) labels.links.emplace_back(kResourceNames[r]);
  }
  labels.tasks = trace.task_names;
  return chrome_trace(trace.simulator, labels);
}

}  // namespace egret::parallel
