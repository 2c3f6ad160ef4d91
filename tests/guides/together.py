"""Runs the programs of a folder in turn, each as if it were the only one: `together.py FOLDER`.

Starting a process and importing torch takes longer than most snippets. A line that starts with the
record separator ends the output of a program, on both streams, with its exit code.
"""

from __future__ import annotations

import gc
import os
import runpy
import sys
import traceback
from pathlib import Path

import torch  # noqa: F401  keeps hold of what is __main__ at that time, and of its tensors

END = "\x1e"


def run(program: Path, after: Path) -> int:
    # What an earlier one has set is not this one's, as in a process of its own.
    before = dict(os.environ)
    sys.argv = [str(program)]
    try:
        variables = runpy.run_path(str(program), run_name="__main__")
        if after.exists():
            exec(compile(after.read_text(), after, "exec"), variables)
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        os.environ.clear()
        os.environ.update(before)
    return 0


def main(folder: Path) -> None:
    for program in sorted(folder.glob("*.py")):
        exit_code = run(program, program.with_suffix(".then"))
        gc.collect()  # its tensors are not the next one's
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            stream.write(f"{END}{exit_code}\n")
            stream.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
