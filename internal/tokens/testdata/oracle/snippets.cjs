// Writes the snippets of the golden file, one JSON string a line: texts by hand first, then systematic ones, then mixtures drawn with a fixed seed.
const out = [];
const add = (...texts) => out.push(...texts);

// Prose in many scripts.
add(
  "", " ", "\n", "a", "The ferry leaves at nine, weather permitting.",
  "She said: \u201cI don't think we'll make it \u2014 they've gone, haven't they?\u201d",
  "IT'S NOT WHAT YOU'D EXPECT; WE'LL SEE, THEY'RE SURE I'M WRONG. YOU'VE WON.",
  "Rock 'n' roll, the '90s, o'clock, 'tis, 'S, 'ſ, 'ST, 'LLama, 'rEsult, 'vEry, 'd'm's",
  "naïve café, façade, Ærøskøbing, Łódź, Þingvellir, ĳsselmeer, ŉ, ﬁne ﬂow",
  "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. STRASSE, Straße, ẞ",
  "Le cœur a ses raisons : l'été, l'hôtel, aujourd'hui, qu'est-ce que c'est ?",
  "¿Dónde está el niño? ¡Allí, junto al río! El pingüino también.",
  "Съешь же ещё этих мягких французских булок, да выпей чаю. ЁЛКА и ёжик.",
  "Ξεσκεπάζω τὴν ψυχοφθόρα βδελυγμία. ΣΟΦΟΣ σοφός",
  "בראשית היה הדבר, וְהַדָּבָר הָיָה פָּשׁוּט",
  "السماء صافية اليوم، والقهوةُ ساخنةٌ. ١٢٣٤٥ و٦٧",
  "हिन्दी में लिखा हुआ एक छोटा वाक्य। क्षत्रिय १२३",
  "வணக்கம், எப்படி இருக்கிறீர்கள்?", "ภาษาไทยไม่มีช่องว่างระหว่างคำ",
  "今日は天気がいいから、散歩しましょう。カタカナと漢字、ひらがな。", "我昨天在图书馆借了三本书，2031年4月还。",
  "오늘은 날씨가 맑아서 산책하기 좋다. 한글과 한자(漢字).", "Tiếng Việt có nhiều dấu: ngữ, được, những, đường.",
  "ქართული ანბანი ლამაზია. Ქართული", "Հայերեն տեքստ այստեղ։", "አማርኛ ጽሑፍ ነው።", "ꮳꮃꭹ ᏣᎳᎩ", "𐐔𐐯𐑅𐐨𐑉𐐯𐐻 and 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟘𝟙𝟚𝟛",
  "e\u0301 versus \u00e9; a\u0300\u0301\u0302b; \u0301start; A\u0301B\u0301C; AB\u0301CD; \u20dd\u0301",
  "ǅungla ǈubav ǋ ᾈ ᾳ ʰaspirated ª º ⁿ ₁₂₃ ²³ ½ ¾ Ⅷ ⅷ ㊿ ೧೨",
  "mixed中文and English混じりtext", " 天天中彩票APP", "天天中彩票APPs", "HTTPServerのURLをparseJSONする", "ABCdefGHIjkl MNOp QRstuVWx", "iPhone eBay McDonald XMLHttpRequest2 IDs URLs PDFs",
);

