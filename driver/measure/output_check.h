// SPDX-License-Identifier: Apache-2.0
// Do two graphs compute the same outputs, as far as their arithmetic allows?
//
// The reference is the f64 interpretation of the original graph on random inputs. How far an f32
// execution may honestly stray from it is estimated from the same graph by stochastic arithmetic
// (Vignes, "Discrete stochastic arithmetic for validating results of numerical software", 2004):
// interpreted again with every value disturbed by a relative error of f32's size, outputs move by
// about what rounding moves them; sums are in f32 whatever is stored in. The bound of an output is
// `safety` times its largest move, plus
// the rounding of the output itself. An integer or boolean output must be equal, except for
// elements that the disturbance changes too (an argmax between equals).
//
// Real outputs may jump as well: a relu's gradient does where its argument crosses 0, and the few
// elements that cross it in f32 are others than in one disturbed run. So where elements are beyond
// the bound the graph is disturbed some more times, by `safety` times the rounding, and those are
// left out that move as far then: each by itself, so that a wrong element is not excused by what
// another one does.
//
// Where reals are quantized on the way, a step of one value moves many elements a little, and each
// run makes other steps: there an element may move as far as any does in a disturbed run.
//
// A bound as large as the output itself would accept anything: a saturated softmax behind a network
// that amplifies its input moves by its whole range. The spread of such an output is taken from the
// original's own f32 execution instead of the disturbed one, which is stricter than rounding alone
// would ask: a sound candidate may be refused there, a wrong one is not let through.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/stop.h"
#include "ir/evaluate/given_inputs.h"
#include "ir/evaluate/input_draws.h"
#include "ir/graph/graph.h"

namespace egret::driver {

struct CheckOptions {
  int samples = 1;     // sets of random inputs
  double safety = 16;  // factor on the estimated spread of rounding errors
  std::uint64_t seed = 1;
  int shrunk = 0;           // how often reals are drawn from a smaller range, at most kMostShrunk
  ir::GivenInputs given{};  // inputs that are not random, at the sizes of their values
  // Of what the candidate computes in: f32, or less where that was asked for. Half a unit in the
  // last place.
  double roundoff = 0x1p-24;
  std::function<bool()> should_stop = base::stop_requested;
};

// How the inputs of a sample are drawn: a few reals beyond [-1, 1], in every other sample all.
// Where that was shrunk: all within [-1, 1], [-2^-7, 2^-7], [-2^-14, 2^-14].
inline constexpr int kMostShrunk = 3;
ir::DrawOptions sample_draws(int sample, bool any_integers, int shrunk = 0);

struct OutputError {
  std::string output;
  double max_error = 0;  // largest absolute difference, but for unstable elements
  double bound = 0;      // what is allowed
  std::int64_t elements = 0;
  std::int64_t wrong = 0;     // elements beyond the bound (or not equal)
  std::int64_t unstable = 0;  // elements that rounding alone may change, or move as far
  // Elements that are not finite where the f64 reference is; and of these, those where the original
  // itself is not finite once it computes in f32.
  std::int64_t overflowed = 0;
  std::int64_t original_overflowed = 0;
  std::int64_t left_out = 0;  // of the latter, those that are not compared
  double spread = 0;  // the standard deviation of the finite elements; of equal ones, their size

  // Of the wrong ones, those that are not finite in the original either.
  std::int64_t wrong_in_original() const { return original_overflowed - left_out; }
  // Whether another output would be found wrong. Not, where rounding explains differences as large
  // as the output's own elements have.
  bool is_told_apart() const { return spread == 0 || bound < spread; }
  void add(const OutputError& sample);  // one more sample of the same output
};

struct CheckReport {
  bool passed = false;                        // no element is wrong
  std::vector<std::string> not_told_apart{};  // outputs
  int shrunk = 0;                             // CheckOptions::shrunk
  std::string vacuous;   // an output without a finite element that is not zero: nothing was shown
  double max_error = 0;  // of the output that comes nearest to (or furthest beyond) its bound
  double bound = 0;
  std::vector<OutputError> outputs;

