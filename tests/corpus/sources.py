"""Checkouts of PyTorch, MLX and llama.cpp: their .metal files, read as their builds read them."""

from __future__ import annotations

import fnmatch
import functools
from dataclasses import dataclass
from pathlib import Path

from openmps.msl.library import LanguageOptions, Library, parse_library
from openmps.msl.source import SourceFile


@dataclass(frozen=True)
class Corpus:
    """headers: folders below `root` that `#include` searches, after the including file's own."""

    name: str
    root: Path
    kernels: str
    headers: tuple[str, ...]
    refused: str = ""  # a part of the names of files that must not compile

    def files(self, pattern: str = "") -> list[Path]:
        found = sorted((self.root / self.kernels).rglob("*.metal"))
        return [file for file in found if fnmatch.fnmatch(file.stem, f"{pattern}*")]

    def must_be_refused(self, file: Path) -> bool:
        return bool(self.refused) and self.refused in file.name

    def find_header(self, name: str, asking: SourceFile) -> SourceFile | None:
        root = self.root.resolve()
        for folder in (Path(asking.name).parent, *(root / folder for folder in self.headers)):
            path = (folder / name).resolve()
            if path.is_file() and path.is_relative_to(root):
                return _read(path)
        return None


@functools.cache
def _read(path: Path) -> SourceFile:
    return SourceFile(str(path), path.read_text())


def pytorch(root: Path) -> Corpus:
    return Corpus("pytorch", root, "aten/src/ATen/native/mps/kernels", (".", "aten/src"))


def mlx(root: Path) -> Corpus:
    return Corpus("mlx", root, "mlx/backend/metal/kernels", (".",), refused="_nax")


def llama(root: Path) -> Corpus:
    return Corpus("llama.cpp", root, "ggml/src/ggml-metal", ("ggml/src", "ggml/src/ggml-metal"))


@functools.lru_cache(maxsize=4)
def library(corpus: Corpus, file: Path) -> Library:
    options = LanguageOptions(find_header=corpus.find_header)
    path = file.resolve()
    return parse_library(path.read_text(), name=str(path), options=options)
