"""The chat templates that packages of PyPI ship.

A template is a file of Jinja, a member of a JSON file whose name has "template", or a string of
a Python file that has a statement and the messages. What Jinja cannot parse is a piece of one,
and left out; so is documentation made by templates, and what makes images of containers.
"""
import ast
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile

import jinja2
import jinja2.ext
from jinja2 import nodes

HERE = pathlib.Path(__file__).resolve().parent
MARK = re.compile(r"\{[%{]")
APART = ("/docs/", "/cicd/", "/docker/")


class Generation(jinja2.ext.Extension):
    """The statement that transformers adds."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(["name:endgeneration"], drop_needle=True), lineno=line)


def environment(kind=jinja2.Environment, **options):
    """An environment as transformers makes it, outside its sandbox."""
    env = kind(extensions=[Generation, jinja2.ext.loopcontrols, jinja2.ext.do], **options)
    env.filters["from_json"] = env.filters["fromjson"] = json.loads
    return env


def candidates(path):
    try:
        text = path.read_text("utf-8")
    except (UnicodeDecodeError, OSError):
        return
    if path.suffix in (".jinja", ".jinja2"):
        yield text
    elif path.suffix == ".json" and "template" in text:
        yield from members(text)
    elif path.suffix == ".py" and "{%" in text:
        yield from strings(text)


def members(text):
    try:
        left = [json.loads(text)]
    except ValueError:
        return
    while left:
        x = left.pop()
        if isinstance(x, list):
            left += x
        elif isinstance(x, dict):
            for key, value in x.items():
                if isinstance(value, str) and "template" in key and MARK.search(value):
                    yield value
                else:
                    left.append(value)


def strings(text):
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    pieces = {id(part) for x in ast.walk(tree) if isinstance(x, ast.JoinedStr) for part in ast.walk(x)}
    for x in ast.walk(tree):
        if isinstance(x, ast.Constant) and isinstance(x.value, str) and id(x) not in pieces:
            if "{%" in x.value and re.search(r"\bmessages?\b", x.value):
                yield x.value


def unpack(folder):
    """Unpacks the sdists of packages.txt below a folder, once."""
    folder.mkdir(parents=True, exist_ok=True)
    for wanted in (HERE / "packages.txt").read_text().split():
        name, version = wanted.split("==")
        into = folder / f"{name}-{version}"
        if into.exists():
            continue
        archives = folder / "sdists"
        found = sdist(archives, name, version)
        if not found:
            # The package is not built: pip's own download asks its build system for what it needs.
            subprocess.run([sys.executable, HERE / "sdist.py", archives, name, version], check=True)
            found = sdist(archives, name, version)
        with tarfile.open(found) as tar:
            for m in tar:
                if m.isfile() and pathlib.Path(m.name).suffix in (".jinja", ".jinja2", ".json", ".py"):
                    tar.extract(m, into, filter="data")


def sdist(folder, name, version):
    for spelled in (name, name.replace("-", "_")):
        path = folder / f"{spelled}-{version}.tar.gz"
        if path.exists():
            return path
    return None


def templates(folder):
    """Yields (package, path, text) of each template, once."""
    unpack(folder)
    env, seen = environment(), set()
    for package in sorted(p for p in folder.iterdir() if p.name != "sdists"):
        for root, folders, files in os.walk(package):
            folders.sort()
            for name in sorted(files):
                path = pathlib.Path(root, name)
                for text in candidates(path):
                    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
                    if digest in seen or any(a in str(path) for a in APART):
                        continue
                    seen.add(digest)
                    try:
                        env.parse(text)
                    except jinja2.TemplateSyntaxError:
                        continue
                    yield package.name, str(path.relative_to(package)), text
