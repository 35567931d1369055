// SPDX-License-Identifier: Apache-2.0
// Libraries that are opened when they are needed, and not when the program starts: those that a
// machine may lack, or that take much memory or time to load.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace egret::base {

// The address of a symbol, or nullptr.
using FindSymbol = std::function<void*(const char* symbol)>;

// Opens the first of `names` that is found, for the life of the process, and returns its symbol
// lookup. The folders, which end in "/", are tried in their order; "" is where the system's loader
// looks. Errors: unavailable with what the loader says.
Result<FindSymbol> open_shared_library(const std::vector<std::string>& names,
                                       const std::vector<std::string>& folders = {""});

// Fills a table of functions and remembers the first missing symbol.
class SymbolTable {
 public:
  explicit SymbolTable(const FindSymbol& find) : find_(find) {}
  template <typename F>
  void fill(F& function, const char* symbol) {
    function = reinterpret_cast<F>(find_(symbol));
    if (function == nullptr && missing_.empty()) missing_ = symbol;
  }
  // unavailable where the library lacks a symbol.
  Status status(const std::string& library) const;

 private:
  const FindSymbol& find_;
  std::string missing_;
};

}  // namespace egret::base