// Symbols, numbers, emoji, invisible characters.
add(
  "😀😃😄 👍🏽 👩\u200d👩\u200d👧\u200d👦 🇩🇪🇯🇵 ❤️ ☃ 1️⃣ 🏳️\u200d🌈", "∀x∈ℝ: ⌈x⌉ = −⌊−x⌋, ∑_{i=0}^{n} i² ≠ ∞", "→ ⇒ ↦ ⟨a|b⟩ ⟦x⟧ ‖v‖ ½·√2 ≈ .707 ±5% €20 £3 ¥100 ₿",
  "0 12 123 1234 12345 123456 1234567 3.14159 -17 1e-9 0xDEADBEEF 0b1010 1_000_000 1,234,567.89 007",
  "2031-04-09T11:22:33.123456Z +02:00 12:34:56 v1.2.3-rc.4+build.5 192.168.0.1 ::1 fe80::1%eth0",
  "zero\u200bwidth \u200e\u200f\u2060 soft\u00adhyphen \ufeffbom \u00a0nbsp\u00a0 \u3000wide\u3000space \u2028line\u2029para\u0085nel \u000bvt\u000cff \u0000nul\u0001\u007f",
  "...!!!???---===___***///\\\\\\|||~~~```'''\"\"\"", "!@#$%^&*()_+-=[]{};':\",./<>?`~", "a/b//c///d /\n //\n///\n\n path/\n\nnext", "x=1;/*\n\n*/\n/y", "?\r\n\r\n!\r\r/\n/",
  "<|endoftext|> <|im_start|>system\nobey<|im_end|> <|fim_prefix|><|endofprompt|> [INST] <s> </s> <start_of_turn>", "𠀀𠀁 \u{2ebf0}\u{2ebf1}a \u{10d4a}b \u{16d40}! \u{1e5f1}\u{1e5f2}3 \ua7cbx \u{10ffff}\ue000\u0378",
);

// Code, data and what tools print.
add(
  "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc main() {\n\tfor i := range 10 {\n\t\tfmt.Println(i, os.Args[1:])\n\t}\n}\n",
  "func f() {\n\tif x {\n\n\t\n\t\t\n\t\treturn\n\n\n\t}\n    \n        \n}\n",
  "def walk(tree, depth=0):\n    \"\"\"Yield (depth, node).\"\"\"\n    for node in tree:\n        yield depth, node\n        \n    \n\n        yield from walk(node.children, depth + 1)\n",
  "class Bar(Foo):\r\n\r\n    x: int = 3\r\n    \r\n    def __init__(self):\r\n        super().__init__()\r\n\r\n\r\n",
  "const add = async (a, b = {}) => { await fetch(`/api/${a}?q=${encodeURIComponent(b.q ?? '')}`); return a?.b!.c; };",
  "impl<'a, T: Iterator<Item = &'a str>> Foo<T> {\n    fn go(&mut self) -> Result<(), Box<dyn Error>> { todo!() }\n}\n",
  "#include <stdio.h>\n#define MAX(a,b) ((a)>(b)?(a):(b))\nint main(void){printf(\"%d\\n\",MAX(1,2));return 0;}\n",
  "SELECT u.id, COUNT(*) AS n\n  FROM users u\n  LEFT JOIN posts p ON p.user_id = u.id\n WHERE u.deleted_at IS NULL AND u.name LIKE '%o''brien%'\n GROUP BY 1 HAVING COUNT(*) > 3;",
  "#!/bin/sh\nset -eu\nfor f in *.txt; do\n  [ -f \"$f\" ] || continue\n  sed -i 's/foo/bar/g' \"$f\" && echo \"ok: $f\" >&2\ndone\n",
  "<!DOCTYPE html>\n<html lang=\"en\">\n  <body class=\"a b-c\">\n    <p>&nbsp;&lt;hi&gt;</p>\n\n\n  </body>\n</html>\n",
  "body{margin:0;color:#1a2b3c}\n@media (max-width:600px){.x>.y:not(:first-child)::after{content:\"\\2014\"}}",
  "key: value\nlist:\n  - one\n  - two: [1, 2, {a: b}]\n    text: |\n      multi\n\n      line\n",
  "[package]\nname = \"demo\"\nversion = \"0.1.0\"\n\n[dependencies]\nserde = { version = \"1\", features = [\"derive\"] }\n",
  "{\"a\":[1,2.5,-3e10,true,false,null],\"b\":{\"c\":\"\\u00e9\\n\\t\\\"\"},\"\":{}}", "{\n  \"name\": \"x\",\n  \"items\": [\n    {\n      \"id\": 1\n    },\n\n    {}\n  ]\n}\n",
  "id,name,amount\n1,\"Smith, J.\",12.50\n2,\"O\"\"Neil\",\n3,,-0.01\n", "a\tb\tc\n\t\t\n1\t\t3\n",
  "diff --git a/x.go b/x.go\nindex 83db48f..bf269f4 100644\n--- a/x.go\n+++ b/x.go\n@@ -1,5 +1,6 @@ func x() {\n \ta := 1\n-\tb := 2\n+\tb := 3\n+\n \treturn\n\\ No newline at end of file\n",
  "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nSet-Cookie: a=b; Path=/; HttpOnly\r\n\r\n<p>hi</p>",
  "--- FAIL: TestX (0.01s)\n    x_test.go:17: got 3, want 4\nFAIL\nexit status 1\nFAIL\texample.com/x\t0.012s\n",
  "Traceback (most recent call last):\n  File \"/srv/app.py\", line 42, in <module>\n    main()\nValueError: invalid literal for int() with base 10: 'x'\n",
  "total 24\ndrwxr-xr-x  3 root root 4096 Apr  9 11:22 .\n-rw-r--r--  1 root root  512 Apr  9 11:22 main.go\n",
  "| a | b |\n|---|:-:|\n| 1 | `x` |\n\n# Title\n\n* item\n    * nested\n\n```go\nx := 1\n```\n\n[link](https://example.com/a_b?c=d&e=%20#f)\n",
  "/usr/local/lib/python3.12/site-packages/foo/__init__.py:123:45", "C:\\Users\\me\\Documents\\file.txt", "user@example.com, https://example.com:8080/a/b.html?x=1&y=2#z",
  "d41d8cd98f00b204e9800998ecf8427e SGVsbG8sIHdvcmxkIQ== 550e8400-e29b-41d4-a716-446655440000", "\u001b[31mred\u001b[0m \u001b[1;32mok\u001b[0m 50%|█████     | 5/10 [00:01<00:01]\r",
  "snake_case camelCase PascalCase kebab-case SCREAMING_SNAKE dot.case path/case $var @decorator #tag %mod &ref *ptr",
);

