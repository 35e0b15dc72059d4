"""Any file and any environment are settings or one sentence, which shows no secret."""

from __future__ import annotations

from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from kbapp.domain.errors import UserError
from kbapp.settings import SECRETS, Settings, setting_names
from tests.fuzz.inputs import fuzz, outcome, texts

SECRET = "hunter2"
NAMES = [name for name, _, _ in setting_names()]
words = st.sampled_from([*NAMES, *(part for name in NAMES for part in name.split("."))]) | texts
leaves = st.none() | st.booleans() | st.integers() | st.floats() | texts | st.lists(st.integers() | texts, max_size=2)
values = st.recursive(leaves, lambda inner: st.dictionaries(words, inner, max_size=3), max_leaves=6)
variables = st.sampled_from(["KBAPP_" + name.upper().replace(".", "__").replace("-", "_") for name in NAMES])


def load(file: Path, environ: dict[str, str]) -> None:
    settings = outcome(lambda: Settings.load(file, environ=environ))
    assert SECRET not in repr(settings)
    assert isinstance(settings, UserError) or settings.base_folder.is_absolute()


@given(texts)
@example("&a {x: *a}")
@example("? [a]\n: b")
@fuzz(100)
def test_any_text_is_settings_or_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "kbapp.yaml").write_text(text, encoding="utf-8", errors="replace", newline="")
    load(tmp_path / "kbapp.yaml", {})


@given(st.dictionaries(words, values, max_size=3) | values)
@fuzz(100)
def test_any_yaml_is_settings_or_a_sentence(tmp_path: Path, value: object) -> None:
    import yaml

    (tmp_path / "kbapp.yaml").write_text(yaml.safe_dump(value), encoding="utf-8", errors="replace")
    load(tmp_path / "kbapp.yaml", {})


@given(
    st.dictionaries(variables, texts, max_size=4),
    st.dictionaries(texts.map(lambda text: f"KBAPP_{text}"), texts, max_size=1),
)
@fuzz(100)
def test_any_environment_is_settings_or_a_sentence(tmp_path: Path, known: dict[str, str], odd: dict[str, str]) -> None:
    (tmp_path / "kbapp.yaml").write_text("", encoding="utf-8")
    load(tmp_path / "kbapp.yaml", known | odd)


@given(st.sampled_from(sorted(SECRETS)), leaves.filter(lambda value: not isinstance(value, str)))
@fuzz(40)
def test_a_secret_of_the_wrong_form_is_not_shown(tmp_path: Path, name: str, value: object) -> None:
    import yaml

    for wrong in ([SECRET, value], {SECRET: value}):
        (tmp_path / "kbapp.yaml").write_text(yaml.safe_dump({name: wrong}), encoding="utf-8", errors="replace")
        load(tmp_path / "kbapp.yaml", {})
