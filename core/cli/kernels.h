// SPDX-License-Identifier: BSD-3-Clause
// The commands of `titan kernels`, and the options that two of them share.
#pragma once

#include <memory>
#include <string>

#include "core/cli/command.h"
#include "core/op/example_call.h"
#include "core/train/session.h"

namespace titan::cli {

/// A call of an op as arguments say it.
struct CallOptions {
  op::ExampleRequest request;
  std::string dtype = "fp32";
};

/// Adds OP, --shape, --dtype and --set. `options` outlives the command.
void add_call_options(Command& command, CallOptions& options);

/// The call; UserError for what the op refuses.
op::ExampleCall call_of(const CallOptions& options);

/// "the case "one token" (no --shape given)", or "--shape".
std::string origin_text(const op::ExampleCall& call);

/// The search that --plugin and --plugin-path describe.
plugin::SearchOptions search_of(const train::SessionOptions& options);

void add_kernels_explain(Command& kernels, int& exit_code);
void add_kernels_bench(Command& kernels, int& exit_code);

}  // namespace titan::cli
