// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries are opened at run time, from the folders that libraries.h names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace egret::backends::cuda {

inline constexpr const char* kNameItsFolder =
    "install it, or name its folder in EGRET_CUDA_LIBRARIES";

// The address of a symbol, or nullptr.
using FindSymbol = std::function<void*(const char* symbol)>;

// Opens the first of `names` that is found, for the life of the process, and passes its symbol
// lookup to `take`. Errors: unavailable with the remedy where no file is found.
base::Status open_shared_library(const std::string& what, const std::vector<std::string>& names,
                                 const std::string& remedy,
                                 const std::function<base::Status(const FindSymbol&)>& take);

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
  base::Status status(const std::string& library) const;

 private:
  const FindSymbol& find_;
  std::string missing_;
};

}  // namespace egret::backends::cuda
