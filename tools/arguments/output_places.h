// SPDX-License-Identifier: Apache-2.0
// Where results go, looked at before work begins.
#pragma once

#include "base/options/option_set.h"
#include "base/status.h"

namespace egret::tools {

// Of all options that are files or folders to write (base::output_file(), base::output_folder()):
// folders of results are made, and a file must lie in a folder that can be written to.
// Errors: those of base::check_writable(); unavailable where a folder cannot be made.
base::Status prepare_outputs(const base::OptionSet& options);

}  // namespace egret::tools
