// SPDX-License-Identifier: Apache-2.0
// Backends whose plans move values out of memory during a run, into a file, and back.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends {

// `back` is an identity of `from` and a kernel of the division by itself. It reads the value from
// the file; `from` need not be in memory by then.
struct StoredValue {
  ir::NodeId from{};
  ir::NodeId back{};
};

struct ValueStorage {
  std::vector<StoredValue> values{};
  std::string folder{};  // of the file, which has no name and ends with the plan
};

// A backend that can do so derives from it, too.
class StoringBackend {
 public:
  virtual ~StoringBackend() = default;

  // Backend::compile() with values that leave memory; options.division is not empty. A value is
  // written as soon as it is computed. Errors: bad_input for values that are not computed in each
  // run; unavailable where the folder takes no file; limit where its disk is full, which is known
  // before the first run.
  virtual base::Result<std::unique_ptr<ExecutablePlan>> compile_storing(
      const ir::Graph& graph, const CompileOptions& options, const ValueStorage& storage) const = 0;
};

// nullptr where values stay in memory.
const StoringBackend* storing_backend(const Backend& backend);

}  // namespace egret::backends
