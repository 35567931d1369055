// SPDX-License-Identifier: Apache-2.0
#include "rules/language/expression_reads.h"

#include <iterator>
#include <utility>

#include "base/check.h"

namespace egret::rules {

Reads reads_of(const ExprFunction& function) {
  static constexpr std::pair<std::string_view, Reads> kOfTensors[] = {
      {"dtype", Reads::kElementType},
      {"is_float", Reads::kElementType},
      {"is_number", Reads::kElementType},
      {"rank", Reads::kRank},
      {"dim", Reads::kSizes},
      {"shape", Reads::kSizes},
      {"elements", Reads::kSizes},
      {"same_type", Reads::kSizes},
      {"splat", Reads::kElements},
      {"is_splat", Reads::kElements},
      {"splat_of", Reads::kElements},
      {"constant", Reads::kOrigin},
      {"distinct", Reads::kOrigin},
      {"before", Reads::kOrigin}};
  if (function.tensors == 0) return Reads::kNothing;
  const auto found =
      std::ranges::find(kOfTensors, function.name, &std::pair<std::string_view, Reads>::first);
  EGRET_CHECK(found != std::end(kOfTensors), "a function of tensors without a row here");
  return found->second;
}

}  // namespace egret::rules
