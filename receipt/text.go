package receipt

// Line returns the receipt in one line.
func (r Receipt) Line() string { return "" }

// String returns the receipt as readable text of several lines; the first one is [Receipt.Line].
func (r Receipt) String() string { return r.Line() }
