// SPDX-License-Identifier: Apache-2.0
// Quantities as people write and read them. Inside Egret sizes are bytes and times are seconds;
// these functions are the only place where other units appear.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace egret::base {

// A whole decimal number, with an optional sign and with "_" between digits. Usage error otherwise.
Result<std::int64_t> parse_integer(std::string_view text);
// A finite decimal number in any form strtod takes, independent of the locale.
Result<double> parse_real(std::string_view text);
// "64", "2k", "1.5GiB", "512MB": powers of 1024 with or without the "i"; never negative.
Result<std::int64_t> parse_bytes(std::string_view text);
// "30", "1.5s", "250ms", "40us", "3ns", "5m", "2h", "1d"; never negative.
Result<double> parse_seconds(std::string_view text);

std::string format_count(std::int64_t count);  // 1,234,567
std::string format_real(double value);         // the shortest text that reads back the same
std::string format_short(double value);        // three significant digits: 12.3, 0.00123, 1.2e+09
std::string format_bytes(double bytes);        // 512 B, 1.50 KiB, 3.00 GiB
std::string format_seconds(double seconds);    // 950 ns, 12.3 us, 4.56 ms, 7.89 s, 3m 05s, 2h 04m
std::string format_percent(double fraction);   // 12.3%
// 1 query, 1,234 queries. MANY: "" for ONE with an s.
std::string counted(std::int64_t count, std::string_view one, std::string_view many = "");

}  // namespace egret::base
