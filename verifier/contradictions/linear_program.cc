// SPDX-License-Identifier: Apache-2.0
#include "verifier/contradictions/linear_program.h"

#include <cstdint>
#include <limits>
#include <numeric>

namespace egret::verifier {
namespace {

struct Overflow {};

__extension__ using Wide = __int128;

// A fraction of 64-bit numbers in lowest terms. Throws Overflow.
class Fraction {
 public:
  Fraction(std::int64_t whole = 0) : top_(whole) {}  // NOLINT: implicit on purpose
  static Fraction of(const ExactRational& number) {
    const auto small = [](const boost::multiprecision::cpp_int& value) {
      if (abs(value) > std::numeric_limits<std::int64_t>::max() / 2) throw Overflow{};
      return static_cast<std::int64_t>(value);
    };
    Fraction made;
    made.top_ = small(numerator(number));
    made.bottom_ = small(denominator(number));
    return made;
  }
  ExactRational exact() const { return ExactRational(top_, bottom_); }

  bool is_zero() const { return top_ == 0; }
  int sign() const { return top_ > 0 ? 1 : top_ < 0 ? -1 : 0; }
  friend Fraction operator*(const Fraction& a, const Fraction& b) {
    if (a.is_zero() || b.is_zero()) return {};
    const std::int64_t left = std::gcd(a.top_, b.bottom_);
    const std::int64_t right = std::gcd(b.top_, a.bottom_);
    return made(Wide{a.top_ / left} * (b.top_ / right),
                Wide{a.bottom_ / right} * (b.bottom_ / left));
  }
  friend Fraction operator/(const Fraction& a, const Fraction& b) {
    Fraction inverse;
    inverse.top_ = b.top_ < 0 ? -b.bottom_ : b.bottom_;
    inverse.bottom_ = b.top_ < 0 ? -b.top_ : b.top_;
    return a * inverse;
  }
  friend Fraction operator-(const Fraction& a, const Fraction& b) {
    if (b.is_zero()) return a;
    if (a.bottom_ == 1 && b.bottom_ == 1) return made(Wide{a.top_} - b.top_, 1);
    const std::int64_t common = std::gcd(a.bottom_, b.bottom_);
    Wide top = Wide{a.top_} * (b.bottom_ / common) - Wide{b.top_} * (a.bottom_ / common);
    Wide bottom = Wide{a.bottom_} * (b.bottom_ / common);
    Wide x = top < 0 ? -top : top;
    for (Wide y = bottom; y != 0;) {
      const Wide rest = x % y;
      x = y;
      y = rest;
    }
    if (x > 1) {
      top /= x;
      bottom /= x;
    }
    return made(top, bottom);
  }
  friend bool operator<(const Fraction& a, const Fraction& b) {
    return Wide{a.top_} * b.bottom_ < Wide{b.top_} * a.bottom_;
  }
  friend bool operator==(const Fraction& a, const Fraction& b) = default;

 private:
  static Fraction made(Wide top, Wide bottom) {
    constexpr Wide kMost = std::numeric_limits<std::int64_t>::max() / 2;
    if (top > kMost || top < -kMost || bottom > kMost) throw Overflow{};
    Fraction result;
    result.top_ = static_cast<std::int64_t>(top);
    result.bottom_ = static_cast<std::int64_t>(bottom);
    return result;
  }

  std::int64_t top_ = 0;
  std::int64_t bottom_ = 1;
};

// Finds columns >= 0 with rows * columns = right, right >= 0 (the first phase of the simplex
// method). `duals` are the prices of the rows if there are none.
class FirstPhase {
 public:
  FirstPhase(std::vector<std::vector<Fraction>> columns, std::vector<Fraction> right)
      : columns_(columns.size()), rows_(right.size()) {
    const std::size_t width = columns_ + rows_ + 1;
    table_.assign(rows_, std::vector<Fraction>(width));
    prices_.assign(width, Fraction());
    for (std::size_t i = 0; i < rows_; ++i) {
      for (std::size_t j = 0; j < columns_; ++j) table_[i][j] = columns[j][i];
      table_[i][columns_ + i] = 1;
      table_[i][width - 1] = right[i];
      basis_.push_back(columns_ + i);
      for (std::size_t j = 0; j < width; ++j) {
        if (j < columns_ || j == width - 1) prices_[j] = prices_[j] - table_[i][j];
      }
    }
  }

