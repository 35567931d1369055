// SPDX-License-Identifier: Apache-2.0
// Layouts of values between kernels, where they are chosen from outside of a backend.
//
// A layout form is what a backend means by it for each value: "blocked" has as many channels in a
// block as the processor's vectors. Values without channels and space (ranks other than 4 and 5)
// and constants have one form, row-major. A program's inputs are there in row-major, and its
// outputs are wanted so. A kernel that is told to read or store values in a form that it does not
// have converts them by itself, and takes the time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/core/tensor_type.h"
#include "ir/graph/graph.h"

namespace egret::backends {

enum class LayoutForm : std::uint8_t { kRowMajor, kChannelsLast, kBlocked };
inline constexpr std::array kLayoutForms = {LayoutForm::kRowMajor, LayoutForm::kChannelsLast,
                                            LayoutForm::kBlocked};

std::string_view to_string(LayoutForm form);  // "row-major", "channels-last", "blocked"
std::optional<LayoutForm> layout_form_named(std::string_view name);

// Whether values of the type have other forms than row-major.
bool has_layout_forms(const ir::TensorType& type);

// The form of all values that a kernel reads, save constants, and of all that it stores.
struct KernelLayouts {
  LayoutForm reads = LayoutForm::kRowMajor;
  LayoutForm writes = LayoutForm::kRowMajor;

  bool operator==(const KernelLayouts&) const = default;
};

// A value that is copied to another form, before the first kernel that reads it there.
struct Reorder {
  ir::NodeId value;
  LayoutForm from, to;

  auto operator<=>(const Reorder&) const = default;
};

// The layouts of a division into kernels.
struct DivisionLayouts {
  std::vector<KernelLayouts> kernels{};  // by part; empty: the backend decides
  // PlanReport::Kernel::part of a reorder is its place here behind the parts of the division. One
  // that is missing here is none's part.
  std::vector<Reorder> reorders{};

  bool empty() const { return kernels.empty(); }
};

}  // namespace egret::backends
