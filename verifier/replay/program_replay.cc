// SPDX-License-Identifier: Apache-2.0
#include "verifier/replay/program_replay.h"

#include <optional>
#include <utility>

#include "verifier/replay/plain_program.h"

namespace egret::verifier {

base::Result<ProgramReplay> replay_programs(const Certificate& certificate,
                                            const ReadProgram& read_first,
                                            const ReadProgram& read_second, const RuleBook& rules,
                                            ProvenSizes::Search search) {
  std::optional<ProvenSizes> sizes;
  ExampleOf example_of;
  if (!certificate.open.empty()) {
    sizes.emplace(certificate.open, certificate.obligations, std::move(search));
    example_of = [&](std::string_view name, int) { return sizes->example_of(name); };
  }
  EGRET_ASSIGN_OR_RETURN(const ir::Graph first, read_first(example_of));
  const ir::Graph before = plain_program(first);
  if (sizes) EGRET_RETURN_IF_ERROR(sizes->close(before));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph second, read_second(example_of));
  ProgramReplay result;
  EGRET_ASSIGN_OR_RETURN(result.report, replay(certificate, before, plain_program(second), rules));
  if (!sizes) return result;
  EGRET_RETURN_IF_ERROR(sizes->check());
  result.open = sizes->ranges();
  result.assumptions = sizes->assumptions();
  result.proofs = sizes->proofs();
  return result;
}

}  // namespace egret::verifier
