package toolparse

// Work returns how many bytes the parser with the name looks at in src, for the tests of linear work.
func Work(parser, src string) int {
	switch parser {
	case "json":
		p := &jsonParser{}
		_ = p.run(src)
		return p.looked
	case "json, visited":
		p := &jsonParser{}
		built := 0
		p.visit = func(v JSONValue) bool {
			if v.PointerLen() <= 1024 {
				built += len(v.Pointer()) + len(v.Text())
			}
			return true
		}
		_ = p.run(src)
		return p.looked + built
	case "csv":
		_, looked, _ := readCSV(src, func([]CSVCell) bool { return true })
		return looked
	case "http_headers":
		p := &httpParser{src: src}
		_, _ = p.run()
		return p.looked
	case "unified_diff":
		p := &diffParser{src: src}
		_, _ = p.run()
		return p.looked
	case "exit_code":
		t := NewText(src)
		_ = t.HasExitCode()
		return t.looked + t.json.looked
	}
	panic("no parser " + parser)
}
