"""Bytes of a Markdown file into text (F5)."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.encodings import decode_markdown, plain_text
from kbapp.domain.errors import UserError

CHINESE = "# 支付网关错误码\n\n请求超时后返回 ERR_TIMEOUT，请检查网关与渠道之间的连接。\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "gb18030"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_f5_encodings_and_line_ends_give_the_same_text(encoding: str, line_end: str) -> None:
    assert decode_markdown(CHINESE.replace("\n", line_end).encode(encoding)) == CHINESE


@pytest.mark.parametrize(("bom", "encoding"), [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")])
def test_f5_utf16_of_both_byte_orders_is_read(bom: bytes, encoding: str) -> None:
    assert decode_markdown(bom + CHINESE.encode(encoding)) == CHINESE


def test_f5_an_empty_file_is_an_empty_text() -> None:
    assert decode_markdown(b"") == ""
    assert decode_markdown(codecs.BOM_UTF8) == ""


def test_f5_mixed_line_ends_become_lf_and_other_breaks_stay() -> None:
    assert plain_text("a\r\n\r\rb\n\rc\x0cd\u2028e\x85f") == "a\n\n\nb\n\nc\x0cd\u2028e\x85f"


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.just("\n"), max_size=200)


@given(TEXTS.filter(lambda text: not text.startswith("\ufeff")))
def test_f5_all_unicode_forms_of_a_text_are_equal(text: str) -> None:
    windows = text.replace("\n", "\r\n")
    forms = [text.encode(), text.encode("utf-8-sig"), windows.encode(), windows.encode("utf-8-sig")]
    forms += [windows.encode("utf-16"), text.replace("\n", "\r").encode("utf-16")]
    assert {decode_markdown(form) for form in forms} == {text}


@given(st.binary(max_size=300))
def test_f5_any_bytes_are_a_plain_text_or_refused(data: bytes) -> None:
    try:
        text = decode_markdown(data)
    except UserError:
        return
    assert "\r" not in text
    assert "\0" not in text


GB18030 = {
    "a rare hanzi of four bytes": "# 部署\n\n㐀 是一个很少用的汉字。\n",
    "a short document": "# 支付网关\n\n超时处理\n",
    "six hanzi": "支付网关超时",
    "frontmatter": "---\ntitle: 超时\nkeywords: [超时, 支付网关]\n---\n# 超时\n",
    "code around it": "# Redis\n\n```yaml\nmax-active: 8 # 连接池的最大连接数，默认值为 8\n```\n" + "x = 1\n" * 500,
    "rare hanzi above all": "# 㐀㐁㐂㐃\n\n支付\n",
    "a frame": "┌──────────────┬──────────────┐\n│ 请求超时之后重试 │\n└──────────────┴──────────────┘\n",
    "a directory tree": "# 目录结构\n\n├── api/\n│   └── payment.md\n└── 说明.md 是这个文件夹的使用说明\n",
    "full-width forms": "# 步骤（一）\n\n１．登录服务器；２．查看日志：“ERROR”——是否出现？①是 ②否 ℃ ￥\n",
    "an emoji": "# 发布检查 ✅\n\n所有服务都已经启动 🚀，可以开始测试。\n",
    "cooking": "红烧肉的做法：五花肉切块焯水，锅中放糖炒出糖色，加入肉块翻炒，倒入生抽、老抽、料酒，小火慢炖一小时。"
    * 2,
    "history": "唐朝是中国历史上继隋朝之后的大一统中原王朝，共历二十一帝，享国二百八十九年。",
    "long": CHINESE * 2000,
}


@pytest.mark.parametrize("text", GB18030.values(), ids=GB18030.keys())
def test_f5_chinese_in_gb18030_is_read(text: str) -> None:
    assert decode_markdown(text.encode("gb18030")) == text


FOREIGN = [
    ("latin-1", "café naïve Größe"),
    ("latin-1", "Größe"),
    ("latin-1", "Überprüfen Sie die Größe der Fußnoten für das Gerät; ändern Sie sie bei Bedarf."),
    ("latin-1", "HÄÄ"),
    ("latin-1", "PÄÄTÖS TYÖPÄIVÄSTÄ HÄÄYÖ ÄÄNENVOIMAKKUUS"),
    ("latin-1", "ÀÉÎÕÜ ÄÖÜß ÄÄÄÄ ÅÅÅÅ ÆØÅæøå"),
    ("cp1252", "L’été dernier, “naïveté” – déjà vu à Noël, où l’élève a échoué…"),
    ("cp1252", "€ 100 » « »»»»»»»» °°°° ·······"),
    ("cp1252", "ação coração não informação é à público São Paulo"),
    ("cp437", "┌────────────┐\n│ config.sys │\n└────────────┘\n════════════\n████████"),
    ("cp850", "Übergrößenträger für Käufer: ÄÖÜ äöü ß"),
    ("mac_roman", "Rødgrød med fløde på øen, så årets æbler"),
    ("shift_jis", "# 設定\n\nこのファイルは設定の説明です。データベースの接続数を確認してください。"),
    ("shift_jis", "ﾃﾞｰﾀﾍﾞｰｽ ｾﾂｿﾞｸ ｶｸﾆﾝ"),
    ("euc_jp", "# 設定\n\nこのファイルは設定の説明です。データベースの接続数を確認してください。"),
    ("euc_jp", "接続設定確認手順書"),
    ("euc_jp", "中川は接続の設定を変更し、柴田が手順書を確認する。李と松本は面談の記録を株式会社渡辺に送付した。"),
    ("iso2022_jp", "# 設定\n\nこのファイルは設定の説明です。"),
    ("big5", "# 支付閘道\n\n請求逾時之後，請檢查閘道與渠道之間的連線是否正常。"),
    ("big5", "測試文件"),
    ("cp949", "# 설정\n\n이 파일은 데이터베이스 연결 설정을 설명합니다. 연결 수를 확인하십시오."),
    ("cp949", "환경/청소 및 경비 관련 관리자"),
    ("koi8_r", "# Настройка\n\nПроверьте соединение с базой данных и число подключений."),
    ("koi8_r", "привет"),
    ("koi8_r", "способ цель"),
    ("cp1251", "# Настройка\n\nПроверьте соединение с базой данных и число подключений."),
    ("cp1251", "УРУГВАЙПОРЯДОК"),
    ("iso8859_5", "ОСВОБОЖДЕНИЕ ПЕЧАТНИК"),
    ("iso8859_7", "ΤΡΟΒΆΤΟΥ ρυθμίσεις της βάσης δεδομένων"),
    ("cp1255", "הגדרות של מסד הנתונים"),
    ("cp1256", "إعدادات قاعدة البيانات"),
    ("tis_620", "การตั้งค่าฐานข้อมูล ศรีลังกา อัลไตใต้"),
    ("cp1250", "Zażółć gęślą jaźń. Příliš žluťoučký kůň"),
]


@pytest.mark.parametrize(("encoding", "text"), FOREIGN)
@pytest.mark.parametrize("times", [1, 50])
def test_f5_other_encodings_are_refused_never_read_as_mojibake(encoding: str, text: str, times: int) -> None:
    with pytest.raises(UserError, match="save it as UTF-8"):
        decode_markdown((text + "\n").encode(encoding, "ignore") * times)


@pytest.mark.parametrize("cut", range(1, 60))
def test_f5_broken_utf8_is_refused_never_read_as_gb18030(cut: int) -> None:
    data = "支付网关错误码说明：请求超时之后的处理办法。".encode()
    with pytest.raises(UserError, match="save it as UTF-8"):
        decode_markdown(data[:cut] + data[cut + 1 :])


@pytest.mark.parametrize("text", ["способспособ" * 40, "способ" * 40])
def test_f5_a_repeated_word_is_no_evidence_for_chinese(text: str) -> None:
    with pytest.raises(UserError, match="save it as UTF-8"):
        decode_markdown(text.encode("koi8_r"))


BINARY = {
    "PNG": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01\x00" + bytes(range(256)),
    "a NUL": b"# title\n\0\n",
    "UTF-16 without a BOM": "# title".encode("utf-16-le"),
    "UTF-16 with NULs": codecs.BOM_UTF16_LE + b"a\0\0\0b\0",
    "control characters": bytes(range(1, 128)),
}


@pytest.mark.parametrize("data", BINARY.values(), ids=BINARY.keys())
def test_f5_binary_is_refused(data: bytes) -> None:
    with pytest.raises(UserError, match="binary"):
        decode_markdown(data)


@pytest.mark.parametrize(
    "data", [codecs.BOM_UTF16_LE + b"abc", codecs.BOM_UTF16_BE + b"\xd8\x00", codecs.BOM_UTF8 + b"\xff"]
)
def test_f5_a_damaged_file_with_a_bom_is_refused(data: bytes) -> None:
    with pytest.raises(UserError, match="damaged at byte"):
        decode_markdown(data)


def test_f5_the_refusal_names_the_first_line_that_is_not_utf8() -> None:
    with pytest.raises(UserError, match="line 3 is not UTF-8"):
        decode_markdown("# café\n\n".encode() + "café\n".encode("latin-1"))


def test_f5_coloured_terminal_output_and_form_feeds_are_text() -> None:
    text = "\x1b[31mERROR\x1b[0m\x1b(B\n\x0cnext page\n"
    assert decode_markdown(text.encode()) == text