  // Whether it ended within the pivots.
  bool run(std::size_t most_pivots) {
    for (std::size_t pivots = 0;; ++pivots) {
      const auto column = entering(pivots > kGreedy);
      if (!column) return true;
      const auto row = leaving(*column);
      if (!row || pivots == most_pivots) return false;
      pivot(*row, *column);
    }
  }
  bool is_feasible() const { return prices_.back().is_zero(); }
  Fraction column(std::size_t j) const {
    for (std::size_t i = 0; i < rows_; ++i) {
      if (basis_[i] == j) return table_[i].back();
    }
    return {};
  }
  Fraction dual(std::size_t i) const { return Fraction(1) - prices_[columns_ + i]; }

 private:
  static constexpr std::size_t kGreedy = 200;  // pivots before Bland's rule

  std::optional<std::size_t> entering(bool first) const {
    std::optional<std::size_t> best;
    for (std::size_t j = 0; j < columns_; ++j) {
      if (prices_[j].sign() >= 0) continue;
      if (first) return j;
      if (!best || prices_[j] < prices_[*best]) best = j;
    }
    return best;
  }
  std::optional<std::size_t> leaving(std::size_t column) const {
    std::optional<std::size_t> best;
    Fraction least;
    for (std::size_t i = 0; i < rows_; ++i) {
      if (table_[i][column].sign() <= 0) continue;
      const Fraction ratio = table_[i].back() / table_[i][column];
      if (!best || ratio < least || (ratio == least && basis_[i] < basis_[*best])) {
        best = i;
        least = ratio;
      }
    }
    return best;
  }
  void pivot(std::size_t row, std::size_t column) {
    const Fraction by = table_[row][column];
    for (Fraction& cell : table_[row]) {
      if (!cell.is_zero()) cell = cell / by;
    }
    const auto clear = [&](std::vector<Fraction>& other) {
      const Fraction factor = other[column];
      if (factor.is_zero()) return;
      for (std::size_t j = 0; j < other.size(); ++j) {
        if (!table_[row][j].is_zero()) other[j] = other[j] - factor * table_[row][j];
      }
    };
    for (std::size_t i = 0; i < rows_; ++i) {
      if (i != row) clear(table_[i]);
    }
    clear(prices_);
    basis_[row] = column;
  }

  std::size_t columns_, rows_;
  std::vector<std::vector<Fraction>> table_;  // structural columns, artificial ones, right side
  std::vector<Fraction> prices_;
  std::vector<std::size_t> basis_;
};

}  // namespace

// Factors l >= 0 and t >= 0 with sum l*p = -t, where t and the factors of facts p > 0 add up to 1.
// One row for each product, for the constant, and for the last sum. If there are none, the prices
// of the rows, scaled so that that of the constant is 1, are the point.
std::optional<std::variant<FarkasFactors, LinearPoint>> solve_linear(
    const std::vector<QueryFact>& facts, std::size_t most_pivots) {
  try {
    std::map<QueryProduct, std::size_t> rows;
    rows.emplace(QueryProduct{}, 0);
    for (const QueryFact& fact : facts) {
      for (const auto& [product, coefficient] : fact.value) rows.emplace(product, rows.size());
    }
    const std::size_t last = rows.size();
    std::vector<std::vector<Fraction>> columns;
    std::vector<std::pair<std::size_t, bool>> of;  // fact, whether negated
    for (std::size_t i = 0; i < facts.size(); ++i) {
      for (const bool negated : {false, true}) {
        if (negated && facts[i].relation != QueryFact::Relation::kZero) continue;
        std::vector<Fraction>& column = columns.emplace_back(last + 1);
        for (const auto& [product, coefficient] : facts[i].value)
          column[rows.at(product)] =
              Fraction::of(negated ? ExactRational(-coefficient) : coefficient);
        if (facts[i].relation == QueryFact::Relation::kPositive) column[last] = 1;
        of.emplace_back(i, negated);
      }
    }
    std::vector<Fraction>& slack = columns.emplace_back(last + 1);
    slack[0] = 1;
    slack[last] = 1;
    std::vector<Fraction> right(last + 1);
    right[last] = 1;
    FirstPhase phase(columns, std::move(right));
    if (!phase.run(most_pivots)) return std::nullopt;
    if (phase.is_feasible()) {
      FarkasFactors factors(facts.size());
      for (std::size_t j = 0; j < of.size(); ++j) {
        const ExactRational factor = phase.column(j).exact();
        factors[of[j].first] += of[j].second ? ExactRational(-factor) : factor;
      }
      return factors;
    }
    LinearPoint point;
    const ExactRational scale = phase.dual(0).exact();
    if (scale == 0) return std::nullopt;
    for (const auto& [product, row] : rows) {
      if (!product.empty()) point.emplace(product, phase.dual(row).exact() / scale);
    }
    return point;
  } catch (const Overflow&) {
    return std::nullopt;
  }
}

}  // namespace egret::verifier
