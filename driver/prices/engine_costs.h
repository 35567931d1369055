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
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "backends/backend.h"
#include "base/status.h"
#include "cost/database.h"
#include "cost/model.h"
#include "cost/profiled.h"
#include "ir/graph/graph.h"

namespace egret::driver {

class EngineCosts {
 public:
  // Makes a plan whose runs give no outputs, and whose kernels are timed if that is asked for.
  using Compile = std::function<base::Result<std::unique_ptr<backends::ExecutablePlan>>(
      const ir::Graph& graph, bool profile)>;

  explicit EngineCosts(Compile compile) : compile_(std::move(compile)) {}

  // Times these together, for measure().
  void make_ready(std::span<const cost::Query> queries);
  // The time of an operator alone; cost::kRefusedSeconds where the engine does not run it. Errors:
  // limit_hit for more than 4 GiB of values, and where a stop was requested.
  base::Result<cost::Entry> measure(const cost::Query& query);
  // Teaches the model what operators take in a graph. False: it was taught so before, the engine
  // does not tell, or the size of an input is unknown. Errors: those of running, and of
  // the database.
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

  Compile compile_;
  Times known_;
  std::optional<double> nothing_;
  bool times_kernels_ = true;  // until it is found that the engine does not
};

}  // namespace egret::driver
