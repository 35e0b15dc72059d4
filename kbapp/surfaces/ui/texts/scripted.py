"""Words of the page Executor simulator where an executor other than the person works: a script, a language model."""

TEXTS: dict[str, tuple[str, str]] = {
    "mode.label": ("Who is the executor?", "由谁执行？"),
    "mode.manual": ("Manual", "手动"),
    "mode.scripted": ("Scripted task", "脚本任务"),
    "mode.llm": ("Language model", "语言模型"),
    "scripted.intro": (
        "One task, run three ways: every step without a memory (how ISS-002 looked), every step with the action"
        " memory,"
        " and by an executor that keeps to the four constraints.",
        "同一任务跑三遍：逐步检索且没有动作记忆（ISS-002 的情形）、逐步检索但有动作记忆、由遵守四条约束的执行器执行。",
    ),
    "scripted.task": ("Task", "任务"),
    "scripted.task_help": (
        "A goal and the plan of queries that a careless executor would fire. Documents that the goal needs are known,"
        " so that the coverage can be counted; no executor sees them.",
        "一个目标，以及粗心的执行器会逐条发出的查询。目标所需的文档是已知的，用来统计覆盖率；执行器看不到。",
    ),
    "scripted.plan": ("{steps} step{steps:s} · needed: {needed}", "{steps} 步 · 所需文档：{needed}"),
    "scripted.plan_free": ("{steps} step{steps:s}", "{steps} 步"),
    "scripted.run": ("Run three ways", "三种方式各跑一遍"),
    "scripted.own": ("Tasks of your own", "自己的任务"),
    "scripted.own_file": ("Tasks as JSON lines (.jsonl)", "任务文件（每行一个 JSON，.jsonl）"),
    "scripted.own_format": (
        "One task per line. `needed` holds paths of documents, as the page Knowledge base lists them; it may be empty.",
        "每行一个任务。`needed` 为文档路径，与“知识库”页面所列一致，可为空列表。",
    ),
    "scripted.own_taken": (
        "{count} tasks are read; they stand first in the list above.",
        "已读入 {count} 个任务，排在上方列表的最前面。",
    ),
    "scripted.empty": (
        "**No task fits this knowledge base.** Those that come with kbapp speak of its sample documents."
        " Upload tasks about your own documents below.",
        "**没有适合当前知识库的任务。** 随 kbapp 提供的任务针对示例文档。请在下方上传针对你自己文档的任务。",
    ),
    "scripted.running": ("{way}: step {step} of {steps}", "{way}：第 {step} / {steps} 步"),
    "scripted.begin": (
        "Choose a task and run it. It takes a few seconds; all calls are recorded in the telemetry.",
        "选择任务并运行，只需几秒；所有调用都会写入遥测。",
    ),
    "scripted.way.without_memory": ("Every step, no memory", "逐步检索，无记忆"),
    "scripted.way.unconstrained": ("Every step, action memory", "逐步检索，有动作记忆"),
    "scripted.way.constrained": ("Constrained executor", "受约束的执行器"),
    "scripted.way.llm": ("Language model", "语言模型"),
    "scripted.note.without_memory": (
        "How ISS-002 looked: the same texts come again and again.",
        "ISS-002 的情形：同样的内容一遍遍返回。",
    ),
    "scripted.note.unconstrained": (
        "The executor still fires every step; the tool withholds what it gave before.",
        "执行器照样发出每一步，工具不再返回给过的内容。",
    ),
    "scripted.note.constrained": (
        "Leaves out the steps that ask again; with the action memory.",
        "省去重复提问的步骤，同样有动作记忆。",
    ),
    "scripted.headline": (
        "{before} → {calls}; {characters_before} character{characters_before:s} → {characters}",
        "{before} → {calls} 次；{characters_before} 字 → {characters} 字",
    ),
    "scripted.headline_one": ("; text of the needed document is still given", "；所需文档仍然取得"),
    "scripted.headline_all": ("; text of all {needed} needed documents still given", "；{needed} 份所需文档全部取得"),
    "scripted.headline_some": (
        "; text of {covered} of {needed} needed documents given (without a memory: {before})",
        "；取得 {needed} 份所需文档中的 {covered} 份（无记忆时 {before} 份）",
    ),
    "scripted.headline_note": (
        "From every step without a memory to the constrained executor · policy {policy} · {task}",
        "从“逐步检索，无记忆”到“受约束的执行器” · 策略 {policy} · {task}",
    ),
    "scripted.calls": ("Calls", "调用次数"),
    "scripted.calls_help": ("Calls of `lookup_knowledge`.", "`lookup_knowledge` 的调用次数。"),
    "scripted.characters": ("Characters given", "返回字数"),
    "scripted.characters_help": ("All content that the executor had to read.", "执行器需要阅读的全部内容。"),
    "scripted.twice": ("Given twice", "重复返回"),
    "scripted.twice_help": (
        "Characters of body text in runs of 40 that the executor was given before.",
        "正文中与之前返回内容有 40 字以上连续相同的字数。",
    ),
    "scripted.covered": ("Needed documents", "所需文档"),
    "scripted.covered_help": ("Documents of which body text was given.", "已取得正文的文档。"),
    "scripted.of": ("{count} of {total}", "{count} / {total}"),
    "scripted.not_covered": ("Not given by the constrained executor: {paths}", "受约束的执行器未取得：{paths}"),
    "scripted.picture": ("What became of each step", "每一步的结果"),
    "scripted.picture_at": ("What became of the first {step} of {steps} step{steps:s}", "前 {step} / {steps} 步的结果"),
    "scripted.bar": ("{way}: {parts}", "{way}：{parts}"),
    "scripted.bar_call": ("1 call", "1 次调用"),
    "scripted.bar_calls": ("{calls} call{calls:s}", "{calls} 次调用"),
    "scripted.bar_characters": ("{characters} character{characters:s}", "{characters} 字"),
    "scripted.bar_twice": ("{characters} of them twice", "其中重复 {characters} 字"),
    "scripted.bar_covered": ("{covered} of {needed} needed documents", "所需文档 {covered} / {needed}"),
    "scripted.legend": ("Legend", "图例"),
    "outcome.degraded": ("DEGRADED", "DEGRADED 降级"),
    "outcome.left_out": ("LEFT OUT", "已省去"),
    "outcome.note.PRECISE": ("the exact document", "精确命中"),
    "outcome.note.HIGHLY_RELEVANT": ("strong match", "高度相关"),
    "outcome.note.REFERENCE": ("background", "参考内容"),
    "outcome.note.DEDUPED": ("asked again, content withheld", "重复检索，不返回内容"),
    "outcome.note.not_found": ("nothing in the knowledge base", "知识库中没有"),
    "outcome.note.degraded": ("nothing found, not all could be searched", "未命中，且部分检索不可用"),
    "outcome.note.refused": ("the tool refused the query", "工具拒绝了该查询"),
    "outcome.note.left_out": ("never asked", "没有发出调用"),
    "scripted.steps": ("Step by step", "逐步查看"),
    "scripted.step": ("Step", "步骤"),
    "scripted.next": ("Next step", "下一步"),
    "scripted.all": ("Show all", "全部显示"),
    "scripted.start": ("From the start", "从头开始"),
    "scripted.shown": ("{shown} of {steps} step{steps:s} shown", "已显示 {shown} / {steps} 步"),
    "scripted.choose": ("Both calls of a step in full", "查看某一步的两次调用"),
    "scripted.choose_placeholder": ("Choose a step", "选择步骤"),
    "scripted.nothing_asked": ("No call was made in this step.", "这一步没有发出调用。"),
    "scripted.given": ("{characters} character{characters:s}", "{characters} 字"),
    "scripted.given_again": (
        "{characters} character{characters:s}, {again} of them again",
        "{characters} 字，其中 {again} 字已给过",
    ),
    "scripted.mention": ("summary only", "仅概要"),
    "scripted.earlier_step": ("{reason} (step {step})", "{reason}（第 {step} 步）"),
    "scripted.sessions": ("The rows behind it", "对应的记录"),
    "scripted.no_session": (
        "Its calls name no session, so each stands alone in the telemetry.",
        "这些调用不带会话，在遥测中各自独立。",
    ),
    "scripted.open_chat": ("Open as a chat", "以对话查看"),
    "scripted.open_telemetry": ("Telemetry", "遥测"),
    "scripted.export": ("Export the transcripts", "导出记录"),
    "scripted.export_json": ("JSON", "JSON"),
    "scripted.export_md": ("Markdown", "Markdown"),
    "skip.refused": ("refused: {reason}", "已拒绝：{reason}"),
    "skip.stopped": (
        "several searches in a row found nothing: told to stop searching",
        "连续多次未命中，按提示停止检索",
    ),
    "skip.not_found": ("asks again for what was not found: “{query}”", "与已查无结果的“{query}”重复"),
    "skip.precise": ("the question is answered: “{query}” was PRECISE", "“{query}”已得到 PRECISE 结果，问题已解答"),
    "skip.highly_relevant": (
        "the domain {domain} is retrieved: “{query}” was HIGHLY_RELEVANT",
        "领域 {domain} 已检索：“{query}”的结果为 HIGHLY_RELEVANT",
    ),
    "skip.reference": (
        "no dimension to name that “{query}” lacks: it was a REFERENCE",
        "“{query}”的结果为 REFERENCE，但说不出还缺少哪个维度",
    ),
    "skip.deduped": (
        "asks again for what this session has: “{query}” was DEDUPED",
        "本会话已有相应内容：“{query}”已被去重",
    ),
    "llm.intro": (
        "A language model is the executor: it gets the executor prompt, the goal and the tool, and decides itself"
        " what"
        " to look up (30 calls at most).",
        "由语言模型担任执行器：它拿到执行器提示词、目标和工具，自行决定检索什么（最多 30 次调用）。",
    ),
    "llm.unset": ("No language model is set up yet", "尚未配置语言模型"),
    "llm.unset_how": (
        "Any OpenAI-compatible endpoint will do: Ollama or vLLM on this machine, or a hosted one. Set these, then"
        " start"
        " the app again; the other two modes need none of it.",
        "任何 OpenAI 兼容的服务都可以：本机的 Ollama、vLLM，或云端服务。设置以下内容后重新启动应用；"
        "另外两种模式不需要它。",
    ),
    "llm.unset_extra": ("The extra `llm`, where it is not installed:", "若尚未安装附加组件 `llm`："),
    "llm.unset_settings": (
        "The settings, as environment variables (or under `llm:` in `kbapp.yaml`):",
        "设置项，用环境变量（或写在 `kbapp.yaml` 的 `llm:` 下）：",
    ),
    "llm.unset_key": (
        "Only for endpoints that ask for a key; it is never shown:",
        "仅当服务要求密钥时需要；密钥不会显示在页面上：",
    ),
    "llm.goal": ("Goal", "目标"),
    "llm.goal_placeholder": ("What is the model to find out?", "要让模型查清什么？"),
    "llm.goal_missing": ("Write a goal first, or take that of a task.", "请先填写目标，或选用某个任务的目标。"),
    "llm.from_task": ("Take the goal of a task", "选用任务的目标"),
    "llm.from_task_placeholder": ("a goal of your own", "自己填写"),
    "llm.run": ("Let it work", "开始执行"),
    "llm.model": ("Model: {name}", "模型：{name}"),
    "llm.working": ("The model is at work; {calls} call{calls:s} so far …", "模型执行中，已调用 {calls} 次…"),
    "llm.interrupted": ("The run was interrupted; this is how far it came.", "执行被中断，以下是已完成的部分。"),
    "llm.begin": (
        "Nothing was run yet. Each call appears here as it happens, then the answer.",
        "尚未执行。调用会逐条显示在这里，最后是回答。",
    ),
    "llm.answer": ("The model's answer", "模型的回答"),
    "llm.answer_note": ("Shown as it was written; kbapp does not check it.", "按原文显示，kbapp 不核对其内容。"),
    "llm.calls": ("Calls", "调用"),
    "llm.no_calls": ("The model called nothing.", "模型没有发出调用。"),
    "llm.figures": (
        "**{calls}** call{calls:s} · **{content}** with content · **{blocked}** deduped · **{characters}**"
        " character{characters:s} given"
        " · **{twice}** of them twice",
        "调用 **{calls}** 次 · 有内容 **{content}** 次 · 去重 **{blocked}** 次 · 返回 **{characters}** 字"
        " · 其中重复 **{twice}** 字",
    ),
}
