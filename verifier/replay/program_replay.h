// SPDX-License-Identifier: Apache-2.0
// A certificate and the programs in two files: how both are read, and what the answer rests on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"
#include "verifier/index/proven_sizes.h"
#include "verifier/replay/certificate.h"
#include "verifier/replay/replay.h"
#include "verifier/replay/rule_book.h"

namespace egret::verifier {

// As ImportOptions::example_of of the ONNX reader. Null where no size is open.
using ExampleOf = std::function<std::int64_t(std::string_view name, int axis)>;
// Reads a program, within the certificate's open sizes.
using ReadProgram = std::function<base::Result<ir::Graph>(const ExampleOf& example_of)>;

struct ProgramReplay {
  ReplayReport report{};
  SizeRanges open{};                       // of all open sizes
  std::vector<std::string> assumptions{};  // of these sizes, beside their ranges
  SizeProofs proofs{};                     // the certificate's, and those that the search found
};

// Reads both programs, with opaque nodes, and replays the certificate. What the first requires of
// its sizes is assumed, and the second may require nothing else. `search` finds proofs about open
// sizes that the certificate lacks. Errors: those of reading and of replay().
base::Result<ProgramReplay> replay_programs(const Certificate& certificate,
                                            const ReadProgram& read_first,
                                            const ReadProgram& read_second, const RuleBook& rules,
                                            ProvenSizes::Search search = {});

}  // namespace egret::verifier
