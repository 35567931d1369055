// SPDX-License-Identifier: Apache-2.0
// The half of RuleSearch that follows the chosen plans: pieces of start lists, in waves.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "egraph/rule_search.h"
#include "egraph/scheduler.h"
#include "egraph/start_lists.h"

namespace egret::egraph {

namespace {

// All three fix what is found before a limit strikes, so they do not depend on the machine.
constexpr std::size_t kPiece = 512;    // starts in one item
constexpr std::size_t kWave = 256;     // items between two looks at the limits,
constexpr std::size_t kFirstWave = 2;  // and of a list whose rules may reach theirs, at first
// Items of one list that a thread searches one after the other: their rows, some thousands, become
// the rules' without being copied. Fewer where threads would go without.
constexpr std::size_t kBatch = 16;
constexpr std::size_t kBatchesToThreads = 4;
// Below so many starts in a wave, asking other threads costs more than they bring.
constexpr std::size_t kWorthThreads = 1024;
// Rows in one buffer before the next is opened: growing copies, and freed parts give memory back.
constexpr std::size_t kPartRows = std::size_t{1} << 18;

// Rows that a thread found, fewer than which are rather copied than kept in a buffer of their own.
constexpr std::size_t kWorthTaking = 2048;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::size_t length(const TrieWalk::Start& start) {
  return start.nodes.size() + (start.class_end - start.class_begin);
}

}  // namespace

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

// By which child the starts of this root are gathered, if they are to be.
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

// Items that run side by side, and what they share.
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

  // Whether all of them came to their end within the limits.
  bool run(std::span<const Item> items, base::ThreadPool* pool) {
    ticks_ = 0;
    limits_.ticks = budget_.ticks_left();
    std::size_t starts = 0;
    for (const Item& item : items) starts += length(item.start);
    if (pool == nullptr || pool->threads() < 2 || items.size() < 2 || starts < kWorthThreads) {
      for (const Item& item : items) {
        Output output;
        run_item(item, nullptr, output);
        search_.settle(item, output.parts, output.seconds);
        ticks_ += output.ticks;
      }
    } else {
      std::vector<Batch> batches = batches_of(items, pool->threads());
      pool->parallel_for(batches.size(), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) run_batch(batches[i]);
      });
      for (Batch& batch : batches) settle(batch);
    }
    return !stop_.load();
  }

  std::uint64_t ticks() const { return ticks_; }
  bool too_many_rows() const { return rows_.load() > limits_.rows; }
  bool too_many_bytes() const { return bytes_.load() > limits_.bytes; }

 private:
  struct Output {
    std::vector<Part> parts;
    std::uint64_t ticks = 0;
    double seconds = 0;
  };
  struct Batch {
    std::span<const Item> items;
    std::vector<Output> outputs;
    std::vector<MatchBuffer> buffers;  // for each part, of all items
  };

  // Runs of items of one list; what a resumed rule finds has to be told apart item by item.
  std::vector<Batch> batches_of(std::span<const Item> items, std::size_t threads) const {
    const std::size_t even = items.size() / (kBatchesToThreads * threads);
    const auto resumes = [this](const SearchPass::Entry& entry) {
      return search_.rules_[entry.pattern].request.resume;
    };
    std::vector<Batch> batches;
    for (std::size_t begin = 0, end = 0; begin < items.size(); begin = end) {
      const Item& first = items[begin];
      const auto entries = search_.passes_[first.pass].entries_of(first.root);
      const std::size_t most =
          std::ranges::any_of(entries, resumes) ? 1 : std::clamp<std::size_t>(even, 1, kBatch);
      end = begin + 1;
      while (end < items.size() && end - begin < most && items[end].pass == first.pass &&
             items[end].root == first.root) {
        ++end;
      }
      batches.push_back({items.subspan(begin, end - begin), {}, {}});
    }
    return batches;
  }

  void run_batch(Batch& batch) {
    batch.outputs.resize(batch.items.size());
    for (std::size_t i = 0; i < batch.items.size(); ++i)
      run_item(batch.items[i], &batch.buffers, batch.outputs[i]);
  }

  void settle(Batch& batch) {
    for (std::size_t i = 0; i < batch.items.size(); ++i) {
      search_.settle(batch.items[i], batch.outputs[i].parts, batch.outputs[i].seconds);
      ticks_ += batch.outputs[i].ticks;
    }
    for (const Part& part : batch.outputs.front().parts) {
      if (!search_.rules_[part.rule].request.resume) search_.take_rows(part.rule, *part.rows);
    }
    for (MatchBuffer& rows : batch.buffers) search_.keep_spare(std::move(rows));
  }

  // Rows go to `buffers`, or without them straight to where the rule's rows are.
  void run_item(const Item& item, std::vector<MatchBuffer>* buffers, Output& output) {
    const auto begin = std::chrono::steady_clock::now();
    const SearchPass& pass = search_.passes_[item.pass];
    for (const SearchPass::Entry& entry : pass.entries_of(item.root)) {
      const bool known = !output.parts.empty() && output.parts.back().rule == entry.pattern;
      if (known || search_.rules_[entry.pattern].skipped) continue;
      output.parts.push_back({entry.pattern, {}, 0, nullptr, buffers == nullptr});
    }
    if (output.parts.empty()) return;
    std::unique_ptr<TrieWalk> walk = take_walk();
    const bool is_first = buffers != nullptr && buffers->empty();
    if (is_first) buffers->resize(output.parts.size());
    for (std::size_t i = 0; i < output.parts.size(); ++i) {
      Part& part = output.parts[i];
      Rule& rule = search_.rules_[part.rule];
      const Pattern& pattern = *search_.patterns_[part.rule];
      if (is_first) (*buffers)[i] = make_buffer(pattern);
      if (buffers != nullptr) {
        part.rows = &(*buffers)[i];
      } else {
        part.rows = &search_.open_part(rule, part.rule);
      }
      part.begin = part.rows->size();
      TrieWalk::Sink& sink = walk->sinks()[part.rule];
      sink = {};
      sink.rows = part.rows;
      sink.whole_starts = rule.request.resume;
      sink.limit = rule.request.limit + 1 - rule.seen_before_wave;
    }
    walk->run(pass, constants_.classes(), item.root, item.start, limits_);
    for (Part& part : output.parts) part.sink = walk->sinks()[part.rule];
    output.ticks = walk->ticks();
    return_walk(std::move(walk));
    output.seconds = seconds_since(begin);
  }

  MatchBuffer make_buffer(const Pattern& pattern) {
    const std::lock_guard lock(mutex_);
    return search_.make_buffer(pattern.var_count(), pattern.op_var_count());
  }
  std::unique_ptr<TrieWalk> take_walk() {
    const std::lock_guard lock(mutex_);
    if (search_.walks_.empty()) {
      return std::make_unique<TrieWalk>(search_.trie_, *search_.egraph_);
    }
    auto walk = std::move(search_.walks_.back());
    search_.walks_.pop_back();
    return walk;
  }
  void return_walk(std::unique_ptr<TrieWalk> walk) {
    const std::lock_guard lock(mutex_);
    search_.walks_.push_back(std::move(walk));
  }

  RuleSearch& search_;
  const ConstantClasses& constants_;
  const Budget& budget_;
  WalkLimits limits_;
  std::uint64_t ticks_ = 0;
  std::atomic<std::uint64_t> rows_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
};

