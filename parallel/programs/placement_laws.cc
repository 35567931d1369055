// SPDX-License-Identifier: Apache-2.0
// placement_laws FILE: derives the placement laws of all operators, proves them and writes them
// to FILE (parallel/laws/stored_laws.h). A few minutes of processor time.
#include <cstdio>

#include "base/system/file.h"
#include "parallel/laws/stored_laws.h"
#include "rules/tensors/rule_status.h"

namespace base = egret::base;
namespace rules = egret::rules;
using egret::parallel::Application;
using egret::parallel::for_all_laws;
using egret::parallel::Law;
using egret::parallel::LawProof;
using egret::parallel::StoredLaws;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: placement_laws FILE\n");
    return 2;
  }
  StoredLaws laws{rules::definitions_hash(), {}};
  int proven = 0;
  for_all_laws([&](const Application& call, const Law& law) {
    const LawProof proof = prove_law(*call.op, call.attrs, call.types, law, 2);
    laws.laws.push_back(stored(call, law, proof.scope));
    proven += proof.scope != LawProof::Scope::kNone ? 1 : 0;
  });
  const base::Status status = base::write_file(argv[1], to_text(laws));
  std::printf("%zu laws, %d proven\n", laws.laws.size(), proven);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
