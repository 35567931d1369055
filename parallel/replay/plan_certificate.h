// SPDX-License-Identifier: Apache-2.0
// The certificate of a plan: a proof, as data, that the programs of all ranks compute a model.
//
//   {"schema_version": 1, "format": "egret-plan-certificate",
//    "program": "<hash of what the plan's file says of its program>",
//    "laws": [{"name": "matmul S(1), S(0) -> P(sum)", "hash": "<hash of the statement>"}, ...],
//    "nodes": [["leaf"], ["laws", 0, 1], ["exchange", "all_reduce"], ["ring", "<hash>"], ...],
//    "model": {the certificate that the sequential program equals the model}}
//
// Each node of a rank's program has its reason, in the order of the plan's program: the laws that
// an operator on parts follows, one for each axis of the mesh with more than one device; the name
// of an exchange; the hash of a ring's text. Statements of laws are those of
// parallel/laws/law_steps.h. "model" is of verifier/replay/certificate.h, without sizes: those are
// the plan's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "base/status.h"
#include "verifier/replay/certificate.h"

namespace egret::parallel {

struct PlanCertificate {
  static constexpr std::string_view kFormat = "egret-plan-certificate";

  struct Law {
    std::string name;  // name_of(LawStep)
    std::string hash;
  };
  struct Reason {
    enum class Kind : std::uint8_t { kLeaf, kLaws, kExchange, kRing };
    Kind kind = Kind::kLeaf;
    std::vector<std::uint32_t> laws{};
    std::string text{};  // the name of an exchange, the hash of a ring
  };

  std::string program;
  std::vector<Law> laws;
  std::vector<Reason> nodes;
  verifier::Certificate model;
};

// "leaf", "laws", "exchange", "ring".
std::string_view name_of(PlanCertificate::Reason::Kind kind);

// In hex: of the model's hash, the mesh, the program, its outputs, carried values, bound sizes and
// training step, as the plan's file states them. Errors: bad_input for a plan without these.
base::Result<std::string> program_hash(const base::Json& plan);

// Checks the form, and that all numbers refer to what the document has. Errors: bad_input that
// names the entry.
base::Result<PlanCertificate> parse_plan_certificate(std::string_view json);

}  // namespace egret::parallel
