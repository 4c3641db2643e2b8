# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables in the form that the user's Python has for them."""


def tabulate(rows):
    """A DataFrame where pandas is installed, else the rows."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)
