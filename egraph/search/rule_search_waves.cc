// SPDX-License-Identifier: Apache-2.0
// The part of RuleSearch that executes the chosen plans: pieces of start lists, in waves.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "egraph/schedulers/scheduler.h"
#include "egraph/search/rule_search.h"
#include "egraph/search/start_lists.h"

namespace egret::egraph {

namespace {

// These constants decide what is found before a limit is reached. They are fixed, so results do not
// depend on the machine.
constexpr std::size_t kPiece = 512;    // starts in one item
constexpr std::size_t kWave = 256;     // items between two looks at the limits,
constexpr std::size_t kFirstWave = 2;  // and of a list whose rules may reach theirs, at first
// A thread searches this many consecutive items, so that consecutive rows come from one thread.
// Batches are smaller if some threads would get no work.
constexpr std::size_t kBatch = 16;
constexpr std::size_t kBatchesToThreads = 16;
// For fewer starts in a wave, starting other threads costs more than it saves.
constexpr std::size_t kWorthThreads = 1024;
double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::size_t length(const TrieWalk::Start& start) {
  return start.nodes.size() + (start.class_end - start.class_begin);
}

}  // namespace

// Cuts the start lists into items. The sizes are constants, so the items, their order and the ends
// of the waves are the same for every number of threads.
void RuleSearch::make_items(const ConstantClasses& constants) {
  for (std::uint32_t p = 0; p < passes_.size(); ++p) {
    if (pass_modes_[p] == Mode::kNone) continue;  // has its items
    const Delta* delta = pass_modes_[p] == Mode::kIncremental ? passes_[p].delta : nullptr;
    for (const std::uint32_t root : trie_.roots()) {
      if (!passes_[p].reaches(root)) continue;
      const auto child = gathers(passes_[p], root);
      for (auto& start :
           starts_of(*egraph_, constants, trie_.expansion(root), delta, made_starts_)) {
        if (child && is_worth_gathering(*egraph_, start.nodes))
          start.nodes = made_starts_.emplace_back(gathered(*egraph_, start.nodes, *child));
        add_items(p, root, start);
      }
    }
  }
}

// The child by which the starts of this root are grouped, if they are.
std::optional<std::size_t> RuleSearch::gathers(const SearchPass& pass, std::uint32_t root) const {
  const auto entries = pass.entries_of(root);
  if (entries.size() != 1) return {};
  const Request& request = rules_[entries.front().pattern].request;
  if (!request.gathered || request.resume) return {};
  return leaf_child(trie_, trie_.plans()[entries.front().plan]);
}

void RuleSearch::add_items(std::uint32_t pass, std::uint32_t root, const TrieWalk::Start& start) {
  for (std::size_t i = 0; i < start.nodes.size(); i += kPiece) {
    const std::size_t size = std::min(kPiece, start.nodes.size() - i);
    items_.push_back({pass, root, {start.nodes.subspan(i, size), 0, 0}});
  }
  for (std::size_t i = start.class_begin; i < start.class_end; i += kPiece) {
    items_.push_back({pass, root, {{}, i, std::min(i + kPiece, start.class_end)}});
  }
}

// A set of items that run in parallel, and their shared state.
class RuleSearch::Wave {
 public:
  Wave(RuleSearch& search, const ConstantClasses& constants, const Room& room, const Budget& budget)
      : search_(search), constants_(constants), budget_(budget) {
    limits_.budget = &budget;
    limits_.rows = room.matches;
    limits_.bytes = room.bytes;
    limits_.all_rows = &rows_;
    limits_.all_bytes = &bytes_;
    limits_.stop = &stop_;
  }