std::optional<StopReason> RuleSearch::run_items(const ConstantClasses& constants, const Room& room,
                                                Budget& budget, base::ThreadPool* pool) {
  Wave wave(*this, constants, room, budget);
  for (std::size_t begin = 0, end = 0; begin < items_.size(); begin = end) {
    end = end_of_wave(begin);
    const bool within = wave.run(std::span(items_).subspan(begin, end - begin), pool);
    if (wave.too_many_rows()) return StopReason::kMatchLimit;
    if (wave.too_many_bytes()) return StopReason::kByteLimit;
    // How far past the limit a wave came depends on which of its items were at work meanwhile.
    const std::uint64_t beyond =
        budget.ticks_left() + (budget.ticks_left() < Limits::kNone ? 1 : 0);
    if (!budget.spend(std::min(wave.ticks(), beyond)) || !within) return budget.reason();
    end_wave();
  }
  return {};
}

// Rules learn at the end of a wave only that they have reached their limit. Where one may, a list's
// waves begin small and double, so that what is found in vain is no more than what was found
// before; and lists share a wave only if no such rule has to do with two of them.
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

// Rules that reached their limit are searched no further.
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

// Where the next rows of a rule go.
MatchBuffer& RuleSearch::open_part(Rule& rule, std::uint32_t index) {
  auto& rows = rule.found.rows;
  if (rows.empty() || rows.back().size() >= kPartRows) {
    rows.push_back(make_buffer(patterns_[index]->var_count(), patterns_[index]->op_var_count()));
    if (rows.size() > 1) rows.back().reserve(kPartRows);  // there will be many
  }
  return rows.back();
}

void RuleSearch::settle(const Item& item, std::span<Part> parts, double seconds) {
  std::uint32_t last = ~std::uint32_t{0};
  for (const SearchPass::Entry& entry : passes_[item.pass].entries_of(item.root)) {
    if (entry.pattern == std::exchange(last, entry.pattern)) continue;
    const Rule& rule = rules_[entry.pattern];
    if (rule.skipped && rule.request.resume) put_off(item, entry.pattern, 0);
  }
  std::uint64_t matches = 0;
  for (const Part& part : parts) matches += part.sink.seen;
  for (Part& part : parts) {
    Rule& rule = rules_[part.rule];
    // Looking at a start costs all rules the same; the rest is matches.
    const double share = matches == 0
                             ? 1.0 / static_cast<double>(parts.size())
                             : static_cast<double>(part.sink.seen) / static_cast<double>(matches);
    rule.found.seconds += seconds * share;
    if (rule.request.resume) {
      settle_resumed(item, part);
      continue;
    }
    rule.seen += part.sink.seen;
    rule.found.count += part.sink.found;
  }
}

// Rows that a thread of its own found. Few are copied to the others, many are taken as they are.
void RuleSearch::take_rows(std::uint32_t index, MatchBuffer& rows) {
  Rule& rule = rules_[index];
  if (rows.empty()) return;
  if (rows.size() < kWorthTaking) {
    open_part(rule, index).append(rows);
  } else {
    rule.found.rows.push_back(std::move(rows));
  }
}

// The matches of whole items, as long as they are within the limit; what the first item beyond it
// found is kept only if there is nothing else. All other starts are for next time.
void RuleSearch::settle_resumed(const Item& item, Part& part) {
  Rule& rule = rules_[part.rule];
  const bool fits = rule.seen + part.sink.seen <= rule.request.limit;
  if (rule.closed || (!fits && rule.seen > 0)) {
    if (part.in_place) part.rows->truncate(part.begin);
    put_off(item, part.rule, 0);
    rule.closed = true;
    return;
  }
  rule.seen += part.sink.seen;
  rule.found.count += part.sink.found;
  if (!part.in_place && part.sink.found > 0) open_part(rule, part.rule).append(*part.rows);
  if (fits) return;
  put_off(item, part.rule, part.sink.stopped_at);
  rule.closed = true;
}

// The starts of an item from one on, for one rule.
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
