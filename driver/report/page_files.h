// SPDX-License-Identifier: Apache-2.0
// The files of the page, as CMake compiled them into the library.
#pragma once

#include <string_view>

namespace egret::driver {

std::string_view page_html();
std::string_view page_css();
std::string_view page_js();

}  // namespace egret::driver
