// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM ask for a stop (base/stop.h): work ends as at a time limit, files stay intact,
// and the program exits with 130 or 143. A second signal, at least a quarter of a second after
// the first, ends it at once; outputs are written by rename, so even that leaves no half-written
// file.
#pragma once

namespace egret::tools {

void install_signal_handlers();
// 128 + the signal when one asked for a stop, otherwise CODE.
int exit_code_after_signals(int code);

}  // namespace egret::tools
