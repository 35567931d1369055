// SPDX-License-Identifier: Apache-2.0
// Optimizes a model with the installed library: optimizer IN.onnx OUT.onnx
#include <cstdio>
#include <string_view>

#include "base/system/file.h"
#include "driver/optimize.h"
#include "frontends/onnx.h"

namespace {

egret::base::Status optimize(const char* input, const char* output) {
  EGRET_ASSIGN_OR_RETURN(const auto model, egret::frontends::import_onnx(input));
  egret::driver::OptimizeOptions options;
  options.quick = true;
  EGRET_ASSIGN_OR_RETURN(const auto result, egret::driver::optimize(model.graph, options));
  EGRET_ASSIGN_OR_RETURN(const auto exported,
                         egret::frontends::export_onnx(result.graph, model.info, {}));
  std::printf("%s\n", result.report.status.c_str());
  return egret::base::write_file(output, exported.bytes);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const egret::base::Status status = optimize(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
