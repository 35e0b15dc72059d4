from pathlib import Path

import pytest
from pydantic import SecretStr

from kbapp.domain.errors import UserError
from kbapp.settings import Settings, setting_names

NO_ENVIRONMENT: dict[str, str] = {}


def load(tmp_path: Path, text: str, environ: dict[str, str] | None = None) -> Settings:
    file = tmp_path / "kbapp.yaml"
    file.write_text(text, encoding="utf-8")
    return Settings.load(file, environ=environ or NO_ENVIRONMENT)


def test_k9_the_base_path_is_relative_to_the_folder_of_kbapp_yaml(tmp_path: Path) -> None:
    assert load(tmp_path, "").base_folder == tmp_path / "knowledge_base"
    assert load(tmp_path, "knowledge: {base-path: docs}").base_folder == tmp_path / "docs"
    assert load(tmp_path, "knowledge: {base-path: /data/knowledge_base/}").base_folder == Path("/data/knowledge_base")


def test_k9_without_a_file_paths_are_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings.load(environ=NO_ENVIRONMENT)
    assert settings.base_folder == tmp_path / "knowledge_base"
    assert settings.state_folder == tmp_path / ".kbapp"


def test_yaml_takes_nested_and_dotted_kebab_case_names(tmp_path: Path) -> None:
    nested = load(tmp_path, "retrieval:\n  normalization:\n    max-l2-distance: 1.5\n")
    dotted = load(tmp_path, "retrieval.normalization.max-l2-distance: 1.5\n")
    assert nested.retrieval.normalization.max_l2_distance == 1.5
    assert nested == dotted


def test_the_environment_wins_over_the_file_and_overrides_over_both(tmp_path: Path) -> None:
    environ = {"KBAPP_RETRIEVAL__L1__TOP_K": "5", "KBAPP_STATE_DIR": "state"}
    settings = load(tmp_path, "retrieval: {l1: {top-k: 4, candidates: 9}}", environ)
    assert (settings.retrieval.l1.top_k, settings.retrieval.l1.candidates) == (5, 9)
    assert settings.state_folder == tmp_path / "state"
    settings = Settings.load(tmp_path / "kbapp.yaml", environ=environ, overrides={"retrieval.l1.top-k": "6"})
    assert settings.retrieval.l1.top_k == 6


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("retrieval: {l1: {topk: 3}}", "unknown setting 'retrieval.l1.topk' in .*did you mean retrieval.l1.top-k"),
        ("knowlege: {base-path: x}", "did you mean knowledge.base-path"),
        ("retrieval: {l1: {top-k: many}}", "setting retrieval.l1.top-k is not usable"),
        ("retrieval: {l0: {min-coverage: 2}}", "setting retrieval.l0.min-coverage is not usable"),
        ("retrieval: 3", "unknown setting 'retrieval'"),
        ("- a\n- b", "must be a mapping"),
        ("a: [", "cannot be read as YAML"),
    ],
)
def test_a_wrong_file_is_refused_with_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        load(tmp_path, text)


@pytest.mark.parametrize("value", ["", "maybe"])
def test_every_setting_but_a_text_says_what_it_takes(value: str) -> None:
    said = {}
    for name, _, default in setting_names():
        variable = "KBAPP_" + name.upper().replace(".", "__").replace("-", "_")
        try:
            Settings.load(environ={variable: value})
        except UserError as error:
            said[name] = str(error).removesuffix(f" (it is {value!r})").partition(": it takes ")[2]
        else:
            assert isinstance(default, (str, Path, SecretStr, tuple)), name
    assert said["milvus.read-replica"] == "true or false"
    assert said["retrieval.dedup.domain-policy"] == "off, warn or block"
    assert said["retrieval.l1.candidates"] == "a whole number, at least 1, at most 1,000"
    assert said["session.idle-minutes"] == "a number, above 0"
    assert all(said.values()), said


def test_a_misspelt_variable_is_refused_and_the_right_one_named() -> None:
    with pytest.raises(UserError, match="did you mean KBAPP_RETRIEVAL__L1__TOP_K"):
        Settings.load(environ={"KBAPP_RETRIEVAL__L1__TOPK": "3"})


def test_a_named_file_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        Settings.load(tmp_path / "none.yaml", environ=NO_ENVIRONMENT)


def test_a_secret_is_never_printed() -> None:
    settings = Settings.load(environ={"KBAPP_MILVUS__TOKEN": "root:hunter2", "KBAPP_EMBEDDING__API_KEY": "hunter2"})
    assert "hunter2" not in repr(settings)
    assert settings.milvus.token.get_secret_value() == "root:hunter2"


def test_lists_may_be_written_with_commas_in_a_variable() -> None:
    settings = Settings.load(environ={"KBAPP_KNOWLEDGE__FRONTMATTER_ALIASES__KEYWORDS": "tags, labels"})
    assert settings.knowledge.frontmatter_aliases.keywords == ("tags", "labels")


def test_every_setting_has_a_description() -> None:
    assert all(description for _, description, _ in setting_names())
