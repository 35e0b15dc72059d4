"""Words of the page knowledge_base."""

TEXTS: dict[str, tuple[str, str]] = {
    "kb.sums": (
        "{documents} document{documents:s} in {domains} domain{domains:s} · {chunks} chunk{chunks:s} · folder"
        " {folder}/",
        "{documents} 份文档 · {domains} 个领域 · {chunks} 个片段 · 目录 {folder}/",
    ),
    "kb.reindex": ("Reindex", "重建索引"),
    "kb.reindex_help": (
        "Compares all files with the indexes and mends what differs. Texts embedded before are not embedded again.",
        "逐一核对文件与索引，修复不一致之处。已向量化过的文本不会重复计算。",
    ),
    "kb.failed": ("Not indexed: {count}", "未能建立索引：{count} 份"),
    "kb.more": ("… and {count} more", "…另有 {count} 条"),
    "kb.first_scan": (
        "The documents are being read and indexed; the table fills while that goes on."
        " {entries} of them are already found by keyword.",
        "正在读取并索引文档，表格会逐步补全。其中 {entries} 份已可按关键词检索。",
    ),
    "kb.empty_title": ("No documents yet", "知识库还是空的"),
    "kb.empty": (
        "Drop Markdown files above, or copy them into the folder {folder}/: each subfolder is a domain, "
        "and new files are indexed by themselves.",
        "将 Markdown 文件拖到上方，或直接复制到 {folder}/ 目录：每个子目录就是一个领域，新文件会自动建立索引。",
    ),
    "kb.empty_example": (
        "---\ntitle: Payment errors\nkeywords: [ERR_TIMEOUT, payment gateway]\nsummary: What each code means\n---\n\n"
        "# Payment errors\n\n## Timeouts\n\nRetry three times …",
        "---\ntitle: 支付网关错误码\nkeywords: [ERR_TIMEOUT, 支付网关]\nsummary: 各错误码的含义\n---\n\n"
        "# 支付网关错误码\n\n## 超时类错误\n\n重试三次…",
    ),
    "kb.empty_hint": (
        "A document looks like this; the block on top makes it findable by keyword:",
        "文档示例如下，开头的 frontmatter 使其可通过关键词命中：",
    ),
    # Upload
    "kb.add": ("Add documents", "添加文档"),
    "kb.drop": ("Drop Markdown files (.md) here, or choose them", "将 Markdown 文件（.md）拖到此处，或点击选择"),
    "kb.drop_help": (
        "One or many; nothing is saved before you have seen what each file becomes.",
        "可一次选择多个；保存前会先显示每个文件的解析结果。",
    ),
    "kb.category": ("Category", "分类"),
    "kb.category_help": (
        "The folder that the files are stored in; it is the domain of the documents.",
        "文件存放的目录，也就是文档所属的领域。",
    ),
    "kb.category_choose": ("Choose", "请选择"),
    "kb.category_new": ("New category …", "新建分类…"),
    "kb.category_name": ("Name of the new category", "新分类名称"),
    "kb.category_example": ("e.g. operations", "例如：运维"),
    "kb.category_first": (
        "Choose the category first: then you see here what each file becomes.",
        "请先选择分类，随后这里会显示每个文件的解析结果。",
    ),
    "kb.twice": (
        "Another file of this upload has the same name: upload it on its own, or under another name.",
        "本次上传中已有同名文件：请单独上传，或改名后再传。",
    ),
    "kb.standing_new": ("new", "新文档"),
    "kb.standing_same": ("stored already, same text", "已存在，内容相同"),
    "kb.standing_other": ("stored already, other text", "已存在，内容不同"),
    "kb.count_chunks": ("{count} chunk{count:s}", "{count} 个片段"),
    "kb.identical": ("The same text is stored as {path}", "与已有文档 {path} 内容完全相同"),
    "kb.replace": ("Replace {path}", "替换 {path}"),
    "kb.replace_or_not": (
        "Without this the file is not saved: a document of this name with another text is there.",
        "不开启则不会保存：同名文档已存在，且内容不同。",
    ),
    "kb.preview": ("Preview: frontmatter and {count} chunk{count:s}", "预览：frontmatter 与 {count} 个片段"),
    "kb.more_files": (
        "{count} more files are saved too, without a preview here.",
        "其余 {count} 个文件不在此预览，将一并保存。",
    ),
    "kb.replace_rest": (
        "Replace {count} document{count:s} among them that are there with another text",
        "其中 {count} 份文档已存在且内容不同，一并替换",
    ),
    "kb.save": ("Save files: {count}", "保存 {count} 个文件"),
    "kb.discard": ("Discard", "放弃"),
    # Work and its outcome
    "kb.working": ("{share} · {name}", "{share} · {name}"),
    "kb.comparing": ("comparing files and indexes", "正在核对文件与索引"),
    "kb.dismiss": ("Close", "关闭"),
    "kb.outcome_title": (
        "In the knowledge base: {stored} of {total} file{total:s}",
        "{total} 个文件中有 {stored} 个已入库",
    ),
    "kb.fate_indexed": ("indexed", "已建立索引"),
    "kb.fate_replaced": ("replaced", "已替换"),
    "kb.fate_unchanged": ("unchanged", "无变化"),
    "kb.fate_failed": ("failed", "失败"),
    "kb.fate_refused": ("refused", "已拒绝"),
    "kb.fate_exists": ("not replaced", "未替换"),
    "kb.refused_exists": (
        "A document of this name with another text is there: upload the file again and switch Replace on, "
        "or give it another name.",
        "同名文档已存在且内容不同：请重新上传并开启“替换”，或换一个文件名。",
    ),
    "kb.stored_not_indexed": (
        "The file is stored and will be indexed by the next scan.",
        "文件已保存，下次扫描时会再次建立索引。",
    ),
    "kb.look_up": ("Look it up: {query}", "检索试试：{query}"),
    "kb.report_title": (
        "Index and files agree: {documents} document{documents:s}, {chunks} chunk{chunks:s}",
        "索引与文件已核对一致：{documents} 份文档，{chunks} 个片段",
    ),
    "kb.report_problems": (
        "Done, with problems: {documents} document{documents:s}, {chunks} chunk{chunks:s}",
        "已完成，但有问题：{documents} 份文档，{chunks} 个片段",
    ),
    "kb.unchanged": ("{count} unchanged", "无变化 {count}"),
    "kb.change_added": ("{count} added", "新增 {count}"),
    "kb.change_updated": ("{count} updated", "更新 {count}"),
    "kb.change_renamed": ("{count} renamed", "改名 {count}"),
    "kb.change_removed": ("{count} removed", "移除 {count}"),
    "kb.change_failed": ("{count} failed", "失败 {count}"),
    "kb.embedded": ("{count} text{count:s} embedded, {seconds} s", "向量化 {count} 段文本，用时 {seconds} 秒"),
    "kb.former_model": (
        "The vectors were those of another model ({model}); all are new now.",
        "原向量来自另一个模型（{model}），现已全部重建。",
    ),
    "kb.changes": ("What was done ({count})", "变更明细（{count}）"),
    "kb.did_added": ("added", "新增"),
    "kb.did_updated": ("updated", "更新"),
    "kb.did_renamed": ("renamed", "改名"),
    "kb.did_removed": ("removed", "移除"),
    # Table
    "kb.search": ("Search", "搜索"),
    "kb.search_example": ("title, file or keyword", "标题、文件名或关键词"),
    "kb.domain": ("Domain", "领域"),
    "kb.status": ("Status", "状态"),
    "kb.all": ("all", "全部"),
    "kb.shown": ("{shown} of {total} document{total:s}", "显示 {shown} / {total} 份文档"),
    "kb.table_help": (
        "A click on the box at the left of a row opens the document below.",
        "点击行首的方框，即可在下方查看该文档。",
    ),
    "kb.table_alt": (
        "Documents with status, domain, title, file, keywords, chunks and time of change",
        "文档列表：状态、领域、标题、文件、关键词、片段数与修改时间",
    ),
    "kb.none_match": (
        "No document passes these filters: clear the search or a filter.",
        "没有符合条件的文档：请清空搜索框或筛选项。",
    ),
    "kb.title": ("Title", "标题"),
    "kb.file": ("File", "文件"),
    "kb.keywords": ("Keywords", "关键词"),
    "kb.chunks": ("Chunks", "片段"),
    "kb.changed": ("Index updated", "索引更新"),
    "kb.problem": ("Problem", "问题"),
    "kb.status_INDEXED": ("Indexed", "已索引"),
    "kb.status_PENDING": ("Pending", "待索引"),
    "kb.status_FAILED": ("Failed", "失败"),
    # Detail
    "kb.select": (
        "Select a document above to see its text, chunks and history.",
        "在上方选择一份文档，查看其正文、片段和使用记录。",
    ),
    "kb.unknown": (
        "There is no document {path} any more: it was moved or deleted.",
        "找不到文档 {path}：可能已移动或删除。",
    ),
    "kb.changed_at": ("index updated {when}", "索引更新于 {when}"),
    "kb.failed_because": ("Not indexed:", "未能建立索引："),
    "kb.failed_way_out": (
        "An older version, if there is one, keeps answering. Mend the cause, then reindex.",
        "如有旧版本，检索仍使用旧版本。排除原因后请重建索引。",
    ),
    "kb.tab_text": ("Text", "正文"),
    "kb.tab_frontmatter": ("Frontmatter", "Frontmatter"),
    "kb.tab_chunks": ("Chunks ({count})", "片段（{count}）"),
    "kb.tab_given": ("Given in sessions", "使用记录"),
    "kb.no_text": ("The document has no text below its frontmatter.", "frontmatter 之后没有正文。"),
    "kb.cut": (
        "The first {shown} of {total} character{total:s} are shown.",
        "仅显示前 {shown} 个字符，共 {total} 个。",
    ),
    "kb.no_frontmatter": (
        "The file has no valid frontmatter.",
        "该文件没有有效的 frontmatter。",
    ),
    "kb.empty_frontmatter": ("The frontmatter is empty.", "frontmatter 为空。"),
    "kb.no_entry": (
        "Without a title or keywords in the frontmatter it is found by meaning (L1) only, not by keyword (L0).",
        "frontmatter 中没有标题或关键词，因此只能通过语义检索（L1）命中，不能通过关键词检索（L0）命中。",
    ),
    "kb.entry_note": ("Keyword lookups (L0) find it by: {words}", "关键词检索（L0）可通过以下词命中：{words}"),
    "kb.no_chunks": ("No chunks: there is no text to embed.", "没有片段：没有可向量化的文本。"),
    "kb.chunk_place": (
        "chunk {number} · lines {first}–{last} · {size} character{size:s}",
        "片段 {number} · 第 {first}–{last} 行 · {size} 字符",
    ),
    "kb.chunks_note": (
        "The chunks in force, as semantic search (L1) sees them.",
        "当前生效的片段，即语义检索（L1）的检索单元。",
    ),
    "kb.never_given": (
        "No session was given text of this document so far.",
        "还没有会话获得过该文档的内容。",
    ),
    "kb.given_note": (
        "The newest calls that gave text of this document, at most {count}.",
        "最近返回过该文档内容的调用，最多显示 {count} 条。",
    ),
    "kb.session": ("Session {session}", "会话 {session}"),
    "kb.no_session": ("Calls without a session", "未指定会话的调用"),
    "kb.delete": ("Delete", "删除"),
    "kb.delete_title": ("Delete this document?", "删除这份文档？"),
    "kb.delete_what": (
        "The file on the disk, its record, {chunks} chunk{chunks:s} with their vectors, and its keywords are"
        " deleted. "
        "No lookup finds it afterwards. Telemetry of earlier calls stays. This cannot be undone.",
        "将删除磁盘上的文件、文档记录、{chunks} 个片段及其向量，以及关键词条目；此后任何检索都不会再命中它。"
        "历史调用的遥测记录会保留。此操作无法撤销。",
    ),
    "kb.delete_yes": ("Delete", "确认删除"),
    "kb.keep": ("Keep it", "保留"),
    "kb.deleted": ("{path} is deleted.", "已删除 {path}。"),
}
