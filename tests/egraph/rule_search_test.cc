// SPDX-License-Identifier: Apache-2.0
// Searching by deltas, compared with matching by definition.
#include "egraph/search/rule_search.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/random.h"
#include "egraph/formats/dump.h"
#include "egraph/workloads/workload.h"
#include "tests/egraph/random_patterns.h"
#include "tests/egraph/slow_matcher.h"

namespace egret::egraph {
namespace {

using Row = SlowMatcher::Row;

std::vector<const Pattern*> pointers(const std::vector<Pattern>& patterns) {
  std::vector<const Pattern*> result;
  for (const Pattern& pattern : patterns) result.push_back(&pattern);
  return result;
}

std::set<Row> canonical(const EGraph& egraph, const std::set<Row>& rows) {
  std::set<Row> result;
  for (Row row : rows) {
    for (ClassId& id : row.first) id = egraph.find(id);
    result.insert(std::move(row));
  }
  return result;
}

std::set<Row> slow(const EGraph& egraph, const Pattern& pattern) {
  const auto rows = SlowMatcher(egraph, pattern).run();
  return {rows.begin(), rows.end()};
}

// An e-graph that grows in steps, several patterns that are searched after each.
class GrowingSearch {
 public:
  explicit GrowingSearch(std::uint64_t seed) : random_(seed) {
    handles_.push_back(*egraph_.add(language_.all[0]));
    for (int i = 0; i < 8; ++i) patterns_.push_back(random_pattern(language_, random_));
    search_ = std::make_unique<RuleSearch>(pointers(patterns_), language_.ops);
    seen_.resize(patterns_.size());
  }

  void grow() { grow_egraph(egraph_, language_, random_, random_.below(6), handles_); }

  // Searches with this limit, and applies some of what is found.
  void search(std::uint64_t limit, bool resume, base::ThreadPool* pool = nullptr) {
    std::vector<RuleSearch::Request> requests(patterns_.size());
    for (auto& request : requests) {
      if (random_.chance(0.8)) request = {limit, resume};
    }
    Budget budget{Limits{}};
    ASSERT_FALSE(search_->run(egraph_, requests, {}, budget, pool).has_value());
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      if (requests[i].limit == 0) continue;
      check(i, requests[i]);
      const bool whole = !search_->found(i).exceeded || resume;
      if (whole && random_.chance(0.7)) commit(i);
    }
  }

  bool has_pending() const { return search_->has_pending(); }
  // All that there is was found at some time.
  void expect_all_found() {
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      const std::set<Row> known = canonical(egraph_, seen_[i]);
      for (const Row& row : slow(egraph_, patterns_[i])) {
        EXPECT_TRUE(known.contains(row)) << describe(patterns_[i], language_.ops);
      }
    }
  }

 private:
  std::set<Row> found(std::size_t i, std::size_t* count) {
    std::set<Row> rows;
    *count = 0;
    search_->found(i).rows.for_each([&](const Match& match) {
      ++*count;
      rows.insert({{match.classes().begin(), match.classes().end()},
                   {match.ops().begin(), match.ops().end()}});
    });
    return rows;
  }

  void check(std::size_t i, const RuleSearch::Request& request) {
    const auto text = [&] { return describe(patterns_[i], language_.ops) + "\n" + dump(egraph_); };
    const std::set<Row> all = slow(egraph_, patterns_[i]);
    std::size_t count = 0;
    const std::set<Row> rows = found(i, &count);
    EXPECT_EQ(count, search_->found(i).count);
    for (const Row& row : rows) ASSERT_TRUE(all.contains(row)) << text();
    if (request.resume) return;
    EXPECT_EQ(count, rows.size()) << "found twice: " << text();
    EXPECT_EQ(search_->found(i).exceeded, all.size() > request.limit)
        << all.size() << " matches, limit " << request.limit << ": " << text();
    if (search_->found(i).exceeded) return;
    const std::set<Row> before = canonical(egraph_, seen_[i]);
    for (const Row& row : all) {
      ASSERT_TRUE(rows.contains(row) || before.contains(row)) << text();
    }
  }

  void commit(std::size_t i) {
    std::size_t count = 0;
    const std::set<Row> rows = found(i, &count);
    seen_[i] = canonical(egraph_, seen_[i]);
    seen_[i].insert(rows.begin(), rows.end());
    search_->commit(i);
  }

  base::Random random_;
  SmallLanguage language_;
  EGraph egraph_{language_.ops};
  std::vector<ClassId> handles_;
  std::vector<Pattern> patterns_;
  std::unique_ptr<RuleSearch> search_;
  std::vector<std::set<Row>> seen_;
};

