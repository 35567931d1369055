// SPDX-License-Identifier: Apache-2.0
#include "base/system/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace egret::base {

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

std::size_t terminal_width(int descriptor) {
  struct winsize size {};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

bool use_color(ColorMode mode, int descriptor) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool refused = no_color != nullptr && *no_color != '\0';
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  return !refused && !dumb && is_terminal(descriptor);
}

std::string painted(std::string_view text, Paint paint, bool color) {
  constexpr std::array<std::string_view, 6> kCodes = {"1", "2", "31", "32", "33", "36"};
  if (!color) return std::string(text);
  return "\x1b[" + std::string(kCodes[static_cast<std::size_t>(paint)]) + "m" + std::string(text) +
         "\x1b[0m";
}

std::string sanitized(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string clean;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if ((code < 0x20 && c != '\n' && c != '\t') || code == 0x7f) {
      clean += "\\x";
      clean += kHex[code >> 4];
      clean += kHex[code & 15];
    } else {
      clean += c;
    }
  }
  return clean;
}

}  // namespace egret::base
