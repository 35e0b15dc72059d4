"""Words of the tour."""

TEXTS: dict[str, tuple[str, str]] = {
    "tour.start": ("Tour", "导览"),
    "tour.step": ("Tour · step {number} of {count}", "导览 · 第 {number} / {count} 步"),
    "tour.next": ("Next", "下一步"),
    "tour.back": ("Back", "上一步"),
    "tour.end": ("End the tour", "结束导览"),
    "tour.done": ("Finish", "完成"),
    "tour.open": ("Open {page}", "打开{page}"),
    "tour.1": (
        "**Look something up.** On Home press the example *PRECISE*: one document holds that keyword, so it is"
        " given at once"
        " and vectors are not even searched. The badge says how good the result is.",
        "**先检索一次。** 在首页点击 *PRECISE* 示例：只有一份文档含有该关键词，于是直接返回，连向量检索都不需要。"
        "徽标说明结果有多好。",
    ),
    "tour.2": (
        "**See why.** On the card open *Why this level*: the keyword, the similarities against the thresholds,"
        " the decision in a"
        " sentence. *What the executor saw* is the exact JSON, without any score.",
        "**看看为什么。** 在卡片上打开“为什么是这个等级”：命中的关键词、相似度与阈值、一句话的判定。“执行器看到的"
        "内容”是不含分数的完整 JSON。",
    ),
    "tour.3": (
        "**Ask again.** In the simulator send the same question in other words: the action memory answers DEDUPED"
        " and points to"
        " the earlier call. *Options of the next call* shows the ways on: a section, a missing dimension.",
        "**再问一次。** 在执行器模拟中换一种说法再问：动作记忆会回答 DEDUPED 并指向先前的调用。“下次调用的选项”给"
        "出继续的办法：章节或缺少的维度。",
    ),
    "tour.4": (
        "**Let an executor do it.** Switch the simulator to *Scripted task* and run one: twenty calls without a"
        " memory, the same"
        " with it, and an executor that keeps to the constraints, side by side.",
        "**让执行器来做。** 在执行器模拟中切换到“脚本任务”并运行：没有记忆、有动作记忆、遵守约束的执行器，三者并"
        "排对比。",
    ),
    "tour.5": (
        "**Check it.** Every call left a row. Telemetry shows what was given, withheld and missed, and the SQL"
        " box reads the table"
        " itself. Then put your own documents in on the page Knowledge base.",
        "**核对。** 每次调用都有一条记录。遥测页展示返回、去重与未命中，SQL 框可直接查询数据表。之后可在知识库页"
        "放入自己的文档。",
    ),
}
