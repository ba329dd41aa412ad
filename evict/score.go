package evict

// Score returns an episode's value and what it is made of.
func Score(it Item) (value float64, notes []string) {
	return 0, nil
}
