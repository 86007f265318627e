"""Checks the files that pipelines read, and their reports."""
import json
import os
import subprocess
import sys
import xml.etree.ElementTree

import hostile


def files(_amn, _folder):
    here, wrong = os.path.dirname(sys.executable), []
    commands = [
        [os.path.join(here, "check-jsonschema"), "--builtin-schema", "vendor.github-actions", "action.yml"],
        [os.path.join(here, "check-jsonschema"), "--builtin-schema", "vendor.github-workflows", ".github/workflows/check.yml"],
        [os.path.join(here, "check-jsonschema"), "--builtin-schema", "vendor.gitlab-ci", "deploy/gitlab-ci.yml"],
        [os.path.join(here, "pre-commit"), "validate-manifest", ".pre-commit-hooks.yaml"],
    ]
    for c in commands:
        done = subprocess.run(c, cwd=hostile.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            wrong.append(f"{c[-1]}: {done.stdout}")
    return len(commands), wrong


def quality(amn, folder):
    """https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format"""
    out, wrong = folder / "quality.json", []
    hostile.scan(amn, "--output", f"gitlab={out}", hostile.corpus(folder))
    text = out.read_bytes()
    issues = json.loads(text)
    if text.startswith(b"\xef\xbb\xbf"):
        wrong.append("a byte order mark")
    for i in issues:
        if not (i["description"] and i["check_name"] and i["fingerprint"] and i["location"]["path"] and i["location"]["lines"]["begin"] == 1):
            wrong.append(f"{i}")
        if i["severity"] not in ("info", "minor", "major", "critical", "blocker") or i["location"]["path"].startswith("./"):
            wrong.append(f"{i}")
    prints = [(i["fingerprint"], i["check_name"], i["location"]["path"], i["description"]) for i in issues]
    if len({p[0] for p in prints}) != len(set(prints)):
        wrong.append("two issues have one fingerprint")
    return len(issues), wrong


def junit(amn, folder):
    out, wrong = folder / "junit.xml", []
    hostile.scan(amn, "--output", f"junit={out}", hostile.corpus(folder))
    cases = xml.etree.ElementTree.parse(out).getroot().findall("testsuite/testcase")
    for c in cases:
        if not c.get("name") or len(c.findall("failure")) > 1:
            wrong.append(xml.etree.ElementTree.tostring(c).decode())
    return len(cases), wrong


CHECKS = [
    ("action, hook, jobs", "their schemas", files),
    ("GitLab's code quality", "its fields", quality),
    ("JUnit", "an XML parser", junit),
]
