"""kbapp: a local knowledge base for agents, with two-stage retrieval, graded results and an action memory."""
