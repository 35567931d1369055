// SPDX-License-Identifier: Apache-2.0
#include "driver/models/sized_runs.h"

#include <utility>

#include "driver/models/open_model.h"
#include "frontends/bindings.h"

namespace egret::driver {
namespace {

base::Result<SizedRun> run_of(const ModelOptions& model, const rules::SizeProfile* profile,
                              InputValues files) {
  SizedRun run{{}, model.bind, {}};
  if (profile != nullptr) {
    for (const auto& [name, size] : profile->sizes)
      run.bind.push_back(name + "=" + std::to_string(size));
  }
  EGRET_ASSIGN_OR_RETURN(run.bind, bind_given(std::move(run.bind), files));
  EGRET_ASSIGN_OR_RETURN(const auto bound, frontends::parse_bindings(run.bind));
  run.sizes.insert(bound.begin(), bound.end());
  run.given = std::move(files.values);
  return run;
}

}  // namespace

const base::OptionTable<AtOptions>& AtOptions::table() {
  static const base::OptionTable<AtOptions> rows{"runs", {{"at", &AtOptions::at, kAtHelp}}};
  return rows;
}

base::Result<std::vector<SizedRun>> sized_runs(const ModelSource& source, const ModelOptions& model,
                                               const AtOptions& at, const InputOptions& inputs) {
  EGRET_ASSIGN_OR_RETURN(const auto profiles, parse_profiles(at.at));
  EGRET_ASSIGN_OR_RETURN(std::vector<InputValues> sets, read_input_sets(source, inputs));
  if (sets.size() > 1 && !profiles.empty())
    return base::usage_error("--at cannot be combined with several sets of inputs (--input)");
  std::vector<SizedRun> runs;
  for (InputValues& set : sets) {
    if (profiles.empty()) {
      EGRET_ASSIGN_OR_RETURN(runs.emplace_back(), run_of(model, nullptr, std::move(set)));
    }
    for (const rules::SizeProfile& profile : profiles) {
      EGRET_ASSIGN_OR_RETURN(runs.emplace_back(), run_of(model, &profile, set));
    }
  }
  return runs;
}

std::string sizes_text(const ir::SymbolValues& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes)
    text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(size);
  return text;
}

}  // namespace egret::driver
