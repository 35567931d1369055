// SPDX-License-Identifier: Apache-2.0
// Times of operators in an engine, for the profiled cost model.
//
// Operators are timed by themselves first, many in one file, because an engine takes a quarter of a
// second to start. Engines fuse operators, so the operators of whole graphs are timed there too:
// the time of a kernel is that of its dearest operator, and the others are free. What an operator
// took in a graph then replaces what it took alone.
//
// An engine that does not time its kernels runs a file for each operator. The time of a file with
// next to no work is subtracted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "backends/backend.h"
#include "base/status.h"
#include "cost/database.h"
#include "cost/model.h"
#include "cost/profiled.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// The price of an operator that an engine refuses, crashes on, or does not finish: above all
// others, and below infinity, so that a program that contains it still has a price.
inline constexpr double kRefusedSeconds = 1e4;

class EngineCosts {
 public:
  // `engine` runs operators in another program, with limits of its own for the time of one.
  EngineCosts(std::shared_ptr<const backends::Backend> engine, int threads);

  // Times these together, for measure().
  void make_ready(std::span<const cost::Query> queries);
  // The time of an operator alone; kRefusedSeconds where the engine does not run it. Errors:
  // limit_hit for more than 4 GiB of values, and where a stop was requested.
  base::Result<cost::Entry> measure(const cost::Query& query);
  // Teaches the model what operators take in a graph. False: it was taught so before, or the engine
  // does not tell. Errors: those of running, and of the database.
  base::Result<bool> learn_from(const ir::Graph& graph, cost::ProfiledModel& model,
                                cost::Database& database, const std::string& machine);

 private:
  struct Timed {
    double seconds = 0;
    std::int64_t runs = 0;
  };
  using Times = std::map<std::string, Timed>;  // by key of the query

  void time_together(std::span<const cost::Query> queries);
  base::Result<Times> time_in_one_file(std::span<const cost::Query> queries,
                                       std::int64_t highest_integer);
  base::Result<Timed> time_whole_run(const cost::Query& query, std::int64_t highest_integer);
  base::Result<double> time_of_nothing();

  std::shared_ptr<const backends::Backend> engine_;
  int threads_;
  Times known_;
  std::optional<double> nothing_;
  bool times_kernels_ = true;  // until it is found that the engine does not
};

}  // namespace egret::driver
