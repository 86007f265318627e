"""SARIF: its schema, and what GitHub asks beyond it.

The schema is that of OASIS, which the Go module go-sarif carries.
"""
import json
import pathlib
import subprocess
import tempfile
import urllib.parse

import hostile
import jsonschema

MODULE = "github.com/owenrumney/go-sarif/v3@v3.3.1"


def schema():
    with tempfile.TemporaryDirectory() as tmp:
        (pathlib.Path(tmp) / "go.mod").write_text("module x\n")
        said = subprocess.run(["go", "mod", "download", "-json", MODULE], cwd=tmp, stdout=subprocess.PIPE, check=True)
    text = (pathlib.Path(json.loads(said.stdout)["Dir"]) / "pkg/report/v210/sarif/schema.go").read_text()
    return json.loads(text.split("`")[1])


def document(amn, folder):
    out = folder / "scan.sarif"
    if not out.exists():
        hostile.scan(amn, "--output", f"sarif={out}", hostile.corpus(folder))
    return json.loads(out.read_text())


def against_schema(amn, folder):
    doc = document(amn, folder)
    wrong = [f"{list(e.absolute_path)}: {e.message[:200]}" for e in jsonschema.Draft4Validator(schema()).iter_errors(doc)]
    return len(doc["runs"][0]["results"]), wrong


def for_github(amn, folder):
    """https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning"""
    doc, wrong = document(amn, folder), []
    (run,) = doc["runs"]
    driver = run["tool"]["driver"]
    rules = {r["id"]: r for r in driver["rules"]}
    for r in driver["rules"]:
        for key in ("shortDescription", "fullDescription", "help"):
            if not r[key]["text"] or len(r[key]["text"]) > 1024:
                wrong.append(f"rule {r['id']}: {key}")
        if not 0 < float(r["properties"]["security-severity"]) <= 10 or len(r["properties"]["tags"]) > 20:
            wrong.append(f"rule {r['id']}: properties")
    for r in run["results"]:
        at = r["locations"][0]["physicalLocation"]
        uri = at["artifactLocation"]["uri"]
        if r["ruleId"] not in rules or not r["message"]["text"] or not r["partialFingerprints"] or at["region"]["startLine"] < 1:
            wrong.append(f"result {r}")
        if urllib.parse.quote(urllib.parse.unquote(uri), safe="/!$&'()*+,;=:@~") != uri and urllib.parse.urlsplit(uri).path != uri:
            wrong.append(f"uri {uri!r}")
    return len(run["results"]), wrong


CHECKS = [
    ("SARIF", "schema of SARIF 2.1.0", against_schema),
    ("SARIF for GitHub", "rules of code scanning", for_github),
]
