// Package tokens counts and splits text into the tokens of OpenAI's published byte-pair encodings.
//
// Start with [O200k] or [CL100k], which give an [Encoding], and with [Counter], which remembers counts by content. The vocabularies are those of
// github.com/tiktoken-go/tokenizer; the splitter and the merge are this package's own, because they must be exact on whitespace and linear on anything that a tool
// may print: a megabyte of one character is ordinary input here.
//
// Text is ordinary text: the spelling of a control token such as <|endoftext|> is encoded as the characters it is made of. Invalid UTF-8 is
// encoded as the text that is sent, in which every byte that starts no valid character is one U+FFFD.
//
// The first use of an encoding reads its vocabulary, which takes about a tenth of a second and some megabytes that are never given back.
package tokens
