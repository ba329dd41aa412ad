package codesym

// GoOutline reads Go source as if it had a syntax error.
func GoOutline(src string) File {
	b := new(builder)
	b.begin(Go, src)
	b.lexGo()
	b.outlineGo()
	return b.finish()
}
