"""What mkdocs calls while it builds: the pages that are made from the code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from commands_page import commands_page  # noqa: E402
from operators_page import operators_data, operators_page  # noqa: E402
from settings_page import settings_page  # noqa: E402

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages as if they lay in docs/."""
    from mkdocs.structure.files import File

    made = {
        "commands.md": commands_page(),
        "settings.md": settings_page(),
        "operators.md": operators_page(),
        "assets/operators.js": operators_data() + (HERE / "operators.js").read_text(),
    }
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files
