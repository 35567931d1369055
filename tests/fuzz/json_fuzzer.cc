// SPDX-License-Identifier: Apache-2.0
// What parses must be written and parsed back to the same document, however it is laid out.
#include <cstdint>

#include "base/formats/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using egret::base::Json;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = Json::parse(text);
  if (!json.ok()) return 0;
  const std::string line = json->dump();
  const auto again = Json::parse(json->dump(2));
  EGRET_CHECK(again.ok(), "our own document does not parse");
  EGRET_CHECK(again->dump() == line, "the document changed");
  return 0;
}
