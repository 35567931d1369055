// SPDX-License-Identifier: Apache-2.0
// What a stream can show: whether it is a terminal, how wide, and whether colour is wanted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace egret::base {

enum class ColorMode : unsigned char { kAuto, kAlways, kNever };

bool is_terminal(int descriptor);
// Columns of the terminal behind the descriptor, or 80.
std::size_t terminal_width(int descriptor);

// kAuto colours a terminal unless NO_COLOR is set and not empty (no-color.org) or TERM is "dumb"
// or missing.
bool use_color(ColorMode mode, int descriptor);

enum class Paint : unsigned char { kBold, kDim, kRed, kGreen, kYellow, kCyan };
// The text between ANSI codes, or as it is without colour.
std::string painted(std::string_view text, Paint paint, bool color);

// Control characters and escape sequences made visible ("\x1b"), so that names from foreign files
// cannot drive the terminal. Newlines and tabs stay.
std::string sanitized(std::string_view text);

}  // namespace egret::base
