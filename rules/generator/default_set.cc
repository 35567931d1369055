// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/default_set.h"

#include <filesystem>

#include "base/system/file.h"
#include "rules/generator/rule_files.h"

namespace egret::rules::generator {

base::Result<std::vector<Generation>> generate_default_set(std::span<const NamedSpace> spaces,
                                                           const std::string& folder,
                                                           const GenerationOptions& options) {
  std::vector<Generation> generations;
  GenerationOptions how = options;
  how.keep_log = true;
  // As what comes with Egret is looked at (rules/programs).
  how.scrutiny.verification = thorough_options();
  how.scrutiny.tests.checks = 10'000;
  const auto log_of = [&](const NamedSpace& space) {
    return folder + "/" + std::string(space.name) + ".jsonl";
  };
  for (const NamedSpace& space : spaces) {
    how.enumeration.most_operators = space.most_operators;
    how.log = log_of(space);
    EGRET_ASSIGN_OR_RETURN(Generation generation, generate(space.make(), how));
    const bool stopped = generation.stopped;
    if (!stopped) {
      EGRET_RETURN_IF_ERROR(base::write_file(folder + "/" + std::string(space.name) + ".rules",
                                             rules_text(std::string(space.name), generation)));
      for (const GeneratedRule& generated : generation.rules)
        how.given.rules.push_back(generated.rule);
    }
    generations.push_back(std::move(generation));
    if (stopped) return generations;
  }
  for (const NamedSpace& space : spaces) {
    std::error_code ignored;
    std::filesystem::remove(log_of(space), ignored);
  }
  return generations;
}

}  // namespace egret::rules::generator
