// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/sized_answers.h"

#include <utility>

namespace egret::tools {

base::Result<ExitCode> answer_runs(std::span<const driver::SizedRun> runs, Console& console,
                                   base::FunctionRef<base::Result<Answer>(std::size_t)> answer_of,
                                   base::FunctionRef<void(base::Json&, ExitCode)> complete) {
  base::Json list = base::Json::array();
  std::string text;
  ExitCode code = ExitCode::kOk;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EGRET_ASSIGN_OR_RETURN(Answer answer, answer_of(i));
    if (code == ExitCode::kOk) code = answer.code;
    if (runs.size() == 1) {
      console.result(answer.json, answer.text);
      return code;
    }
    const std::string sizes = driver::sizes_text(runs[i].sizes);
    list.push(std::move(answer.json.set("sizes", sizes)));
    text += (text.empty() ? "" : "\n") + sizes + "\n" + answer.text;
  }
  base::Json all = base::versioned_json().set("runs", std::move(list));
  complete(all, code);
  console.result(all, text);
  return code;
}

}  // namespace egret::tools