TEST(RuleSearch, FindsByDeltasWhatThereIs) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    GrowingSearch growing(seed);
    for (int step = 0; step < 6; ++step) {
      growing.grow();
      growing.search(1'000'000, false);
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(RuleSearch, KnowsWhetherAllMatchesOldAndNewExceedTheLimit) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    GrowingSearch growing(seed);
    for (int step = 0; step < 6; ++step) {
      growing.grow();
      growing.search(1 + seed % 7, false);
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(RuleSearch, ResumesUntilAllIsFound) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    GrowingSearch growing(seed);
    for (int step = 0; step < 4; ++step) {
      growing.grow();
      growing.search(1 + seed % 7, true);
    }
    for (int i = 0; i < 100 && (i < 20 || growing.has_pending()); ++i) {
      growing.search(1 + seed % 7, true);
    }
    EXPECT_FALSE(growing.has_pending());
    growing.expect_all_found();
    if (testing::Test::HasFailure()) return;
  }
}

// Why a run stopped, ticks and all of the e-graph, whatever searches.
std::string trace(std::size_t threads, std::string_view workload, std::string_view scheduler,
                  const Limits& limits) {
  base::ThreadPool pool(threads);
  auto session = *workloads::Session::open(*workloads::find_workload(workload));
  session->runner().set_threads(&pool);
  session->runner().set_scheduler(*make_scheduler(scheduler));
  session->runner().limits() = limits;
  const RunReport report = session->runner().run();
  return std::string(to_string(report.stop)) + "\n" + std::to_string(report.ticks) + "\n" +
         std::to_string(session->egraph().bytes()) + "\n" + dump(session->egraph());
}

Limits iterations(std::uint64_t n) {
  Limits limits;
  limits.iterations = n;
  limits.nodes = limits.matches = Limits::kNone;
  return limits;
}

TEST(RuleSearch, GivesTheSameBytesWithAnyNumberOfThreads) {
  for (const char* scheduler : {"simple", "backoff", "backoff-resume"}) {
    const Limits limits = iterations(std::string_view(scheduler) == "simple" ? 9 : 14);
    const std::string one = trace(1, "mm-9", scheduler, limits);
    for (const std::size_t threads : {2, 3, 8}) {
      EXPECT_EQ(trace(threads, "mm-9", scheduler, limits), one)
          << scheduler << ", " << threads << " threads";
    }
  }
  // Matches enough for threads to go on in parts.
  EXPECT_EQ(trace(2, "mm-10", "simple", iterations(10)),
            trace(1, "mm-10", "simple", iterations(10)));
  // Many matches that are tried again.
  EXPECT_EQ(trace(2, "lambda-backoff-60", "backoff", iterations(60)),
            trace(1, "lambda-backoff-60", "backoff", iterations(60)));
}

TEST(RuleSearch, LimitsEndARunInTheSamePlaceWithAnyNumberOfThreads) {
  const auto expect_same = [](const Limits& limits, std::string_view stop) {
    const std::string one = trace(1, "mm-10", "simple", limits);
    EXPECT_TRUE(one.starts_with(stop)) << one.substr(0, one.find('\n'));
    EXPECT_EQ(trace(2, "mm-10", "simple", limits), one) << stop;
  };
  for (const std::uint64_t ticks : {100'000, 250'000, 400'000, 600'000}) {
    Limits limits = iterations(10);
    limits.ticks = ticks;
    expect_same(limits, "tick limit");
  }
  for (const std::uint64_t bytes : {2'000'000, 4'000'000, 6'000'000}) {
    Limits limits = iterations(10);
    limits.bytes = bytes;
    expect_same(limits, "byte limit");
  }
}

TEST(MatchList, JoinsRunsThatFollowOneAnother) {
  MatchList list;
  MatchBuffer& a = list.open({1, 0});
  MatchBuffer& b = list.open({1, 0});
  const auto find = [&](MatchBuffer& rows, std::uint32_t row) {
    rows.push(std::array{ClassId(row)}, {});
    list.add(rows, rows.size() - 1, 1);
  };
  for (const std::uint32_t row : {0, 1}) find(a, row);
  for (const std::uint32_t row : {2, 3}) find(b, row);
  find(a, 4);
  list.add(b, 2, 0);
  EXPECT_EQ(list.runs().size(), 3U);
  EXPECT_EQ(list.bytes(), 5 * sizeof(ClassId));
  std::uint32_t next = 0;
  list.for_each([&](const Match& match) { EXPECT_EQ(match.classes()[0], ClassId(next++)); });
  EXPECT_EQ(next, 5U);
  EXPECT_EQ(list.take_buffers().size(), 2U);
  EXPECT_EQ(list.size(), 0U);
  EXPECT_TRUE(list.runs().empty());
}

