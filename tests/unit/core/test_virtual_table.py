"""A fake hooks object, one of whose functions is replaced as one_accelerator.cpp does it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from openmps.build.compiler import find_compiler
from openmps.device.core import SOURCES

PROGRAM = """
#include <cstdio>
#include <stdexcept>
#include "torch_interfaces/virtual_table.h"

struct Interface {
  virtual ~Interface() = default;
  virtual int first() const { return 1; }
  virtual bool isBuilt() const { return true; }
  virtual int last() const { return 3; }
};
struct Hooks : Interface {
  bool isBuilt() const override { return true; }
  virtual int added() const { return 4; }
};
struct Short {
  virtual int only() const { return 5; }
};

bool not_built(const void*) { return false; }

int main() {
  Hooks changed, other;
  Interface* volatile hooks = &changed;
  const auto slot = openmps::virtual_slot(&Interface::isBuilt);
  std::printf("%zu functions, slot %zu\\n", openmps::count_virtual_functions(hooks), slot);
  openmps::replace_virtual_function(hooks, slot, reinterpret_cast<void*>(&not_built));
  Hooks* volatile same = &changed;
  Interface* volatile untouched = &other;
  std::printf("%d %d %d %d, %d\\n", hooks->first(), hooks->isBuilt(), hooks->last(), same->added(),
              untouched->isBuilt());
  Short small;
  try {
    openmps::replace_virtual_function(&small, slot, reinterpret_cast<void*>(&not_built));
  } catch (const std::out_of_range& error) {
    std::puts(error.what());
  }
}
"""


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_one_function_is_replaced_and_no_other(tmp_path: Path, optimisation: str) -> None:
    source = tmp_path / "program.cpp"
    source.write_text(PROGRAM)
    program = tmp_path / "program"
    options = ["-std=c++20", optimisation, f"-I{SOURCES}"]
    subprocess.run([find_compiler().path, *options, source, "-o", program], check=True)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    counted, called, refused = printed.splitlines()
    # Two for the destructor.
    assert counted == "6 functions, slot 3"
    assert called == "1 0 3 4, 1"
    assert refused == "a virtual table is shorter than its interface"
