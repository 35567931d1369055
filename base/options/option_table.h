// SPDX-License-Identifier: Apache-2.0
// Option tables: one row per option makes its flag (--limit-nodes), environment variable
// (EGRET_LIMIT_NODES), configuration key (limit-nodes under [saturation]), check, help, completion
// and manual entry. A folder keeps its options in a plain struct with a static table():
//
//   struct SaturationOptions {
//     std::int64_t limit_nodes = 1'000'000;
//     double limit_time = 60;
//     Scheduler scheduler = Scheduler::kBackoff;
//     static const base::OptionTable<SaturationOptions>& table();
//   };
//   // in the .cc:
//   const base::OptionTable<SaturationOptions>& SaturationOptions::table() {
//     using S = SaturationOptions;
//     static const base::OptionTable<S> rows{
//         "saturation",
//         {{"limit-nodes", &S::limit_nodes, "Stop at this many e-nodes", base::range(1, 1e9)},
//          {"limit-time", &S::limit_time, "Stop after this time", base::seconds()},
//          {"scheduler", &S::scheduler, "How rules share the budget",
//           base::one_of({"simple", "backoff"})}}};   // in the order of the enum
//     return rows;
//   }
//
// Defaults are the struct's initializers. The library's code sees only the struct;
// base/options/option_set.h binds tables to structs and fills them. Flag names are unique over the
// whole program.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace egret::base {

// The values that an option may take, and how they are written.
struct OptionDomain {
  enum class Unit : unsigned char { kPlain, kBytes, kSeconds, kPath, kOutput, kOutputFolder };

  Unit unit = Unit::kPlain;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices;  // empty: any text
};

inline OptionDomain range(double low, double high = std::numeric_limits<double>::infinity()) {
  return {OptionDomain::Unit::kPlain, low, high, {}};
}
// For std::int64_t fields; "512MiB".
inline OptionDomain bytes(double low = 0, double high = std::numeric_limits<double>::infinity()) {
  return {OptionDomain::Unit::kBytes, low, high, {}};
}
// For double fields; "5m".
inline OptionDomain seconds(double low = 0, double high = std::numeric_limits<double>::infinity()) {
  return {OptionDomain::Unit::kSeconds, low, high, {}};
}
inline OptionDomain one_of(std::vector<std::string> choices) {
  OptionDomain domain;
  domain.choices = std::move(choices);
  return domain;
}
inline OptionDomain path(OptionDomain::Unit unit = OptionDomain::Unit::kPath) {
  OptionDomain domain;
  domain.unit = unit;
  return domain;
}
// A file that is written at the end. Its folder must exist at the beginning. "-" is standard
// output.
inline OptionDomain output_file() { return path(OptionDomain::Unit::kOutput); }
// A folder for results, which is made at the beginning.
inline OptionDomain output_folder() { return path(OptionDomain::Unit::kOutputFolder); }

// An enum field seen as the index of its choice.
struct EnumSlot {
  std::function<std::size_t()> get;
  std::function<void(std::size_t)> set;
};

// The place of an option's value in a bound struct. A list is given by repeating its flag, by an
// array in the configuration, or separated by commas in the environment, where a comma within an
// item is written \,.
using OptionSlot =
    std::variant<bool*, std::int64_t*, double*, std::string*, std::vector<std::string>*, EnumSlot>;

// A pointer to a field of S, of any type that OptionSlot names or of an enum whose values are
// 0, 1, 2... in the order of its choices.
template <typename S>
class OptionField {
 public:
  template <typename T>
  OptionField(T S::*field)  // NOLINT: implicit on purpose
      : bind_([field](S& values) -> OptionSlot {
          if constexpr (std::is_enum_v<T>) {
            T* place = &(values.*field);
            return EnumSlot{[place] { return static_cast<std::size_t>(*place); },
                            [place](std::size_t index) { *place = static_cast<T>(index); }};
          } else {
            return &(values.*field);
          }
        }) {}

  OptionSlot bind(S& values) const { return bind_(values); }

 private:
  std::function<OptionSlot(S&)> bind_;
};

template <typename S>
struct OptionRow {
  std::string name;  // lower case, words joined by "-"
  OptionField<S> field;
  std::string help;  // one sentence without a full stop
  OptionDomain domain = {};
  char short_flag = 0;  // 'o' for -o
};

// Options of this section belong to one run: no configuration file may set them, and
// print_config() leaves them out.
inline constexpr std::string_view kInvocationSection = "invocation";

template <typename S>
struct OptionTable {
  std::string section;  // of the configuration file and the manual
  std::vector<OptionRow<S>> rows;
};

}  // namespace egret::base
