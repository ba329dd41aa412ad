package boundary

// UserStarts returns the ascending token positions at which header occurs in prompt: the starts of its user messages.
// header holds the tokens of [Template.UserHeader]; an empty one occurs nowhere.
func UserStarts(prompt, header []int32) []int {
	if len(header) == 0 {
		return nil
	}
	var starts []int
	for i := 0; i+len(header) <= len(prompt); i++ {
		if prompt[i] != header[0] {
			continue
		}
		if equal(prompt[i:i+len(header)], header) {
			starts = append(starts, i)
			i += len(header) - 1
		}
	}
	return starts
}

func equal(a, b []int32) bool { return common(a, b) == len(b) }

// common returns the length of the longest common prefix.
func common(a, b []int32) int {
	const block = 256 // compared at once: prompts agree in all but their ends
	n, i := min(len(a), len(b)), 0
	for i+block <= n && *(*[block]int32)(a[i:]) == *(*[block]int32)(b[i:]) {
		i += block
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