  // Runs the items. Returns whether all finished within the limits.
  bool run(std::span<const Item> items, base::ThreadPool* pool) {
    ticks_ = 0;
    limits_.ticks = budget_.ticks_left();
    std::vector<Output>& outputs = search_.outputs_;
    if (outputs.size() < items.size()) outputs.resize(items.size());
    std::size_t starts = 0;
    for (const Item& item : items) starts += length(item.start);
    const bool alone = pool == nullptr || pool->threads() < 2 || starts < kWorthThreads;
    const auto run_items = [&](std::size_t begin, std::size_t end) {
      std::unique_ptr<Worker> worker = take_worker();
      for (std::size_t i = begin; i < end; ++i) run_item(items[i], *worker, outputs[i]);
      return_worker(std::move(worker));
    };
    if (alone) {
      run_items(0, items.size());
    } else {
      const std::size_t even = items.size() / (kBatchesToThreads * pool->threads());
      pool->parallel_for(items.size(), std::clamp<std::size_t>(even, 1, kBatch), run_items);
    }
    // The threads finish items in any order. The results enter in the order of the items, so the
    // order of the matches and the limits that they reach are the same for every number of threads.
    for (std::size_t i = 0; i < items.size(); ++i) {
      search_.settle(items[i], outputs[i]);
      ticks_ += outputs[i].ticks;
    }
    return !stop_.load();
  }

  std::uint64_t ticks() const { return ticks_; }
  bool too_many_rows() const { return rows_.load() > limits_.rows; }
  bool too_many_bytes() const { return bytes_.load() > limits_.bytes; }

 private:
  void run_item(const Item& item, Worker& worker, Output& output) {
    const auto begin = std::chrono::steady_clock::now();
    const SearchPass& pass = search_.passes_[item.pass];
    output.parts.clear();
    output.ticks = 0;
    output.seconds = 0;
    for (const SearchPass::Entry& entry : pass.entries_of(item.root)) {
      const bool known = !output.parts.empty() && output.parts.back().rule == entry.pattern;
      if (known || search_.rules_[entry.pattern].skipped) continue;
      output.parts.push_back({entry.pattern, {}, 0, nullptr});
    }
    if (output.parts.empty()) return;
    for (Part& part : output.parts) {
      const Rule& rule = search_.rules_[part.rule];
      part.rows = &rows_of(worker, part.rule);
      part.begin = part.rows->size();
      TrieWalk::Sink& sink = worker.walk.sinks()[part.rule];
      sink = {};
      sink.rows = part.rows;
      sink.whole_starts = rule.request.resume;
      // One match beyond the limit shows that the rule exceeds it.
      sink.limit = rule.request.limit + 1 - rule.seen_before_wave;
    }
    worker.walk.run(pass, constants_.classes(), item.root, item.start, limits_);
    for (Part& part : output.parts) part.sink = worker.walk.sinks()[part.rule];
    output.ticks = worker.walk.ticks();
    output.seconds = seconds_since(begin);
  }

  // The buffer for the next rows that this worker finds for a rule.
  MatchBuffer& rows_of(Worker& worker, std::uint32_t rule) {
    MatchBuffer*& open = worker.open[rule];
    if (open == nullptr || SpareBuffers::is_full(*open)) {
      const std::lock_guard lock(mutex_);
      open = &search_.open_rows(rule, open != nullptr);
    }
    return *open;
  }
  // Workers are kept from wave to wave: their frames and buffers are allocated once.
  std::unique_ptr<Worker> take_worker() {
    const std::lock_guard lock(mutex_);
    auto& free = search_.workers_;
    if (free.empty()) {
      return std::make_unique<Worker>(
          Worker{TrieWalk(search_.trie_, *search_.egraph_),
                 std::vector<MatchBuffer*>(search_.rules_.size(), nullptr)});
    }
    std::unique_ptr<Worker> worker = std::move(free.back());
    free.pop_back();
    return worker;
  }
  void return_worker(std::unique_ptr<Worker> worker) {
    const std::lock_guard lock(mutex_);
    search_.workers_.push_back(std::move(worker));
  }

