// SPDX-License-Identifier: Apache-2.0
#include "extract/bounds/semidefinite_bound.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace egret::extract {
namespace {

// Minimize constant + sum over pairs i < j of 2 Q(i, j) s(i) s(j) over signs s. The first sign is
// fixed to plus one without loss of generality; pairs with it are linear terms.
// The bound of Goemans and Williamson's relaxation (1995), for cores that are a MaxCut-like
// problem: one binary choice per required class, and shared costs of at most two users. Weak
// duality makes any diagonal y valid: if Q - diag(y) is positive semidefinite, the sum of y is a
// lower bound of s^T Q s, because s(i)^2 = 1.
class Signs {
 public:
  void add(double value) { constant_ += value; }
  void add(double value, std::size_t i, std::size_t j) {
    size_ = std::max({size_, i + 1, j + 1});
    pairs_[std::minmax(i, j)] += value / 2;
  }

  std::size_t size() const { return size_; }
  double constant() const { return constant_; }

  struct Partner {
    std::size_t other;
    double value;
  };
  std::vector<std::vector<Partner>> partners() const {
    std::vector<std::vector<Partner>> of(size_);
    for (const auto& [pair, value] : pairs_) {
      of[pair.first].push_back({pair.second, value});
      of[pair.second].push_back({pair.first, value});
    }
    return of;
  }

 private:
  double constant_ = 0;
  std::size_t size_ = 1;
  std::map<std::pair<std::size_t, std::size_t>, double> pairs_;
};

// Whether a choice selects the candidate, as (1 + sign s(choice)) / 2.
struct User {
  std::size_t choice;
  double sign;
};

// A cost paid if at least one of two users is chosen: value (u + v - u v).
void add_shared(Signs& signs, double value, const User& a, const User& b) {
  // With u = (1 + a)/2 and v = (1 + b)/2 for signs a and b: u + v - uv = 3/4 + a/4 + b/4 - ab/4.
  signs.add(value * 3 / 4);
  signs.add(value * a.sign / 4, 0, a.choice);
  signs.add(value * b.sign / 4, 0, b.choice);
  signs.add(-value * a.sign * b.sign / 4, a.choice, b.choice);
}
// A cost paid if the user is chosen: value u.
void add_own(Signs& signs, double value, const User& a) {
  signs.add(value / 2);
  signs.add(value * a.sign / 2, 0, a.choice);
}

// Reads the core in this form, if it has it: each required class has two candidates; each other
// class has one candidate, no needs and at most two users.
std::optional<Signs> signs_of(const Core& core) {
  Signs signs;
  std::vector<std::vector<User>> users(core.classes.size());
  std::size_t choice = 0;
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    const auto& candidates = core.classes[c];
    if (!core.required[c]) {
      if (candidates.size() != 1 || !candidates[0].needs.empty()) return std::nullopt;
      continue;
    }
    if (candidates.size() != 2) return std::nullopt;
    ++choice;
    for (const double sign : {1.0, -1.0}) {
      const Candidate& candidate = candidates[sign > 0 ? 0 : 1];
      add_own(signs, candidate.cost, {choice, sign});
      for (const ClassIndex need : candidate.needs) {
        if (core.required[need]) return std::nullopt;
        users[need].push_back({choice, sign});
      }
    }
  }
  for (ClassIndex c = 0; c < core.classes.size(); ++c) {
    if (core.required[c] || users[c].empty()) continue;
    const double cost = core.classes[c][0].cost;
    if (users[c].size() > 2) return std::nullopt;
    if (users[c].size() == 1) {
      add_own(signs, cost, users[c][0]);
    } else if (users[c][0].choice == users[c][1].choice) {
      signs.add(cost);
    } else {
      add_shared(signs, cost, users[c][0], users[c][1]);
    }
  }
  return signs;
}

