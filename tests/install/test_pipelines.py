"""What the CI of a project runs, run without torch: hooks of pre-commit, the steps of the action, the GitLab job."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml
from wheel_environment import ROOT, Installed

EXAMPLE = ROOT / "examples" / "multi_stream"
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one schedule, all three files of it committed."""
    folder = tmp_path / "project"
    shutil.copytree(EXAMPLE, folder / "schedules", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def break_schedule(project: Path) -> None:
    """An edge less: lint must find it, and the generated file is no longer what the schedule generates."""
    path = project / "schedules" / "multi_stream.sched"
    text = path.read_text()
    edge = next(line for line in text.splitlines() if "->" in line)
    path.write_text(text.replace(edge + "\n", ""))


def documented_job() -> dict[str, Any]:
    """The GitLab job in docs/ci.md."""
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    block = re.search(r"## GitLab\n\n((?:    .*\n|\n)+)", text)
    assert block is not None
    job: dict[str, Any] = yaml.safe_load(textwrap.dedent(block[1]))["schedules"]
    return job


@pytest.mark.parametrize("hook", sorted(HOOKS))
def test_a_hook_passes_and_fails(installed: Installed, project: Path, hook: str) -> None:
    files = "schedules/multi_stream.sched" if HOOKS[hook].get("pass_filenames", True) else ""
    clean = installed.shell(f"{HOOKS[hook]['entry']} {files}", project)
    assert (clean.returncode, clean.stdout, clean.stderr) == (0, "", "")
    path = project / "schedules" / "multi_stream.sched"
    if hook == "streamsched-fmt":
        path.write_text(path.read_text() + "\n\n\n")
        assert installed.shell(f"{HOOKS[hook]['entry']} {files}", project).returncode == 0
        assert path.read_text() == (EXAMPLE / "multi_stream.sched").read_text()  # pre-commit sees that it was changed
    else:
        break_schedule(project)
        assert installed.shell(HOOKS[hook]["entry"], project).returncode == 1
    assert re.search(HOOKS[hook]["files"], "schedules/multi_stream.sched")


@pytest.mark.parametrize(("file", "concerns"), [("a/m.trace.json.gz", True), ("model.py", True), ("README.md", False)])
def test_lint_runs_for_whatever_can_make_a_schedule_wrong(file: str, concerns: bool) -> None:
    assert bool(re.search(HOOKS["streamsched-lint"]["files"], file)) == concerns


def action_step(installed: Installed, project: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """Run the action's last step as GitHub would, with some of its inputs given."""
    inputs = {name: what["default"] for name, what in ACTION["inputs"].items()} | given
    step = ACTION["runs"]["steps"][-1]
    variables = {}
    for name, value in step["env"].items():
        found = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value)
        assert found is not None and found[1] in inputs, value
        variables[name] = inputs[found[1]]
    return installed.shell(step["run"], project, **variables)


def test_the_action_passes(installed: Installed, project: Path) -> None:
    done = action_step(installed, project)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_action_tells_what_it_finds(installed: Installed, project: Path) -> None:
    break_schedule(project)
    done = action_step(installed, project, **{"sarif-file": "found.sarif"})
    assert done.returncode == 1
    assert "::error file=schedules/multi_stream.sched,line=" in done.stdout
    results = json.loads((project / "found.sarif").read_text())["runs"][0]["results"]
    assert any(result["level"] == "error" for result in results)
    stale = action_step(installed, project, **{"lint-options": "--exit-zero --quiet"})
    assert stale.returncode == 1, "the generated file is stale still"
    assert (
        action_step(
            installed, project, **{"lint-options": "--exit-zero", "format": "false", "generated": "false"}
        ).returncode
        == 0
    )


def test_the_action_installs_what_it_is_part_of() -> None:
    install = ACTION["runs"]["steps"][0]
    assert install["env"] == {"ACTION_PATH": "${{ github.action_path }}"}
    assert 'install --quiet --disable-pip-version-check "$ACTION_PATH"' in install["run"]
    assert (ROOT / "action.yml").parent == ROOT, "pip installs the folder that the action lies in"


def test_the_gitlab_job(installed: Installed, project: Path) -> None:
    job = documented_job()
    script = "\n".join(job["script"])
    reports = job["artifacts"]["reports"]
    assert installed.shell(script, project).returncode == 0
    assert json.loads((project / reports["codequality"]).read_text()) == []
    break_schedule(project)
    assert installed.shell(script, project).returncode == 1
    (finding, *_) = json.loads((project / reports["codequality"]).read_text())
    assert finding["location"]["path"] == "schedules/multi_stream.sched" and finding["fingerprint"]
    assert "<failure" in (project / reports["junit"]).read_text()


def test_sources_that_are_not_there_are_unknown_and_changed_ones_stale(installed: Installed, project: Path) -> None:
    (project / "schedules" / "model.py").unlink()
    assert installed.shell("streamsched lint", project).returncode == 0
    (project / "schedules" / "model.py").write_text("# another\n")
    done = installed.shell("streamsched lint --output-format concise", project)
    assert done.returncode == 1 and "SEL105" in done.stdout
