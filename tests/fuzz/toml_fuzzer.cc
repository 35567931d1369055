// SPDX-License-Identifier: Apache-2.0
// Any bytes either parse as TOML or are refused with a message that begins with the file's name;
// parsed, they may be offered to a set of options.
#include <cstdint>

#include "base/formats/toml.h"
#include "base/options/option_set.h"

namespace {

struct Sample {
  std::int64_t nodes = 1;
  double time = 1;
  bool joint = false;
  std::vector<std::string> rules;

  static const egret::base::OptionTable<Sample>& table() {
    using S = Sample;
    static const egret::base::OptionTable<S> rows{"s",
                                                  {{"nodes", &S::nodes, "n", egret::base::bytes()},
                                                   {"time", &S::time, "t", egret::base::seconds()},
                                                   {"joint", &S::joint, "j"},
                                                   {"rules", &S::rules, "r"}}};
    return rows;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using egret::base::OptionOrigin;
  using egret::base::OptionSet;
  const auto entries =
      egret::base::parse_toml({reinterpret_cast<const char*>(data), size}, "f.toml");
  if (!entries.ok()) {
    EGRET_CHECK(entries.status().message().starts_with("f.toml:"));
    return 0;
  }
  Sample sample;
  OptionSet set;
  set.add(sample);
  const egret::base::Status status =
      set.apply_config(*entries, OptionOrigin::kConfigFile, "f.toml", {});
  EGRET_CHECK(status.ok() || status.code() == egret::base::StatusCode::kBadInput);
  return 0;
}
