"""Words of every page: menu, levels, states, errors."""

TEXTS = {
    "app.name": ("kbapp", "kbapp"),
    "app.tagline": ("Knowledge lookup you can see through", "看得见依据的知识检索"),
    "menu.home": ("Home", "首页"),
    "menu.knowledge_base": ("Knowledge base", "知识库"),
    "menu.simulator": ("Executor simulator", "执行器模拟"),
    "sidebar.language": ("Language", "语言"),
    "sidebar.session": ("Session", "会话"),
    "sidebar.documents": ("{documents} documents · {chunks} chunks", "{documents} 份文档 · {chunks} 个片段"),
    "level.PRECISE": ("PRECISE", "PRECISE 精确"),
    "level.HIGHLY_RELEVANT": ("HIGHLY RELEVANT", "HIGHLY_RELEVANT 高度相关"),
    "level.REFERENCE": ("REFERENCE", "REFERENCE 参考"),
    "level.DEDUPED": ("DEDUPED", "DEDUPED 已去重"),
    "level.none": ("NOT FOUND", "未命中"),
    "level.error": ("REFUSED", "已拒绝"),
    "dedup.doc_retrieved": ("document was given before", "文档已提供过"),
    "dedup.domain_retrieved": ("domain was retrieved before", "领域已检索过"),
    "indexing.banner": (
        "Building the vectors: {done} of {total} texts. Keyword lookups (L0) already answer; semantic search follows.",
        "正在建立向量：{done} / {total} 段文本。关键词检索（L0）已可用，语义检索稍后就绪。",
    ),
    "indexing.scan": (
        "Comparing the files with the index …",
        "正在核对文件与索引…",
    ),
    "error.unexpected": (
        "Something went wrong on this page ({kind}). Nothing was lost: reload the page; details are in the log.",
        "页面出错（{kind}）。数据没有丢失：请刷新页面；详情见终端日志。",
    ),
    "error.cannot_open": (
        "The knowledge base cannot be opened.",
        "无法打开知识库。",
    ),
}
