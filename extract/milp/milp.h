// SPDX-License-Identifier: Apache-2.0
// A mixed-integer linear program, independent of the solver: minimal cost over columns within their
// bounds, such that each row's sum lies within the row's bounds.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace egret::extract {

struct Milp {
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();

  struct Column {
    double cost = 0;
    double lower = 0;
    double upper = 1;
    bool integer = true;
  };
  struct Row {
    double lower = -kInfinite;
    double upper = kInfinite;
    std::vector<int> columns;
    std::vector<double> values;

    void add(int column, double value) {
      columns.push_back(column);
      values.push_back(value);
    }
  };

  std::vector<Column> columns;
  std::vector<Row> rows;
};

struct MilpAnswer {
  bool proven = false;              // `values` are of least cost
  bool infeasible = false;          // there are none
  bool lost = false;                // the solver crashed or ran on: nothing is known
  std::string fate;                 // what became of it then, "crashed (signal 11)"; or empty
  double bound = -Milp::kInfinite;  // no answer costs less; as exact as the solver's arithmetic
  std::vector<double> values;       // per column; empty when none was found
};

// An answer of the linear relaxation.
struct LpAnswer {
  bool solved = false;
  std::vector<double> values;  // per column
  std::vector<double> duals;   // per row: what its bound's rise by one adds to the least cost
};

// Solves a program's relaxation repeatedly while rows are added.
class Relaxation {
 public:
  virtual ~Relaxation() = default;
  // `dual` is an initial guess of the row's dual value.
  virtual base::Status add(const Milp::Row& row, double dual) = 0;
  virtual base::Status forbid(int column) = 0;  // it is 0 from now on
  // `solved` is false if time ran out or the solver does not offer relaxations. Values and duals
  // may be approximate: a difference of `gap` between primal and dual cost suffices.
  virtual base::Result<LpAnswer> relax(double seconds, double gap) = 0;
  // Asked while relax() works: where it holds, this is as if time ran out.
  void stop_when(std::function<bool()> should_stop) { should_stop_ = std::move(should_stop); }

 protected:
  bool is_stopped() const { return should_stop_ && should_stop_(); }

 private:
  std::function<bool()> should_stop_;
};

class MilpSolver : public Relaxation {
 public:
  virtual base::Status load(const Milp& milp) = 0;
  // A start: values of all columns that are an answer or near one.
  virtual void start_from(std::span<const double> values) = 0;
  // An answer within this distance of the bound counts as proven.
  virtual void set_gap(double gap) = 0;
  // May be called again after add().
  virtual base::Result<MilpAnswer> solve(double seconds) = 0;
};

struct MilpSolverRow {
  std::string_view name;
  std::unique_ptr<MilpSolver> (*make)();
};
// The solvers of this build, the best one first; may be empty.
std::span<const MilpSolverRow> milp_solvers();

}  // namespace egret::extract
