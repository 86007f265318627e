"""The pages of the program, in notebooks."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from html import escape
from typing import Any

from . import _errors, _given
from ._binary import readable, run_text
from ._html import clean, verdict

_MOST = 4 << 20  # of a page that a notebook keeps in its output


@dataclass(frozen=True)
class Page:
    """An HTML page about a model or a scan, as a file and in notebooks.

    A notebook shows what the verdict is as text, and the page in a frame that may run its own
    script and reach nothing else. Where frames or scripts are removed, the text is left.
    """

    path: str
    html: str = field(repr=False)
    text: str = field(repr=False)  #: HTML without scripts or frames that says what was found

    def save(self, filename: str | os.PathLike[str]) -> None:
        """Write the page. Raise FileExistsError."""
        with open(filename, "x", encoding="utf-8") as f:
            f.write(self.html)

    def _repr_html_(self) -> str:
        if len(self.html) > _MOST:
            return self.text + f"<p>The page has {len(self.html):,} characters, more than a notebook should keep: save(filename) writes it.</p>"
        frame = f"<iframe title='What {clean(self.path)} is' sandbox='allow-scripts' referrerpolicy='no-referrer' style='width:100%;height:40rem;border:1px solid' srcdoc=\"{escape(self.html)}\"></iframe>"
        return f"{self.text}<details><summary>Explore {clean(self.path)}</summary>{frame}</details>"


def page(path: _given.Source, **flags: Any) -> Page:
    """Judge a model, which reads all of it, and return the page of `amn inspect --html`. A refused one has a page too."""
    from . import _program

    with _given.path_of(path) as place, tempfile.TemporaryDirectory(prefix="anamnesis-") as folder:
        readable(place)
        made = os.path.join(folder, "page.html")
        run_text("inspect", [f"--html={made}", *_program.options(flags)], [place])
        if not os.path.exists(made):
            raise _errors.Failed(f"{place}: the program wrote no page")
        with open(made, encoding="utf-8") as f:
            html = f.read()
        name = os.fspath(path) if _given.is_path(path) else _given.title(path)  # type: ignore[arg-type]
        judged = _program.scan(place)
        return Page(str(name), html, verdict(str(name), judged.ok, [(f.path, f.error) for f in judged.files] + ([] if judged.error is None else [("", judged.error)])))

