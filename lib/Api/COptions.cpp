// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and values of options that several functions of the C interface read.

#include "COptions.h"

using namespace ashlar;
using namespace ashlar::detail;

static std::string readSwitch(const std::string &text, bool &on) {
  on = text == "true";
  return on || text == "false" ? "" : "expected true or false";
}

std::optional<api::Error> detail::readLoad(const ashlar_options *options,
                                           api::LoadOptions &load) {
  return readOptions(options, "machine, max-memory",
                     [&](const std::string &name, const std::string &value) {
                       if (name == "machine") {
                         load.machine = value;
                         return std::string();
                       }
                       if (name == "max-memory")
                         return readNumber(value, load.maxMemory);
                       return std::string("unknown");
                     });
}

std::optional<api::Error> detail::readRun(const ashlar_options *options,
                                          api::RunOptions &run) {
  return readOptions(
      options, "threads, kernels, functional, timeline, energy-table",
      [&](const std::string &name, const std::string &value) {
        if (name == "threads") {
          std::string problem = readNumber(value, run.threads);
          return run.threads > 1024 ? "expected at most 1024" : problem;
        }
        if (name == "functional") {
          bool functional = false;
          std::string problem = readSwitch(value, functional);
          run.timing = !functional;
          return problem;
        }
        if (name == "timeline")
          return readSwitch(value, run.timeline);
        if (name != "kernels" && name != "energy-table")
          return std::string("unknown");
        (name == "kernels" ? run.kernels : run.energyTable) = value;
        return std::string();
      });
}