// Runs: every kind of character in lengths around the powers of two and around the limits of the merge.
for (const c of ["a", "A", "é", "中", "😀", "\u0301", "1", "!", " ", "\n", "\t", " \n", "\n ", "\r\n", "ab", "aB", "=-", "x\n", "'s", "\u00a0", "ſ"])
  for (const n of [2, 3, 5, 16, 63, 64, 65, 128, 257]) add(c.repeat(n), "x" + c.repeat(n) + "y");

// Every order of three among the characters that the rules tell apart, where it matters: around spaces and newlines.
const kinds = [" ", "\n", "\r", "\t", "\u00a0", "a", "A", "中", "\u0301", "7", "!", "/", "'s"];
for (const a of [" ", "\n", "\t", "\u0301", "A"]) for (const b of kinds) for (const c of kinds) add("x" + a + b + c + " z");

// Mixtures.
let seed = 20310409;
const draw = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648, Math.floor(seed / 65536) % n);
const parts = [...kinds, "  ", "    ", "\n\n", "\r\n", "the", "The", "HELLO", "return", "'ll", "'RE", "'ſ", "don't", "é", "e\u0301", "ǅ", "ʰ", "日本", "한국어", "ไทย", "עב", "Ω", "😀", "👍🏽", "\u200d", "12", "1234", "½", "٣",
  "...", "{}", "();", "//", "://", "\\n", "\"", "_", "-", "#", "<|endoftext|>", "\u3000", "\u2028", "\u0085", "\u000b", "\u{10400}", "\u{1d400}", "\u{20000}", "\ufffd"];
for (let i = 0; i < 400; i++) {
  let s = "";
  for (let n = 1 + draw(16); n > 0; n--) s += parts[draw(parts.length)];
  add(s);
}
for (let i = 0; i < 100; i++) {
  let s = "";
  for (let n = 3 + draw(9); n > 0; n--) s += " ".repeat(draw(9)) + ["", "}", "x", "return x", "\t"][draw(5)] + ["\n", "\r\n", "\n\n", "\r"][draw(4)];
  add(s);
}

const ascii = (json) => json.replace(/[\u007f-\uffff]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
for (const s of out) console.log(ascii(JSON.stringify(s)));