  // Whether all that is wrong is wrong in the original in f32 as well.
  bool only_original_overflows() const;
  // Sets the verdicts and the worst output from `outputs`.
  void settle();
};

// "largest error 1e-7, bound 2e-6, passed", how much is left out, what makes the check say little,
// and whose results overflow. One line.
std::string to_string(const CheckReport& report);
// That the check failed, as an error that names an output that is wrong.
base::Status mismatch_of(const CheckReport& report);

// The expected outputs of one graph on fixed inputs. Made once, then used for any number of
// candidates.
class OutputCheck {
 public:
  // Inputs are random (ir/evaluate/input_draws.h), of the graph's (concrete) input types, unless
  // given. Errors: usage when a size is symbolic; what the interpreter reports; limit_hit when
  // stopped.
  static base::Result<OutputCheck> of(const ir::Graph& reference, const CheckOptions& options);
  static base::Result<OutputCheck> of(const ir::Graph& reference, std::vector<ir::Tensor> inputs,
                                      const CheckOptions& options);
  using Run = std::function<base::Result<std::vector<ir::Tensor>>(std::span<const ir::Tensor>)>;
  // of() and check(). Where the reference itself overflows in f32, again on smaller inputs.
  static base::Result<CheckReport> compare(const ir::Graph& reference, CheckOptions options,
                                           const Run& run, const Run& run_original = {});

  // Runs the candidate on each set of inputs and compares. Outputs are matched by position.
  // `run_original`, where it is given, runs the original in the same engine or backend. Where the
  // candidate is beyond a bound, the original is run, and the candidate may be as far beyond it as
  // twice the largest error of the original: some engines compute functions with an absolute error,
  // and where reals are quantized, kernels decide ties in their own way.
  base::Result<CheckReport> check(const Run& run, const Run& run_original = {}) const;

  // Compares two runs of the same engine or backend with each other, by sample and output. The
  // reference only says how far rounding moves each output, so that it need not be right: its
  // values are not expected of either. Each run may be as far from the exact value as the bound, so
  // they may differ by twice of it. Left out are elements that are not finite in the original run
  // where the reference is: it overflowed there.
  base::Result<CheckReport> agreement(std::span<const std::vector<ir::Tensor>> original,
                                      std::span<const std::vector<ir::Tensor>> result) const;

 private:
  struct Sample {
    std::vector<ir::Tensor> inputs;
    std::vector<ir::Tensor> expected;                // wide: reals in f64
    std::vector<std::vector<ir::Tensor>> disturbed;  // by run, then by output
    // By output; and where one is not, the original's f32 execution.
    std::vector<bool> conclusive;
    std::vector<ir::Tensor> rounded;
  };
  struct OutputInfo {
    std::string name;
    ir::TensorType type;
  };

  static base::Result<Sample> evaluate(const ir::Graph& reference, std::vector<ir::Tensor> inputs,
                                       const CheckOptions& options);
  double bound_of(const Sample& sample, std::size_t output) const;
  bool is_conclusive(const Sample& sample, std::size_t output) const;
  base::Status leave_out_unstable(const Sample& sample, std::span<const ir::Tensor> expected,
                                  std::span<const ir::Tensor> got,
                                  std::vector<OutputError>& errors) const;
  base::Status allow_errors_of_original(const Sample& sample, const Run& run_original,
                                        std::span<const ir::Tensor> got,
                                        std::vector<OutputError>& errors) const;
  base::Status leave_out_overflows(const Sample& sample, std::span<ir::Tensor> got,
                                   std::vector<OutputError>& errors) const;
  base::Status add_sample(const ir::Graph& reference, std::vector<ir::Tensor> inputs,
                          const CheckOptions& options);

  ir::Graph reference_;
  CheckOptions options_;
  bool quantizes_ = false;  // reals are rounded to integers on the way
  std::vector<Sample> samples_;
  std::vector<OutputInfo> outputs_;
};

}  // namespace egret::driver
