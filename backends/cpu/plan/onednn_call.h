// SPDX-License-Identifier: Apache-2.0
// Calls of oneDNN's primitives inside of a step.
#pragma once

#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>
#include <vector>

#include "backends/cpu/plan/onednn.h"

namespace egret::backends::cpu {

// A primitive with the memory it works on, by one thread.
class Call {
 public:
  struct Argument {
    int key;
    dnnl::memory::desc descriptor;
  };
  Call(dnnl::primitive primitive, const std::vector<Argument>& arguments)
      : primitive_(std::move(primitive)) {
    for (const Argument& argument : arguments) {
      memories_.emplace_back(argument.descriptor, onednn_engine(), nullptr);
      packed_.push_back({argument.key, memories_.back().get()});
    }
  }
  void set(std::size_t argument, const void* data) {
    memories_[argument].set_data_handle(const_cast<void*>(data));
  }
  int run() {  // a dnnl_status_t
    return dnnl_primitive_execute(primitive_.get(), onednn_stream().get(),
                                  static_cast<int>(packed_.size()), packed_.data());
  }

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> packed_;
};

}  // namespace egret::backends::cpu
