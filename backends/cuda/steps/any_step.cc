// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/any_step.h"

#include <algorithm>
#include <utility>

namespace egret::backends::cuda {
namespace {

// Several libraries' steps for one computation, as one step. Its candidates are those of all
// alternatives, one list after the other, so measuring candidates also chooses the library.
class AnyStep : public LibraryStep {
 public:
  explicit AnyStep(std::vector<std::unique_ptr<LibraryStep>> steps) : steps_(std::move(steps)) {}

  const char* library() const override { return steps_[chosen_]->library(); }
  const char* name() const override { return steps_[chosen_]->name(); }
  std::string description() const override {
    std::string all;
    for (const auto& step : steps_) all += step->description() + "\n";
    return all;
  }
  std::vector<std::string> descriptions() const override {
    std::vector<std::string> all;
    for (const auto& step : steps_) {
      for (std::string& one : step->descriptions()) all.push_back(std::move(one));
    }
    return all;
  }
  bool prefers_channels_last() const override {
    return std::ranges::any_of(steps_, [](const auto& s) { return s->prefers_channels_last(); });
  }
  Contested contested() const override {
    Contested any;
    for (const auto& step : steps_) any |= step->contested();
    return any;
  }
  std::vector<const codegen::KernelSource*> kernels() const override {
    std::vector<const codegen::KernelSource*> all;
    for (const auto& step : steps_) {
      const auto own = step->kernels();
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }
  void take_kernels(std::span<const Function> kernels) override {
    for (const auto& step : steps_) {
      const std::size_t own = step->kernels().size();
      step->take_kernels(kernels.first(own));
      kernels = kernels.subspan(own);
    }
  }
  // Alternatives that cannot be prepared disappear. The step fails only if none is left.
  bool prepare(bool several) override {
    std::erase_if(steps_, [&](const auto& step) { return !step->prepare(several); });
    return !steps_.empty();
  }
  int candidates() const override {
    int all = 0;
    for (const auto& step : steps_) all += step->candidates();
    return all;
  }
  // Finds the alternative whose part of the list contains the candidate.
  void choose(int candidate) override {
    chosen_ = 0;
    for (; candidate >= steps_[chosen_]->candidates(); ++chosen_)
      candidate -= steps_[chosen_]->candidates();
    steps_[chosen_]->choose(candidate);
  }
  std::size_t workspace() const override {
    std::size_t most = 0;
    for (const auto& step : steps_) most = std::max(most, step->workspace());
    return most;
  }
  base::Status enqueue(std::span<const DevicePointer> inputs, DevicePointer output,
                       DevicePointer workspace, Stream stream) const override {
    return steps_[chosen_]->enqueue(inputs, output, workspace, stream);
  }
  base::Result<bool> is_right(const Device& device, const TrialMemory& memory) const override {
    return steps_[chosen_]->is_right(device, memory);
  }

 private:
  std::vector<std::unique_ptr<LibraryStep>> steps_;
  std::size_t chosen_ = 0;
};

}  // namespace

std::unique_ptr<LibraryStep> any_step(std::vector<std::unique_ptr<LibraryStep>> steps) {
  std::erase(steps, nullptr);
  if (steps.empty()) return nullptr;
  if (steps.size() == 1) return std::move(steps[0]);
  return std::make_unique<AnyStep>(std::move(steps));
}

}  // namespace egret::backends::cuda
