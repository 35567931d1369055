// SPDX-License-Identifier: Apache-2.0
// Values that leave memory for a file and come back (backends/value_storage.h).
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "backends/cpu/plan/plan_builder.h"
#include "backends/cpu/plan/value_file.h"
#include "backends/prepare.h"
#include "backends/value_storage.h"
#include "base/status.h"

namespace egret::backends::cpu {

class StoredValues {
 public:
  // Errors: bad_input for a value that the prepared graph lacks; those of ValueFile::create().
  static base::Result<StoredValues> of(const PreparedGraph& prepared, const ValueStorage& storage);

  // Behind a group: stores its value, if that is one of those.
  void store(PlanBuilder& builder, ir::NodeId root);
  // Whether a group reads its value from the file.
  bool comes_back(ir::NodeId root) const { return from_.contains(root); }
  // Between begin() and end() of such a group.
  void bring_back(PlanBuilder& builder, ir::NodeId root) const;
  // After all groups. Errors: limit where the disk is full.
  base::Status reserve() const { return file_ == nullptr ? base::ok() : file_->reserve(); }

 private:
  struct Place {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    Layout layout{};
  };

  std::map<ir::NodeId, ir::NodeId> from_;              // by node that reads from the file
  std::map<ir::NodeId, std::optional<Place>> places_;  // by value that is stored
  std::shared_ptr<ValueFile> file_;                    // the steps share it
};

}  // namespace egret::backends::cpu
