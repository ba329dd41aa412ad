package boundary

// UserStarts returns the ascending token positions at which header occurs in prompt: the starts of its user messages.
// An empty header occurs nowhere.
func UserStarts(prompt []int32, header []int32) []int { return nil }
