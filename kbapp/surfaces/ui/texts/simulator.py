"""Words of the page Executor simulator."""

TEXTS: dict[str, tuple[str, str]] = {
    "simulator.intro": (
        "You are the executor: each message is one call of `lookup_knowledge`, graded and remembered in this session.",
        "你就是执行器：每条消息都是一次 `lookup_knowledge` 调用，会被定级并计入本会话的动作记忆。",
    ),
    "simulator.placeholder": ("Look something up as an executor would", "像执行器一样检索知识"),
    "simulator.searching": ("Looking up …", "检索中…"),
    "simulator.empty": (
        "Nothing was asked in this session yet. Type below, or take one of the *Examples*.",
        "本会话还没有检索。请在下方输入，或从“示例”中选择。",
    ),
    "simulator.examples": ("Examples", "示例"),
    "simulator.cleared": (
        "{time}: the session was cleared; earlier calls do not count.",
        "{time}：会话已清空，之前的调用不再计入。",
    ),
    "simulator.options": ("Options of the next call", "下次调用的选项"),
    "simulator.options_help": ("They apply to the next message only.", "仅对下一条消息生效。"),
    "simulator.section": ("Section (section_title)", "章节 (section_title)"),
    "simulator.section_placeholder": ("any section, or type one", "选择或输入章节"),
    "simulator.section_help": (
        "Gives that section of the document which the query finds. The list holds the sections of what was given.",
        "返回查询命中文档的该章节。列表为已提供文档的章节。",
    ),
    "simulator.dimension": ("Missing dimension (missing_dimension)", "缺少的维度 (missing_dimension)"),
    "simulator.dimension_help": (
        "What the content given so far lacks. A new one passes the dedup, for parts that were not given yet.",
        "说明已有内容缺少什么。新的维度可以越过去重，取得尚未提供的部分。",
    ),
    "simulator.force": ("Give it again (force)", "强制再次返回 (force)"),
    "simulator.force_help": (
        "Skips dedup for this call. For people; no agent has this.",
        "本次调用跳过去重。仅供人使用，智能体没有此选项。",
    ),
    "simulator.memory": ("Action memory", "动作记忆"),
    "simulator.memory_empty": (
        "Empty: nothing was given in this session. Domains and documents appear here as calls give them.",
        "为空：本会话尚未提供任何内容。每次调用提供的领域和文档会出现在这里。",
    ),
    "simulator.mentioned": ("named in a summary; no body text was given", "仅在概要中提到，未提供正文"),
    "simulator.figures": (
        "**{calls}** call{calls:s} · **{given}** document{given:s} given · **{blocked}** deduped",
        "**{calls}** 次调用 · 已提供 **{given}** 份文档 · 去重 **{blocked}** 次",
    ),
    "simulator.new_session": ("New session", "新会话"),
    "simulator.clear": ("Clear", "清空"),
    "simulator.export": ("Export", "导出"),
    "simulator.export_json": ("JSON", "JSON"),
    "simulator.export_md": ("Markdown", "Markdown"),
    "simulator.policy": ("When a domain is asked for again", "再次检索同一领域时"),
    "simulator.policy_help": (
        "off: give it; warn: give it and say so; block: withhold it (DEDUPED). In force for the calls of this tab.",
        "off：照常返回；warn：返回并提醒；block：不返回（DEDUPED）。对本标签页的调用生效。",
    ),
    "simulator.policy_off": ("off", "off 关闭"),
    "simulator.policy_warn": ("warn", "warn 提醒"),
    "simulator.policy_block": ("block", "block 拦截"),
    "simulator.prompt": ("Executor prompt", "执行器提示词"),
    "simulator.prompt_note": (
        "The rules for an agent that calls the tool; they ship with the package.",
        "调用该工具的智能体应遵守的规则，随软件包提供。",
    ),
}
