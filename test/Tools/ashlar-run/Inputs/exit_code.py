# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a command's exit code and what it says on standard error."""

import subprocess
import sys

done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
print(f"{done.returncode}: {done.stderr}")
