// SPDX-License-Identifier: Apache-2.0
// What the parts of fake_cuda share.
#pragma once

#include <cstdint>
#include <functional>

#include "backends/cuda/api/abi.h"
#include "tests/backends/fake_clock.h"
#include "tests/backends/fake_cuda.h"

namespace egret::backends {

// By several threads too.
void note_call(const char* call);
void count_one(int FakeCuda::*what, int by = 1);
bool is_capturing();
// Now, or each time that what is being captured is launched. 0.
int do_or_capture(std::function<void()> work);
// The same of a kernel, where the clock says what it takes instead where that is all there is.
int run_or_capture(cuda::Stream stream, const FakeWork& work, std::function<void()> compute);

// Elements by cuBLASLt's numbers of types.
double load_element(int type, const void* data, std::int64_t i);
void store_element(int type, void* data, std::int64_t i, double value);

void fill_fake_cudnn(cuda::DnnFunctions& dnn);

}  // namespace egret::backends
