// Reads one JSON string a line and writes, for each, what the tiktoken package makes of it in o200k_base and cl100k_base: the number of tokens and the
// SHA-256 of the ids in decimal joined by commas, or with --ids the ids themselves. See README.md.
const { createHash } = require("node:crypto");
const { createInterface } = require("node:readline");
const { Tiktoken } = require("tiktoken/lite");

const encoders = ["o200k_base", "cl100k_base"].map((name) => {
  const e = require(`tiktoken/encoders/${name}.json`);
  return new Tiktoken(e.bpe_ranks, e.special_tokens, e.pat_str);
});
const whole = process.argv.includes("--ids");

(async () => {
  let out = [];
  for await (const line of createInterface({ input: process.stdin })) {
    const text = JSON.parse(line);
    const cols = encoders.map((e) => {
      const ids = e.encode_ordinary(text).join(",");
      if (whole) return ids;
      const n = ids === "" ? 0 : ids.split(",").length;
      return `${n} ${createHash("sha256").update(ids).digest("hex").slice(0, 32)}`;
    });
    out.push(cols.join(" ") + "\n");
    if (out.length >= 10000) { process.stdout.write(out.join("")); out = []; }
  }
  process.stdout.write(out.join(""));
})();
