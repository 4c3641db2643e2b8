# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python3 -m ashlar.models`: what tools/models does, in an installed package."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
