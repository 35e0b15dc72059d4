"""The app's first page: what the knowledge base holds, and a box to look something up."""

from __future__ import annotations

import streamlit as st

from kbapp.domain.errors import KbError
from kbapp.surfaces.ui.context import open_from_arguments
from kbapp.surfaces.ui.render import render_result

st.set_page_config(page_title="kbapp", layout="centered")
st.title("kbapp")
try:
    kb = open_from_arguments()
    records = kb.documents()
except KbError as error:
    st.error(str(error))
    st.stop()
st.caption(f"{len(records)} documents · {len(kb.entries())} in the keyword index")
with st.form("home_lookup"):
    query = st.text_input("Look up", key="home_query", placeholder="ERR_TIMEOUT")
    asked = st.form_submit_button("Look up")
if asked:
    try:
        render_result(kb.lookup(query))
    except KbError as error:
        st.error(str(error))
