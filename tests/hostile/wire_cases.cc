// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "tests/frontends/onnx_model.h"
#include "tests/hostile/onnx_cases.h"

namespace egret::hostile {
namespace {

using frontends::OnnxModel;

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}

std::string length_delimited(int field, const std::string& contents) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(contents.size()) + contents;
}

std::string reversed(std::string text) {
  std::ranges::reverse(text);
  return text;
}

// A field in a field in a field ... `fields` are the numbers from the inside out, repeated. Built
// backwards, because each wrapping puts its length before what it wraps.
std::string nested(const std::vector<int>& fields, int depth) {
  std::string backwards;
  for (int level = 0; level < depth; ++level) {
    for (const int field : fields) {
      const std::string length = varint(backwards.size());
      backwards += reversed(varint(static_cast<std::uint64_t>(field) << 3 | 2) + length);
    }
  }
  return reversed(backwards);
}

OnnxModel sound() {
  OnnxModel m;
  m.input("x", {2});
  m.initializer("w", frontends::kFloatCode, {2})->set_raw_data(std::string(8, '\0'));
  m.node("Add", {"x", "w"}, {"y"});
  m.output("y");
  return m;
}

std::string many(const std::string& part, int count) {
  std::string text;
  text.reserve(part.size() * static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) text += part;
  return text;
}

}  // namespace

std::vector<HostileFile> wire_cases() {
  const std::string whole = sound().bytes();
  const std::string empty_node = length_delimited(1, "");
  const std::string empty_name = length_delimited(1, "");
  return {
      {"an empty file", "", "has no graph"},
      {"a text file", "This is not a model.\n", "at byte"},
      {"zero bytes", std::string(1000, '\0'), "impossible field number at byte"},
      {"ones", std::string(1000, '\xff'), "at byte"},
      {"a file cut in half", whole.substr(0, whole.size() / 2), "cut off at byte"},
      {"a file without its last byte", whole.substr(0, whole.size() - 1), "cut off at byte"},
      {"a graph that claims 2 GiB", varint(7 << 3 | 2) + varint(0x7fffffff) + "abc",
       "2147483647 bytes is cut off"},
      {"a length of 2^63", varint(7 << 3 | 2) + varint(std::uint64_t{1} << 63), "cut off"},
      {"a number of eleven bytes", "\x08" + std::string(11, '\x80') + "\x01",
       "more than ten bytes"},
      {"a million nested groups", std::string(1'000'000, '\x3b'), "a group"},
      {"a million nested branches", length_delimited(7, nested({6, 5, 1}, 333'334)),
       "nest too deeply"},
      {"nested branches just too deep", length_delimited(7, nested({6, 5, 1}, 40)),
       "nest too deeply"},
      {"four million empty nodes", length_delimited(7, many(empty_node, 4'000'000)),
       "too many small fields"},
      {"four million empty input names",
       length_delimited(7, length_delimited(1, many(empty_name, 4'000'000))),
       "too many small fields"},
      {"another protocol's message", length_delimited(1, "name") + length_delimited(2, "value"),
       "has no graph"},
  };
}

}  // namespace egret::hostile
