// SPDX-License-Identifier: Apache-2.0
// Tensors to and from arrays of Python (NumPy, or anything that exports DLPack).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <map>
#include <string>

#include "ir/core/tensor.h"

namespace egret::python {

namespace nb = nanobind;

// The array's elements as a tensor. Nothing is copied where they are contiguous and kernels may
// read them (ir::Tensor::may_borrow()); the tensor then holds the array, and frees it with the
// interpreter's lock taken. Raises egret.Usage for what is no array,
// and egret.Unsupported for other element types.
ir::Tensor tensor_of(nb::handle array);
// A dict of name to array.
std::map<std::string, ir::Tensor> tensors_of(const nb::dict& arrays);

// A NumPy array over the tensor's memory. It may be written if the tensor is given up, and only be
// read otherwise. bfloat16 needs the package ml_dtypes, and without it is raised as
// egret.Unavailable.
nb::object array_of(ir::Tensor&& tensor);
nb::object array_of(const ir::Tensor& tensor);

// A one-dimensional NumPy array over `values`, which `owner` keeps alive.
template <typename T>
nb::object view_of(const T* values, std::size_t count, nb::handle owner) {
  return nb::cast(nb::ndarray<nb::numpy, const T>(values, {count}, owner));
}

}  // namespace egret::python
