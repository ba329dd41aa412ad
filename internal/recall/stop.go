package recall

// isStop reports whether a folded word is an English function word, which tells nothing about what a question is after.
func isStop(w string) bool {
	switch w {
	case "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at",
		"be", "been", "before", "being", "but", "by", "can", "could",
		"did", "do", "does", "doing", "during", "for", "from",
		"had", "has", "have", "having", "he", "her", "hers", "him", "his", "how",
		"i", "if", "in", "into", "is", "it", "its", "itself", "me", "my",
		"no", "nor", "not", "of", "on", "or", "our", "ours", "shall", "she", "should", "so", "some", "such",
		"than", "that", "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "to", "too",
		"us", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "would",
		"you", "your", "yours",
		"arent", "cant", "couldnt", "didnt", "doesnt", "dont", "hadnt", "hasnt", "havent", "isnt", "mustnt", "shouldnt", "wasnt", "werent", "wont", "wouldnt":
		return true
	}
	return false
}
