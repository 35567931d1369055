// SPDX-License-Identifier: Apache-2.0
#include "driver/certificate.h"

#include <span>

#include "frontends/bindings.h"
#include "ir/ops/opaque.h"
#include "rules/certificates/certificate_json.h"
#include "rules/certificates/certificate_writer.h"
#include "rules/replay/rule_library.h"
#include "verifier/replay/plain_program.h"
#include "verifier/replay/replay.h"

namespace egret::driver {

using base::Result;
using base::Status;

Status check_explainable(const ir::Graph& program, const OptimizeOptions& options,
                         const rules::OpenSizes* open) {
  if (open != nullptr) return base::usage_error("--certificate needs known sizes (--bind)");
  if (options.kernels_from == "egraph")
    return base::usage_error("--certificate excludes --kernels-from egraph and --error-budget");
  const Status plain = verifier::plain_program(program).status();
  return plain.ok() ? plain : plain.at("--certificate");
}

Result<std::string> certificate_of(const OptimizeResult& result,
                                   const frontends::ExportedModel& written,
                                   const std::vector<std::string>& bind) {
  EGRET_CHECK(result.explained != nullptr, "the result was not explained");
  const Explained& explained = *result.explained;
  if (written.external_file)
    return base::unsupported("--certificate: the weights are in a file of their own");
  frontends::ImportOptions reading;
  EGRET_ASSIGN_OR_RETURN(reading.bind, frontends::parse_bindings(bind));
  reading.allow_unknown_bind = true;
  reading.opaque_nodes = true;
  EGRET_ASSIGN_OR_RETURN(
      const frontends::ImportedModel again,
      frontends::import_onnx_bytes(std::as_bytes(std::span(written.bytes)), "", reading));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph after, verifier::plain_program(again.graph));
  EGRET_ASSIGN_OR_RETURN(
      verifier::Certificate certificate,
      rules::write_certificate(
          {.before = &explained.program, .extracted = explained.extracted.get(), .after = &after},
          explained.saturated.tensors.get(), explained.rules));
  certificate.sizes = reading.bind;
  std::string json = rules::to_json(certificate);

  rules::RuleLibrary library;
  EGRET_ASSIGN_OR_RETURN(const rules::RuleProofs proofs,
                         rules::read_proofs(explained.rules.statuses().to_json()));
  library.add(explained.rules.set().rules, proofs);
  EGRET_ASSIGN_OR_RETURN(const verifier::Certificate parsed, verifier::parse_certificate(json));
  const auto accepted = verifier::replay(parsed, explained.program, after, library);
  if (!accepted.ok())
    return base::unsupported("--certificate: the proof cannot be replayed: " +
                             accepted.status().message());
  return json;
}

}  // namespace egret::driver
