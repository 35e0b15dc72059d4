"""Words of the page Evaluation."""

TEXTS: dict[str, tuple[str, str]] = {
    "menu.evaluation": ("Evaluation", "评测"),
    "evaluation.intro": (
        "Queries whose right answer is known are looked up one by one: how often the right document comes"
        " first, whether the levels tell the truth, and what other thresholds would change. It leaves no trace in the"
        " telemetry.",
        "逐条检索已知正确答案的查询：正确文档排在首位的比例、等级是否可信、换一组阈值会怎样。评测不会写入遥测。",
    ),
    # Which queries
    "evaluation.file": ("Your labelled queries (.jsonl)", "自备的标注查询（.jsonl）"),
    "evaluation.sample": ("Sample queries ({count})", "示例查询（{count} 条）"),
    "evaluation.sample_note": ("Or, about the sample knowledge base:", "或使用示例知识库自带的查询："),
    "evaluation.no_sample": (
        "The sample queries need all documents of the sample knowledge base. For your own documents begin with the"
        " template below.",
        "示例查询需要示例知识库的全部文档。对于您自己的文档，可从下面的模板开始。",
    ),
    "evaluation.format": ("Format, and a template to fill in", "文件格式与模板"),
    "evaluation.format_note": (
        "One JSON object per line. `id`, `query`, `kind` and `relevant` are needed; `relevant` holds the paths of the"
        " documents that answer the query, relative to the knowledge base, and is empty for `offtopic`. Optional:"
        " `lang` (zh, en, mixed), `heading`, `note`, `evidence` (a text that the answer should hold).",
        "每行一个 JSON 对象。必填：`id`、`query`、`kind`、`relevant`。`relevant` 是能回答该查询的"
        "文档路径（相对知识库目录），`offtopic` 的为空列表。"
        "可选：`lang`（zh、en、mixed）、`heading`、`note`、`evidence`（答案中应出现的原文）。",
    ),
    "evaluation.kind_note_keyword": ("a term, a setting, an error code", "术语、配置项、错误码"),
    "evaluation.kind_note_question": ("a question in the words of the document", "用文档里的说法提问"),
    "evaluation.kind_note_paraphrase": ("the same in quite other words", "换一种完全不同的说法"),
    "evaluation.kind_note_broad": ("a topic that several documents treat", "多份文档都涉及的话题"),
    "evaluation.kind_note_section": ("one section of a document", "某份文档中的一个章节"),
    "evaluation.kind_note_offtopic": ("nothing in the knowledge base answers it", "知识库里没有答案"),
    "evaluation.template_note": (
        "The template has a keyword query for each of your documents and one off-topic query: put in what people"
        " really ask.",
        "模板为每份文档生成一条关键词查询，外加一条离题查询：请换成大家真正会问的问题。",
    ),
    "evaluation.template": ("Template from your documents", "按现有文档生成模板"),
    "evaluation.count_queries": ("labelled queries: {count}", "{count} 条标注查询"),
    "evaluation.run": ("Run", "开始评测"),
    "evaluation.stop": ("Stop", "停止"),
    "evaluation.running": ("{done} of {total} · {query}", "{done} / {total} · {query}"),
    "evaluation.no_documents": (
        "There is no document yet, so there is nothing to measure. Put documents in first.",
        "知识库里还没有文档，无从评测。请先添加文档。",
    ),
    "evaluation.to_knowledge_base": ("Open the knowledge base", "打开知识库"),
    "evaluation.faults": (
        "{name}: {count} line{count:s} cannot be used, so nothing is computed. Mend them and run the file again.",
        "{name}：有 {count} 行无法使用，因此没有进行任何计算。请修正后重新运行。",
    ),
    "evaluation.faults_alt": ("The wrong lines of the file", "文件中有误的行"),
    "evaluation.more_faults": ("… and {count} more.", "……以及另外 {count} 行。"),
    "evaluation.line": ("Line", "行号"),
    "evaluation.reason": ("What is wrong", "问题"),
    # Figures
    "evaluation.result": ("{name}: {count} queries", "{name}：{count} 条查询"),
    "evaluation.result_note": (
        "Run at {time}. Levels by the thresholds in force: REFERENCE ≥ {reference}, HIGHLY_RELEVANT ≥ {highly}.",
        "运行于 {time}。等级按当前阈值判定：REFERENCE ≥ {reference}，HIGHLY_RELEVANT ≥ {highly}。",
    ),
    "evaluation.other_thresholds": (
        "The queries were looked up when the thresholds were {reference} and {highly}. Levels and given documents below"
        " are recomputed for those in force; run again for the ranking (R@5, MRR, comparison).",
        "这些查询是在阈值为 {reference} 和 {highly} 时检索的。下面的等级与返回的文档已按当前阈值重新计算；"
        "排序指标（R@5、MRR、对比）需重新运行。",
    ),
    "evaluation.right": ("Right document first", "首位文档正确"),
    "evaluation.right_help": (
        "Of the queries that the knowledge base answers: the first document whose text was given is a right one. In"
        " parentheses, here and beside: the 95 % interval (Wilson). Queries across languages have a row"
        " of their own below.",
        "在知识库能回答的查询中，最先给出正文的文档正确的比例。此处及右侧括号内为 95% 置信区间（Wilson）。"
        "跨语言查询在下表中单列。",
    ),
    "evaluation.right_highly": ("Right, HIGHLY RELEVANT or better", "正确且达到 HIGHLY_RELEVANT"),
    "evaluation.right_highly_help": (
        "The right document came first, at PRECISE or HIGHLY_RELEVANT: the executor knows that it can stop searching.",
        "首位文档正确，且等级为 PRECISE 或 HIGHLY_RELEVANT：执行器知道可以停止检索。",
    ),
    "evaluation.off_topic_nothing": ("Off-topic, nothing given", "离题且未返回内容"),
    "evaluation.off_topic_nothing_help": (
        "Of the queries that nothing answers, those that got nothing. Traps, which hold a word of the documents, count"
        " as well.",
        "在知识库没有答案的查询中，没有返回任何内容的比例。含有文档用词的陷阱查询也计入。",
    ),
    "evaluation.off_topic_highly": ("Off-topic, HIGHLY RELEVANT or better", "离题却达到 HIGHLY_RELEVANT"),
    "evaluation.off_topic_highly_help": (
        "The worst that can happen: nothing answers the query, and the executor is told that it was answered.",
        "最糟的情况：知识库没有答案，执行器却被告知已经得到答案。",
    ),
    "evaluation.latency": ("Time of a lookup (median)", "单次检索耗时（中位数）"),
    "evaluation.latency_help": (
        "Half of the lookups were faster; 95 of 100 were no slower than p95.",
        "一半的检索比它更快；100 次中有 95 次不超过 p95。",
    ),
    "evaluation.counted": ("{count} of {of} ({low}–{high} %)", "{count} / {of}（{low}–{high}%）"),
    "evaluation.none_such": ("no such query", "没有此类查询"),
    # Kinds
    "evaluation.by_kind": ("By kind of query", "按查询类型"),
    "evaluation.by_kind_note": (
        "R@5 (a right document among the first five) and MRR@10 (mean of 1 / its rank) are of the ranking behind the"
        " answer. At each level: right / all answers; off-topic and nothing given: how many queries.",
        "R@5（前五含正确文档）和 MRR@10（名次倒数的平均）针对答案背后的排序。"
        "各等级列为正确数 / 总数；离题与未返回内容只列条数。",
    ),
    "evaluation.kind": ("Kind", "类型"),
    "evaluation.queries": ("Queries", "条数"),
    "evaluation.kind_keyword": ("keyword", "关键词"),
    "evaluation.kind_question": ("question", "提问"),
    "evaluation.kind_paraphrase": ("paraphrase", "换说法"),
    "evaluation.kind_broad": ("broad", "宽泛"),
    "evaluation.kind_section": ("section", "章节"),
    "evaluation.kind_offtopic": ("off-topic", "离题"),
    "evaluation.kind_traps": ("off-topic, traps", "离题（陷阱）"),
    "evaluation.kind_cross_language": ("across languages", "跨语言"),
    # Comparison
    "evaluation.comparison": ("What the stages add", "各环节的贡献"),
    "evaluation.comparison_note": (
        "The ranking behind a lookup, each of its legs alone, and two baselines over the documents' text: BM25, and"
        " plain search for the query's words. Lines: 95 % intervals.",
        "检索背后的排序、它的每一路单独使用、以及两个基线：全文 BM25 和单纯的词语查找。横线为 95% 置信区间。",
    ),
    "evaluation.comparison_alt": ("Right document among the first {k}: {rates}", "前 {k} 名含正确文档：{rates}"),
    "evaluation.of_kind": ("Kind of query", "查询类型"),
    "evaluation.all_kinds": ("all kinds", "全部类型"),
    "evaluation.recall_1": ("Right document first (R@1)", "首位正确（R@1）"),
    "evaluation.recall_5": ("Right document among the first five (R@5)", "前五含正确文档（R@5）"),
    "evaluation.way": ("way", "方式"),
    "evaluation.found": ("found", "找到"),
    "evaluation.way_ranking": ("kbapp: all legs", "kbapp：综合排序"),
    "evaluation.way_l0": ("keywords alone (L0)", "仅关键词（L0）"),
    "evaluation.way_vectors": ("vectors alone", "仅向量"),
    "evaluation.way_full_text": ("full text alone", "仅全文"),
    "evaluation.way_substring": ("baseline: word search", "基线：词语查找"),
    "evaluation.way_bm25": ("baseline: BM25", "基线：BM25"),
    # Levels and thresholds
    "evaluation.levels": ("Do the levels tell the truth? And with other thresholds?", "等级可信吗？换一组阈值呢？"),
    "evaluation.levels_note": (
        "Every query of the file, by what it was answered with and at which level. Move a threshold: everything here is"
        " recomputed from the recorded similarities, nothing is looked up again.",
        "文件中的每条查询，按回答的对错与等级统计。拖动阈值，这里的数字会立即由已记录的相似度重新计算，不会重新检索。",
    ),
    "evaluation.slider_REFERENCE": (
        "A chunk below this similarity is no result. Higher: fewer off-topic answers, more queries without any.",
        "低于此相似度的片段不作为结果。调高：离题回答更少，但得不到结果的查询更多。",
    ),
    "evaluation.slider_HIGHLY_RELEVANT": (
        "From here on the executor is told that searching on hardly helps. Never below the other threshold.",
        "达到此值，执行器会被告知不必继续检索。不会低于另一个阈值。",
    ),
    "evaluation.confusion": ("Answers by level", "回答与等级对照"),
    "evaluation.confusion_note": (
        "✓ as it should be · ✗ the executor is misled · in between: a miss, or a related passage at most.",
        "✓ 应当如此 · ✗ 会误导执行器 · 其余：漏答，或至多是相关段落。",
    ),
    "evaluation.nothing": ("nothing given", "未返回内容"),
    "evaluation.answered_right": ("right document", "文档正确"),
    "evaluation.answered_wrong": ("wrong document, or none", "文档错误或没有"),
    "evaluation.answered_off-topic": ("off-topic query", "离题查询"),
    "evaluation.changes": ("The figures by these thresholds", "这组阈值下的指标"),
    "evaluation.similarity_alt": (
        "The graded similarity of every query in three bands: right document, wrong document or none, off-topic; the"
        " thresholds are vertical lines",
        "每条查询用于定级的相似度，分为文档正确、文档错误或没有、离题三行；竖线为阈值",
    ),
    "evaluation.similarity_note": (
        "A point per query, at the similarity that is graded. Dashes: the thresholds in force, where others are chosen."
        " Not in the picture: {count} that keywords alone answer, or that found no chunk.",
        "每个点是一条查询用于定级的相似度。选了其他阈值时，虚线为当前生效的阈值。"
        "图中不含仅凭关键词回答或没有片段的 {count} 条。",
    ),
    "evaluation.changed": (
        "Queries that these thresholds would answer otherwise: {count}.",
        "采用这组阈值，将有 {count} 条查询的结果改变。",
    ),
    "evaluation.unchanged": ("These are the thresholds in force.", "这是当前生效的阈值。"),
    "evaluation.apply": ("Apply", "采用"),
    "evaluation.reset": ("Reset", "还原"),
    "evaluation.apply_title": ("Apply these thresholds?", "采用这组阈值？"),
    "evaluation.apply_where": ("This is written to {file}:", "将写入 {file}："),
    "evaluation.apply_note": (
        "Behind #: the value in force now. This app judges by the new ones from the next lookup on; other running"
        " processes (MCP servers, terminals) from their next start on. Everything else in the file stays as it is.",
        "# 之后为当前值。本应用从下一次检索起使用新阈值；其他正在运行的进程（MCP 服务、终端）"
        "下次启动时生效。文件的其余内容不变。",
    ),
    "evaluation.apply_environment": (
        "The environment variable {variable} is set and wins over the file at the next start.",
        "已设置环境变量 {variable}，下次启动时它会覆盖文件中的值。",
    ),
    "evaluation.apply_yes": ("Write and apply", "写入并采用"),
    "evaluation.apply_no": ("Cancel", "取消"),
    "evaluation.written": (
        "In force from the next lookup on, and written to {file}.",
        "已生效，从下一次检索开始使用，并写入 {file}。",
    ),
    # Queries
    "evaluation.worst": ("Queries, the worst first", "逐条查看，最差的在前"),
    "evaluation.worst_note": (
        "{shown} of {total} queries, by the thresholds that are chosen above.",
        "{total} 条查询中的 {shown} 条，按上面所选的阈值判定。",
    ),
    "evaluation.which": ("Which queries", "哪些查询"),
    "evaluation.which_faults": ("all that went wrong", "所有出错的"),
    "evaluation.which_every": ("every query, in the order of the file", "全部，按文件顺序"),
    "evaluation.none_match": ("No query is like this.", "没有这样的查询。"),
    "evaluation.download": ("All outcomes", "导出全部结果"),
    "evaluation.download_help": (
        "JSON lines by the chosen thresholds: id, query, kind, level, given, expected, whether it is right, note.",
        "JSON 行：id、查询、类型、等级、返回与期望的文档、是否正确；按所选阈值判定。",
    ),
    "evaluation.fault": ("What is wrong", "问题"),
    "evaluation.fault_off-topic-highly": ("off-topic, yet called relevant", "离题却判为高度相关"),
    "evaluation.fault_wrong-highly": ("wrong document, called relevant", "文档错误却判为高度相关"),
    "evaluation.fault_nothing": ("nothing given", "未返回内容"),
    "evaluation.fault_wrong-reference": ("wrong document as a reference", "参考文档错误"),
    "evaluation.fault_off-topic-reference": ("off-topic, given a reference", "离题却给了参考"),
    "evaluation.given": ("Given", "返回的文档"),
    "evaluation.expected": ("Expected", "期望的文档"),
    "evaluation.nothing_expected": ("Nothing: no document answers it.", "不应返回：没有文档能回答。"),
    "evaluation.level_before": ("By those in force", "当前阈值下"),
    "evaluation.select": ("Select a row to see all of it.", "选中一行查看详情。"),
    "evaluation.heading": ("Section", "章节"),
    "evaluation.evidence": ("The answer should hold", "答案应包含"),
    "evaluation.note": ("Note", "备注"),
    "evaluation.level_of_run": (
        "The card shows the lookup as it was made, at the level {level}.",
        "左侧卡片是运行时的检索结果，等级为 {level}。",
    ),
    "evaluation.label_line": ("{id} · {kind} · line {line} of the file", "{id} · {kind} · 文件第 {line} 行"),
    # Marks
    "evaluation.marks": ("Calls that people marked", "人工标记的调用"),
    "evaluation.marks_note": (
        "What people said of real calls; the last mark of a call counts. Marked again, a call moves to the top.",
        "人们对真实调用的评价，以最后一次标记为准。在卡片中重新标记后，该调用会排到最前。",
    ),
    "evaluation.no_marks": (
        "Nobody has marked a call yet. Under every call there is *helpful*, *not helpful* and *wrong level*: look"
        " something up, mark it, and it stands here.",
        "还没有人标记过调用。每次调用的卡片下方都有「有帮助」「没帮助」「等级不对」：检索一次并标记，就会出现在这里。",
    ),
    "evaluation.marks_counts": ("Marks by verdict and level", "按评价和等级统计的标记"),
    "evaluation.total": ("all", "合计"),
    "evaluation.verdict": ("Verdict", "评价"),
    "evaluation.marked_at": ("Marked at", "标记时间"),
    "evaluation.newest_marks": ("The newest {count} are shown.", "仅显示最新的 {count} 条。"),
}
