from pathlib import Path

import pytest

from dlbench.workspace import examine


def test_healthy_machine_has_no_findings() -> None:
    findings = {finding.name: finding for finding in examine()}
    assert findings.keys() == {"python", "uv", "git", "home", "disk", "pip configuration"}
    assert all(findings[name].ok for name in ("python", "uv", "git", "home"))


def test_all_checks_run_even_if_many_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no section\n")
    monkeypatch.setenv("DLBENCH_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "file"))
    monkeypatch.setenv("PATH", str(tmp_path))
    wrong = {finding.name: finding for finding in examine() if not finding.ok}
    assert wrong.keys() == {"git", "home", "pip configuration"}
    assert all(finding.fix for finding in wrong.values())


def test_pip_configuration_is_counted_and_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://me:secret@host/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "one two")
    (finding,) = [finding for finding in examine() if finding.name == "pip configuration"]
    assert "2 find-links" in finding.detail
    assert "secret" not in finding.detail
    assert "host" not in finding.detail
