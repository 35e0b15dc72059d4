"""Words of the page home."""

TEXTS: dict[str, tuple[str, str]] = {
    "home.hero": (
        "Each question is looked up in two stages, by keyword within milliseconds and then by meaning, and every"
        " answer"
        " says how good it is: PRECISE, HIGHLY RELEVANT or REFERENCE. What a session was given is remembered, so an"
        " agent that asks twenty times in other words gets the text once, and after that a pointer to it in place of"
        " twenty copies in its context.",
        "每个问题分两步检索：先用关键词（毫秒级），再按语义；每个结果都标明等级：精确、高度相关或参考。"
        "系统还会记住本会话已提供过的内容：智能体换着说法问二十遍，正文只给一次，之后只得到指引，上下文不会塞满二"
        "十份重复内容。",
    ),
    "home.try": ("Try a lookup", "试一次检索"),
    "home.query": ("Query", "查询"),
    "home.query_hint": (
        "Ask as an agent would: a keyword, an error code, a sentence",
        "像智能体那样提问：关键词、错误码或一句话",
    ),
    "home.look_up": ("Look up", "检索"),
    "home.looking_up": ("Looking it up …", "正在检索…"),
    "home.examples_sample": (
        "Or press an example. Each one shows another outcome; in the order given they tell the whole story.",
        "也可以点一个示例，每个展示一种结果；按顺序点一遍，就能看到完整过程。",
    ),
    "home.examples_own": ("Or begin with a keyword of your documents:", "也可以从文档里的关键词开始："),
    "home.shows.precise": ("PRECISE", "精确命中"),
    "home.shows.highly_relevant": ("HIGHLY RELEVANT", "高度相关"),
    "home.shows.reference": ("REFERENCE", "参考"),
    "home.shows.not_found": ("NOT FOUND", "未命中"),
    "home.shows.repeat": ("REPEAT → DEDUPED", "重复提问 → 去重"),
    "home.shows.domain_block": ("SAME DOMAIN → DEDUPED", "同一领域 → 去重"),
    "home.shows.own": ("Keyword", "关键词"),
    "home.why.precise": (
        "One document has this keyword: it is the answer, and semantic search is not needed.",
        "只有一份文档含有这个关键词：答案就是它，无需语义检索。",
    ),
    "home.why.highly_relevant": (
        "Several documents match; the passage nearest in meaning is above the upper threshold.",
        "命中多份文档；语义最接近的片段超过了上限阈值。",
    ),
    "home.why.reference": (
        "Related, but not clearly the answer: the agent is told to name what is missing.",
        "内容相关，但不足以直接作答：提示智能体说明还缺什么。",
    ),
    "home.why.not_found": (
        "Nothing is near enough, and nothing is made up.",
        "没有足够接近的内容，也不会硬凑一个答案。",
    ),
    "home.why.repeat": (
        "Asked after ERR_TIMEOUT: the document was given in this session, so it is not given again.",
        "在 ERR_TIMEOUT 之后提问：该文档本会话已提供过，不再重复返回。",
    ),
    "home.why.domain_block": (
        "Asked after 数据库连接池配置: another document, but this domain has already answered the same words.",
        "在“数据库连接池配置”之后提问：虽是另一份文档，但同一领域已就此给过答案。",
    ),
    "home.why.own": ("A keyword of your own documents.", "来自你自己文档的关键词。"),
    "home.new_session": ("New session", "新会话"),
    "home.new_session_help": (
        "Begin without memory: what was given before is given again",
        "清空记忆重新开始：之前提供过的内容会再次返回",
    ),
    "home.go_on": ("Go on in the simulator", "到模拟器继续"),
    "home.state": ("State at a glance", "当前状态"),
    "home.documents": ("Documents", "文档"),
    "home.documents_pending": ("{pending} to be indexed", "{pending} 份待索引"),
    "home.documents_failed": ("{failed} failed", "{failed} 份失败"),
    "home.documents_ready": ("all indexed", "全部已索引"),
    "home.chunks": ("Chunks", "片段"),
    "home.chunks_note": ("searched by meaning (L1)", "用于语义检索（L1）"),
    "home.entries": ("Keyword entries", "关键词条目"),
    "home.entries_note": ("searched by keyword (L0)", "用于关键词检索（L0）"),
    "home.domains_count": ("Domains", "领域"),
    "home.domains_note": ("one per folder", "每个文件夹一个"),
    "home.by_domain": ("Documents by domain", "各领域文档"),
    "home.domain": ("Domain", "领域"),
    "home.more_domains": ("and {count} more domains", "另有 {count} 个领域"),
    "home.inside": ("What is at work", "运行情况"),
    "home.model": ("Embedding model", "向量模型"),
    "home.profile.calibrated": ("calibrated", "已校准"),
    "home.profile.probes": (
        "Levels calibrated for this knowledge base by {count} probe queries on {day}",
        "等级已用 {count} 条探测查询按本知识库校准（{day}）",
    ),
    "home.profile.provisional": (
        "provisional: levels are calibrated for this knowledge base once it has 50 texts",
        "暂定：达到 50 段文本后会按本知识库校准等级",
    ),
    "home.profile.unknown": ("uncalibrated: levels follow the distance alone", "未校准：等级仅由距离决定"),
    "home.thresholds": ("Levels by similarity", "等级阈值（相似度）"),
    "home.thresholds_value": (
        "HIGHLY RELEVANT from {high} · REFERENCE from {low} · below that: not found",
        "≥ {high} 高度相关 · ≥ {low} 参考 · 更低视为未命中",
    ),
    "home.engine": ("Vector engine", "向量引擎"),
    "home.engine.owner": ("Owner: this process runs it", "持有者：由本进程提供服务"),
    "home.engine.attached": ("Attached to process {pid}", "已连接到进程 {pid}"),
    "home.engine.remote": ("Remote: {uri}", "远程：{uri}"),
    "home.engine.unavailable": ("Unavailable", "不可用"),
    "home.engine.none": ("Idle: opens when it is needed", "空闲：需要时打开"),
    "home.engine.in_memory": ("{count} vectors are searched in memory", "在内存中检索 {count} 个向量"),
    "home.sources": ("Sources of semantic search", "语义检索的数据源"),
    "home.sources_note": (
        "Each is asked behind a circuit breaker. Switch one off to show what a lookup does without it.",
        "每个数据源都有熔断保护。可临时关闭其中一个，演示缺少它时检索会怎样。",
    ),
    "home.source.vectors": ("Vectors", "向量"),
    "home.source.full-text": ("Full text", "全文"),
    "home.switch_off": ("Switch off", "关闭"),
    "home.breaker.closed": (
        "Working: {failures} failed of {calls} recent calls",
        "正常：最近 {calls} 次调用中失败 {failures} 次",
    ),
    "home.breaker.open": (
        "Paused after {failures} of {calls} calls failed; tried again in {retry} s",
        "已熔断：{calls} 次调用中失败 {failures} 次；{retry} 秒后重试",
    ),
    "home.breaker.half_open": ("Being tried again", "正在试探恢复"),
    "home.breaker.forced": ("Switched off for a demonstration", "已为演示关闭"),
    "home.watcher": ("Watching the files", "文件监听"),
    "home.watcher.events": ("By events of the system", "系统事件"),
    "home.watcher.polling": ("By looking every second", "轮询（每秒一次）"),
    "home.watcher.off": ("Starting", "正在启动"),
    "home.last_scan": ("last scan {age}", "上次扫描：{age}"),
    "home.first_scan": ("first scan not finished", "首次扫描尚未完成"),
    "home.age.now": ("just now", "刚刚"),
    "home.age.seconds": ("{count} s ago", "{count} 秒前"),
    "home.age.minutes": ("{count} min ago", "{count} 分钟前"),
    "home.age.hours": ("{count} h ago", "{count} 小时前"),
    "home.age.days": ("{count} d ago", "{count} 天前"),
    "home.notices": ("To act on", "待处理"),
    "home.all_well": ("Nothing to act on.", "没有需要处理的事项。"),
    "home.notice.database": ("The database cannot be used", "数据库不可用"),
    "home.notice.engine": ("The vector engine does not answer", "向量引擎无响应"),
    "home.notice.paused": ("A source of the search is not asked now", "检索的一个数据源暂停使用"),
    "home.notice.failed": ("Documents that could not be indexed: {count}", "索引失败的文档：{count} 份"),
    "home.notice.telemetry": ("Lookups that were not recorded: {count}", "未能记录的检索：{count} 次"),
    "home.notice.following": ("The files are not followed", "未能跟踪文件变化"),
    "home.notice.polling": ("Changes are noticed by looking every second", "文件变化改为每秒轮询"),
    "home.notice.unknown_model": ("The embedding model is uncalibrated", "向量模型未校准"),
    "home.notice.frontmatter": (
        "Documents whose frontmatter is not used: {count}",
        "frontmatter 未生效的文档：{count} 份",
    ),
    "home.way.database": (
        "Lookups by keyword go on; nothing can be indexed or recorded until the cause is mended.",
        "关键词检索仍可用；原因排除之前无法索引和记录。",
    ),
    "home.way.engine": (
        "Lookups by keyword go on, and the next one tries again by itself. Mend what the sentence above names: an"
        " embedding"
        " endpoint that does not answer, a process that holds the folder, or `milvus.uri`.",
        "关键词检索仍可用，下一次检索会自动重试。请处理上面指出的原因：向量模型服务无响应、其他进程占用目录，或 `"
        "milvus.uri`。",
    ),
    "home.way.paused": (
        "Lookups go on with the other sources and say so. It is tried again by itself; one that was switched off stays"
        " so until it is switched on.",
        "检索会用其余数据源继续，并在结果中注明。系统会自动重试；手动关闭的需手动打开。",
    ),
    "home.way.failed": (
        "Mend what the sentence names: the file, which is then indexed by itself, or the model and its endpoint.",
        "请处理上面指出的原因：修正文件后会自动重新索引；若是向量模型或其服务，请先恢复它。",
    ),
    "home.way.telemetry": (
        "Answers are not affected. Check that the state folder is writable and the disk is not full.",
        "不影响检索结果。请检查状态目录是否可写、磁盘是否已满。",
    ),
    "home.way.following": (
        "What is indexed goes on answering; it is tried again by itself.",
        "已索引的内容仍可检索；系统会自动重试。",
    ),
    "home.way.polling": (
        "Everything works, a little later. Raise the limit that is named above to have events again.",
        "功能不受影响，只是稍有延迟。调高上面提到的系统限制即可恢复事件监听。",
    ),
    "home.way.unknown_model": (
        "Check the levels on queries of your own, set the two thresholds under `retrieval.normalization`, or use a"
        " bundled model.",
        "请用自己的查询核对等级，调整 `retrieval.normalization` 下的两个阈值，或改用内置模型。",
    ),
    "home.way.frontmatter": (
        "These documents are found by meaning only, not by keyword, until the block at their top is mended.",
        "修好文件开头的 frontmatter 之前，这些文档只能按语义检索，不能按关键词命中。",
    ),
    "home.more_documents": ("and {count} more", "另有 {count} 份"),
    "home.open_knowledge_base": ("Open the knowledge base", "打开知识库"),
    "home.sample": (
        "**This is the sample knowledge base**, the documents of an invented shop. To use your own: upload Markdown"
        " files on the page Knowledge base, or start with `kbapp --root FOLDER app`.",
        "**当前是示例知识库**（一家虚构商城的文档）。换成自己的：在“知识库”页面上传 Markdown 文件，"
        "或用 `kbapp --root 目录 app` 启动。",
    ),
    "home.empty": (
        "**No documents yet.** Upload Markdown files, or put them into the folder {folder}: they are indexed by"
        " themselves.",
        "**还没有文档。** 请上传 Markdown 文件，或放进目录 {folder}，系统会自动索引。",
    ),
    "home.upload": ("Upload documents", "上传文档"),
}
