# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs every GoogleTest binary of build/unittests; each TEST counts on its own.

import os

import lit.formats

config.name = "Ashlar-Unit"
config.suffixes = []
config.test_source_root = config.ashlar_unittest_dir
config.test_exec_root = config.ashlar_unittest_dir
# Every file of the folder is a test binary, except result files that an
# interrupted run left behind.
if os.path.isdir(config.ashlar_unittest_dir):
    for entry in os.listdir(config.ashlar_unittest_dir):
        if entry.endswith(".json"):
            os.remove(os.path.join(config.ashlar_unittest_dir, entry))
config.test_format = lit.formats.GoogleTest(".", "")
# MLIR's allocator poisons what it has not handed out, but only where our build
# sees it: the dylib has no instrumentation and writes on.
config.environment["ASAN_OPTIONS"] = "allow_user_poisoning=0"
for name in ("HOME", "UBSAN_OPTIONS", "ASAN_OPTIONS", "GTEST_FILTER"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["ASHLAR_SOURCE_DIR"] = config.ashlar_src_root