TEST(SpareBuffers, KeepNoMoreThanTheyMay) {
  SpareBuffers spare;
  spare.keep_at_most(2 * SpareBuffers::kPart);
  const auto part = [] {
    MatchBuffer rows(2, 0);
    rows.reserve(SpareBuffers::kPart / rows.row_bytes() + 1);
    return rows;
  };
  const std::size_t bytes = part().bytes();
  ASSERT_LT(bytes, 2 * SpareBuffers::kPart);
  spare.keep(part());
  spare.keep(part());  // one too many
  EXPECT_EQ(spare.take(2, 0).bytes(), 0U) << "a part is not for a few rows";
  MatchBuffer again = spare.take_part(3, 0);
  EXPECT_EQ(again.bytes(), bytes) << "the one that was kept";
  EXPECT_EQ(again.row_bytes(), 3 * sizeof(ClassId));
  spare.keep(std::move(again));
  spare.keep_at_most(0);
  EXPECT_EQ(spare.take(1, 0).bytes(), 0U);
  // Rows of no columns need no room.
  EXPECT_EQ(spare.take_part(0, 0).bytes(), 0U);
}

// Blocks are cut by their length alone.
TEST(MatchBlocks, DoNotDependOnWhoFoundWhat) {
  base::Random random(1);
  for (int round = 0; round < 200; ++round) {
    MatchList list;
    const std::array<MatchBuffer*, 3> buffers = {&list.open({2, 1}), &list.open({2, 1}),
                                                 &list.open({2, 1})};
    std::uint32_t rows = 0;
    for (std::uint64_t i = random.below(10); i-- > 0;) {
      MatchBuffer& buffer = *buffers[random.below(buffers.size())];
      const std::size_t begin = buffer.size();
      for (std::uint64_t n = random.below(20); n-- > 0; ++rows) {
        const std::array<ClassId, 2> classes = {ClassId(rows), ClassId(rows + 1)};
        const std::array<OpId, 1> ops = {OpId(rows + 2)};
        buffer.push(classes, ops);
      }
      list.add(buffer, begin, buffer.size() - begin);
    }
    EXPECT_EQ(list.size(), rows);
    MatchBlocks blocks(list.runs());
    for (std::uint32_t row = 0; row < rows;) {
      ASSERT_FALSE(blocks.empty());
      const std::size_t most = 1 + random.below(9);
      const auto [matches, begin, count] = blocks.next(most);
      ASSERT_EQ(count, std::min<std::size_t>(most, rows - row));
      for (std::size_t i = 0; i < count; ++i, ++row) {
        const Match match = matches[begin + i];
        EXPECT_EQ(match.classes()[0], ClassId(row));
        EXPECT_EQ(match.classes()[1], ClassId(row + 1));
        EXPECT_EQ(match.ops()[0], OpId(row + 2));
      }
    }
    EXPECT_TRUE(blocks.empty());
  }
}

// Starts in order of a child that is a variable: the same matches, those of one class together.
TEST(RuleSearch, GathersMatchesByAVariable) {
  auto session = *workloads::Session::open(*workloads::find_workload("assoc-8"));
  session->runner().run();
  for (const std::size_t rule : {1, 2}) {  // (+ ?a (+ ?b ?c)), (+ (+ ?a ?b) ?c)
    const Pattern& pattern = session->rules()[rule].pattern();
    const Pattern* const only = &pattern;
    const auto rows = [&](bool gathered) {
      RuleSearch search({&only, 1}, session->egraph().ops());
      const RuleSearch::Request request{~std::uint64_t{0} >> 1, false, gathered};
      Budget budget{Limits{}};
      EXPECT_FALSE(search.run(session->egraph(), {&request, 1}, {}, budget, nullptr).has_value());
      std::vector<std::vector<ClassId>> found;
      search.found(0).rows.for_each([&](const Match& match) {
        found.emplace_back(match.classes().begin(), match.classes().end());
      });
      return found;
    };
    auto plain = rows(false);
    auto gathered = rows(true);
    const auto by = pattern.find_var(rule == 1 ? "a" : "c");
    const auto key = [&](const std::vector<ClassId>& row) { return row[by.index()]; };
    EXPECT_TRUE(std::ranges::is_sorted(gathered, {}, key));
    EXPECT_FALSE(std::ranges::is_sorted(plain, {}, key));
    std::ranges::sort(plain);
    std::ranges::sort(gathered);
    EXPECT_EQ(plain, gathered);
  }
}

}  // namespace
}  // namespace egret::egraph
