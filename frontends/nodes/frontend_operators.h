// SPDX-License-Identifier: Apache-2.0
// The few ONNX operators that belong to the file format and are not operators of Egret: Constant is
// storage, If is structure.
#pragma once

#include <vector>

#include "base/status.h"
#include "frontends/nodes/onnx_node.h"

namespace egret::frontends {

using FrontendImport = base::Result<std::vector<ir::Value>> (*)(ImportedNode&);

// nullptr when the frontend has no such operator.
FrontendImport find_frontend_operator(std::string_view domain, std::string_view op_type);

}  // namespace egret::frontends