  RuleSearch& search_;
  const ConstantClasses& constants_;
  const Budget& budget_;
  WalkLimits limits_;
  std::uint64_t ticks_ = 0;
  // Each frequently written variable has its own cache line, to avoid false sharing.
  static constexpr std::size_t kCacheLine = 64;
  alignas(kCacheLine) std::atomic<bool> stop_{false};
  alignas(kCacheLine) std::atomic<std::uint64_t> rows_{0};
  std::atomic<std::uint64_t> bytes_{0};
  alignas(kCacheLine) std::mutex mutex_;
};

// Runs the items wave by wave. Inside a wave, items do not see each other's counts, except for the
// limits on rows and bytes. Between two waves, rules over their limit are dropped.
std::optional<StopReason> RuleSearch::run_items(const ConstantClasses& constants, const Room& room,
                                                Budget& budget, base::ThreadPool* pool) {
  Wave wave(*this, constants, room, budget);
  for (std::size_t begin = 0, end = 0; begin < items_.size(); begin = end) {
    end = end_of_wave(begin);
    const bool within = wave.run(std::span(items_).subspan(begin, end - begin), pool);
    if (wave.too_many_rows()) return StopReason::kMatchLimit;
    if (wave.too_many_bytes()) return StopReason::kByteLimit;
    // How far a wave exceeds the tick limit depends on thread timing. The excess is cut to one
    // tick.
    const std::uint64_t beyond =
        budget.ticks_left() + (budget.ticks_left() < Limits::kNone ? 1 : 0);
    if (!budget.spend(std::min(wave.ticks(), beyond)) || !within) return budget.reason();
    end_wave();
  }
  return {};
}

// The end of the next wave. A rule's limit takes effect only at the end of a wave. For a list whose
// rules have a limit, waves therefore start small and double: the wasted work is at most as large
// as the useful work before. Two lists share a wave only if no limited rule occurs in both.
std::size_t RuleSearch::end_of_wave(std::size_t begin) const {
  const auto entries_of = [&](const Item& item) {
    return passes_[item.pass].entries_of(item.root);
  };
  const auto is_bounded = [&](const SearchPass::Entry& entry) {
    return rules_[entry.pattern].request.limit < Scheduler::kUnlimited;
  };
  const auto same_list = [&](std::size_t a, std::size_t b) {
    return items_[a].pass == items_[b].pass && items_[a].root == items_[b].root;
  };
  const std::size_t most = std::min(items_.size(), begin + kWave);
  std::vector<bool> met(rules_.size());
  std::size_t end = begin;
  while (end < most) {
    const std::size_t first = end;
    bool bounded = false;
    for (const SearchPass::Entry& entry : entries_of(items_[first])) {
      if (!is_bounded(entry)) continue;
      if (met[entry.pattern]) return end;
      bounded = true;
    }
    // As many items again as earlier waves have searched of this list: the doubling.
    std::size_t before = 0;  // in earlier waves
    while (before < std::min(begin, kWave) && same_list(first, begin - before - 1)) ++before;
    const std::size_t share = bounded ? std::max(before, kFirstWave) : kWave;
    while (end < most && end - first < share && same_list(end, first)) ++end;
    if (end < most && same_list(end, first)) return end;
    for (const SearchPass::Entry& entry : entries_of(items_[first]))
      met[entry.pattern] = is_bounded(entry);
  }
  return end;
}

// Stops the search of rules that exceeded their limit.
void RuleSearch::end_wave() {
  for (std::uint32_t i = 0; i < rules_.size(); ++i) {
    Rule& rule = rules_[i];
    rule.seen_before_wave = rule.seen;
    if (rule.seen > rule.request.limit) rule.closed = true;
    if (!rule.closed || rule.skipped) continue;
    rule.skipped = true;
    for (SearchPass& pass : passes_) pass.deactivate(i);
  }
}

// A buffer for a rule's rows. `many`: the rule already filled a buffer or will probably fill this
// one.
MatchBuffer& RuleSearch::open_rows(std::uint32_t index, bool many) {
  const std::size_t vars = patterns_[index]->var_count();
  const std::size_t op_vars = patterns_[index]->op_var_count();
  Rule& rule = rules_[index];
  const std::size_t bytes_before = rule.found_before * MatchBuffer(vars, op_vars).row_bytes();
  many = many || bytes_before >= 2 * SpareBuffers::kWorthPart;
  return rule.found.rows.open(many ? spare_.take_part(vars, op_vars) : spare_.take(vars, op_vars));
}

// Adds the results of an item to its rules. Called in item order, so the order of matches does not
// depend on threads.
void RuleSearch::settle(const Item& item, const Output& output) {
  std::uint32_t last = ~std::uint32_t{0};
  for (const SearchPass::Entry& entry : passes_[item.pass].entries_of(item.root)) {
    if (entry.pattern == std::exchange(last, entry.pattern)) continue;
    const Rule& rule = rules_[entry.pattern];
    if (rule.skipped && rule.request.resume) put_off(item, entry.pattern, 0);
  }
  std::uint64_t matches = 0;
  for (const Part& part : output.parts) matches += part.sink.seen;
  for (const Part& part : output.parts) {
    Rule& rule = rules_[part.rule];
    // The cost of visiting starts is shared equally; the remaining cost is attributed by matches.
    const double share = matches == 0
                             ? 1.0 / static_cast<double>(output.parts.size())
                             : static_cast<double>(part.sink.seen) / static_cast<double>(matches);
    rule.found.seconds += output.seconds * share;
    if (rule.request.resume) {
      settle_resumed(item, part);
      continue;
    }
    rule.seen += part.sink.seen;
    rule.found.count += part.sink.found;
    rule.found.rows.add(*part.rows, part.begin, part.sink.found);
  }
}

// Accepts whole items while they fit within the limit. If the very first item exceeds the limit,
// its partial result is kept, so that each search makes progress. All other starts are postponed.
void RuleSearch::settle_resumed(const Item& item, const Part& part) {
  Rule& rule = rules_[part.rule];
  const bool fits = rule.seen + part.sink.seen <= rule.request.limit;
  if (rule.closed || (!fits && rule.seen > 0)) {
    // Later rows are postponed as well, so these rows are the last of their buffer and can be cut
    // off.
    part.rows->truncate(part.begin);
    put_off(item, part.rule, 0);
    rule.closed = true;
    return;
  }
  rule.seen += part.sink.seen;
  rule.found.count += part.sink.found;
  rule.found.rows.add(*part.rows, part.begin, part.sink.found);
  if (fits) return;
  put_off(item, part.rule, part.sink.stopped_at);
  rule.closed = true;
}

// Postpones the starts of an item, from index `from` on, for one rule. Adjacent pieces of the same
// plans are joined; a class range that is already covered is skipped.
void RuleSearch::put_off(const Item& item, std::uint32_t index, std::size_t from) {
  if (from == length(item.start)) return;
  Rule& rule = rules_[index];
  Pending rest;
  rest.root = item.root;
  for (const SearchPass::Entry& entry : passes_[item.pass].entries_of(item.root)) {
    if (entry.pattern == index) rest.plans.push_back(entry.plan);
  }
  const bool nodes = !item.start.nodes.empty();
  Pending* last = rule.put_off.empty() ? nullptr : &rule.put_off.back();
  const bool joins = last != nullptr && last->root == rest.root && last->plans == rest.plans &&
                     (nodes ? !last->nodes.empty()
                            : last->nodes.empty() && last->class_end == item.start.class_begin);
  if (!nodes && from == 0 && std::ranges::any_of(rule.put_off, [&](const Pending& known) {
        return known.plans == rest.plans && known.class_begin <= item.start.class_begin &&
               item.start.class_end <= known.class_end;
      })) {
    return;
  }
  if (!joins) {
    if (!nodes) rest.class_begin = item.start.class_begin + from;
    rule.put_off.push_back(std::move(rest));
    last = &rule.put_off.back();
  }
  if (nodes) {
    last->nodes.insert(last->nodes.end(), item.start.nodes.begin() + static_cast<long>(from),
                       item.start.nodes.end());
  } else {
    last->class_end = item.start.class_end;
  }
}

}  // namespace egret::egraph
