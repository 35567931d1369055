// SPDX-License-Identifier: Apache-2.0
#include "backends/joint_kernels.h"

namespace egret::backends {

const JointKernels* joint_kernels_of(const Backend& backend) {
  return dynamic_cast<const JointKernels*>(&backend);
}

}  // namespace egret::backends
