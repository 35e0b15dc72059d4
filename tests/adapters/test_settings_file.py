from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.adapters.settings_file import SettingsFile
from kbapp.domain.errors import UserError
from kbapp.settings import Settings

NAME = "retrieval.normalization.reference-threshold"


def reference_of(file: Path) -> float:
    return Settings.load(file, environ={}).retrieval.normalization.reference_threshold


def test_without_a_file_one_is_made_that_the_settings_read(tmp_path: Path) -> None:
    file = tmp_path / "kbapp.yaml"
    SettingsFile(file).write({NAME: 0.3})
    assert reference_of(file) == 0.3


@pytest.mark.parametrize(
    "before",
    [
        "retrieval:\n  normalization:\n    reference-threshold: 0.5 # 旧值\n",
        "retrieval.normalization.reference-threshold: 0.5 # 旧值\n",
        "retrieval:\n  normalization.reference-threshold: 0.5 # 旧值\n",
        "retrieval.normalization:\n  reference-threshold: 0.5 # 旧值\n",
    ],
)
def test_a_value_is_changed_where_it_stands_whatever_the_form(tmp_path: Path, before: str) -> None:
    file = tmp_path / "kbapp.yaml"
    file.write_text(before, encoding="utf-8")
    SettingsFile(file).write({NAME: 0.3})
    assert file.read_text(encoding="utf-8") == before.replace("0.5", "0.3")


def test_comments_order_quotes_and_other_values_stay(tmp_path: Path) -> None:
    file = tmp_path / "kbapp.yaml"
    before = '# 我们的知识库\nknowledge:\n  base-path: "docs/"   # 相对路径\n\nretrieval:\n  l1: {top-k: 5}\n'
    file.write_text(before, encoding="utf-8")
    SettingsFile(file).write({NAME: 0.3})
    assert file.read_text(encoding="utf-8") == before + "  normalization:\n    reference-threshold: 0.3\n"
    assert reference_of(file) == 0.3


@pytest.mark.parametrize("broken", ["a: [1", "- a\n- b\n", "just text", "a: 1\n\0"])
def test_a_file_that_is_no_mapping_is_named_and_left_as_it_is(tmp_path: Path, broken: str) -> None:
    file = tmp_path / "kbapp.yaml"
    file.write_text(broken, encoding="utf-8")
    with pytest.raises(UserError, match=r"kbapp\.yaml .*nothing has changed"):
        SettingsFile(file).write({NAME: 0.3})
    assert file.read_text(encoding="utf-8") == broken


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="nothing has changed"):
        SettingsFile(tmp_path / "taken" / "kbapp.yaml").write({NAME: 0.3})


@given(st.floats(0, 1))
def test_every_share_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, value: float) -> None:
    file = tmp_path_factory.mktemp("settings") / "kbapp.yaml"
    SettingsFile(file).write({NAME: value, "retrieval.normalization.highly-relevant-threshold": 1.0})
    assert reference_of(file) == value


def test_a_file_of_comments_alone_keeps_them(tmp_path: Path) -> None:
    file = tmp_path / "kbapp.yaml"
    file.write_text("# 我们的设置\n# llm:\n#   api-key: abc\n", encoding="utf-8")
    SettingsFile(file).write({NAME: 0.3})
    assert file.read_text(encoding="utf-8").startswith("# 我们的设置\n# llm:\n#   api-key: abc\nretrieval:\n")
    assert reference_of(file) == 0.3


def test_a_private_file_stays_private_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "kbapp.yaml"
    real.write_text("llm:\n  api-key: abc\n", encoding="utf-8")
    real.chmod(0o600)
    link.symlink_to(real)
    SettingsFile(link).write({NAME: 0.3})
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert reference_of(real) == 0.3


def test_a_read_only_file_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "kbapp.yaml"
    file.write_text("# ours\n", encoding="utf-8")
    file.chmod(0o444)
    with pytest.raises(UserError, match="read-only; nothing has changed"):
        SettingsFile(file).write({NAME: 0.3})
    assert file.read_text(encoding="utf-8") == "# ours\n"