// A diagonal y for which Q - diag(y) is nearly positive semidefinite. Coordinate descent sets each
// vector to minus the normalized sum of its weighted partners. At the fixpoint, -y(i) is the length
// of that sum. A rank above sqrt(2n) suffices for an optimal solution (Barvinok 1995, Pataki 1998).
// The start is random but fixed, because equal vectors could be a stationary point.
std::vector<double> dual_of(const Signs& signs, const base::Deadline& deadline) {
  constexpr int kMostRounds = 5000;
  constexpr double kStill = 1e-12;  // of the lengths
  const auto partners = signs.partners();
  const std::size_t n = signs.size();
  const auto rank =
      static_cast<std::size_t>(std::ceil(std::sqrt(2.0 * static_cast<double>(n)))) + 1;
  base::Random random(1);
  std::vector<double> vectors(n * rank);
  for (double& x : vectors) x = random.uniform(-1, 1);
  std::vector<double> pull(rank), lengths(n, 0);
  for (int round = 0; round < kMostRounds && (round < 2 || !deadline.expired()); ++round) {
    double gained = 0;
    for (std::size_t i = 0; i < n; ++i) {
      std::ranges::fill(pull, 0);
      for (const auto& [other, value] : partners[i]) {
        for (std::size_t k = 0; k < rank; ++k) pull[k] += value * vectors[other * rank + k];
      }
      const double length =
          std::sqrt(std::inner_product(pull.begin(), pull.end(), pull.begin(), 0.0));
      gained += std::abs(length - lengths[i]);
      lengths[i] = length;
      if (length == 0) continue;
      for (std::size_t k = 0; k < rank; ++k) vectors[i * rank + k] = -pull[k] / length;
    }
    if (gained <= kStill * std::accumulate(lengths.begin(), lengths.end(), 0.0)) break;
  }
  for (double& length : lengths) length = -length;
  return lengths;
}

// Positive definite: the Cholesky factorization exists.
bool is_positive(std::vector<double> a, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) a[j * n + j] -= a[j * n + k] * a[j * n + k];
    if (!(a[j * n + j] > 0)) return false;
    const double root = a[j * n + j] = std::sqrt(a[j * n + j]);
    for (std::size_t i = j + 1; i < n; ++i) {
      const double* row = &a[i * n];
      a[i * n + j] = (row[j] - std::inner_product(row, row + j, &a[j * n], 0.0)) / root;
    }
  }
  return true;
}

// The least shift of the diagonal, up to a factor of 2, that makes Q - diag(y) positive definite.
// The caller subtracts shift * n from the bound.
double shift_of(const Signs& signs, const std::vector<double>& y) {
  constexpr double kLeast = 1e-9;  // of the largest entry
  const std::size_t n = signs.size();
  std::vector<double> matrix(n * n, 0);
  const auto partners = signs.partners();
  for (std::size_t i = 0; i < n; ++i) {
    for (const auto& [other, value] : partners[i]) matrix[i * n + other] = value;
  }
  double shift = 0;
  for (const double x : y) shift = std::max(shift, kLeast * std::abs(x));
  for (; shift > 0; shift *= 2) {
    for (std::size_t i = 0; i < n; ++i) matrix[i * n + i] = shift - y[i];
    if (is_positive(matrix, n)) break;
  }
  return shift;
}

}  // namespace

// The diagonal comes from a numerical method and need not be feasible. shift_of() repairs it, and
// the repair is paid for: the bound is valid in any case. The Cholesky factorization is O(n^3),
// which limits the number of choices.
std::optional<double> semidefinite_bound(const Core& core, const base::Deadline& deadline) {
  constexpr std::size_t kMostChoices = 1000;
  const std::optional<Signs> signs = signs_of(core);
  if (!signs || signs->size() > kMostChoices) return std::nullopt;
  const std::vector<double> y = dual_of(*signs, deadline);
  const double shift = shift_of(*signs, y);
  return signs->constant() + std::accumulate(y.begin(), y.end(), 0.0) -
         shift * static_cast<double>(signs->size());
}

}  // namespace egret::extract
