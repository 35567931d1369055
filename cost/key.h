// SPDX-License-Identifier: Apache-2.0
// Parses the key of an operator in the profile database back to the query.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cost/model.h"

namespace egret::cost {

// A query together with its storage.
class ParsedKey {
 public:
  // Reads what key_of() wrote. Errors: bad_input for any other text, such as the keys of kernels
  // and races in the same database, and for operators that do not exist.
  static base::Result<ParsedKey> parse(std::string_view key);

  // The query has no output type, which follows from the rest. It points into this object.
  Query query() const;

 private:
  const ir::Operator* op_ = nullptr;
  ir::Attrs attrs_;
  std::vector<ir::TensorType> inputs_;
  std::unique_ptr<bool[]> constant_;
};

}  // namespace egret::cost
