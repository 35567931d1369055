// SPDX-License-Identifier: Apache-2.0
// The key of an operator in the profile database, read back: what was measured, not only how long
// it took.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cost/model.h"

namespace egret::cost {

// A query with the storage that it points into.
class ParsedKey {
 public:
  // Reads what key_of() wrote. Errors: bad_input for any other text, such as the keys of kernels
  // and races in the same database, and for operators that do not exist.
  static base::Result<ParsedKey> parse(std::string_view key);

  // Its output stays unnamed: it follows from the rest. The query holds addresses of this object's
  // members.
  Query query() const;

 private:
  const ir::Operator* op_ = nullptr;
  ir::Attrs attrs_;
  std::vector<ir::TensorType> inputs_;
  std::unique_ptr<bool[]> constant_;
};

}  // namespace egret::cost
