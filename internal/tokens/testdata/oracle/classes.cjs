// Writes the ranges of characters that each class of the splitting expressions matches: class, first, last. An expression that is only the class finds
// exactly its characters, so text of any other character encodes to nothing.
const { Tiktoken } = require("tiktoken/lite");
const base = require("tiktoken/encoders/cl100k_base.json");

const classes = {
  space: "\\s", number: "\\p{N}", upper: "[\\p{Lu}\\p{Lt}]", lower: "\\p{Ll}", letter: "[\\p{Lm}\\p{Lo}]", mark: "\\p{M}",
};
const surrogate = (c) => c >= 0xd800 && c < 0xe000;

for (const [name, expression] of Object.entries(classes)) {
  const e = new Tiktoken(base.bpe_ranks, base.special_tokens, expression);
  let first = -1;
  for (let c = 0; c <= 0x110000; c++) {
    const inside = c < 0x110000 && !surrogate(c) && e.encode_ordinary(String.fromCodePoint(c)).length > 0;
    if (inside && first < 0) first = c;
    if (!inside && first >= 0) {
      console.log(name, first.toString(16), (c - 1).toString(16));
      first = -1;
    }
  }
  e.free();
}
