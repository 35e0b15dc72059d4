"""The steps of a plan one after the other: what each run did with them, and both calls of one in full."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from kbapp.domain.lookup_result import LookupResult
from kbapp.domain.step_outcome import step_outcome
from kbapp.domain.transcript import Entry, SkippedStep
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.observed_run import ObservedRun, Way
from kbapp.surfaces.ui.card import render_card
from kbapp.surfaces.ui.levels import render_level
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.scripted_looks import OUTCOME_LOOKS, chip_html, reason_of
from kbapp.surfaces.ui.state import t

SHOWN = "simulator_steps_shown"  # how many steps are revealed; all when it is not there
CHOSEN = "simulator_step"
MAX_ROWS = 200
_QUERY_CHARACTERS = 160


def shown_steps(runs: Sequence[ObservedRun]) -> int:
    """How many steps are revealed."""
    total = len(runs[0].task.steps)
    return min(int(st.session_state.get(SHOWN, total)), total)


def show_all() -> None:
    """Reveal every step, and choose none."""
    st.session_state.pop(SHOWN, None)
    st.session_state[CHOSEN] = None


def _show(steps: int) -> None:
    st.session_state[SHOWN] = steps
    st.session_state[CHOSEN] = steps


def render_controls(runs: Sequence[ObservedRun]) -> None:
    """Reveal the next step, all, or begin again."""
    total, shown = len(runs[0].task.steps), shown_steps(runs)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            t("scripted.start"), key="simulator_step_first", icon=":material/first_page:", on_click=_show, args=(1,)
        )
        st.button(
            t("scripted.next"), key="simulator_step_next", icon=":material/navigate_next:", disabled=shown >= total,
            type="primary" if shown < total else "secondary", on_click=_show, args=(shown + 1,),
        )  # fmt: skip
        st.button(
            t("scripted.all"), key="simulator_step_all", icon=":material/last_page:", disabled=shown >= total,
            on_click=show_all,
        )  # fmt: skip
        st.caption(t("scripted.shown", shown=shown, steps=total), width="content")


def render_table(runs: Sequence[ObservedRun], steps: int) -> None:
    """A row per step that is revealed: the query, and what each run did with it."""
    names = [t(f"scripted.way.{run.way}") for run in runs]
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    rows = "".join(_table_row(runs, names, step) for step in range(min(steps, MAX_ROWS)))
    st.html(
        f'<div class="kb-steps"><table><thead><tr><th scope="col">{escape(t("scripted.step"))}</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    if steps > MAX_ROWS:
        st.caption(t("scripted.shown", shown=MAX_ROWS, steps=steps))


def _table_row(runs: Sequence[ObservedRun], names: Sequence[str], step: int) -> str:
    current = ' class="kb-current" aria-current="step"' if st.session_state.get(CHOSEN) == step + 1 else ""
    cells = "".join(
        f'<td data-label="{escape(name)}">{_cell(run, step)}</td>' for run, name in zip(runs, names, strict=True)
    )
    query = _short(runs[0].task.steps[step])
    head = f'<span class="kb-number">{step + 1}</span> <span>{escape(query)}</span>'
    return f'<tr{current}><th scope="row"><div class="kb-step">{head}</div></th>{cells}</tr>'


def _cell(run: ObservedRun, step: int) -> str:
    """The outcome, and what was given or why nothing was."""
    entry = run.entries[step]
    given = "<br>".join(map(escape, _lines(run, entry, step)))
    return f'{chip_html(step_outcome(entry))}<div class="kb-given">{given}</div>'


def _lines(run: ObservedRun, entry: Entry, step: int) -> list[str]:
    if isinstance(entry, SkippedStep):
        return [_short(reason_of(entry))]
    result = entry.result
    if result.dedup_reason:
        reason, earlier = t(f"dedup.{result.dedup_reason}"), run.earlier_of(entry)
        return [t("scripted.earlier_step", reason=reason, step=earlier) if earlier else reason]
    lines = _documents(result, run.base_folder)
    before, after = run.figures(step), run.figures(step + 1)
    given = after.characters_given - before.characters_given
    again = after.characters_given_twice - before.characters_given_twice
    if given:
        key = "scripted.given_again" if again else "scripted.given"
        lines.append(t(key, characters=f"{given:,}", again=f"{again:,}"))
    return lines


def _documents(result: LookupResult, base_folder: str) -> list[str]:
    """The documents, each once; of a primary result that is metadata alone it is said."""
    sources = [part.source for part in (result.primary, result.supplement) if part]
    lines = [source.removeprefix(f"{base_folder}/") for source in dict.fromkeys(sources)]
    if result.primary and result.primary.available_sections is None and len(lines) == len(sources):
        lines[0] += f" ({t('scripted.mention')})"
    return lines


def render_chosen(kb: KnowledgeBase, runs: Sequence[ObservedRun], steps: int) -> None:
    """A choice among the revealed steps, and its calls in the two runs that have a memory, side by side."""
    queries = runs[0].task.steps
    step = st.selectbox(
        t("scripted.choose"),
        range(1, steps + 1),
        index=None,
        format_func=lambda number: f"{number}. {_short(queries[number - 1])}",
        placeholder=t("scripted.choose_placeholder"),
        key=CHOSEN,
    )
    if step is None:
        return
    with st.container(key="simulator_step_cards"):
        columns = st.columns(2)
    compared = [run for run in runs if run.way is not Way.WITHOUT_MEMORY]
    for column, run in zip(columns, compared, strict=True):
        with column:
            st.markdown(f"**{t(f'scripted.way.{run.way}')}**")
            render_entry(kb, run, run.entries[step - 1])


def render_entry(kb: KnowledgeBase, run: ObservedRun, entry: Entry, numbers: dict[str, int] | None = None) -> None:
    """The card of a call; of what was not looked up, the reason."""
    row = run.row_of(entry)
    if row:
        render_card(kb, row, numbers=numbers)
        return
    with st.container(border=True):
        st.markdown(f"### {plain(_short(entry.query)) or '–'}")
        render_level(OUTCOME_LOOKS[step_outcome(entry)])
        if isinstance(entry, SkippedStep):
            st.markdown(plain(reason_of(entry)))
            st.caption(t("scripted.nothing_asked"))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUERY_CHARACTERS else f"{line[: _QUERY_CHARACTERS - 1]}…"
