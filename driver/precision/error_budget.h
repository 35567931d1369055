// SPDX-License-Identifier: Apache-2.0
// A limit on the error of the outputs, and what is known of errors.
//
// Reading operands in less precision changes what is computed. No rule calls it equal: kernels that
// do so are candidates only under this limit. The errors of single kernels are measured
// (form_errors.h), those of several add up as squares, times a factor that is corrected whenever a
// whole program was run on the samples. Only a program whose error was measured and is within the
// limit is an answer: on the samples that are held out, and by the limit of confidence over all.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "driver/precision/form_errors.h"
#include "driver/precision/samples.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// Who chooses the forms of operands: the extraction, together with everything else; or, to compare
// with, one layer after the other within the budget; or one form wherever there is a kernel.
enum class FormsFrom : std::uint8_t { kExtraction, kLayers, kBF16, kI8 };
std::vector<std::string> forms_from_names();  // "extraction", "layers", "bf16", "int8"
FormsFrom forms_from_named(std::string_view name);

// The relative errors of a program's outputs.
struct MeasuredError {
  double held_out = 0;  // on samples that nothing was calibrated on
  double bound = 0;     // relative_error_bound() over all samples

  double largest() const { return held_out > bound ? held_out : bound; }
};

// What was chosen.
struct FormsChosen {
  double estimated = 0;  // relative error of the outputs
  MeasuredError measured{};
  std::array<int, backends::kOperandForms> kernels{};  // contractions by form

  bool lowers() const { return kernels[1] + kernels[2] > 0; }
};

class ErrorBudget {
 public:
  // Contractions of equal values and equal first operands are one; each number stands for a class
  // of equal values.
  struct Key {
    std::uint32_t value = 0, operand = 0;
    auto operator<=>(const Key&) const = default;
  };
  using Contraction = std::pair<Key, ir::NodeId>;

  // Runs the program on the samples. `seconds`: of measuring errors of kernels.
  // The backend outlives it. Errors: those of compiling and running.
  static base::Result<std::unique_ptr<ErrorBudget>> of(const ir::Graph& program, Samples samples,
                                                       double limit, FormsFrom forms_from,
                                                       const backends::Backend& backend,
                                                       const backends::CompileOptions& plan,
                                                       double seconds);

  double limit() const { return limit_; }
  FormsFrom forms_from() const { return forms_from_; }
  const Samples& samples() const { return samples_; }
  const backends::Backend& backend() const { return *backend_; }
  // Whether a program of these errors may be the answer. Each choice is the best of many programs
  // that were measured on the same samples, so their bound counts, too.
  bool allows(const MeasuredError& measured) const {
    return forms_from_ >= FormsFrom::kBF16 || measured.largest() <= limit_;
  }

  // Measures the contractions of a program that are not known. True: there were some.
  base::Result<bool> learn(const ir::Graph& program, std::span<const Contraction> contractions);
  const FormErrors* find(Key key) const;
  // The estimated square of the error that one contraction adds. Of one that is not known yet, the
  // largest of those with the same value or operand; if there are none, the median of all.
  double square(Key key, backends::OperandForm form) const;

  // The error of a plan of a program with the inputs and outputs of the original.
  base::Result<MeasuredError> measure(backends::ExecutablePlan& plan) const;
  // A program of this estimated error (by square()) was measured (MeasuredError::largest()). True:
  // estimates changed by more than a few percent.
  bool correct(double estimated, double measured);

 private:
  ErrorBudget() = default;

  base::Result<std::vector<Sample>> outputs(backends::ExecutablePlan& plan) const;

  double limit_ = 0;
  FormsFrom forms_from_ = FormsFrom::kExtraction;
  Samples samples_;
  const backends::Backend* backend_ = nullptr;
  backends::CompileOptions plan_;
  double seconds_ = 0;
  std::vector<Sample> expected_;  // outputs, on samples that are held out first
  std::map<Key, FormErrors> known_;
  double factor_ = 1;  // of estimated squares
};

}  // namespace egret::driver
