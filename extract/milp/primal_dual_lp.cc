// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/primal_dual_lp.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/timer.h"

namespace egret::extract {
namespace {

constexpr int kMostIterations = 400;  // rows that are added in between do more than precision
constexpr int kIterationsACheck = 40;
constexpr double kResidual = 1e-3;  // of the sides of rows: near enough

using Vector = std::vector<double>;

double norm(const Vector& a) {
  double sum = 0;
  for (const double x : a) sum += x * x;
  return std::sqrt(sum);
}
double distance(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

// A sparse matrix in row format.
struct Sparse {
  std::vector<std::size_t> begin{0};
  std::vector<std::uint32_t> index;
  Vector values;

  std::size_t rows() const { return begin.size() - 1; }
  void multiply(const Vector& x, Vector& result) const {
    for (std::size_t r = 0; r + 1 < begin.size(); ++r) {
      double sum = 0;
      for (std::size_t i = begin[r]; i < begin[r + 1]; ++i) sum += values[i] * x[index[i]];
      result[r] = sum;
    }
  }
  // A counting sort of the entries by column: O(entries + columns).
  Sparse transposed(std::size_t columns) const {
    Sparse other;
    other.begin.assign(columns + 1, 0);
    for (const std::uint32_t c : index) ++other.begin[c + 1];
    for (std::size_t c = 0; c < columns; ++c) other.begin[c + 1] += other.begin[c];
    other.index.resize(index.size());
    other.values.resize(index.size());
    std::vector<std::size_t> next(other.begin.begin(), other.begin.end() - 1);
    for (std::size_t r = 0; r < rows(); ++r) {
      for (std::size_t i = begin[r]; i < begin[r + 1]; ++i) {
        const std::size_t at = next[index[i]]++;
        other.index[at] = static_cast<std::uint32_t>(r);
        other.values[at] = values[i];
      }
    }
    return other;
  }
};

// The program after scaling rows and columns to similar sizes: x = column_scale * scaled x. Columns
// fixed to 0 are dropped from the rows. Similar sizes matter because a first-order method converges
// at a rate that depends on the condition of the matrix.
struct Scaled {
  Sparse a;
  Sparse transpose;
  Vector cost, lower, upper;  // of columns
  Vector row_lower, row_upper;
  Vector row_scale, column_scale;

  Scaled(const Milp& program, std::span<const std::size_t> rows) {
    for (const std::size_t r : rows) {
      const Milp::Row& row = program.rows[r];
      for (std::size_t i = 0; i < row.columns.size(); ++i) {
        const auto column = static_cast<std::size_t>(row.columns[i]);
        if (program.columns[column].upper <= program.columns[column].lower &&
            program.columns[column].upper == 0)
          continue;
        a.index.push_back(static_cast<std::uint32_t>(column));
        a.values.push_back(row.values[i]);
      }
      a.begin.push_back(a.index.size());
    }
    row_scale.assign(rows.size(), 1);
    column_scale.assign(program.columns.size(), 1);
    for (int round = 0; round < 4; ++round) scale(/*by_sum=*/false);  // Ruiz 2001
    scale(/*by_sum=*/true);                                           // Pock, Chambolle 2011
    transpose = a.transposed(program.columns.size());
    for (std::size_t c = 0; c < program.columns.size(); ++c) {
      const Milp::Column& column = program.columns[c];
      cost.push_back(column.cost * column_scale[c]);
      lower.push_back(column.lower / column_scale[c]);
      upper.push_back(column.upper / column_scale[c]);
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      row_lower.push_back(program.rows[rows[r]].lower * row_scale[r]);
      row_upper.push_back(program.rows[rows[r]].upper * row_scale[r]);
    }
  }

 private:
  // Divides rows and columns by the square root of their largest entry, or of the sum of their
  // entries.
  void scale(bool by_sum) {
    Vector rows(row_scale.size(), 0), columns(column_scale.size(), 0);
    for (std::size_t r = 0; r < a.rows(); ++r) {
      for (std::size_t i = a.begin[r]; i < a.begin[r + 1]; ++i) {
        const double size = std::abs(a.values[i]);
        double& column = columns[a.index[i]];
        rows[r] = by_sum ? rows[r] + size : std::max(rows[r], size);
        column = by_sum ? column + size : std::max(column, size);
      }
    }
    for (double& row : rows) row = row > 0 ? 1 / std::sqrt(row) : 1;
    for (double& column : columns) column = column > 0 ? 1 / std::sqrt(column) : 1;
    for (std::size_t r = 0; r < a.rows(); ++r) {
      row_scale[r] *= rows[r];
      for (std::size_t i = a.begin[r]; i < a.begin[r + 1]; ++i)
        a.values[i] *= rows[r] * columns[a.index[i]];
    }
    for (std::size_t c = 0; c < columns.size(); ++c) column_scale[c] *= columns[c];
  }
};

// A primal-dual pair of points with its matrix products.
struct Point {
  Vector x, y;
  Vector ax;   // a * x
  Vector aty;  // transpose of a * y
};

// Primal-dual hybrid gradient with the adaptive steps, the averaging and the restarts of PDLP
// (Applegate et al. 2021). The weight balances the primal against the dual step size.
class Descent {
 public:
  Descent(const Scaled& lp, Vector x, Vector y, double weight, double gap,
          std::function<bool()> is_over)
      : lp_(lp), gap_(gap), is_over_(std::move(is_over)) {
    now_ = {std::move(x), std::move(y), Vector(lp.row_scale.size()),
            Vector(lp.column_scale.size())};
    lp_.a.multiply(now_.x, now_.ax);
    lp_.transpose.multiply(now_.y, now_.aty);
    next_ = average_ = start_ = now_;
    clear_average();
    const double costs = norm(lp.cost), sides = size_of_sides();
    weight_ = weight > 0 ? weight : (costs > 0 && sides > 0 ? costs / sides : 1);
    step_ = 1;
  }

  void run() {
    last_error_ = start_error_ = error(now_);
    for (int i = 1; i <= kMostIterations && !done_; ++i) {
      advance();
      // An iteration over a large program takes a tenth of a second.
      if (i % kIterationsACheck == 0) {
        check();
      } else {
        done_ = is_over_();
      }
    }
    if (total_ > 0) finish_average();
  }

  // The last point or the average, whichever has the greater dual cost.
  const Point& best() const {
    return total_ > 0 && dual_cost(average_) > dual_cost(now_) ? average_ : now_;
  }
  double weight() const { return weight_; }

 private:
  double size_of_sides() const {
    double sum = 0;
    for (std::size_t r = 0; r < lp_.row_lower.size(); ++r) {
      const double side = std::isfinite(lp_.row_lower[r]) ? lp_.row_lower[r] : lp_.row_upper[r];
      sum += side * side;
    }
    return std::sqrt(sum);
  }

  // One primal-dual step with the adaptive step size of PDLP: x moves along the reduced costs, y
  // along the extrapolated 2 x' - x. A step longer than movement / interaction would not be a
  // contraction and is retried with a shorter one. The loop ends: `limit` is at least 1 over the
  // norm of the matrix, and each retry takes a step below the limit just found.
  void advance() {
    while (true) {
      const double primal = step_ / weight_, dual = step_ * weight_;
      for (std::size_t c = 0; c < now_.x.size(); ++c) {
        next_.x[c] = std::clamp(now_.x[c] - primal * (lp_.cost[c] - now_.aty[c]), lp_.lower[c],
                                lp_.upper[c]);
      }
      lp_.a.multiply(next_.x, next_.ax);
      double moved_y = 0, interaction = 0;
      for (std::size_t r = 0; r < now_.y.size(); ++r) {
        const double over = 2 * next_.ax[r] - now_.ax[r];
        // The proximal step of the dual: y moves against the violation, and the projection onto the
        // row's sides gives it the right sign. A row that holds strictly gets the dual 0.
        const double v = now_.y[r] / dual - over;
        next_.y[r] = dual * (v - std::clamp(v, -lp_.row_upper[r], -lp_.row_lower[r]));
        const double delta = next_.y[r] - now_.y[r];
        moved_y += delta * delta;
        interaction += delta * (next_.ax[r] - now_.ax[r]);
      }
      double moved_x = 0;
      for (std::size_t c = 0; c < now_.x.size(); ++c) {
        const double delta = next_.x[c] - now_.x[c];
        moved_x += delta * delta;
      }
      const double movement = 0.5 * (weight_ * moved_x + moved_y / weight_);
      const double limit = interaction != 0 ? movement / std::abs(interaction) : Milp::kInfinite;
      const double used = step_;
      ++tries_;
      // The exponents are those of PDLP: the step may approach the limit and may grow, both ever
      // more slowly, so the steps settle.
      step_ = std::min((1 - std::pow(tries_ + 1, -0.3)) * limit,
                       (1 + std::pow(tries_ + 1, -0.6)) * step_);
      if (used > limit) continue;
      lp_.transpose.multiply(next_.y, next_.aty);
      std::swap(now_, next_);
      add_to_average(used);
      return;
    }
  }

  void clear_average() {
    total_ = 0;
    for (Vector* v : {&sum_.x, &sum_.y, &sum_.ax, &sum_.aty}) v->clear();
    sum_.x.resize(now_.x.size());
    sum_.y.resize(now_.y.size());
    sum_.ax.resize(now_.ax.size());
    sum_.aty.resize(now_.aty.size());
  }
  // The average is weighted by the step sizes.
  void add_to_average(double share) {
    const auto add = [share](Vector& sum, const Vector& v) {
      for (std::size_t i = 0; i < v.size(); ++i) sum[i] += share * v[i];
    };
    add(sum_.x, now_.x);
    add(sum_.y, now_.y);
    add(sum_.ax, now_.ax);
    add(sum_.aty, now_.aty);
    total_ += share;
  }
  void finish_average() {
    const auto take = [this](Vector& average, const Vector& sum) {
      for (std::size_t i = 0; i < sum.size(); ++i) average[i] = sum[i] / total_;
    };
    take(average_.x, sum_.x);
    take(average_.y, sum_.y);
    take(average_.ax, sum_.ax);
    take(average_.aty, sum_.aty);
  }

  double primal_cost(const Point& at) const {
    double sum = 0;
    for (std::size_t c = 0; c < at.x.size(); ++c) sum += lp_.cost[c] * at.x[c];
    return sum;
  }
  // The Lagrangian bound for bounded columns: each column takes its cheaper bound. Duals of the
  // wrong sign would meet an infinite side; the projection in advance() excludes them.
  double dual_cost(const Point& at) const {
    double sum = 0;
    for (std::size_t r = 0; r < at.y.size(); ++r) {
      if (at.y[r] != 0) sum += at.y[r] * (at.y[r] > 0 ? lp_.row_lower[r] : lp_.row_upper[r]);
    }
    for (std::size_t c = 0; c < at.x.size(); ++c) {
      const double rest = lp_.cost[c] - at.aty[c];
      sum += rest * (rest > 0 ? lp_.lower[c] : lp_.upper[c]);
    }
    return sum;
  }
  double residual(const Point& at) const {
    double sum = 0;
    for (std::size_t r = 0; r < at.y.size(); ++r) {
      const double off = at.ax[r] - std::clamp(at.ax[r], lp_.row_lower[r], lp_.row_upper[r]);
      sum += off * off;
    }
    return std::sqrt(sum);
  }
  // The distance from optimality: row violation, weighted, and duality gap. The weight makes the
  // two terms comparable. It is fixed between restarts, so errors of one period may be compared.
  double error(const Point& at) const {
    const double off = residual(at), gap = primal_cost(at) - dual_cost(at);
    return std::sqrt(weight_ * weight_ * off * off + gap * gap);
  }

  // Restarts from the better of the average and the current point. It does so if the error fell to
  // 1/5 of that at the last start, or fell to 4/5 and stopped falling, or after 8 checks. A restart
  // rebalances the primal weight from the distances moved.
  void check() {
    finish_average();
    const double here = error(now_), there = error(average_);
    const Point& better = here < there ? now_ : average_;
    const double least = std::min(here, there);
    const bool near = std::abs(primal_cost(better) - dual_cost(better)) <= gap_ &&
                      residual(better) <= kResidual * (1 + size_of_sides());
    done_ = near || is_over_();
    const bool restart = least <= 0.2 * start_error_ ||
                         (least <= 0.8 * start_error_ && least > last_error_) || since_ > 8;
    last_error_ = least;
    ++since_;
    if (!restart || done_) return;
    if (&better != &now_) now_ = better;
    const double moved_x = distance(now_.x, start_.x), moved_y = distance(now_.y, start_.y);
    // The geometric mean with the old weight keeps one unusual period from changing it too much.
    if (moved_x > 1e-10 && moved_y > 1e-10)
      weight_ = std::exp(0.5 * std::log(moved_y / moved_x) + 0.5 * std::log(weight_));
    start_ = now_;
    last_error_ = start_error_ = error(now_);
    since_ = 0;
    clear_average();
  }

  const Scaled& lp_;
  const double gap_;
  const std::function<bool()> is_over_;
  Point now_, next_, average_, start_, sum_;
  double total_ = 0;  // of steps, in the average
  double weight_ = 1;
  double step_ = 1;
  double tries_ = 0;
  double start_error_ = 0, last_error_ = 0;
  int since_ = 0;  // checks since the last restart
  bool done_ = false;
};

}  // namespace

PrimalDualLp::PrimalDualLp(Milp program)
    : program_(std::move(program)),
      x_(program_.columns.size(), 0),
      y_(program_.rows.size(), 0),
      idle_(program_.rows.size(), 0) {}

base::Status PrimalDualLp::add(const Milp::Row& row, double dual) {
  program_.rows.push_back(row);
  y_.push_back(dual);
  idle_.push_back(0);
  return base::ok();
}

base::Status PrimalDualLp::forbid(int column) {
  program_.columns[static_cast<std::size_t>(column)].upper = 0;
  x_[static_cast<std::size_t>(column)] = 0;
  return base::ok();
}

// Whether x_ satisfies the row within the precision of the method.
bool PrimalDualLp::holds(const Milp::Row& row) const {
  double sum = 0;
  for (std::size_t i = 0; i < row.columns.size(); ++i)
    sum += row.values[i] * x_[static_cast<std::size_t>(row.columns[i])];
  return sum >= row.lower - kResidual && sum <= row.upper + kResidual;
}

// Leaves out rows whose dual was 0 in the last two relaxations, until x_ violates them.
std::vector<std::size_t> PrimalDualLp::rows_at_work() {
  constexpr int kMostIdle = 2;
  std::vector<std::size_t> rows;
  for (std::size_t r = 0; r < program_.rows.size(); ++r) {
    if (idle_[r] >= kMostIdle && !holds(program_.rows[r])) idle_[r] = 0;
    if (idle_[r] < kMostIdle) rows.push_back(r);
  }
  return rows;
}

// Starts from the last point, and converts between the scaled and the original program. A row that
// is left out keeps its dual of 0, so `answer.duals` covers all rows.
base::Result<LpAnswer> PrimalDualLp::relax(double seconds, double gap) {
  const base::Deadline deadline = base::Deadline::after(seconds);
  const std::vector<std::size_t> rows = rows_at_work();
  const Scaled lp(program_, rows);
  Vector x = x_, y(rows.size());
  for (std::size_t c = 0; c < x.size(); ++c) x[c] /= lp.column_scale[c];
  for (std::size_t r = 0; r < y.size(); ++r) y[r] = y_[rows[r]] / lp.row_scale[r];
  Descent descent(lp, std::move(x), std::move(y), weight_, gap,
                  [&] { return deadline.expired() || is_stopped(); });
  descent.run();
  const Point& best = descent.best();
  for (std::size_t c = 0; c < x_.size(); ++c) x_[c] = best.x[c] * lp.column_scale[c];
  for (std::size_t r = 0; r < rows.size(); ++r) {
    y_[rows[r]] = best.y[r] * lp.row_scale[r];
    idle_[rows[r]] = y_[rows[r]] == 0 ? idle_[rows[r]] + 1 : 0;
  }
  weight_ = descent.weight();
  LpAnswer answer;
  answer.solved = true;
  answer.values = x_;
  answer.duals = y_;
  return answer;
}

}  // namespace egret::extract
